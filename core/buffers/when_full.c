#include "buffers/when_full.h"

#include "lane/lane_write.h"
#include "os/clock.h"
#include "os/os.h"

/* A segment that has been in use, whose pages are there, else one that has not. */
static struct wr_segment *free_take(struct wr_buffers *buffers)
{
    struct wr_segment *segment = wr_free_list_take(&buffers->free_list);
    /* relaxed: which thread gets which one is decided by the addition */
    if (segment || wr_u32_load_relaxed(&buffers->carved) >= buffers->segment_count)
        return segment;
    uint32_t index = wr_u32_add_acq_rel(&buffers->carved, 1);
    if (index >= buffers->segment_count)
        return NULL; /* at most one step too far for each thread; the word cannot wrap */
    return (void *)(buffers->arena + (uint64_t)index * buffers->segment_bytes);
}

/* Tells the drain, once, that it should look for segments that idle threads hold. */
static void starve(struct wr_buffers *buffers)
{
    /* relaxed: a hint; most dropped events stop here */
    if (wr_u32_load_relaxed(&buffers->is_starved))
        return;
    if (wr_u32_exchange_acq_rel(&buffers->is_starved, 1) == 0)
        wr_bell_ring(&buffers->bell);
}

void wr_when_full_drop(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    starve(buffers);
    if (!buffers->blocks)
        lane->skips = wr_buffers_is_crowd(buffers) ? WR_SKIPS_IN_CROWD : WR_SKIPS;
    lane->skip_cause = lane->held_before ? WEIR_LOSS_FULL : WEIR_LOSS_NO_SEGMENT;
    wr_buffers_count_lost(lane, lane->skip_cause);
}

static void free_give_all(struct wr_buffers *buffers, struct wr_segment *first)
{
    while (first) {
        struct wr_segment *next = first->newer; /* read before the segment may be taken again */
        wr_data_read(&first->newer, sizeof first->newer);
        wr_free_list_give(&buffers->free_list, first);
        first = next;
    }
}

/* In a crowd, more threads than half of the segments, the last free ones, half of all, are lent for
 * one record at a time to threads that went without for some milliseconds. Without that a few keep
 * all: a thread that emits all the time is preempted inside its pin, with its segment, and whatever
 * comes free is taken by whoever runs just then. */
static bool may_take(struct wr_lane *lane, uint32_t count)
{
    const struct wr_buffers *buffers = lane->buffers;
    lane->is_borrowed = 0;
    /* relaxed, three times: hints */
    if (wr_u32_load_relaxed(&buffers->carved) < buffers->segment_count ||
        wr_u32_load_relaxed(&buffers->free_list.count) >= count + wr_buffers_reserve(buffers))
        return true;
    lane->is_borrowed = count == 1 && wr_clock_ticks() - lane->fed_ticks >= WR_DUE_TICKS;
    return lane->is_borrowed;
}

static struct wr_segment *take_or_drop(struct wr_lane *lane, uint32_t count)
{
    struct wr_segment *first = NULL;
    if (!may_take(lane, count)) {
        wr_when_full_drop(lane);
        return NULL;
    }
    for (; count > 0; count--) {
        struct wr_segment *segment = free_take(lane->buffers);
        if (!segment) {
            free_give_all(lane->buffers, first);
            wr_when_full_drop(lane);
            return NULL;
        }
        segment->newer = first;
        wr_data_written(&segment->newer, sizeof segment->newer);
        first = segment;
    }
    lane->fed_ticks = wr_clock_ticks();
    return first;
}

struct wr_segment *wr_when_full_take(struct wr_lane *lane, uint32_t count)
{
    return lane->buffers->blocks ? wr_block_take(lane, count) : take_or_drop(lane, count);
}

void wr_when_full_return(struct wr_lane *lane, struct wr_segment *first)
{
    wr_place_of(lane)->in_hand = NULL;
    if (lane->buffers->blocks)
        wr_block_return(lane, first);
    else
        free_give_all(lane->buffers, first);
}

void wr_when_full_give(struct wr_buffers *buffers, struct wr_segment *segment)
{
    if (buffers->blocks)
        wr_block_give(buffers, segment);
    else
        wr_free_list_give(&buffers->free_list, segment);
}
