/*
 * HOT: the path of an event that is enabled in exactly one session, has a fixed size, and finds
 * room.
 *
 * Every other case leaves by a tail call, so this function has no call, no locked instruction, no
 * fence and no stack frame (tests/codegen checks the object code).
 */
#include "event/event.h"
#include "base/compiler.h"
#include "lane/lane_write.h"
#include "os/clock.h"

/* Copies `bytes` bytes. Both pointers point at the end of their data, so one register is both
 * counter and index. Payloads are readable up to a multiple of eight bytes. Not memcpy: a call
 * costs more than the copy of a typical event. Never two words at a time: the processor cannot
 * forward two words that the emitter has just stored one by one to a single load. */
WR_INLINE void copy_words_before(unsigned char *to_end, const unsigned char *from_end,
                                 int64_t bytes)
{
    for (int64_t at = -bytes; at != 0; at += 8)
        __builtin_memcpy(to_end + at, from_end + at, 8);
}

WEIR_API bool weir_emit(const struct weir_event *event, const void *payload)
{
    struct wr_thread *thread = wr_self.ready;
    if (WR_UNLIKELY(!thread))
        return wr_emit_slow(event, payload);
    /* From here on, a signal handler that emits finds NULL and counts its event as nested. */
    wr_self.ready = NULL;
    wr_compiler_barrier();
    uint64_t pin = wr_pin_enter(thread);

    /* edge ENABLE.acquire: the session behind each bit; QUIESCE: the pin's store, then this load */
    uint64_t mask = wr_mask_load_seq_cst(&event->enabled);
    /* Leave unless exactly one bit is set. One comparison tests both: only a power of two is not 0
     * and shares no bit with its predecessor. */
    if (WR_UNLIKELY((mask ^ (mask - 1)) <= mask - 1))
        return wr_emit_pinned_slow(event, payload);
    /* relaxed: only this thread stores it while its pin is odd */
    struct wr_lane *lane = wr_ptr_load_relaxed(&thread->lanes[__builtin_ctzll(mask)]);
    if (WR_UNLIKELY(!lane))
        return wr_emit_pinned_slow(event, payload);
    uint32_t end = wr_lane_end(lane);
    if (WR_UNLIKELY(end == 0))
        return wr_emit_no_segment_slow(event, thread, lane, pin, payload);
    uint64_t bytes = event->record_bytes, commit;
    struct wr_segment *segment;
    if (WR_UNLIKELY(!wr_lane_fits(lane, end, bytes, &segment, &commit)))
        return wr_emit_pinned_slow(event, payload);
    unsigned char *record = wr_segment_cursor(segment, commit);
    wr_prefetch_write(record + WR_PREFETCH_BYTES);
    uint64_t ticks = wr_clock_counter() - segment->base_ticks;
    if (WR_UNLIKELY(ticks > WR_RECORD_TICK_MAX))
        return wr_emit_pinned_slow(event, payload);

    uint64_t header = wr_record_header(event->index, ticks);
    __builtin_memcpy(record, &header, sizeof header);
    uint64_t payload_bytes = bytes - WR_RECORD_HEADER_BYTES;
    copy_words_before(record + bytes, (const unsigned char *)payload + payload_bytes,
                      (int64_t)payload_bytes);
    wr_segment_commit(segment, commit, bytes);

    wr_pin_leave_own(thread);
    wr_compiler_barrier();
    wr_self.ready = thread;
    return true;
}
