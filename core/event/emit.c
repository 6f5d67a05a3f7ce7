/*
 * HOT: the way of an event that is enabled in one session, has a fixed size, and finds room.
 *
 * Everything else leaves by a tail call, so that this function has no call, no locked instruction,
 * no fence and no stack frame of its own (tests/codegen checks the object code).
 */
#include "event/event.h"
#include "base/compiler.h"
#include "lane/lane_write.h"
#include "os/clock.h"

/* Payloads are readable up to a multiple of eight bytes. Not memcpy: a call would cost more than
 * the copy of a typical event. */
WR_INLINE void copy_words(uint64_t *to, const uint64_t *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes / 8; i++)
        to[i] = from[i];
}

WEIR_API bool weir_emit(struct weir_event *event, const void *payload)
{
    struct wr_thread *thread = wr_self.ready;
    if (WR_UNLIKELY(!thread))
        return wr_emit_slow(event, payload);
    /* A signal handler that emits from here on finds NULL and counts itself as nested. */
    wr_self.ready = NULL;
    wr_compiler_barrier();
    uint64_t pin = wr_pin_enter(thread);

    /* edge ENABLE.acquire: the session behind each bit; QUIESCE: the pin's store, then this load */
    uint64_t mask = wr_mask_load_seq_cst(&event->enabled);
    if (WR_UNLIKELY((mask & (mask - 1)) != 0 || mask == 0))
        return wr_emit_pinned_slow(event, payload);
    /* relaxed: only this thread stores it while its pin is odd */
    struct wr_lane *lane = wr_ptr_load_relaxed(&thread->lanes[__builtin_ctzll(mask)]);
    if (WR_UNLIKELY(!lane))
        return wr_emit_pinned_slow(event, payload);
    uint32_t bytes = event->record_bytes;
    uint64_t commit;
    struct wr_segment *segment = wr_lane_room(lane, bytes, &commit);
    if (WR_UNLIKELY(!segment))
        return wr_emit_pinned_slow(event, payload);
    uint64_t ticks = wr_clock_tsc() - segment->base_ticks;
    if (WR_UNLIKELY(ticks > WR_RECORD_TICK_MAX))
        return wr_emit_pinned_slow(event, payload);

    uint64_t *record = (void *)wr_segment_cursor(segment, commit);
    record[0] = wr_record_header(event->index, ticks);
    copy_words(record + 1, payload, bytes - WR_RECORD_HEADER_BYTES);
    wr_segment_commit(segment, commit, bytes);

    wr_pin_leave(thread, pin);
    wr_compiler_barrier();
    wr_self.ready = thread;
    return true;
}
