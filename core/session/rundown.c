/* The rundown: see rundown.h. */
#include "session/rundown.h"

#include <string.h>
#include "event/hooks.h"
#include "os/os.h"
#include "session/given.h"
#include "session/point.h"
#include "session/report.h"
#include "session/session.h"
#include "session/step.h"

/* How often a starter that waits for the drain looks whether the session is being stopped. */
#define STOP_LOOK_NS (UINT64_C(10) * WR_NS_PER_MS)

/* --- Items: events on their way to the encoder. ---------------------------------------------- */

/* In a box, the payload follows, padded to 8. */
struct item {
    const struct wr_event_definition *definition;
    struct wr_stamp stamp;
    uint32_t payload_bytes;
    uint32_t loss; /* enum weir_loss, if the event is lost */
    bool is_lost;
};

static void item_lose(struct item *item, enum weir_loss cause)
{
    item->is_lost = true;
    item->loss = cause;
    *wr_self_last_loss() = cause;
}

/* False: the event is not registered. */
static bool item_make(struct item *item, struct wr_payload_size *size,
                      const struct weir_event *event, const void *payload,
                      const struct wr_stamp *stamp)
{
    *item = (struct item){.definition = wr_definition_of(event), .stamp = *stamp};
    if (!item->definition)
        return false;
    if (payload == &wr_payload_mismatch) {
        item_lose(item, WEIR_LOSS_MISMATCH);
        return true;
    }
    wr_payload_measure(item->definition, payload, size);
    if (size->bytes > WR_PAYLOAD_BYTES_MAX)
        item_lose(item, WEIR_LOSS_TOO_LARGE);
    else
        item->payload_bytes = (uint32_t)size->bytes;
    return true;
}

/* The losses of a snapshot's rundown are not the session's. */
static void lose(struct weir_session *session, enum weir_loss cause)
{
    if (session->drain.lanes_are_told)
        wr_report_loss(session, &session->drain.self, cause, 1);
    else
        wr_report_own_loss(session, cause, 1);
}

static void item_encode(struct weir_session *session, const struct item *item,
                        const unsigned char *payload, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    const struct wr_event_definition *definition = item->definition;
    unsigned char *converted = drain->scratch + WR_PAYLOAD_BYTES_MAX + 1;
    uint32_t file_bytes = item->payload_bytes;
    if (item->is_lost) {
        lose(session, (enum weir_loss)item->loss);
        return;
    }
    if (definition->is_converted)
        file_bytes = wr_nettrace_payload(definition->steps, payload, converted);
    if (item->stamp.is_given)
        ticks = wr_min_u64(ticks, wr_given_now(session, &drain->self, item->stamp.ticks));
    wr_report_describe(session, definition, ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    wr_report_own_event(session, definition->index, ticks,
                        definition->is_converted ? converted : payload, file_bytes);
    drain->self.encoded++;
}

/* --- On the drain thread. -------------------------------------------------------------------- */

WR_COLD static bool encode(struct weir_session *session, const struct weir_event *event,
                           const void *payload, const struct wr_stamp *stamp)
{
    struct item item;
    struct wr_payload_size size;
    if (!item_make(&item, &size, event, payload, stamp) ||
        (!session->drain.takes_all && !wr_interest_wants(session->interest, item.definition)))
        return false;
    if (!item.is_lost)
        wr_payload_write(item.definition, payload, &size, session->drain.scratch);
    item_encode(session, &item, session->drain.scratch, wr_step_ticks_now(session));
    if (wr_point_is_due(session))
        wr_point_write(session, session->drain.self.ticks + 1);
    return !item.is_lost;
}

/* What the sink's function emits meanwhile is not part of the rundown: it is counted as nested. */
WR_COLD static bool capture(void *context, const struct weir_event *event, const void *payload,
                            const struct wr_stamp *stamp)
{
    wr_self.capture = NULL;
    bool is_written = encode(context, event, payload, stamp);
    wr_self.capture = capture;
    return is_written;
}

/* What a thread that runs a rundown did before: a source may start a session that asks for one. */
struct captured {
    bool (*capture)(void *context, const struct weir_event *event, const void *payload,
                    const struct wr_stamp *stamp);
    void *context;
    uint64_t id;
};

/* A signal handler that emits finds the function with its own context, or none. */
static void capture_set(const struct captured *captured)
{
    wr_self.capture = NULL;
    wr_compiler_barrier();
    wr_self.capture_context = captured->context;
    wr_self.capture_id = captured->id;
    wr_compiler_barrier();
    wr_self.capture = captured->capture;
}

static struct captured capture_begin(const struct captured *now)
{
    struct captured before = {wr_self.capture, wr_self.capture_context, wr_self.capture_id};
    wr_self_enter();
    capture_set(now);
    return before;
}

/* In a child that a source, or a handler or a hook on its thread, has forked? It has no drain, and
 * the session's locks may be held by threads that it does not have. */
static bool is_in_child(const struct weir_session *session)
{
    return session->generation != wr_process_generation();
}

/* In a child that a source has forked, nothing is captured any more. */
static void capture_end(const struct weir_session *session, const struct captured *before)
{
    static const struct captured nothing;
    capture_set(is_in_child(session) ? &nothing : before);
    wr_self_leave();
}

static void sources_run(struct weir_session *session, enum weir_rundown_moment moment)
{
    const struct weir_rundown rundown = {.size = sizeof rundown,
                                         .session_id = session->id,
                                         .keywords = session->config.rundown_keywords,
                                         .moment = moment};
    if (rundown.keywords)
        wr_sources_run(&rundown);
}

WR_COLD void wr_rundown_in_snapshot(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t number = drain->self.number;
    drain->lanes_are_told = true;
    drain->takes_all = true;
    const struct captured now = {capture, session, session->id};
    struct captured before = capture_begin(&now);
    sources_run(session, WEIR_RUNDOWN_SNAPSHOT);
    capture_end(session, &before);
    drain->takes_all = false; /* the stop's callback is filtered */
    if (drain->self.number != number)
        wr_point_write(session, wr_max_u64(drain->self.ticks, drain->point_ticks) + 1);
}

WR_COLD void wr_rundown_greet(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    wr_report_session(session, drain->horizon);
    drain->takes_all = true;
    const struct captured now = {capture, session, session->id};
    struct captured before = capture_begin(&now);
    session->greet();
    capture_end(session, &before);
    drain->takes_all = false; /* the stop's callback is filtered */
    /* True for any time up to now, since no thread has emitted yet. */
    drain->horizon = wr_max_u64(wr_step_ticks_now(session), drain->point_ticks + 1);
    wr_point_write(session, drain->horizon);
}

/* --- The box. -------------------------------------------------------------------------------- */

static uint64_t item_bytes(const struct item *item)
{
    return sizeof *item + wr_round_up(item->payload_bytes, 8);
}

static bool box_is_full(const struct weir_session *session)
{
    return wr_u32_load_acquire(&session->box.state) == WR_BOX_FULL; /* edges OFFER, TAKEN */
}

WR_COLD void wr_rundown_take(struct weir_session *session, uint64_t ticks)
{
    struct wr_rundown_box *box = &session->box;
    if (!box_is_full(session)) /* edge OFFER.acquire */
        return;
    const unsigned char *at = box->bytes;
    for (uint32_t i = 0; i < box->count; i++) {
        const struct item *item = (const void *)at;
        wr_data_read(at, (uint32_t)item_bytes(item));
        item_encode(session, item, at + sizeof *item, ticks);
        at += item_bytes(item);
    }
    wr_u32_store_release(&box->state, WR_BOX_EMPTY); /* edge TAKEN.release */
    wr_os_futex_wake_all(&box->state);
}

/* What the starter has not offered by then is its own to count. */
static void box_close(struct weir_session *session)
{
    uint32_t empty = WR_BOX_EMPTY;
    while (!wr_u32_cas_acq_rel(&session->box.state, &empty, WR_BOX_CLOSED)) {
        wr_rundown_take(session, wr_step_ticks_now(session));
        empty = WR_BOX_EMPTY;
    }
}

WR_COLD void wr_rundown_at_stop(struct weir_session *session)
{
    box_close(session);
    const struct captured now = {capture, session, session->id};
    struct captured before = capture_begin(&now);
    if (session->config.rundown)
        session->config.rundown(session->config.rundown_context, session);
    session->drain.takes_all = true;
    sources_run(session, WEIR_RUNDOWN_STOP);
    capture_end(session, &before);
}

/* --- On the starter's thread. ---------------------------------------------------------------- */

/* The session has ended: the file cannot report these losses, but its figures do. */
static void count_aborted(struct weir_session *session, uint64_t count)
{
    uint64_t signals;
    if (is_in_child(session))
        return;
    wr_buffers_lock(&session->buffers, UINT64_MAX, &signals);
    session->drain.own.lost[WEIR_LOSS_ABORTED] += count;
    wr_buffers_unlock(&session->buffers, signals);
}

/* A drain that is stuck in its sink ends no wait, but a stop does. The box stays the drain's then,
 * and `has_left` keeps the starter from it. */
static void wait_taken(struct weir_session *session)
{
    const struct weir_park_hooks *hooks = wr_hooks_before();
    while (box_is_full(session) && !wr_u32_load_acquire(&session->stop_requested) &&
           !is_in_child(session))
        wr_session_wait_while(&session->box.state, WR_BOX_FULL,
                              wr_os_monotonic_ns() + STOP_LOOK_NS);
    wr_hooks_after(hooks);
}

struct starter {
    struct weir_session *session;
    bool has_left;
};

static bool box_is_closed(const struct weir_session *session)
{
    /* relaxed: the starter's exchange decides */
    return wr_u32_load_relaxed(&session->box.state) == WR_BOX_CLOSED;
}

/* Offers what is in the box, and waits until it is the starter's again. */
static void hand_over(struct starter *starter)
{
    struct weir_session *session = starter->session;
    struct wr_rundown_box *box = &session->box;
    uint32_t empty = WR_BOX_EMPTY;
    bool has_news = box->count > 0 || box_is_closed(session);
    starter->has_left |= is_in_child(session);
    if (starter->has_left || !has_news)
        return;
    /* edge OFFER.release */
    if (!wr_u32_cas_acq_rel(&box->state, &empty, WR_BOX_FULL)) {
        count_aborted(session, box->count);
        starter->has_left = true;
        return;
    }
    wr_drain_take_rundown(session);
    if (box_is_full(session)) /* edge TAKEN.acquire */
        wait_taken(session);
    starter->has_left = wr_u32_load_acquire(&box->state) != WR_BOX_EMPTY;
    if (!starter->has_left)
        box->used = box->count = 0;
}

static bool collect(struct starter *starter, const struct weir_event *event, const void *payload,
                    const struct wr_stamp *stamp)
{
    struct wr_rundown_box *box = &starter->session->box;
    struct item item;
    struct wr_payload_size size;
    if (!item_make(&item, &size, event, payload, stamp))
        return false;
    if (box->used + item_bytes(&item) > WR_BOX_BYTES || box_is_closed(starter->session))
        hand_over(starter);
    if (starter->has_left) {
        count_aborted(starter->session, 1);
        *wr_self_last_loss() = WEIR_LOSS_ABORTED;
        return false;
    }
    unsigned char *at = box->bytes + box->used;
    memcpy(at, &item, sizeof item);
    if (!item.is_lost)
        wr_payload_write(item.definition, payload, &size, at + sizeof item);
    wr_data_written(at, (uint32_t)item_bytes(&item));
    box->used += (uint32_t)item_bytes(&item);
    box->count++;
    return !item.is_lost;
}

/* What the host's hooks emit while the starter waits is counted as nested. */
WR_COLD static bool capture_at_start(void *context, const struct weir_event *event,
                                     const void *payload, const struct wr_stamp *stamp)
{
    wr_self.capture = NULL;
    bool is_written = collect(context, event, payload, stamp);
    wr_self.capture = capture_at_start;
    return is_written;
}

WR_COLD bool wr_rundown_reserve_box(struct weir_session *session)
{
    struct wr_rundown_box *box = &session->box;
    if (!session->config.rundown_at_start)
        return true;
    box->bytes = wr_os_pages_map(WR_BOX_BYTES);
    if (box->bytes)
        wr_u64_store_relaxed(&box->reserved_bytes, WR_BOX_BYTES); /* relaxed: a figure */
    return box->bytes != NULL;
}

WR_COLD void wr_rundown_release_box(struct weir_session *session)
{
    struct wr_rundown_box *box = &session->box;
    if (!box->bytes)
        return;
    wr_data_written(box->bytes, WR_BOX_BYTES); /* nobody may read it any more */
    wr_os_pages_unmap(box->bytes, WR_BOX_BYTES);
    box->bytes = NULL;
    wr_u64_store_relaxed(&box->reserved_bytes, 0); /* relaxed: a figure */
}

WR_COLD void wr_rundown_at_start(struct weir_session *session)
{
    if (!session->config.rundown_at_start)
        return;
    struct starter starter = {.session = session, .has_left = false};
    const struct captured now = {capture_at_start, &starter, session->id};
    struct captured before = capture_begin(&now);
    sources_run(session, WEIR_RUNDOWN_START);
    wr_self.capture = NULL;
    hand_over(&starter);
    if (!starter.has_left)
        wr_rundown_release_box(session);
    capture_end(session, &before);
}
