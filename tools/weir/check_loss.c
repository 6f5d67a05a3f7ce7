/* Compares reported losses with gaps: emitted = written + lost, by cause and by place. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>

void wt_loss_check_gap(struct loss_check *check, const struct wt_gap *gap)
{
    /* Adjacent gaps are one: a step too large for one point is written as several. */
    if (check->gap_count > check->gaps_at_point) {
        struct gap_note *last = &check->gaps[check->gap_count - 1];
        if (last->thread == gap->thread->index && last->after + last->count == gap->after_number) {
            last->count += gap->count;
            return;
        }
    }
    check->gaps =
        wt_grow(check->gaps, &check->gap_capacity, check->gap_count + 1, sizeof(*check->gaps));
    struct gap_note *note = &check->gaps[check->gap_count++];
    note->thread = gap->thread->index;
    note->after = gap->after_number;
    note->count = gap->count;
    note->told = 0;
    note->offset = gap->offset;
}

void wt_loss_check_loss(struct loss_check *check, const struct wt_loss *loss, uint64_t offset)
{
    check->losses = wt_grow(check->losses, &check->loss_capacity, check->loss_count + 1,
                            sizeof(*check->losses));
    check->losses[check->loss_count].loss = *loss;
    check->losses[check->loss_count++].offset = offset;
}

void wt_loss_check_point(struct loss_check *check)
{
    check->gaps_at_point = check->gap_count;
    check->losses_at_point = check->loss_count;
}

static int by_place(const void *a, const void *b)
{
    const struct gap_note *left = a;
    const struct gap_note *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return (left->after > right->after) - (left->after < right->after);
}

/* Merges adjacent gaps of a thread between which gaps of other threads were seen. */
static void merge_gaps(struct loss_check *check)
{
    size_t kept = 0;
    if (check->gap_count == 0)
        return;
    qsort(check->gaps, check->gap_count, sizeof(*check->gaps), by_place);
    for (size_t i = 1; i < check->gap_count; i++) {
        struct gap_note *last = &check->gaps[kept];
        if (last->thread == check->gaps[i].thread &&
            last->after + last->count == check->gaps[i].after)
            last->count += check->gaps[i].count;
        else
            check->gaps[++kept] = check->gaps[i];
    }
    check->gap_count = kept + 1;
}

struct range {
    size_t begin, end; /* of gaps[] */
    size_t next;       /* where the last loss was found: the next one is usually near */
};

/* By thread index. Returns NULL if there are no gaps. */
static struct range *ranges_of(const struct loss_check *check, size_t *count)
{
    struct range *ranges = NULL;
    *count = 0;
    for (size_t i = 0; i < check->gap_count; i++) {
        size_t thread = check->gaps[i].thread;
        ranges = wt_grow(ranges, count, thread + 1, sizeof(*ranges));
        if (ranges[thread].end == 0)
            ranges[thread].begin = ranges[thread].next = i;
        ranges[thread].end = i + 1;
    }
    return ranges;
}

static bool holds(const struct gap_note *gap, uint32_t after)
{
    return (uint32_t)(after - (uint32_t)gap->after) < gap->count;
}

/* The gap that has room for the loss at its place; *touched is set if there is any gap at that
 * place. */
static struct gap_note *find_gap(struct loss_check *check, struct range *range,
                                 const struct wt_loss *loss, bool *touched)
{
    size_t size = range->end - range->begin;
    *touched = false;
    for (size_t i = 0; i < size; i++) {
        size_t at = range->begin + (range->next - range->begin + i) % size;
        struct gap_note *gap = &check->gaps[at];
        if (!holds(gap, loss->after))
            continue;
        *touched = true;
        if (gap->count - gap->told < loss->count)
            continue;
        range->next = at;
        return gap;
    }
    return NULL;
}

/* The first misplaced losses are enough to report; finding the place of all of them in a trace that
 * is wrong throughout would take quadratic time. */
#define MISPLACED_MAX 1000u

static bool place_loss(struct loss_check *check, const struct loss_note *note, struct range *ranges,
                       size_t range_count, wt_found found, void *context)
{
    const struct wt_loss *loss = &note->loss;
    const uint32_t *thread = wt_map_find(&check->threads, loss->capture_thread);
    bool touched = false;
    struct gap_note *gap = NULL;
    if (thread && *thread < range_count && ranges[*thread].end > 0)
        gap = find_gap(check, &ranges[*thread], loss, &touched);
    if (gap) {
        gap->told += loss->count;
        return true;
    }
    if (loss->cause == WT_CAUSE_SINK_FAILED)
        return true;
    char text[200];
    snprintf(text, sizeof(text),
             "%s %" PRIu64 " after number %" PRIu32 " of capture thread %" PRIu64 " %s",
             wt_cause_name(loss->cause), loss->count, loss->after, loss->capture_thread,
             touched ? "is more than its gap" : "is not in a gap of that thread");
    found(context, touched ? WT_RULE_LOSS_COUNT : WT_RULE_LOSS_PLACE, note->offset, text);
    return false;
}

static void check_gaps(const struct loss_check *check, const struct wt_reader *reader,
                       wt_found found, void *context)
{
    for (size_t i = 0; i < check->gap_count; i++) {
        const struct gap_note *gap = &check->gaps[i];
        if (gap->told == gap->count)
            continue;
        char text[200];
        snprintf(text, sizeof(text),
                 "gap of %" PRIu64 " after number %" PRIu64 " of capture thread %" PRIu64
                 ": %" PRIu64 " reported by Loss events",
                 gap->count, gap->after, wt_reader_thread(reader, gap->thread)->capture_thread,
                 gap->told);
        found(context, WT_RULE_LOSS_COUNT, gap->offset, text);
    }
}

void wt_loss_check_finish(struct loss_check *check, const struct wt_reader *reader, bool truncated,
                          wt_found found, void *context)
{
    if (truncated)
        check->gap_count = check->gaps_at_point;
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(reader, i)); i++)
        wt_map_insert(&check->threads, thread->capture_thread, i);
    merge_gaps(check);
    size_t range_count;
    struct range *ranges = ranges_of(check, &range_count);
    size_t losses = truncated ? check->losses_at_point : check->loss_count;
    unsigned misplaced = 0;
    for (size_t i = 0; i < losses && misplaced < MISPLACED_MAX; i++)
        misplaced += !place_loss(check, &check->losses[i], ranges, range_count, found, context);
    if (misplaced < MISPLACED_MAX)
        check_gaps(check, reader, found, context);
    free(ranges);
}

void wt_loss_check_fini(struct loss_check *check)
{
    free(check->gaps);
    free(check->losses);
    wt_map_fini(&check->threads);
}
