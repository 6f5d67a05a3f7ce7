#include "buffers/chain.h"

#include "buffers/buffers.h"
#include "buffers/place.h"
#include "lane/lane_span.h"
#include "lane/lane_change.h"
#include "os/clock.h"

/* --- Writer's side. -------------------------------------------------------------------------- */

/* Announces segments that the writer has left. Rings the drain if threads wait for them, or if half
 * of what can become full is full since its last look: a drain that judges the flow rightly has come
 * by itself before that (session/drain_thread.c), so in a steady flow no thread pays for a wake. */
static void tell_retired(struct wr_lane *lane, uint32_t segments)
{
    struct wr_buffers *buffers = lane->buffers;
    wr_buffers_announce(lane);
    uint32_t half_held = wr_buffers_held(buffers) / 2;
    uint32_t wake_at = buffers->wake_at > half_held ? buffers->wake_at - half_held : 1;
    if (wr_u32_add_acq_rel(&buffers->retired, segments) + segments >= wake_at ||
        buffers->mode->is_needed(buffers))
        wr_bell_ring(&buffers->bell);
}

WR_COLD void wr_chain_retire(struct wr_lane *lane)
{
    if (wr_lane_retire(lane))
        tell_retired(lane, 1);
}

WR_COLD enum wr_room wr_chain_room(struct wr_lane *lane, struct wr_segment **segment,
                                   uint64_t *commit)
{
    const struct wr_buffers *buffers = lane->buffers;
    wr_chain_retire(lane);
    enum wr_room room = buffers->mode->take(lane, 1, segment);
    if (room != WR_ROOM)
        return room;
    wr_lane_open(lane, *segment, buffers->segment_bytes, wr_buffers_base_ticks());
    /* Do not check `end` again: a revocation may already have cleared it, but it cannot finish
     * while this pin is odd, so the segment is ours. */
    *commit = WR_SEGMENT_HEADER_BYTES;
    return WR_ROOM;
}

WR_COLD enum wr_room wr_chain_span_room(struct wr_lane *lane, uint32_t count,
                                        struct wr_segment **first)
{
    /* Retire first, even if there are too few segments: otherwise several threads could each hold a
     * segment that another one needs, and none would ever have enough. */
    wr_chain_retire(lane);
    return lane->buffers->mode->take(lane, count, first);
}

WR_COLD bool wr_chain_span_open(struct wr_lane *lane, const struct wr_span *span)
{
    wr_place_of(lane)->in_hand = NULL;
    wr_lane_push(lane, span->oldest, span->newest, lane->buffers->segment_bytes);
    tell_retired(lane, span->count - 1);
    return true;
}

WR_COLD struct wr_segment *wr_chain_take_in_hand(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_segment *first = place->in_hand;
    place->in_hand = NULL;
    return first;
}

/* --- Figures. -------------------------------------------------------------------------------- */

WR_COLD uint64_t wr_chain_attempts(struct wr_lane *lane, uint64_t lost[WR_LANE_CAUSES])
{
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lost[cause] = wr_u64_load_acquire(&lane->lost[cause]); /* edge LOST.acquire */
    return 0;
}

WR_COLD bool wr_chain_counts(struct wr_lane *lane, uint64_t *records, uint64_t *overwritten,
                             uint64_t limit_ns)
{
    (void)limit_ns;
    *overwritten = 0;
    *records = lane->records_read - lane->read_count;
    for (struct wr_segment *segment = lane->oldest; segment; segment = segment->newer)
        *records +=
            wr_commit_count(wr_u64_load_acquire(&segment->commit)); /* edge PUBLISH.acquire */
    /* edge CHAIN.acquire */
    for (struct wr_segment *segment = wr_ptr_load_acquire(&lane->opened); segment;
         segment = segment->older)
        *records +=
            wr_commit_count(wr_u64_load_acquire(&segment->commit)); /* edge PUBLISH.acquire */
    return true;
}
