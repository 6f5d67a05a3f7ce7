/*
 * HOT: the path of an event that is enabled in exactly one session, has a fixed size, and finds
 * room; with a stamp that is read here, or with the caller's.
 *
 * Every other case leaves by a tail call, so these functions have no call, no locked instruction, no
 * fence and no stack frame (tests/codegen checks the object code).
 */
#include "event/payload.h"
#include "base/compiler.h"
#include "buffers/mode_drop.h"
#include "lane/lane_change.h"
#include "os/clock.h"

/* How many words an event has in registers. Each function below passes a constant, so that only its
 * own case remains of emit(). */
#define IN_MEMORY UINT32_MAX

WR_INLINE void put_words(unsigned char *record, uint32_t words, uint64_t a, uint64_t b, uint64_t c,
                         uint64_t d, uint64_t e)
{
    uint64_t *out = (uint64_t *)(void *)(record + WR_RECORD_HEADER_BYTES);
    if (words > 0)
        out[0] = a;
    if (words > 1)
        out[1] = b;
    if (words > 2)
        out[2] = c;
    if (words > 3)
        out[3] = d;
    if (words > 4)
        out[4] = e;
}

/* The slow path for an event as it was passed. `is_given` is a constant, too: the stamp is the
 * caller's. */
WR_INLINE bool slow(const struct weir_event *event, const void *payload, bool is_given,
                    uint64_t stamp, uint32_t words, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                    uint64_t e)
{
    if (words == IN_MEMORY)
        return is_given ? wr_emit_at_slow(event, stamp, payload) : wr_emit_slow(event, payload);
    return is_given ? wr_emit_words_at_slow(event, stamp, a, b, c, d)
                    : wr_emit_words_slow(event, a, b, c, d, e);
}

WR_INLINE bool pinned_slow(const struct weir_event *event, const void *payload, bool is_given,
                           uint64_t stamp, uint32_t words, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d, uint64_t e)
{
    if (is_given)
        return words == IN_MEMORY ? wr_emit_at_pinned_slow(event, stamp, payload)
                                  : wr_emit_words_at_pinned_slow(event, stamp, a, b, c, d);
    switch (words) {
    case 0:
        return wr_emit_pinned_words0(event);
    case 1:
        return wr_emit_pinned_words1(event, a);
    case 2:
        return wr_emit_pinned_words2(event, a, b);
    case 3:
        return wr_emit_pinned_words3(event, a, b, c);
    case 4:
        return wr_emit_pinned_words4(event, a, b, c, d);
    case 5:
        return wr_emit_pinned_words5(event, a, b, c, d, e);
    default:
        return wr_emit_pinned_slow(event, payload);
    }
}

/* Drops an event whose lane waits for a segment and has got none, at a fraction of an event's cost.
 * The loss has the cause that the lane recorded when it enrolled. */
WR_INLINE bool drop(struct wr_thread *thread, bool is_given, uint64_t pin, struct wr_lane *lane)
{
    unsigned cause = lane->skip_cause;
    thread->last_loss = cause;
    wr_lane_count_lost(lane, cause);
    if (is_given)
        wr_pin_leave_own(thread); /* no register is left for `pin` */
    else
        wr_pin_leave_from(thread, pin);
    return false;
}

/* Nothing is stored into the record before the clock is read: on Zen 1, a reading that follows such a
 * store ends 0.7 ns later, which is 5 % of an event. */
WR_INLINE bool emit(const struct weir_event *event, const void *payload, bool is_given,
                    uint64_t stamp, uint32_t words, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                    uint64_t e)
{
    const bool is_in_memory = words == IN_MEMORY;
    /* No argument is in it. An event in memory has few, and needs no such care. */
    const bool is_r9_free = !is_given && words < 5;
    struct wr_thread *thread = wr_self.ready;
    WR_PREFER(thread, "r11");
    uint64_t pin = wr_u64_own_load(&thread->pin);
    if (is_r9_free)
        WR_PREFER(pin, "r9");
    if (WR_UNLIKELY(wr_pin_is_inside(pin)))
        return slow(event, payload, is_given, stamp, words, a, b, c, d, e);
    /* From here on, a signal handler that emits finds the pin odd and counts its event as nested. */
    wr_pin_enter_from(thread, pin);

    /* edge ENABLE.acquire: the session behind the route; QUIESCE: the pin's store, then this load */
    uint32_t route = wr_route_load_seq_cst(&event->route);
    /* relaxed: only this thread stores it while its pin is odd. Without a lane it is WR_LANE_NONE, whose
     * `end` is 0. */
    struct wr_lane *lane = wr_ptr_load_relaxed(&thread->lanes[route]);
    WR_PREFER(lane, "r10");
    uint64_t bytes = is_in_memory ? event->record_bytes : WR_RECORD_HEADER_BYTES + 8 * words;
    WR_CHECK(event->record_bytes == bytes);
    uint32_t end = wr_lane_end(lane);
    if (WR_UNLIKELY(end == 0))
        /* Likely, so that a drop takes no further jump, which costs it a fifteenth of its time. */
        return !is_in_memory && WR_LIKELY(wr_turn_is_waiting(lane))
                   ? drop(thread, is_given, pin, lane)
                   : pinned_slow(event, payload, is_given, stamp, words, a, b, c, d, e);
    uint64_t commit;
    struct wr_segment *segment;
    if (WR_UNLIKELY(!wr_lane_fits(lane, end, bytes, &segment, &commit)))
        return is_in_memory && !is_given
                   ? wr_emit_unfit(event, payload, lane, commit, segment)
                   : pinned_slow(event, payload, is_given, stamp, words, a, b, c, d, e);
    WR_PREFER(segment, "r10");
    if (is_r9_free && words > 1)
        WR_PREFER(b, "r9"); /* its own register receives the counter */
    uint64_t ticks =
        is_given ? stamp - segment->given_base : wr_clock_counter() - segment->base_ticks;
    WR_COMPUTE_AGAIN(ticks);
    WR_COMPUTE_AGAIN(segment);
    if (WR_UNLIKELY(ticks > WR_RECORD_TICK_MAX))
        return pinned_slow(event, payload, is_given, ticks + segment->given_base, words, a, b, c, d,
                           e);

    commit = wr_segment_own_commit(segment);
    unsigned char *record = wr_segment_cursor(segment, commit);
    uint64_t header = event->header | ticks | (is_given ? WR_RECORD_IS_GIVEN : 0);
    __builtin_memcpy(record, &header, sizeof header);
    if (is_in_memory) {
        uint64_t payload_bytes = bytes - WR_RECORD_HEADER_BYTES;
        wr_words_copy_before(record + bytes, (const unsigned char *)payload + payload_bytes,
                             (int64_t)payload_bytes);
    } else {
        put_words(record, words, a, b, c, d, e);
    }
    wr_segment_commit(segment, commit, bytes);
    wr_pin_leave_own(thread);
    return true;
}

WEIR_API bool weir_emit(const struct weir_event *event, const void *payload)
{
    return emit(event, payload, false, 0, IN_MEMORY, 0, 0, 0, 0, 0);
}

WEIR_API bool weir_emit_words0(const struct weir_event *event)
{
    return emit(event, NULL, false, 0, 0, 0, 0, 0, 0, 0);
}

WEIR_API bool weir_emit_words1(const struct weir_event *event, uint64_t a)
{
    return emit(event, NULL, false, 0, 1, a, 0, 0, 0, 0);
}

WEIR_API bool weir_emit_words2(const struct weir_event *event, uint64_t a, uint64_t b)
{
    return emit(event, NULL, false, 0, 2, a, b, 0, 0, 0);
}

WEIR_API bool weir_emit_words3(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c)
{
    return emit(event, NULL, false, 0, 3, a, b, c, 0, 0);
}

WEIR_API bool weir_emit_words4(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c,
                               uint64_t d)
{
    return emit(event, NULL, false, 0, 4, a, b, c, d, 0);
}

WEIR_API bool weir_emit_words5(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c,
                               uint64_t d, uint64_t e)
{
    return emit(event, NULL, false, 0, 5, a, b, c, d, e);
}

/* --- With a stamp of the caller's. ------------------------------------------------------------ */

WEIR_API bool weir_emit_at(const struct weir_event *event, uint64_t stamp, const void *payload)
{
    return emit(event, payload, true, stamp, IN_MEMORY, 0, 0, 0, 0, 0);
}

WEIR_API bool weir_emit_words0_at(const struct weir_event *event, uint64_t stamp)
{
    return emit(event, NULL, true, stamp, 0, 0, 0, 0, 0, 0);
}

WEIR_API bool weir_emit_words1_at(const struct weir_event *event, uint64_t stamp, uint64_t a)
{
    return emit(event, NULL, true, stamp, 1, a, 0, 0, 0, 0);
}

WEIR_API bool weir_emit_words2_at(const struct weir_event *event, uint64_t stamp, uint64_t a,
                                  uint64_t b)
{
    return emit(event, NULL, true, stamp, 2, a, b, 0, 0, 0);
}

WEIR_API bool weir_emit_words3_at(const struct weir_event *event, uint64_t stamp, uint64_t a,
                                  uint64_t b, uint64_t c)
{
    return emit(event, NULL, true, stamp, 3, a, b, c, 0, 0);
}

WEIR_API bool weir_emit_words4_at(const struct weir_event *event, uint64_t stamp, uint64_t a,
                                  uint64_t b, uint64_t c, uint64_t d)
{
    return emit(event, NULL, true, stamp, 4, a, b, c, d, 0);
}
