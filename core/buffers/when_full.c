#include "buffers/when_full.h"

#include "buffers/turn.h"
#include "lane/lane_write.h"

/* Tells the drain, once, that it should look for segments that idle threads hold. */
static void starve(struct wr_buffers *buffers)
{
    /* relaxed: a hint; most dropped events stop here */
    if (wr_u32_load_relaxed(&buffers->is_starved))
        return;
    if (wr_u32_exchange_acq_rel(&buffers->is_starved, 1) == 0)
        wr_bell_ring(&buffers->bell);
}

void wr_when_full_lose(struct wr_lane *lane)
{
    lane->skip_cause = lane->held_before ? WEIR_LOSS_FULL : WEIR_LOSS_NO_SEGMENT;
    wr_buffers_count_lost(lane, lane->skip_cause);
}

void wr_when_full_drop(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    starve(buffers);
    if (!buffers->blocks)
        lane->skips = wr_buffers_is_crowd(buffers) ? WR_SKIPS_IN_CROWD : WR_SKIPS;
    wr_when_full_lose(lane);
}

struct wr_segment *wr_when_full_take(struct wr_lane *lane, uint32_t count)
{
    return lane->buffers->blocks ? wr_block_take(lane, count) : wr_turn_take(lane, count);
}

void wr_when_full_return(struct wr_lane *lane, struct wr_segment *first)
{
    wr_place_of(lane)->in_hand = NULL;
    if (lane->buffers->blocks)
        wr_block_return(lane, first);
    else
        wr_turn_return(lane, first);
}

void wr_when_full_give(struct wr_buffers *buffers, struct wr_segment *segment)
{
    if (buffers->blocks) {
        wr_block_give(buffers, segment);
        return;
    }
    wr_free_list_give(&buffers->free_list, segment);
    wr_turn_serve(buffers); /* at once: the drain may be about to block in the sink */
}
