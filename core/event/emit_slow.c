/*
 * The ways of an event that are not hot: the first event of a thread, several sessions, payloads of
 * variable size, a full segment, a nested event, the rundown, and every event in a process without
 * membarrier or an invariant counter.
 */
#include "event/event.h"

#include <string.h>
#include "base/host_struct.h"
#include "base/types.h"
#include "buffers/buffers.h"
#include "buffers/turn.h"
#include "event/hooks.h"
#include "lane/lane_write.h"
#include "os/clock.h"

static uint64_t mask_load(const struct weir_event *event)
{
    /* edges ENABLE.acquire, QUIESCE */
    return wr_mask_load_seq_cst(&event->enabled);
}

/* To be asked after a mask was loaded: a mask that names a session with seq_cst pins has it. */
static uint64_t marker(void)
{
    /* relaxed: edge ENABLE publishes it with the mask */
    return wr_u64_load_relaxed(&wr_mask_marker);
}

/* The sessions that want the event. */
static uint64_t mask_of(const struct weir_event *event)
{
    uint64_t mask = mask_load(event);
    return mask & ~marker();
}

/* --- Nested: this thread is already in the library. ------------------------------------------ */

/* Counts the event in each session that wants it, and nothing else: whatever was interrupted may
 * hold any lock and be between any two stores. */
static bool emit_nested(const struct weir_event *event)
{
    struct wr_thread *thread = wr_self.thread;
    /* relaxed: this thread's own pin */
    uint64_t pin = thread ? wr_u64_load_relaxed(&thread->pin) : 0;
    bool was_inside = wr_pin_is_inside(pin);
    if (thread && !was_inside)
        pin = wr_pin_enter_seq_cst(thread);
    else if (thread)
        /* edge QUIESCE: the fast path that we interrupted has entered with a plain store, which a
         * session without membarrier may not see, and has not come to a lane of such a session.
         * Here one may be met: this store, then the load of the mask. */
        wr_u64_store_seq_cst(&thread->pin, pin);
    for (uint64_t mask = mask_of(event); mask; mask &= mask - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(mask);
        struct wr_lane *lane = thread ? wr_ptr_load_relaxed(&thread->lanes[slot]) : NULL;
        /* relaxed: a count; the drain reads it, and a later look tells what this one missed */
        wr_u64_add_relaxed(lane ? &lane->nested : &wr_unattributed[slot].nested, 1);
    }
    if (thread && !was_inside)
        wr_pin_leave(thread, pin);
    wr_self.last_loss = WEIR_LOSS_NESTED;
    return false;
}

/* Of a thread that has no lane. */
static void lose_unattributed(uint32_t slot)
{
    wr_self.pending &= ~(UINT64_C(1) << slot);
    wr_u64_add_relaxed(&wr_unattributed[slot].no_segment, 1); /* relaxed: a count */
    wr_self.last_loss = WEIR_LOSS_NO_SEGMENT;
}

/* --- Inside the pin. ------------------------------------------------------------------------- */

/* Ticks of a record since its segment's base, as near as a record can tell: the base may have been
 * read after the stamp that this event has in all its sessions, or the clock have stepped. */
static uint64_t since_base(const struct wr_segment *segment, uint64_t ticks)
{
    if (ticks < segment->base_ticks)
        return 0;
    uint64_t since = ticks - segment->base_ticks;
    return since < WR_RECORD_TICK_MAX ? since : WR_RECORD_TICK_MAX;
}

/* Has the clock stepped back behind the segment's base, or gone so far that the record cannot say
 * so? The base of an empty segment was just read. */
static bool is_out_of_time(const struct wr_segment *segment, uint64_t ticks, uint64_t commit)
{
    return ticks - segment->base_ticks > WR_RECORD_TICK_MAX &&
           wr_commit_offset(commit) > segment->records_at;
}

/* Such a segment is left for one with a new base. But no event is lost for that: if there is no
 * other one, its rest is used, and the drain sees to the order. */
static struct wr_segment *room_in_time(struct wr_lane *lane, uint32_t bytes, uint64_t *ticks,
                                       uint64_t *commit)
{
    struct wr_segment *segment = wr_buffers_room(lane, bytes, commit);
    if (!segment)
        return NULL;
    if (*ticks == 0)
        *ticks = wr_clock_ticks();
    if (!is_out_of_time(segment, *ticks, *commit) || !wr_buffers_has_room(lane))
        return segment;
    wr_buffers_retire(lane);
    return wr_buffers_room(lane, bytes, commit);
}

static void record_write(struct wr_segment *segment, uint64_t commit, uint64_t ticks,
                         const struct wr_event_definition *definition, const void *payload,
                         const struct wr_payload_size *size)
{
    uint32_t payload_bytes = (uint32_t)size->bytes;
    unsigned char *record = wr_segment_cursor(segment, commit);
    uint64_t header = wr_record_header(definition->index, since_base(segment, ticks));
    unsigned char *out = record + WR_RECORD_HEADER_BYTES;
    if (!definition->is_fixed) {
        uint64_t extension = payload_bytes;
        header |= WR_RECORD_EXTENSION;
        memcpy(out, &extension, sizeof extension);
        out += WR_RECORD_EXTENSION_BYTES;
    }
    memcpy(record, &header, sizeof header);
    wr_payload_write(definition, payload, size, out);
    wr_segment_commit(segment, commit, wr_record_bytes(payload_bytes, !definition->is_fixed));
}

/* What became of an event in one session. */
enum outcome {
    WRITTEN,
    NOT_WRITTEN, /* the loss is counted */
    BLOCKED,     /* no room: the thread must leave its pin and wait; nothing is counted */
};

/* An event on its way. */
struct attempt {
    const struct weir_event *event;
    const void *payload;
    struct wr_payload_size size;
    uint64_t ticks; /* 0 until the clock has been read: once per event, and again after a wait */
};

/* A record that fits into a segment. False: the loss is counted, or the attempt is blocked. */
static bool emit_whole(struct wr_lane *lane, struct attempt *attempt, uint32_t bytes)
{
    uint64_t commit;
    struct wr_segment *segment = room_in_time(lane, bytes, &attempt->ticks, &commit);
    if (!segment)
        return false;
    record_write(segment, commit, attempt->ticks, attempt->event->definition, attempt->payload,
                 &attempt->size);
    if (lane->is_borrowed)
        wr_buffers_return(lane);
    return true;
}

/* One session's copy. */
static enum outcome emit_to_lane(struct wr_lane *lane, struct attempt *attempt)
{
    const struct wr_event_definition *definition = attempt->event->definition;
    if (attempt->size.bytes > WR_PAYLOAD_BYTES_MAX) {
        wr_buffers_lose(lane, WEIR_LOSS_TOO_LARGE);
        return NOT_WRITTEN;
    }
    uint32_t bytes = wr_record_bytes((uint32_t)attempt->size.bytes, !definition->is_fixed);
    bool is_written =
        wr_buffers_must_span(lane->buffers, bytes)
            ? wr_emit_span(lane, definition, attempt->payload, &attempt->size, &attempt->ticks)
            : emit_whole(lane, attempt, bytes);
    if (is_written)
        return WRITTEN;
    return wr_block_is_blocked(lane) ? BLOCKED : NOT_WRITTEN;
}

/* Where the drain has no membarrier, nothing but this reading of the clock keeps the stamp that
 * follows from being read before the pin is visible: see wr_point_settle(). */
static void pin_enter(struct wr_thread *thread)
{
    wr_pin_enter_seq_cst(thread);
    if (wr_clock.is_counter && (!wr_thread_fast || marker()))
        (void)wr_clock_ticks_ordered();
}

/* The wait between the host's hooks. The after hook may block for as long as a collection takes, or
 * a stop of this session: so nothing keeps the session meanwhile, and whether it is still there
 * says the thread's pointer to the lane. */
static bool wait_outside(struct wr_thread *thread, struct wr_lane *lane, uint32_t slot,
                         struct attempt *attempt, const struct weir_park_hooks *hooks)
{
    enum wr_waited waited = wr_block_wait_outside(lane);
    wr_hooks_after(hooks);
    pin_enter(thread);
    attempt->ticks = 0;
    /* edge QUIESCE: the pin's store, then this load. A stopper clears the word, then waits for this
     * pin, then frees the lane; it has counted the loss. No other lane can be here: only this
     * thread attaches them. */
    if (waited == WR_WAITED_GRANTED && wr_ptr_load_seq_cst(&thread->lanes[slot]))
        return wr_block_step_in(lane, (mask_of(attempt->event) >> slot & 1) != 0);
    wr_self.last_loss = waited == WR_WAITED_DEADLINE ? WEIR_LOSS_DEADLINE : WEIR_LOSS_ABORTED;
    return false;
}

/* Waits outside the pin. True: inside a pin again, with room, and the session still wants the
 * event. What the thread knew of masks and lanes is old by then. */
static bool wait_for_room(struct wr_thread *thread, struct wr_lane *lane, uint32_t slot,
                          struct attempt *attempt)
{
    wr_pin_leave_own(thread);
    const struct weir_park_hooks *hooks = wr_hooks_before();
    if (hooks)
        return wait_outside(thread, lane, slot, attempt, hooks);
    enum wr_waited waited = wr_block_wait(lane);
    pin_enter(thread);
    attempt->ticks = 0;
    return wr_block_resume(lane, waited, (mask_of(attempt->event) >> slot & 1) != 0);
}

static bool emit_to_slot(struct wr_thread *thread, uint32_t slot, struct attempt *attempt)
{
    struct wr_lane *lane = wr_buffers_lane(thread, slot);
    if (!lane) {
        lose_unattributed(slot);
        return false;
    }
    enum outcome outcome;
    while ((outcome = emit_to_lane(lane, attempt)) == BLOCKED)
        if (!wait_for_room(thread, lane, slot, attempt))
            break;
    wr_self.pending &= ~(UINT64_C(1) << slot);
    return outcome == WRITTEN;
}

/* Sessions that may park the thread come last: the others get the event before. The mask is loaded
 * again for each of those, because a wait is long enough for sessions to come and go. */
static bool emit_to_all(struct wr_thread *thread, uint64_t mask, const struct weir_event *event,
                        const void *payload)
{
    if (!mask)
        return false;
    struct attempt attempt; /* not zeroed as a whole: it is large */
    attempt.event = event;
    attempt.payload = payload;
    attempt.ticks = 0;
    bool is_written = true;
    wr_payload_measure(event->definition, payload, &attempt.size);
    uint64_t blocking = mask & wr_buffers_blocking();
    for (mask &= ~blocking; mask; mask &= mask - 1)
        is_written &= emit_to_slot(thread, (uint32_t)__builtin_ctzll(mask), &attempt);
    for (; blocking; blocking = blocking & (blocking - 1) & mask_load(event))
        is_written &= emit_to_slot(thread, (uint32_t)__builtin_ctzll(blocking), &attempt);
    wr_self.pending = 0;
    return is_written;
}

/* Membarrier has failed. Until here the thread has touched no session that started since, but for
 * its bit in the event's mask. */
static uint64_t pin_again(struct wr_thread *thread, const struct weir_event *event)
{
    wr_pin_leave_own(thread);
    pin_enter(thread);
    return mask_of(event);
}

/* From the fast path, which has entered the pin and found something to do. It has found `ready`
 * set, so that is what it leaves behind. */
WR_NOINLINE bool wr_emit_pinned_slow(const struct weir_event *event, const void *payload)
{
    struct wr_thread *thread = wr_self.thread;
    wr_self.pending = mask_load(event); /* before the depth: see weir_thread_reset() */
    wr_compiler_barrier();
    wr_self.depth++;
    wr_self.patience_ns = WR_PATIENCE_NS;
    if (WR_UNLIKELY(marker() != 0))
        wr_self.pending = pin_again(thread, event);
    bool is_written = emit_to_all(thread, wr_self.pending, event, payload);
    wr_pin_leave_own(thread);
    wr_compiler_barrier();
    wr_self.depth--;
    wr_self.ready = thread;
    return is_written;
}

/* From the fast path, whose only lane has no segment. While none is to be had, and the drain knows
 * it, the event is lost at a fraction of an event's cost: that is what the order of the parameters
 * is for, and the pin among them, because all the rest would wait for a load of what was just
 * stored. Everything else, and the first of such events, goes the whole way. A fixed payload fits
 * into every segment, so the cause is the lane's. */
WR_NOINLINE bool wr_emit_no_segment_slow(const struct weir_event *event, struct wr_thread *thread,
                                         struct wr_lane *lane, uint64_t pin, const void *payload)
{
    if (event->record_bytes > WR_SEGMENT_BYTES_MIN - WR_SEGMENT_HEADER_BYTES ||
        !(wr_turn_is_waiting(lane) || wr_buffers_skip(lane)))
        return wr_emit_pinned_slow(event, payload);
    wr_lane_lose(lane, lane->skip_cause);
    wr_pin_leave(thread, pin);
    wr_compiler_barrier();
    wr_self.ready = thread;
    return false;
}

/* --- Outside the pin. ------------------------------------------------------------------------ */

static bool emit_entered(const struct weir_event *event, const void *payload)
{
    wr_self.patience_ns = WR_PATIENCE_NS;
    struct wr_thread *thread = wr_thread_attach();
    if (!thread) {
        for (uint64_t mask = mask_of(event); mask; mask &= mask - 1)
            lose_unattributed((uint32_t)__builtin_ctzll(mask));
        return false;
    }
    pin_enter(thread);
    wr_self.pending = mask_of(event);
    bool is_written = emit_to_all(thread, wr_self.pending, event, payload);
    wr_pin_leave_own(thread);
    return is_written;
}

WR_NOINLINE bool wr_emit_slow(const struct weir_event *event, const void *payload)
{
    if (wr_self.capture)
        return wr_self.capture(wr_self.capture_context, event, payload);
    if (wr_self_is_inside())
        return emit_nested(event);
    if (!weir_event_is_enabled(event))
        return false;
    wr_self_enter();
    bool is_written = emit_entered(event, payload);
    wr_self_leave();
    return is_written;
}

WEIR_API enum weir_loss weir_last_loss(void)
{
    return (enum weir_loss)wr_self.last_loss;
}

/* --- Scopes. --------------------------------------------------------------------------------- */

WEIR_API void weir_no_block_begin(void)
{
    wr_self.no_block++;
}

WEIR_API void weir_no_block_end(void)
{
    WR_CHECK(wr_self.no_block > 0);
    if (wr_self.no_block > 0)
        wr_self.no_block--;
}

/* --- Values. --------------------------------------------------------------------------------- */

#define VALUE_BYTES_FIRST 16 /* sizeof(struct weir_value) in 0.2 */

const unsigned char wr_payload_mismatch;

/* Counts the loss as the event's other losses are counted. */
static bool lose_mismatch(const struct weir_event *event)
{
    if (wr_self.capture)
        return wr_self.capture(wr_self.capture_context, event, &wr_payload_mismatch);
    if (wr_self_is_inside())
        return emit_nested(event);
    wr_self_enter();
    wr_self.patience_ns = WR_PATIENCE_NS;
    struct wr_thread *thread = wr_thread_attach();
    uint64_t pin = thread ? wr_pin_enter_seq_cst(thread) : 0;
    for (uint64_t mask = mask_of(event); mask; mask &= mask - 1) {
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

/* The payload that an emitter would build: at most 16 bytes a field. */
struct built_payload {
    _Alignas(8) unsigned char bytes[WR_FIELDS_MAX * 16 + 8];
};

static uint32_t append(struct built_payload *built, uint32_t at, const void *bytes, uint32_t count)
{
    memcpy(built->bytes + at, bytes, count);
    return at + count;
}

static uint32_t append_reference(struct built_payload *built, uint32_t at,
                                 const struct weir_value *value)
{
    at = append(built, at, &value->pointer, sizeof value->pointer);
    return wr_type_is_array(value->type) ? append(built, at, &value->count, sizeof value->count)
                                         : at;
}

/* Little-endian, as the wire is: the low bytes of an integer are its narrower value. */
static uint32_t append_value(struct built_payload *built, uint32_t at,
                             const struct weir_value *value)
{
    static const struct weir_guid no_guid;
    if (!wr_type_is_fixed(value->type))
        return append_reference(built, at, value);
    if (value->type == WEIR_TYPE_guid)
        return append(built, at, value->pointer ? value->pointer : &no_guid, sizeof no_guid);
    if (value->type == WEIR_TYPE_bool) {
        uint32_t flag = value->boolean;
        return append(built, at, &flag, sizeof flag);
    }
    if (value->type == WEIR_TYPE_f32) {
        float single = (float)value->float_value;
        return append(built, at, &single, sizeof single);
    }
    return append(built, at, &value->unsigned_value, wr_type_bytes(value->type));
}

WEIR_API bool weir_event_emit(const struct weir_event *event, const struct weir_value *values,
                              uint32_t count, uint32_t value_bytes)
{
    if (!weir_event_is_enabled(event) && !wr_self.capture)
        return false;
    const struct wr_event_definition *definition = event->definition;
    bool matches = definition && count == definition->schema.field_count &&
                   wr_host_size_is_known(value_bytes, VALUE_BYTES_FIRST, sizeof *values);
    struct built_payload built;
    uint32_t at = 0;
    for (uint32_t i = 0; matches && i < count; i++) {
        const struct weir_value *value =
            (const void *)((const unsigned char *)values + (size_t)i * value_bytes);
        matches = value->type == definition->schema.fields[i].type;
        if (matches)
            at = append_value(&built, at, value);
    }
    return matches ? weir_emit(event, built.bytes) : lose_mismatch(event);
}
