/*
 * The path of an event with strings or arrays that is enabled in exactly one session, finds room
 * and has no stamp of the caller's. The fast path leaves to it, inside the pin.
 *
 * The payload is measured while it is written, so that each string is read for its end only once.
 * What does not fit stays uncommitted, and the slow path begins anew.
 */
#include "event/payload.h"
#include "lane/lane_write.h"
#include "os/clock.h"

bool wr_emit_unfit(const struct weir_event *event, const void *payload, struct wr_lane *lane,
                   uint64_t commit, struct wr_segment *segment)
{
    /* A fault in the host's strings may jump: weir_thread_reset() then counts the event in these
     * sessions. relaxed: no session is entered because of this mask */
    wr_self.pending = wr_mask_load_relaxed(&event->enabled);
    wr_compiler_barrier();
    unsigned char *begin = wr_segment_cursor(segment, commit) + WR_RECORD_HEAD_BYTES;
    WR_OPAQUE(begin); /* the only pointer into the record that is kept across the copy */
    /* If the drain has begun to revoke the segment meanwhile, nothing fits. */
    const unsigned char *end = (const unsigned char *)segment + wr_lane_end(lane);
    uint64_t bytes = wr_payload_put_within(wr_definition_here(event)->steps, payload, begin, end);
    if (WR_UNLIKELY(bytes > WR_PAYLOAD_BYTES_SURE))
        return wr_emit_pinned_slow(event, payload);
    /* relaxed: see wr_lane_fits(). Loaded again, because the copy leaves no register for it */
    segment = wr_ptr_load_relaxed(&lane->current);
    uint64_t ticks = wr_clock_counter() - segment->base_ticks;
    if (WR_UNLIKELY(ticks > WR_RECORD_TICK_MAX))
        return wr_emit_pinned_slow(event, payload);
    uint64_t header = event->header | WR_RECORD_EXTENSION | ticks;
    memcpy(begin - WR_RECORD_HEAD_BYTES, &header, sizeof header);
    memcpy(begin - WR_RECORD_EXTENSION_BYTES, &bytes, sizeof bytes);
    wr_segment_commit(segment, commit, wr_record_bytes((uint32_t)bytes, true));
    wr_pin_leave_own(lane->thread);
    wr_compiler_barrier();
    wr_self.pending = 0;
    return true;
}
