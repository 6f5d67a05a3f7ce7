#include "heap_strings.h"

#include "csv.h"
#include "output.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    uint64_t duplicates, wasted;
};

static struct sums add_up(const struct hp_duplicate *duplicates, size_t count)
{
    struct sums sums = {0};
    for (size_t i = 0; i < count; i++) {
        sums.duplicates += duplicates[i].count - 1;
        sums.wasted += duplicates[i].wasted;
    }
    return sums;
}

/* To be freed. Zeros become bytes that are not UTF-8, because a text of this program ends with one: both
 * are printed as U+FFFD. `mark` follows if there is more. */
static char *text_of(const struct hp_text *text, const char *mark)
{
    char *copy = wt_heap_need(malloc(text->length + strlen(mark) + 1));
    for (uint32_t i = 0; i < text->length; i++)
        copy[i] = text->bytes[i] ? (char)text->bytes[i] : '\xFF';
    strcpy(copy + text->length, text->length < text->size ? mark : "");
    return copy;
}

static const struct hp_type *type_of(const struct wt_heap_strings *strings,
                                     const struct hp_duplicate *duplicate)
{
    return &strings->graph->types[duplicate->type];
}

/* --- Output. --------------------------------------------------------------------------------- */

static void json_duplicate(struct wt_json *json, const struct hp_type *type,
                           const struct hp_duplicate *duplicate)
{
    char *text = text_of(duplicate->text, "");
    wt_json_object(json, NULL);
    wt_json_string(json, "text", text);
    wt_json_bool(json, "cut", duplicate->text->length < duplicate->text->size);
    wt_json_u64(json, "length", duplicate->text->size);
    wt_json_string(json, "type", type->name);
    wt_json_u64(json, "copies", duplicate->count);
    wt_json_u64(json, "bytes", duplicate->bytes);
    wt_json_u64(json, "wasted", duplicate->wasted);
    wt_json_end(json);
    free(text);
}

static void print_json(const struct wt_heap_strings *strings, const struct hp_duplicate *duplicates,
                       size_t count)
{
    struct sums sums = add_up(duplicates, count);
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_heap_json_head(&json, strings->path, strings->graph);
    wt_json_u64(&json, "strings", strings->graph->text_count);
    wt_json_u64(&json, "duplicates", sums.duplicates);
    wt_json_u64(&json, "wasted", sums.wasted);
    wt_json_array(&json, "texts");
    for (size_t i = 0; i < count; i++)
        json_duplicate(&json, type_of(strings, &duplicates[i]), &duplicates[i]);
    wt_json_end(&json);
    wt_json_end(&json);
}

/* Escaped, as in the table. */
static void csv_text(struct wt_csv *csv, const struct hp_text *text)
{
    char *copy = text_of(text, "..."), *escaped = NULL;
    size_t size;
    FILE *file = wt_heap_need(open_memstream(&escaped, &size));
    wt_print_escaped(file, copy, 0);
    fclose(file);
    wt_csv_text(csv, wt_heap_need(escaped));
    free(escaped);
    free(copy);
}

static void print_csv(const struct wt_heap_strings *strings, const struct hp_duplicate *duplicates,
                      size_t count)
{
    struct wt_csv csv = {.file = stdout};
    wt_csv_head(&csv, "text length type copies bytes wasted");
    for (size_t i = 0; i < count; i++) {
        csv_text(&csv, duplicates[i].text);
        wt_csv_u64(&csv, duplicates[i].text->size);
        wt_csv_text(&csv, type_of(strings, &duplicates[i])->name);
        wt_csv_u64(&csv, duplicates[i].count);
        wt_csv_u64(&csv, duplicates[i].bytes);
        wt_csv_u64(&csv, duplicates[i].wasted);
        wt_csv_end(&csv);
    }
}

static void print_table(const struct wt_heap_strings *strings,
                        const struct hp_duplicate *duplicates, size_t count)
{
    static const char *const names[] = {"wasted", "copies", "bytes", "length", "type", "text"};
    static const bool right[] = {true, true, true, true, false, false};
    struct wt_table table;
    wt_table_init(&table, sizeof(right), right);
    for (size_t i = 0; i < sizeof(right); i++)
        wt_table_text(&table, names[i]);
    for (size_t i = 0; i < count; i++) {
        char *text = text_of(duplicates[i].text, "...");
        wt_table_u64(&table, duplicates[i].wasted);
        wt_table_u64(&table, duplicates[i].count);
        wt_table_u64(&table, duplicates[i].bytes);
        wt_table_u64(&table, duplicates[i].text->size);
        wt_table_text(&table, type_of(strings, &duplicates[i])->name);
        wt_table_text(&table, text);
        free(text);
    }
    wt_table_print(&table, stdout);
}

static void print_text(const struct wt_heap_strings *strings, const struct hp_duplicate *duplicates,
                       size_t count)
{
    const struct hp_graph *graph = strings->graph;
    struct sums sums = add_up(duplicates, count);
    size_t most = strings->most && strings->most < count ? (size_t)strings->most : count;
    printf("strings    %" PRIu32 "\nduplicates %" PRIu64 "\nwasted     %" PRIu64 "\n",
           graph->text_count, sums.duplicates, sums.wasted);
    printf("complete   %s%s\n\n", graph->is_complete ? "yes" : "no: ", graph->reason);
    print_table(strings, duplicates, most);
    if (most < count)
        printf("\n%zu more with --count 0\n", count - most);
}

bool wt_heap_strings_print(const struct wt_heap_strings *strings)
{
    size_t count;
    if (strings->graph->text_count == 0) {
        wt_complain(
            "%s: no contents of strings: weir heap collect --strings asks for them, and the "
            "process must give them, as lua-host does%s%s",
            strings->path,
            strings->graph->is_complete ? "" : "; incomplete: ", strings->graph->reason);
        return false;
    }
    struct hp_duplicate *duplicates = wt_heap_need(hp_duplicates(strings->graph, &count));
    if (strings->as_json)
        print_json(strings, duplicates, count);
    else if (strings->as_csv)
        print_csv(strings, duplicates, count);
    else
        print_text(strings, duplicates, count);
    free(duplicates);
    return true;
}
