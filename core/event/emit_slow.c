/*
 * The slow paths of an event: a thread's first event, a full segment, a context, a nested event, the
 * rundown, and every event of a process without membarrier or without an invariant counter.
 */
#include "event/event.h"

#include <string.h>
#include "buffers/buffers.h"
#include "event/hooks.h"
#include "event/stamp.h"
#include "event/with.h"
#include "lane/lane_write.h"
#include "os/clock.h"
#include "os/os.h"

/* Of these sessions, the one with this id; 0: all. Their slots keep their sessions while the thread
 * is inside its pin. */
static uint64_t only(uint64_t mask, uint64_t session_id)
{
    if (session_id == 0)
        return mask;
    /* relaxed: edge ENABLE publishes it with the mask */
    while (mask && wr_u64_load_relaxed(&wr_slot_ids[__builtin_ctzll(mask)]) != session_id)
        mask &= mask - 1;
    return mask & -mask;
}

/* The sessions that want the event; of these, the one with this id; 0: all. */
static uint64_t mask_of(const struct weir_event *event, uint64_t session_id)
{
    uint64_t mask = wr_event_mask(event);
    return only(mask & ~wr_event_marker(), session_id);
}

/* Does the slot's session still want an event that has waited? A stop that serves the threads that
 * wait sets the lingering bit before it clears the mask, so the mask is loaded first. Call inside the
 * pin. */
static bool is_wanted(const struct weir_event *event, uint32_t slot)
{
    uint64_t slots = mask_of(event, 0);
    slots |= wr_u64_load_seq_cst(&wr_slots_lingering); /* edge QUIESCE, as the mask */
    return (slots >> slot & 1) != 0;
}

/* --- Nested: this thread is already in the library. ------------------------------------------ */

/* Counts the event in each session that wants it and does nothing else: the interrupted code may
 * hold any lock and be between any two stores. */
WR_COLD static bool emit_nested(const struct weir_event *event, uint64_t session_id)
{
    struct wr_thread *thread = wr_self.thread;
    /* relaxed: this thread's own pin */
    uint64_t pin = thread ? wr_u64_load_relaxed(&thread->pin) : 0;
    bool was_inside = wr_pin_is_inside(pin);
    if (thread && !was_inside)
        pin = wr_pin_enter_seq_cst(thread);
    else if (thread)
        /* edge QUIESCE: this store, then the load of the mask. The interrupted fast path entered
         * with a plain store, which the stopper of a session without membarrier may not see. That
         * fast path has not reached a lane of such a session, but this function may. */
        wr_u64_store_seq_cst(&thread->pin, pin);
    for (uint64_t mask = mask_of(event, session_id); mask; mask &= mask - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(mask);
        /* relaxed: only this thread stores it while its pin is odd */
        struct wr_lane *lane =
            thread ? wr_lane_or_null(wr_ptr_load_relaxed(wr_thread_lane(thread, slot))) : NULL;
        /* relaxed: a count; if the drain misses this increment, a later look reports it */
        wr_u64_add_relaxed(lane ? &lane->nested : &wr_unattributed[slot].nested, 1);
    }
    if (thread && !was_inside)
        wr_pin_leave(thread, pin);
    *wr_self_last_loss() = WEIR_LOSS_NESTED;
    return false;
}

/* Counts the loss of an event whose thread has no lane. */
static void lose_unattributed(uint32_t slot)
{
    wr_self.pending &= ~(UINT64_C(1) << slot);
    wr_u64_add_relaxed(&wr_unattributed[slot].no_segment, 1); /* relaxed: a count */
    *wr_self_last_loss() = WEIR_LOSS_NO_SEGMENT;
}

/* --- Inside the pin. ------------------------------------------------------------------------- */

/* If the segment is out of time, moves to one with a new base. The event is not lost for that: if
 * no other segment is available, it is written to the rest of this one, and the drain restores the
 * order. */
static enum wr_room room_in_time(struct wr_lane *lane, uint32_t bytes, struct wr_stamp *stamp,
                                 struct wr_segment **segment, uint64_t *commit)
{
    enum wr_room room = wr_buffers_room(lane, bytes, segment, commit);
    if (room != WR_ROOM)
        return room;
    if (!stamp->is_given && stamp->ticks == 0)
        stamp->ticks = wr_clock_ticks();
    if (wr_stamp_is_in_time(*segment, stamp, *commit) || !wr_buffers_has_room(lane))
        return WR_ROOM;
    wr_buffers_retire(lane);
    return wr_buffers_room(lane, bytes, segment, commit);
}

/* The state of one weir_emit() call, shared by the sessions that it writes to. */
struct attempt {
    const struct weir_event *event;
    const struct wr_event_definition *definition;
    const void *payload;
    struct wr_payload_size size;
    struct wr_stamp stamp;
    struct wr_with with;
};

static uint32_t record_bytes(const struct attempt *attempt, uint64_t flags)
{
    return wr_record_bytes((uint32_t)attempt->size.bytes + wr_with_bytes(&attempt->with, flags),
                           !attempt->definition->is_fixed || flags);
}

static void attempt_begin(struct attempt *attempt, const struct weir_event *event,
                          const void *payload, struct wr_stamp stamp, const struct wr_extra *extra)
{
    attempt->event = event;
    attempt->definition = wr_definition_of(event);
    attempt->payload = payload;
    attempt->stamp = stamp;
    memset(&attempt->with, 0, sizeof attempt->with);
    if (extra || wr_self.thread->context)
        wr_with_gather(&attempt->with, attempt->definition, extra, wr_self.thread->context);
    wr_payload_measure(attempt->definition, payload, &attempt->size);
}

/* Writes a record that fits into one segment. */
static enum wr_room emit_whole(struct wr_lane *lane, struct attempt *attempt, uint64_t flags)
{
    struct wr_segment *segment;
    uint64_t commit;
    enum wr_room room =
        room_in_time(lane, record_bytes(attempt, flags), &attempt->stamp, &segment, &commit);
    if (room != WR_ROOM)
        return room;
    wr_record_write(segment, commit, attempt->definition, attempt->payload, &attempt->size,
                    &attempt->with, flags, &attempt->stamp);
    if (lane->is_borrowed)
        wr_buffers_return(lane);
    return WR_ROOM;
}

/* Writes one session's copy of the event. */
static enum wr_room emit_to_lane(struct wr_lane *lane, struct attempt *attempt)
{
    if (attempt->size.bytes > WR_PAYLOAD_BYTES_MAX) {
        wr_buffers_lose(lane, WEIR_LOSS_TOO_LARGE);
        return WR_ROOM_LOST;
    }
    uint64_t flags = wr_with_flags(&attempt->with, lane->buffers->has_stacks);
    if ((flags & WR_RECORD_STACK) &&
        wr_buffers_is_too_large(lane->buffers, record_bytes(attempt, flags)))
        flags = (flags & ~WR_RECORD_STACK) | WR_RECORD_STACK_CUT; /* the event is worth more */
    if (!wr_buffers_must_span(lane->buffers, record_bytes(attempt, flags)))
        return emit_whole(lane, attempt, flags);
    return wr_emit_span(lane, attempt->definition, attempt->payload, &attempt->size, &attempt->with,
                        flags, &attempt->stamp);
}

/* Without membarrier on the drain's side, only this ordered clock read keeps the following stamp
 * from being read before the pin is visible: see wr_point_settle(). */
static void pin_enter(struct wr_thread *thread)
{
    wr_pin_enter_seq_cst(thread);
    if (wr_clock.is_counter && (!wr_thread_fast || wr_event_marker()))
        (void)wr_clock_ticks_ordered();
}

/* Waits between the host's hooks. The after hook may block for the length of a collection, or until
 * this session has been stopped. So nothing keeps the session alive meanwhile; the thread's pointer
 * to the lane says whether it still exists. */
WR_COLD static bool wait_outside(struct wr_thread *thread, struct wr_lane *lane, uint32_t slot,
                                 struct attempt *attempt, const struct weir_park_hooks *hooks)
{
    const struct wr_mode *mode = lane->buffers->mode; /* read while the lane is there for certain */
    enum wr_waited waited = mode->wait_outside(lane);
    wr_hooks_after(hooks);
    pin_enter(thread);
    wr_stamp_forget(&attempt->stamp);
    /* edge QUIESCE: the pin's store, then this load. A stopper clears the word, then waits for this
     * pin, then frees the lane; it has counted the loss. A lane that is there is the same one,
     * since only this thread attaches lanes. */
    if (waited == WR_WAITED_GRANTED &&
        wr_lane_or_null(wr_ptr_load_seq_cst(wr_thread_lane(thread, slot))))
        return mode->step_in(lane, is_wanted(attempt->event, slot));
    *wr_self_last_loss() = waited == WR_WAITED_DEADLINE ? WEIR_LOSS_DEADLINE : WEIR_LOSS_ABORTED;
    return false;
}

/* Waits outside the pin. True: the thread is inside a pin again and has room, and the session still
 * wants the event. Masks and lanes that the thread loaded before are stale by then. */
static bool wait_for_room(struct wr_thread *thread, struct wr_lane *lane, uint32_t slot,
                          struct attempt *attempt)
{
    wr_pin_leave_own(thread);
    const struct weir_park_hooks *hooks = wr_hooks_before();
    if (hooks)
        return wait_outside(thread, lane, slot, attempt, hooks);
    const struct wr_mode *mode = lane->buffers->mode;
    enum wr_waited waited = mode->wait(lane);
    pin_enter(thread);
    wr_stamp_forget(&attempt->stamp);
    return mode->resume(lane, waited, is_wanted(attempt->event, slot));
}

/* An event has one stamp in all sessions that get it without a wait. So if a segment is opened for
 * an event that has its stamp from another session, that is the segment's base. Not in a new lane,
 * which was attached after the stamp was read: the drain introduces it at a later time. */
static enum wr_room emit_with_stamp(struct wr_lane *lane, bool is_new, struct attempt *attempt)
{
    wr_self.base_most = is_new || attempt->stamp.is_given ? 0 : attempt->stamp.ticks;
    enum wr_room room = emit_to_lane(lane, attempt);
    wr_self.base_most = 0;
    return room;
}

static bool emit_to_slot(struct wr_thread *thread, uint32_t slot, struct attempt *attempt)
{
    /* relaxed: only this thread stores it while its pin is odd */
    bool is_new = !wr_lane_or_null(wr_ptr_load_relaxed(wr_thread_lane(thread, slot)));
    struct wr_lane *lane = wr_buffers_lane(thread, slot);
    if (!lane) {
        lose_unattributed(slot);
        return false;
    }
    enum wr_room room;
    while ((room = emit_with_stamp(lane, is_new, attempt)) == WR_ROOM_WAIT)
        if (!wait_for_room(thread, lane, slot, attempt))
            break;
    wr_self.pending &= ~(UINT64_C(1) << slot);
    return room == WR_ROOM;
}

/* So that the stamp, which is not read yet, is later than all lanes. A lane that cannot be attached is
 * tried again where its loss is counted. */
static WR_NOINLINE void attach_to_all(struct wr_thread *thread, uint64_t mask)
{
    for (; mask; mask &= mask - 1)
        (void)wr_buffers_lane(thread, (uint32_t)__builtin_ctzll(mask));
}

/* Would the event have to wait in this session? A hint. */
static bool must_wait(struct wr_lane *lane, const struct attempt *attempt)
{
    uint64_t commit;
    if (!lane)
        return true; /* not known */
    if (attempt->size.bytes > WR_PAYLOAD_BYTES_MAX)
        return false; /* it is lost at once */
    return !wr_lane_room(lane, record_bytes(attempt, attempt->with.flags), &commit) &&
           !wr_buffers_has_room(lane);
}

static uint64_t where_it_must_wait(struct wr_thread *thread, uint64_t mask,
                                   const struct attempt *attempt)
{
    uint64_t found = 0;
    for (; mask; mask &= mask - 1) {
        /* relaxed: only this thread stores it while its pin is odd */
        struct wr_lane *lane = wr_lane_or_null(
            wr_ptr_load_relaxed(wr_thread_lane(thread, (uint32_t)__builtin_ctzll(mask))));
        if (must_wait(lane, attempt))
            found |= mask & -mask;
    }
    return found;
}

/* The mask is loaded again after each session: others may come and go during a wait. */
static bool emit_in_turn(struct wr_thread *thread, uint64_t mask, struct attempt *attempt)
{
    bool is_written = true;
    for (; mask; mask = mask & (mask - 1) & wr_event_mask(attempt->event))
        is_written &= emit_to_slot(thread, (uint32_t)__builtin_ctzll(mask), attempt);
    return is_written;
}

/* Sessions in which the thread may be parked come last, and of these the ones without room, so that
 * the others get the event first: their stamp is the same, and a session that is stuck keeps nothing
 * from them. */
static bool emit_to_all(struct wr_thread *thread, uint64_t mask, struct attempt *attempt)
{
    bool is_written = true;
    uint64_t blocking = mask & wr_buffers_blocking(), last = 0;
    if (attempt->stamp.ticks == 0 && (mask & (mask - 1)))
        attach_to_all(thread, mask);
    for (mask &= ~blocking; mask; mask &= mask - 1)
        is_written &= emit_to_slot(thread, (uint32_t)__builtin_ctzll(mask), attempt);
    if (blocking & (blocking - 1))
        last = where_it_must_wait(thread, blocking, attempt);
    is_written &= emit_in_turn(thread, blocking & ~last, attempt);
    if (last)
        is_written &= emit_in_turn(thread, last & wr_event_mask(attempt->event), attempt);
    wr_self.pending = 0;
    return is_written;
}

/* Writes the event to a lane whose segment has room, as nearly all have; otherwise does nothing. */
WR_INLINE bool write_at_once(struct wr_lane *lane, struct attempt *attempt)
{
    uint64_t commit, flags = wr_with_flags(&attempt->with, lane->buffers->has_stacks);
    WR_CHECK(!lane->is_borrowed);
    if (attempt->stamp.is_given || attempt->size.bytes > WR_PAYLOAD_BYTES_MAX)
        return false;
    struct wr_segment *segment = wr_lane_room(lane, record_bytes(attempt, flags), &commit);
    if (!segment)
        return false;
    if (attempt->stamp.ticks == 0)
        attempt->stamp.ticks = wr_clock_ticks();
    if (!wr_stamp_is_in_time(segment, &attempt->stamp, commit))
        return false;
    wr_record_write(segment, commit, attempt->definition, attempt->payload, &attempt->size,
                    &attempt->with, flags, &attempt->stamp);
    return true;
}

/* emit_to_all() where nothing has to wait and no lane changes its segment. Returns the sessions that
 * remain. */
WR_INLINE uint64_t write_to_all_at_once(struct wr_thread *thread, uint64_t mask,
                                        struct attempt *attempt)
{
    uint64_t left = 0;
    if (WR_UNLIKELY(attempt->stamp.ticks == 0 && (mask & (mask - 1))))
        attach_to_all(thread, mask);
    for (; mask; mask &= mask - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(mask);
        /* relaxed: only this thread stores it while its pin is odd */
        struct wr_lane *lane = wr_lane_or_null(wr_ptr_load_relaxed(wr_thread_lane(thread, slot)));
        if (lane && write_at_once(lane, attempt))
            wr_self.pending &= ~(UINT64_C(1) << slot);
        else
            left |= mask & -mask;
    }
    return left;
}

/* Leaves the library. A thread that DROP has asked to yield, and refused often, offers its processor
 * to the drain and to threads that have segments. It does so outside its pin, for which a stop would
 * wait. */
static void leave(void)
{
    bool is_refused = wr_self.is_refused;
    wr_self.is_refused = false;
    wr_self_leave();
    if (is_refused && wr_self.no_block == 0)
        wr_os_yield();
}

/* --- Inside the pin of the fast path. -------------------------------------------------------- */

/* Called after membarrier has failed. So far the thread has touched no session that started since,
 * except for its bit in the event's mask. */
static uint64_t pin_again(struct wr_thread *thread, const struct weir_event *event)
{
    wr_pin_leave_own(thread);
    pin_enter(thread);
    return mask_of(event, 0);
}

WR_COLD WR_NOINLINE bool wr_emit_to_others(const struct weir_event *event, const void *payload,
                                           uint64_t mask, struct wr_stamp stamp, bool is_written)
{
    struct wr_thread *thread = wr_self.thread;
    struct attempt attempt; /* not zeroed as a whole: it is large */
    wr_self.pending = mask; /* before the depth: see weir_thread_reset() */
    wr_compiler_barrier();
    wr_self_enter(); /* the pin alone does not say so while the thread waits */
    wr_self.patience_ns = WR_PATIENCE_NS;
    /* Again: a handler may have forked since, and the child's sessions are others. */
    wr_self.pending = mask & mask_of(event, 0);
    if (WR_UNLIKELY(wr_event_marker() != 0)) {
        wr_self.pending = pin_again(thread, event);
        wr_stamp_forget(&stamp);
        is_written = false;
    }
    attempt_begin(&attempt, event, payload, stamp, NULL);
    if (wr_self.pending)
        is_written = emit_to_all(thread, wr_self.pending, &attempt);
    wr_pin_leave_own(thread);
    leave();
    return is_written;
}

/* --- Outside the pin. ------------------------------------------------------------------------ */

static bool emit_entered(const struct weir_event *event, const void *payload, struct wr_stamp stamp,
                         uint64_t session_id, const struct wr_extra *extra)
{
    wr_self.patience_ns = WR_PATIENCE_NS;
    struct wr_thread *thread = wr_self.thread;
    if (!thread && !(thread = wr_thread_attach())) {
        for (uint64_t mask = mask_of(event, session_id); mask; mask &= mask - 1)
            lose_unattributed((uint32_t)__builtin_ctzll(mask));
        return false;
    }
    pin_enter(thread);
    bool is_written = false;
    wr_self.pending = mask_of(event, session_id);
    if (wr_self.pending) {
        struct attempt attempt;
        attempt_begin(&attempt, event, payload, stamp, extra);
        uint64_t left = write_to_all_at_once(thread, wr_self.pending, &attempt);
        is_written = !left || emit_to_all(thread, left, &attempt);
    }
    wr_pin_leave_own(thread);
    return is_written;
}

/* `session_id`: 0: to all sessions that want it. */
static bool emit_slow(const struct weir_event *event, const void *payload, struct wr_stamp stamp,
                      uint64_t session_id, const struct wr_extra *extra)
{
    if (wr_self.capture && (session_id == 0 || session_id == wr_self.capture_id))
        return wr_self.capture(wr_self.capture_context, event, payload, &stamp);
    if (wr_self_is_inside())
        return emit_nested(event, session_id);
    if (!weir_event_is_enabled(event))
        return false;
    wr_self_enter();
    bool is_written = emit_entered(event, payload, stamp, session_id, extra);
    leave();
    return is_written;
}

WR_NOINLINE bool wr_emit_slow(const struct weir_event *event, const void *payload)
{
    return emit_slow(event, payload, WR_STAMP_UNREAD, 0, NULL);
}

WR_COLD bool wr_emit_extra(const struct weir_event *event, const void *payload,
                           const struct wr_extra *extra)
{
    return emit_slow(event, payload, WR_STAMP_UNREAD, 0, extra);
}

WR_NOINLINE bool wr_emit_at_slow(const struct weir_event *event, uint64_t stamp,
                                 const void *payload)
{
    return emit_slow(event, payload, (struct wr_stamp){.ticks = stamp, .is_given = true}, 0, NULL);
}

WR_COLD WEIR_API bool weir_session_emit(uint64_t session_id, const struct weir_event *event,
                                        const void *payload)
{
    return session_id != 0 && emit_slow(event, payload, WR_STAMP_UNREAD, session_id, NULL);
}

/* --- Payloads in words. ---------------------------------------------------------------------- */

WR_NOINLINE bool wr_emit_words_slow(const struct weir_event *event, uint64_t a, uint64_t b,
                                    uint64_t c, uint64_t d, uint64_t e)
{
    const uint64_t words[] = {a, b, c, d, e};
    return wr_emit_slow(event, words);
}

WR_NOINLINE bool wr_emit_words_at_slow(const struct weir_event *event, uint64_t stamp, uint64_t a,
                                       uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t words[] = {a, b, c, d};
    return wr_emit_at_slow(event, stamp, words);
}

WEIR_API enum weir_loss weir_last_loss(void)
{
    uint32_t cause = *wr_self_last_loss();
    return (enum weir_loss)cause;
}

/* --- Values. --------------------------------------------------------------------------------- */

const unsigned char wr_payload_mismatch;

WR_COLD bool wr_emit_mismatch(const struct weir_event *event)
{
    if (wr_self.capture)
        return wr_self.capture(wr_self.capture_context, event, &wr_payload_mismatch,
                               &WR_STAMP_UNREAD);
    if (wr_self_is_inside())
        return emit_nested(event, 0);
    wr_self_enter();
    wr_self.patience_ns = WR_PATIENCE_NS;
    struct wr_thread *thread = wr_thread_attach();
    uint64_t pin = thread ? wr_pin_enter_seq_cst(thread) : 0;
    for (uint64_t mask = mask_of(event, 0); mask; mask &= mask - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(mask);
        struct wr_lane *lane = thread ? wr_buffers_lane(thread, slot) : NULL;
        if (lane)
            wr_buffers_lose(lane, WEIR_LOSS_MISMATCH);
        else
            lose_unattributed(slot);
    }
    if (thread)
        wr_pin_leave(thread, pin);
    wr_self_leave();
    return false;
}
