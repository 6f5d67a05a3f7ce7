#include "heap.h"
#include "heap/rows.h"
#include "json.h"
#include "options.h"
#include "table.h"

#include <stdlib.h>

const char wt_heap_diff_help[] =
    "usage: weir heap diff [OPTION]... FILE FILE [FILE]...\n"
    "\n"
    "Which types have more objects or bytes in the last snapshot than in the first one, what has\n"
    "grown most first; then what has shrunk. A type that grows from each snapshot to the next is\n"
    "marked with +.\n"
    "\n"
    "  --incomplete   also of snapshots that are not complete\n"
    "  --json         print one JSON object: files, types [{name, module, counts [of each file],\n"
    "                 bytes [of each file], growth (bytes), always}] whose counts or bytes "
    "differ\n" WT_HEAP_HELP "\n"
    "Exit codes: 0 fine, 1 failed, 2 usage, 3 a snapshot is incomplete, 4 a file ends early.\n";

struct type {
    const char *name, *module;
    uint64_t *counts, *bytes; /* of each file */
    int64_t growth;           /* in bytes, from the first file to the last */
};

struct diff {
    struct wt_heap_options options;
    char **paths;
    size_t file_count;
    struct hp_graph **graphs;
    struct type *types;
    size_t count, capacity;
};

/* --- Types of all files. --------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    const struct type *a = left, *b = right;
    return hp_name_compare(a->name, a->module, b->name, b->module);
}

static void add(struct diff *diff, const struct hp_row *row, size_t file)
{
    diff->types = wt_grow(diff->types, &diff->capacity, diff->count + 1, sizeof(*diff->types));
    struct type *type = &diff->types[diff->count++];
    type->name = row->name;
    type->module = row->module;
    type->counts = wt_heap_need(calloc(2 * diff->file_count, sizeof(*type->counts)));
    type->bytes = type->counts + diff->file_count;
    type->counts[file] = row->count;
    type->bytes[file] = row->bytes;
}

static void add_file(struct diff *diff, size_t file)
{
    size_t count;
    struct hp_row *rows = wt_heap_need(hp_rows(diff->graphs[file], NULL, &count));
    for (size_t i = 0; i < count; i++)
        add(diff, &rows[i], file);
    free(rows);
}

/* Adds up the rows of a type; each file has one at most. */
static void merge(struct diff *diff)
{
    size_t merged = 0;
    qsort(diff->types, diff->count, sizeof(*diff->types), by_name);
    for (size_t i = 0; i < diff->count; i++) {
        struct type *last = merged ? &diff->types[merged - 1] : NULL, *type = &diff->types[i];
        if (!last || by_name(last, type) != 0) {
            diff->types[merged++] = *type;
            continue;
        }
        for (size_t file = 0; file < 2 * diff->file_count; file++)
            last->counts[file] += type->counts[file];
        free(type->counts);
    }
    diff->count = merged;
}

static int by_growth(const void *left, const void *right)
{
    const struct type *a = left, *b = right;
    return a->growth != b->growth ? (a->growth < b->growth ? 1 : -1) : by_name(left, right);
}

static void sort(struct diff *diff)
{
    merge(diff);
    for (size_t i = 0; i < diff->count; i++) {
        struct type *type = &diff->types[i];
        type->growth = (int64_t)(type->bytes[diff->file_count - 1] - type->bytes[0]);
    }
    qsort(diff->types, diff->count, sizeof(*diff->types), by_growth);
}

static bool differs(const struct diff *diff, const struct type *type)
{
    return type->counts[diff->file_count - 1] != type->counts[0] || type->growth != 0;
}

static bool grows_always(const struct diff *diff, const struct type *type)
{
    for (size_t i = 1; i < diff->file_count; i++)
        if (type->counts[i] <= type->counts[i - 1])
            return false;
    return true;
}

/* --- Output. --------------------------------------------------------------------------------- */

static void json_numbers(struct wt_json *json, const char *key, const uint64_t *numbers,
                         size_t count)
{
    wt_json_array(json, key);
    for (size_t i = 0; i < count; i++)
        wt_json_u64(json, NULL, numbers[i]);
    wt_json_end(json);
}

static void print_json(const struct diff *diff)
{
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_array(&json, "files");
    for (size_t i = 0; i < diff->file_count; i++)
        wt_json_string(&json, NULL, diff->paths[i]);
    wt_json_end(&json);
    wt_json_array(&json, "types");
    for (size_t i = 0; i < diff->count; i++) {
        const struct type *type = &diff->types[i];
        if (!differs(diff, type))
            continue;
        wt_json_object(&json, NULL);
        wt_json_string(&json, "name", type->name);
        wt_json_string(&json, "module", type->module);
        json_numbers(&json, "counts", type->counts, diff->file_count);
        json_numbers(&json, "bytes", type->bytes, diff->file_count);
        wt_json_i64(&json, "growth", type->growth);
        wt_json_bool(&json, "always", grows_always(diff, type));
        wt_json_end(&json);
    }
    wt_json_end(&json);
    wt_json_end(&json);
}

static void print_text(const struct diff *diff)
{
    static const bool right[] = {true, true, true, true, false, false};
    static const char *const heads[] = {"bytes", "objects", "of", "", "", "type"};
    struct wt_table table;
    char text[1024];
    wt_table_init(&table, 6, right);
    for (size_t i = 0; i < 6; i++)
        wt_table_text(&table, heads[i]);
    for (size_t i = 0; i < diff->count; i++) {
        const struct type *type = &diff->types[i];
        if (!differs(diff, type))
            continue;
        wt_heap_type_text(type->name, type->module, text, sizeof(text));
        wt_table_format(&table, "%+lld", (long long)type->growth);
        wt_table_format(&table, "%+lld",
                        (long long)(type->counts[diff->file_count - 1] - type->counts[0]));
        wt_table_u64(&table, type->counts[0]);
        wt_table_format(&table, "-> %llu", (unsigned long long)type->counts[diff->file_count - 1]);
        wt_table_text(&table, grows_always(diff, type) ? "+" : "");
        wt_table_text(&table, text);
    }
    wt_table_print(&table, stdout);
}

/* --- The command. ---------------------------------------------------------------------------- */

static void release(struct diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        free(diff->types[i].counts);
    for (size_t i = 0; i < diff->file_count; i++)
        hp_graph_free(diff->graphs[i]);
    free(diff->types);
    free(diff->graphs);
}

static int run(struct diff *diff)
{
    int code = WT_EXIT_OK, worst = WT_EXIT_OK;
    diff->graphs = wt_heap_need(calloc(diff->file_count, sizeof(struct hp_graph *)));
    for (size_t i = 0; i < diff->file_count; i++) {
        diff->graphs[i] = wt_heap_load_whole(&diff->options, diff->paths[i], &code);
        worst = code > worst || code == WT_EXIT_FAILED ? code : worst;
        if (!diff->graphs[i]) {
            release(diff);
            return code;
        }
        add_file(diff, i);
    }
    sort(diff);
    if (diff->options.as_json)
        print_json(diff);
    else
        print_text(diff);
    release(diff);
    return wt_finish_output(worst);
}

static bool take_option(void *context, int option, const char *text)
{
    return wt_heap_take(&((struct diff *)context)->options, option, text);
}

int wt_heap_diff(int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, WT_HEAP_JSON},
                                          {"incomplete", no_argument, NULL, WT_HEAP_INCOMPLETE},
                                          WT_HEAP_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {wt_heap_diff_help, "h", table, take_option};
    struct diff diff = {0};
    int code;
    if (!wt_options_take(&options, &diff, argc, argv, &code))
        return code;
    diff.paths = argv + optind;
    diff.file_count = (size_t)(argc - optind);
    if (diff.file_count >= 2)
        return run(&diff);
    wt_complain("heap diff needs two files or more; try: weir heap diff --help");
    return WT_EXIT_USAGE;
}
