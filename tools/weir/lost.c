#include "lost.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>

void wt_tally_define(struct wt_tally *tally, const struct wt_metadata *metadata)
{
    tally->fields = wt_grow(tally->fields, &tally->field_capacity, (size_t)metadata->index + 1,
                            sizeof(*tally->fields));
    tally->fields[metadata->index] = wt_loss_bind(metadata);
}

static struct wt_told *told_of(struct wt_tally *tally, uint64_t capture_thread)
{
    const uint32_t *found = wt_map_find(&tally->map, capture_thread);
    if (found)
        return &tally->threads[*found];
    tally->threads = wt_grow(tally->threads, &tally->thread_capacity, tally->thread_count + 1,
                             sizeof(*tally->threads));
    wt_map_insert(&tally->map, capture_thread, (uint32_t)tally->thread_count);
    tally->threads[tally->thread_count].capture_thread = capture_thread;
    return &tally->threads[tally->thread_count++];
}

static void add(struct wt_told *told, const struct wt_loss *loss)
{
    told->causes[loss->cause] += loss->count;
    told->total += loss->count;
}

void wt_tally_add(struct wt_tally *tally, const struct wt_loss *loss)
{
    add(told_of(tally, loss->capture_thread), loss);
    add(&tally->all, loss);
}

void wt_tally_fini(struct wt_tally *tally)
{
    free(tally->fields);
    free(tally->threads);
    wt_map_fini(&tally->map);
}

const struct wt_told *wt_tally_of(const struct wt_tally *tally, uint64_t capture_thread)
{
    static const struct wt_told none;
    const uint32_t *found = wt_map_find(&tally->map, capture_thread);
    return found ? &tally->threads[*found] : &none;
}

uint64_t wt_lost_at_least(const struct wt_tally *tally, const struct wt_thread *thread)
{
    uint64_t told = wt_tally_of(tally, thread->capture_thread)->total;
    return told > thread->lost ? told : thread->lost;
}

static uint64_t unknown_after_ns(const struct wt_reader *reader)
{
    const struct wt_totals *totals = wt_reader_totals(reader);
    if (totals->points == 0)
        return 0;
    int64_t ns = wt_time_relative_ns(wt_reader_trace(reader), totals->point_time);
    return ns > 0 ? (uint64_t)ns : 0;
}

/* Loss events may name threads that the file has not introduced yet: these losses count too. */
static uint64_t sum_at_least(const struct wt_tally *tally, const struct wt_reader *reader)
{
    uint64_t sum = tally->all.total;
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(reader, i)); i++)
        sum += wt_lost_at_least(tally, thread) - wt_tally_of(tally, thread->capture_thread)->total;
    return sum;
}

struct wt_lost wt_lost_of(const struct wt_tally *tally, const struct wt_reader *reader)
{
    struct wt_lost lost = {.is_known = wt_lost_is_known(reader)};
    lost.count = lost.is_known ? wt_reader_totals(reader)->lost : sum_at_least(tally, reader);
    lost.unknown_after_ns = lost.is_known ? 0 : unknown_after_ns(reader);
    return lost;
}

void wt_lost_text(const struct wt_lost *lost, char out[80])
{
    if (lost->is_known) {
        snprintf(out, 80, "%" PRIu64, lost->count);
        return;
    }
    int used = 0;
    if (lost->count > 0)
        used = snprintf(out, 80, "at least %" PRIu64 ", ", lost->count);
    uint64_t ms = lost->unknown_after_ns / 1000000; /* rounded down: losses are known until then */
    snprintf(out + used, (size_t)(80 - used), "unknown after %" PRIu64 ".%03" PRIu64 " s",
             ms / 1000, ms % 1000);
}

void wt_lost_json(const struct wt_lost *lost, struct wt_json *json)
{
    if (lost->is_known)
        wt_json_u64(json, "lost", lost->count);
    else
        wt_json_null(json, "lost");
    wt_json_u64(json, "lost_at_least", lost->count);
    if (lost->is_known)
        wt_json_null(json, "lost_unknown_after_ns");
    else
        wt_json_u64(json, "lost_unknown_after_ns", lost->unknown_after_ns);
}
