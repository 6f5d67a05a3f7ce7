#include "heap.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    const struct hp_text *text;
    uint32_t type;
};

/* Hashes are only compared, so a file cannot have ones that make this slow. */
static int by_contents(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->text->size != b->text->size)
        return a->text->size < b->text->size ? -1 : 1;
    if (a->text->hash != b->text->hash)
        return a->text->hash < b->text->hash ? -1 : 1;
    if (a->text->length != b->text->length)
        return a->text->length < b->text->length ? -1 : 1;
    int order = memcmp(a->text->bytes, b->text->bytes, a->text->length);
    return order ? order : (a->type > b->type) - (a->type < b->type);
}

static int by_wasted(const void *left, const void *right)
{
    const struct hp_duplicate *a = left, *b = right;
    if (a->wasted != b->wasted)
        return a->wasted < b->wasted ? 1 : -1;
    return by_contents(&(struct entry){a->text, a->type}, &(struct entry){b->text, b->type});
}

/* Of entries that are equal. */
static struct hp_duplicate add_up(const struct hp_graph *graph, const struct entry *entries,
                                  size_t count)
{
    struct hp_duplicate sum = {entries->text, entries->type, (uint32_t)count, 0, 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = graph->sizes[entries[i].text->node];
        sum.wasted += bytes;
        sum.bytes = bytes > sum.bytes ? bytes : sum.bytes;
    }
    sum.wasted -= sum.bytes;
    return sum;
}

struct hp_duplicate *hp_duplicates(const struct hp_graph *graph, size_t *count)
{
    size_t room = (size_t)graph->text_count + 1, next;
    struct entry *entries = malloc(room * sizeof(*entries));
    struct hp_duplicate *duplicates = malloc(room * sizeof(*duplicates));
    *count = 0;
    if (!entries || !duplicates) {
        free(entries);
        free(duplicates);
        return NULL;
    }
    for (uint32_t i = 0; i < graph->text_count; i++)
        entries[i] = (struct entry){&graph->texts[i], graph->node_types[graph->texts[i].node]};
    qsort(entries, graph->text_count, sizeof(*entries), by_contents);
    for (size_t i = 0; i < graph->text_count; i = next) {
        for (next = i + 1; next < graph->text_count; next++)
            if (by_contents(&entries[i], &entries[next]) != 0)
                break;
        if (next - i > 1)
            duplicates[(*count)++] = add_up(graph, entries + i, next - i);
    }
    qsort(duplicates, *count, sizeof(*duplicates), by_wasted);
    free(entries);
    return duplicates;
}
