/*
 * An event that leaves the fast path inside its pin: for several sessions, for a lane without room, with
 * a stamp that does not fit into the record, or with strings or arrays and a stamp of the caller's. One
 * copy for each lane that has room; what is left continues in emit_slow.c.
 */
#include "event/event.h"

#include <string.h>
#include "buffers/buffers.h"
#include "buffers/mode_drop.h"
#include "event/payload.h"
#include "lane/lane_write.h"
#include "os/clock.h"

static WR_NOINLINE bool words_to_others(const struct weir_event *event, uint64_t a, uint64_t b,
                                        uint64_t c, uint64_t d, uint64_t e, uint64_t mask,
                                        uint64_t ticks)
{
    const uint64_t words[] = {a, b, c, d, e};
    const struct wr_stamp stamp = {.ticks = ticks, .is_given = false};
    return wr_emit_to_others(event, words, mask, stamp, ticks != 0);
}

/* Drops the event if its lane has no segment and is known to get none yet. A small record fits into
 * every segment, so the loss has the cause that the lane recorded. */
static WR_NOINLINE bool drop_at_once(struct wr_lane *lane, uint64_t bytes)
{
    if (wr_lane_end(lane) != 0 || bytes > WR_SEGMENT_BYTES_MIN - WR_SEGMENT_HEADER_BYTES ||
        !(wr_turn_is_waiting(lane) || wr_buffers_skip(lane)))
        return false;
    wr_buffers_count_lost(lane, lane->skip_cause);
    return true;
}

/* The words of a payload, as a constant that makes a loop into a line: 0 to 5, or one of these. */
#define ANY_FIXED UINT32_MAX
#define VARIABLE  (UINT32_MAX - 1)

#define WORDS_MAX (WEIR_PACKED_BYTES_MAX_ / 8)

/* What is the same in all sessions that get the event. */
struct copy {
    uint64_t header; /* without the time */
    uint64_t bytes;  /* of the record */
    const void *payload;
    uint64_t word[WORDS_MAX];                     /* instead of the payload; kept in registers */
    const struct wr_event_definition *definition; /* set if the payload is VARIABLE */
    struct wr_payload_size size;                  /* likewise */
};

WR_INLINE void copy_begin(struct copy *copy, const struct weir_event *event, const void *payload,
                          uint32_t words)
{
    copy->header = event->header;
    copy->payload = payload;
    copy->bytes = words <= WORDS_MAX ? WR_RECORD_HEADER_BYTES + 8 * words : event->record_bytes;
    if (words != VARIABLE)
        return;
    copy->definition = wr_definition_of(event);
    wr_payload_measure_steps(copy->definition, payload, &copy->size);
    copy->header |= WR_RECORD_EXTENSION;
    copy->bytes = copy->size.bytes <= WR_PAYLOAD_BYTES_MAX
                      ? wr_record_bytes((uint32_t)copy->size.bytes, true)
                      : WR_RECORD_BYTES_VARIABLE; /* finds no room */
}

WR_INLINE void copy_put_words(const struct copy *copy, unsigned char *record, uint32_t words)
{
    const unsigned char *payload = copy->payload;
    uint64_t bytes = copy->bytes - WR_RECORD_HEADER_BYTES;
    if (words == ANY_FIXED)
        wr_words_copy_before(record + copy->bytes, payload + bytes, (int64_t)bytes);
    else
        for (uint32_t i = 0; i < words; i++)
            memcpy(record + WR_RECORD_HEADER_BYTES + 8 * i, &copy->word[i], 8);
}

WR_INLINE void copy_put(const struct copy *copy, unsigned char *record, uint64_t ticks,
                        uint32_t words)
{
    uint64_t header = copy->header | ticks;
    memcpy(record, &header, sizeof header);
    if (words != VARIABLE) {
        copy_put_words(copy, record, words);
        return;
    }
    memcpy(record + WR_RECORD_HEADER_BYTES, &copy->size.bytes, sizeof copy->size.bytes);
    struct wr_record_out out = {.at = record + WR_RECORD_HEADER_BYTES + WR_RECORD_EXTENSION_BYTES};
    wr_payload_put_steps(copy->definition, copy->payload, &copy->size, &out, false);
}

/* Writes the event to the lane if its segment has room; otherwise does nothing. */
WR_INLINE bool copy_write(const struct copy *copy, struct wr_lane *lane, struct wr_stamp *stamp,
                          uint32_t words)
{
    uint64_t commit;
    struct wr_segment *segment;
    uint32_t end = wr_lane_end(lane);
    if (WR_UNLIKELY(!end || !wr_lane_fits(lane, end, copy->bytes, &segment, &commit)))
        return false;
    if (!stamp->is_given && stamp->ticks == 0)
        stamp->ticks = wr_clock_counter();
    uint64_t since = stamp->ticks - (stamp->is_given ? segment->given_base : segment->base_ticks);
    if (WR_UNLIKELY(since > WR_RECORD_TICK_MAX))
        return false;
    copy_put(copy, wr_segment_cursor(segment, commit),
             since | (stamp->is_given ? WR_RECORD_IS_GIVEN : 0), words);
    wr_segment_commit(segment, commit, copy->bytes);
    return true;
}

/* Writes the event to the sessions whose lanes have room, and drops it where the lane is known to
 * get none. Nothing waits, and no lane changes its segment. Returns the sessions that remain. */
WR_INLINE uint64_t emit_at_once(struct wr_thread *thread, uint64_t mask, const struct copy *copy,
                                struct wr_stamp *stamp, bool *is_written, uint32_t words)
{
    const struct wr_ptr *lanes = wr_thread_lane(thread, 0);
    uint64_t left = 0;
    for (uint64_t next; mask; mask = next) {
        next = mask & (mask - 1);
        /* relaxed: only this thread stores it while its pin is odd */
        struct wr_lane *lane = wr_ptr_load_relaxed(&lanes[(uint32_t)__builtin_ctzll(mask)]);
        if (WR_UNLIKELY(!copy_write(copy, lane, stamp, words))) {
            if (lane == WR_LANE_NONE || !drop_at_once(lane, copy->bytes)) {
                left |= mask ^ next;
                continue;
            }
            *is_written = false;
        }
        /* After a jump, weir_thread_reset() finds the event pending or written. The last bit stays
         * until the pin is left: without any, the jump would be one out of the fast path. */
        wr_compiler_barrier();
        if (left | next)
            wr_self.pending = left | next;
    }
    return left;
}

/* Of at most WORDS_MAX words and an unread stamp, or of the payload. `stamp`: constant, apart from
 * the ticks of one that is given. */
WR_INLINE bool emit_pinned(const struct weir_event *event, const void *payload,
                           struct wr_stamp stamp, uint32_t words, uint64_t a, uint64_t b,
                           uint64_t c, uint64_t d, uint64_t e)
{
    struct wr_thread *thread = wr_self.thread;
    uint64_t mask = wr_event_mask(event), wanted = mask;
    bool is_written = mask != 0;
    if (WR_LIKELY(mask != 0 && wr_event_marker() == 0)) {
        struct copy copy; /* not zeroed: it is large */
        const uint64_t word[WORDS_MAX] = {a, b, c, d, e};
        memcpy(copy.word, word, sizeof word);
        wr_self.pending = mask;
        wr_compiler_barrier(); /* a fault in the host's strings may jump */
        copy_begin(&copy, event, payload, words);
        mask = emit_at_once(thread, mask, &copy, &stamp, &is_written, words);
    }
    if (WR_UNLIKELY(mask != 0))
        return (words <= WORDS_MAX
                    ? words_to_others(event, a, b, c, d, e, mask, stamp.ticks)
                    : wr_emit_to_others(event, payload, mask, stamp,
                                        stamp.is_given ? mask != wanted : stamp.ticks != 0)) &&
               is_written;
    wr_pin_leave_own(thread);
    wr_compiler_barrier();
    wr_self.pending = 0;
    return is_written;
}

WR_NOINLINE bool wr_emit_pinned_slow(const struct weir_event *event, const void *payload)
{
    return event->record_bytes == WR_RECORD_BYTES_VARIABLE
               ? emit_pinned(event, payload, WR_STAMP_UNREAD, VARIABLE, 0, 0, 0, 0, 0)
               : emit_pinned(event, payload, WR_STAMP_UNREAD, ANY_FIXED, 0, 0, 0, 0, 0);
}

WR_NOINLINE bool wr_emit_at_pinned_slow(const struct weir_event *event, uint64_t stamp,
                                        const void *payload)
{
    const struct wr_stamp given = {.ticks = stamp, .is_given = true};
    return event->record_bytes == WR_RECORD_BYTES_VARIABLE
               ? emit_pinned(event, payload, given, VARIABLE, 0, 0, 0, 0, 0)
               : emit_pinned(event, payload, given, ANY_FIXED, 0, 0, 0, 0, 0);
}

/* --- Payloads in words. ---------------------------------------------------------------------- */

WR_NOINLINE bool wr_emit_pinned_words0(const struct weir_event *event)
{
    return emit_pinned(event, NULL, WR_STAMP_UNREAD, 0, 0, 0, 0, 0, 0);
}

WR_NOINLINE bool wr_emit_pinned_words1(const struct weir_event *event, uint64_t a)
{
    return emit_pinned(event, NULL, WR_STAMP_UNREAD, 1, a, 0, 0, 0, 0);
}

WR_NOINLINE bool wr_emit_pinned_words2(const struct weir_event *event, uint64_t a, uint64_t b)
{
    return emit_pinned(event, NULL, WR_STAMP_UNREAD, 2, a, b, 0, 0, 0);
}

WR_NOINLINE bool wr_emit_pinned_words3(const struct weir_event *event, uint64_t a, uint64_t b,
                                       uint64_t c)
{
    return emit_pinned(event, NULL, WR_STAMP_UNREAD, 3, a, b, c, 0, 0);
}

WR_NOINLINE bool wr_emit_pinned_words4(const struct weir_event *event, uint64_t a, uint64_t b,
                                       uint64_t c, uint64_t d)
{
    return emit_pinned(event, NULL, WR_STAMP_UNREAD, 4, a, b, c, d, 0);
}

WR_NOINLINE bool wr_emit_pinned_words5(const struct weir_event *event, uint64_t a, uint64_t b,
                                       uint64_t c, uint64_t d, uint64_t e)
{
    return emit_pinned(event, NULL, WR_STAMP_UNREAD, 5, a, b, c, d, e);
}

WR_NOINLINE bool wr_emit_words_at_pinned_slow(const struct weir_event *event, uint64_t stamp,
                                              uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t words[] = {a, b, c, d};
    return wr_emit_at_pinned_slow(event, stamp, words);
}
