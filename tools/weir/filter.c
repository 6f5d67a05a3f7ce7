#include "filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Options. -------------------------------------------------------------------------------- */

static void add(struct wt_patterns *patterns, const char *text)
{
    patterns->rows =
        wt_grow(patterns->rows, &patterns->capacity, patterns->count + 1, sizeof(*patterns->rows));
    struct wt_pattern *row = &patterns->rows[patterns->count++];
    char *end;
    row->name = text;
    errno = 0;
    row->number = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    row->is_number = strchr("-0123456789", *text) && *text && !*end && errno == 0;
}

bool wt_filter_option(struct wt_filter *filter, int option, const char *text)
{
    switch (option) {
    case WT_OPTION_PROVIDER:
        add(&filter->providers, text);
        return true;
    case WT_OPTION_EVENT:
        add(&filter->events, text);
        return true;
    case WT_OPTION_THREAD:
        add(&filter->threads, text);
        return true;
    default:
        return false;
    }
}

bool wt_filter_is_set(const struct wt_filter *filter)
{
    return filter->providers.count + filter->events.count + filter->threads.count > 0;
}

/* --- Events. --------------------------------------------------------------------------------- */

static bool has_name(const struct wt_patterns *patterns, const char *name,
                     int (*compare)(const char *, const char *))
{
    for (size_t i = 0; name && i < patterns->count; i++)
        if (compare(patterns->rows[i].name, name) == 0)
            return true;
    return false;
}

static bool has_number(const struct wt_patterns *patterns, uint64_t number)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (patterns->rows[i].is_number && patterns->rows[i].number == number)
            return true;
    return false;
}

bool wt_filter_takes(const struct wt_filter *filter, const struct wt_metadata *metadata)
{
    if (filter->providers.count &&
        !has_name(&filter->providers, metadata->provider_name, strcasecmp))
        return false;
    return !filter->events.count || has_name(&filter->events, metadata->event_name, strcmp) ||
           has_number(&filter->events, (uint64_t)(int64_t)metadata->event_id);
}

void wt_filter_define(struct wt_filter *filter, const struct wt_metadata *metadata)
{
    filter->verdicts =
        wt_grow(filter->verdicts, &filter->verdict_capacity, (size_t)metadata->index + 1, 1);
    filter->verdicts[metadata->index] = wt_filter_takes(filter, metadata);
}

static bool by_number_or_name(const struct wt_filter *filter, const struct wt_thread *thread)
{
    return has_number(&filter->threads, thread->capture_thread) ||
           has_name(&filter->threads, thread->name, strcmp);
}

/* Names come from the file's own events, so a thread may have others later. */
static bool pass_thread(struct wt_filter *filter, const struct wt_event *event)
{
    if (!filter->threads.count)
        return true;
    if (!has_number(&filter->threads, event->thread_id) &&
        !by_number_or_name(filter, event->thread))
        return false;
    filter->threads_passed = wt_grow(filter->threads_passed, &filter->thread_capacity,
                                     (size_t)event->thread->index + 1, sizeof(bool));
    return filter->threads_passed[event->thread->index] = true;
}

bool wt_filter_event(struct wt_filter *filter, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    /* The thread first: it passes even if none of its events does. */
    bool passes = pass_thread(filter, event) &&
                  (metadata->undefined ? wt_filter_takes(filter, metadata)
                                       : filter->verdicts[metadata->index] != 0);
    filter->passed += passes;
    return passes;
}

bool wt_filter_thread(const struct wt_filter *filter, const struct wt_thread *thread)
{
    return !filter->threads.count || by_number_or_name(filter, thread) ||
           (thread->index < filter->thread_capacity && filter->threads_passed[thread->index]);
}

/* --- Results. -------------------------------------------------------------------------------- */

static void add_told(struct wt_told *sum, const struct wt_told *told)
{
    sum->total += told->total;
    for (int c = 0; c < WT_CAUSE_COUNT; c++)
        sum->causes[c] += told->causes[c];
}

/* A Loss event may name a thread that the file does not introduce: only its number is known. */
struct wt_told wt_filter_told(const struct wt_filter *filter, const struct wt_tally *tally,
                              const struct wt_reader *reader)
{
    struct wt_told sum = {0};
    struct wt_map known = {0};
    const struct wt_thread *thread;
    if (!filter->threads.count)
        return tally->all;
    for (uint32_t i = 0; (thread = wt_reader_thread(reader, i)); i++) {
        wt_map_insert(&known, thread->capture_thread, i);
        if (wt_filter_thread(filter, thread))
            add_told(&sum, wt_tally_of(tally, thread->capture_thread));
    }
    for (size_t i = 0; i < tally->thread_count; i++)
        if (!wt_map_find(&known, tally->threads[i].capture_thread) &&
            has_number(&filter->threads, tally->threads[i].capture_thread))
            add_told(&sum, &tally->threads[i]);
    wt_map_fini(&known);
    return sum;
}

struct wt_lost wt_filter_lost(const struct wt_filter *filter, const struct wt_tally *tally,
                              const struct wt_reader *reader)
{
    struct wt_lost lost = wt_lost_of(tally, reader);
    const struct wt_thread *thread;
    if (!filter->threads.count)
        return lost;
    lost.count = lost.is_known ? 0 : wt_filter_told(filter, tally, reader).total;
    for (uint32_t i = 0; (thread = wt_reader_thread(reader, i)); i++) {
        uint64_t told = wt_tally_of(tally, thread->capture_thread)->total;
        if (!wt_filter_thread(filter, thread))
            continue;
        lost.count += lost.is_known ? thread->lost : wt_lost_at_least(tally, thread) - told;
    }
    return lost;
}

void wt_filter_complain(const struct wt_filter *filter, const struct wt_run *run)
{
    if (!wt_filter_is_set(filter) || filter->passed > 0)
        return;
    wt_complain("%s: nothing matches the filters, of %" PRIu64 " events", run->path,
                wt_reader_totals(run->reader)->events);
}

static void json_patterns(struct wt_json *json, const char *key, const struct wt_patterns *patterns)
{
    wt_json_array(json, key);
    for (size_t i = 0; i < patterns->count; i++)
        wt_json_string(json, NULL, patterns->rows[i].name);
    wt_json_end(json);
}

void wt_filter_json(const struct wt_filter *filter, const struct wt_reader *reader,
                    struct wt_json *json)
{
    if (!wt_filter_is_set(filter))
        return;
    wt_json_object(json, "filter");
    json_patterns(json, "provider", &filter->providers);
    json_patterns(json, "event", &filter->events);
    json_patterns(json, "thread", &filter->threads);
    wt_json_u64(json, "passed", filter->passed);
    wt_json_u64(json, "of", wt_reader_totals(reader)->events);
    wt_json_end(json);
}

void wt_filter_fini(struct wt_filter *filter)
{
    free(filter->providers.rows);
    free(filter->events.rows);
    free(filter->threads.rows);
    free(filter->verdicts);
    free(filter->threads_passed);
    memset(filter, 0, sizeof(*filter));
}
