/* The events of two traces, one by one. Each is kept as a number of 64 bits that depends on its
 * provider, name and fields; so long traces fit into memory, and the files are read again for what
 * differs. */
#include "diff.h"
#include "event_print.h"

#include <stdlib.h>
#include <string.h>

#define NO_THREAD UINT32_MAX

/* --- What an event says. --------------------------------------------------------------------- */

static void mix(uint64_t *hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ at[i]) * 0x100000001B3u;
    *hash ^= *hash >> 29;
}

static void mix_text(uint64_t *hash, const char *text)
{
    mix(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void mix_number(uint64_t *hash, uint64_t number)
{
    mix(hash, &number, sizeof(number));
}

struct content {
    const struct diff *diff;
    uint64_t hash;
    unsigned depth, ignored_depth; /* 0: nothing is left out */
};

static bool is_ignored(const struct diff *diff, const char *name)
{
    for (size_t i = 0; name && i < diff->ignored_count; i++)
        if (strcmp(diff->ignored[i], name) == 0)
            return true;
    return false;
}

/* An integer is the same in a field of another width. */
static void on_value(void *context, const char *name, const struct wt_value *value)
{
    struct content *content = context;
    if (content->ignored_depth || is_ignored(content->diff, name))
        return;
    mix_text(&content->hash, name);
    if (value->bytes)
        mix(&content->hash, value->bytes, value->size);
    else if (value->kind == WT_VALUE_SINGLE)
        mix(&content->hash, &value->as.f, sizeof(value->as.f));
    else
        mix_number(&content->hash, value->as.u);
}

static void on_begin(void *context, const char *name, bool array, uint32_t count)
{
    struct content *content = context;
    content->depth++;
    if (!content->ignored_depth && is_ignored(content->diff, name))
        content->ignored_depth = content->depth;
    if (content->ignored_depth)
        return;
    mix_text(&content->hash, name);
    mix_number(&content->hash, array ? count : UINT64_MAX);
}

static void on_end(void *context, bool array)
{
    struct content *content = context;
    (void)array;
    if (content->ignored_depth == content->depth)
        content->ignored_depth = 0;
    content->depth--;
}

static uint64_t hash_of(const struct diff_side *side, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {on_value, on_begin, on_end};
    const struct wt_metadata *metadata = event->metadata;
    size_t index = metadata->undefined ? 0 : (size_t)metadata->index + 1;
    struct content content = {.diff = side->diff,
                              .hash = index < side->hash_capacity ? side->name_hashes[index] : 0};
    size_t used = 0;
    if (!wt_fields_walk(metadata, event->payload, event->payload_size, &visitor, &content, &used))
        used = 0; /* the fields do not fit: all bytes count */
    mix(&content.hash, event->payload + used, event->payload_size - used);
    return content.hash;
}

/* --- Reading. -------------------------------------------------------------------------------- */

void diff_events_define(struct diff_side *side, const struct wt_metadata *metadata)
{
    size_t index = (size_t)metadata->index + 1;
    uint64_t hash = 0xCBF29CE484222325u;
    side->name_hashes =
        wt_grow(side->name_hashes, &side->hash_capacity, index + 1, sizeof(uint64_t));
    mix_text(&hash, metadata->provider_name);
    mix_text(&hash, metadata->event_name);
    if (!*metadata->event_name)
        mix_number(&hash, (uint64_t)metadata->event_id);
    side->name_hashes[index] = hash;
}

static struct diff_thread *thread_of(struct diff_side *side, uint32_t index)
{
    side->threads =
        wt_grow(side->threads, &side->thread_capacity, (size_t)index + 1, sizeof(*side->threads));
    return &side->threads[index];
}

void diff_events_add(struct diff_side *side, const struct wt_event *event)
{
    struct diff_thread *thread = thread_of(side, event->thread->index);
    thread->hashes =
        wt_grow(thread->hashes, &thread->capacity, thread->count + 1, sizeof(uint64_t));
    thread->hashes[thread->count++] = hash_of(side, event);
}

void diff_events_finish(struct diff_side *side)
{
    const struct wt_thread *thread;
    size_t names = 0, ids = 0;
    for (uint32_t i = 0; (thread = wt_reader_thread(side->run.reader, i)); i++) {
        thread_of(side, i)->wanted = NO_EVENT;
        side->names = wt_grow(side->names, &names, (size_t)i + 1, sizeof(char *));
        side->ids = wt_grow(side->ids, &ids, (size_t)i + 1, sizeof(uint64_t));
        side->names[i] = thread->name ? strdup(thread->name) : NULL;
        side->ids[i] = thread->capture_thread;
        side->thread_count = i + 1;
    }
}

/* --- Comparing. ------------------------------------------------------------------------------ */

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The next thread of B with events and that name; ids are no help: each run has others. */
static uint32_t partner_of(const struct diff *diff, uint32_t of)
{
    const struct diff_side *a = &diff->sides[0], *b = &diff->sides[1];
    for (uint32_t i = 0; i < b->thread_count; i++)
        if (b->threads[i].count && !b->threads[i].is_matched &&
            same_name(a->names[of], b->names[i]))
            return i;
    return NO_THREAD;
}

static uint64_t first_difference(const struct diff_thread *a, const struct diff_thread *b)
{
    size_t a_count = a ? a->count : 0, b_count = b ? b->count : 0;
    for (size_t i = 0; i < a_count && i < b_count; i++)
        if (a->hashes[i] != b->hashes[i])
            return i;
    return a_count == b_count ? NO_EVENT : a_count < b_count ? a_count : b_count;
}

static void add_pair(struct diff *diff, uint32_t a, uint32_t b)
{
    diff->pairs =
        wt_grow(diff->pairs, &diff->pair_capacity, diff->pair_count + 1, sizeof(*diff->pairs));
    struct diff_pair *pair = &diff->pairs[diff->pair_count++];
    struct diff_thread *left = a == NO_THREAD ? NULL : &diff->sides[0].threads[a];
    struct diff_thread *right = b == NO_THREAD ? NULL : &diff->sides[1].threads[b];
    pair->index[0] = a;
    pair->index[1] = b;
    pair->at = first_difference(left, right);
    if (left)
        left->wanted = pair->at;
    if (right) {
        right->wanted = pair->at;
        right->is_matched = true;
    }
}

void diff_events_compare(struct diff *diff)
{
    for (uint32_t i = 0; i < diff->sides[0].thread_count; i++)
        if (diff->sides[0].threads[i].count)
            add_pair(diff, i, partner_of(diff, i));
    for (uint32_t i = 0; i < diff->sides[1].thread_count; i++)
        if (diff->sides[1].threads[i].count && !diff->sides[1].threads[i].is_matched)
            add_pair(diff, NO_THREAD, i);
}

/* --- Showing. -------------------------------------------------------------------------------- */

/* The second reading of a file; the first reader stays, for what it has. */
struct showing {
    struct diff_side *side;
    struct wt_run run;
};

static void show(const struct showing *showing, struct diff_thread *thread,
                 const struct wt_event *event)
{
    struct wt_json json;
    struct wt_event_printer printer = {.reader = showing->run.reader, .json = &json};
    printer.file = open_memstream(&thread->shown, &thread->shown_size);
    if (!printer.file) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    wt_json_init(&json, printer.file, false);
    if (showing->side->diff->as_json)
        wt_event_print_json(&printer, event);
    else
        wt_event_print_text(&printer, event);
    fclose(printer.file);
    if (thread->shown_size && thread->shown[thread->shown_size - 1] == '\n')
        thread->shown[thread->shown_size - 1] = '\0';
    wt_event_printer_fini(&printer);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct showing *showing = context;
    struct diff_side *side = showing->side;
    if (!wt_filter_event(&side->filter, event) || !diff_is_compared(event->metadata) ||
        event->thread->index >= side->thread_capacity)
        return;
    struct diff_thread *thread = &side->threads[event->thread->index];
    if (thread->seen++ == thread->wanted && !thread->shown)
        show(showing, thread, event);
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct showing *showing = context;
    wt_filter_define(&showing->side->filter, metadata);
}

static bool show_side(struct diff_side *side)
{
    static const struct wt_handlers handlers = {.metadata = on_metadata, .event = on_event};
    struct showing showing = {.side = side};
    if (!wt_run_open(&showing.run, side->path, NULL, &handlers, &showing))
        return false;
    wt_reader_run(showing.run.reader);
    wt_run_close(&showing.run);
    return true;
}

bool diff_events_show(struct diff *diff)
{
    bool differs = false;
    for (size_t i = 0; i < diff->pair_count; i++)
        differs = differs || diff->pairs[i].at != NO_EVENT;
    return !differs || (show_side(&diff->sides[0]) && show_side(&diff->sides[1]));
}

void diff_events_fini(struct diff *diff)
{
    for (int s = 0; s < 2; s++) {
        struct diff_side *side = &diff->sides[s];
        for (size_t i = 0; i < side->thread_capacity; i++) {
            free(side->threads[i].hashes);
            free(side->threads[i].shown);
        }
        for (uint32_t i = 0; i < side->thread_count; i++)
            free(side->names[i]);
        free(side->threads);
        free(side->names);
        free(side->ids);
        free(side->name_hashes);
    }
    free(diff->pairs);
    free(diff->ignored);
}
