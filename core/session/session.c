/* Create, start, stop, destroy. */
#include "session/session.h"

#include <string.h>
#include <stdlib.h>
#include "event/hooks.h"
#include "os/clock.h"
#include "os/os.h"

/* --- Create. --------------------------------------------------------------------------------- */

static void *host_allocate(const struct weir_session_config *config, size_t bytes)
{
    return config->allocate ? config->allocate(config->allocator_context, bytes) : malloc(bytes);
}

static void host_release(const struct weir_session_config *config, void *memory, size_t bytes)
{
    if (config->release)
        config->release(config->allocator_context, memory, bytes);
    else
        free(memory);
}

/* Some members are aligned to WR_LINE, and the host's allocator may align to less. */
static struct weir_session *session_allocate(const struct weir_session_config *config)
{
    size_t bytes = sizeof(struct weir_session) + WR_LINE;
    unsigned char *memory = host_allocate(config, bytes);
    if (!memory)
        return NULL;
    struct weir_session *session = (void *)wr_round_up((uintptr_t)memory, WR_LINE);
    memset(session, 0, sizeof *session);
    session->allocation = memory;
    session->allocation_bytes = bytes;
    session->stream.fd = session->snapshot.stream.fd = -1;
    return session;
}

static void session_free(struct weir_session *session)
{
    struct weir_session_config config = session->config;
    wr_interest_release(session->interest);
    host_release(&config, session->allocation, session->allocation_bytes);
}

static void drain_memory_release(struct weir_session *session)
{
    wr_os_pages_unmap(session->drain.nettrace.buffer, WR_NETTRACE_BUFFER_BYTES);
    wr_os_pages_unmap(session->drain.scratch, WR_SCRATCH_BYTES);
    wr_rundown_release_box(session);
    wr_stacks_release(&session->drain.stacks);
    wr_abouts_forget(&session->drain.abouts);
}

/* A process without a hook has few stacks, or none: each is written with its event. */
static bool stacks_reserve(struct weir_session *session)
{
    uint32_t bytes = session->config.stack_bytes;
    if (bytes == 0 && wr_hooks_stack())
        bytes = WR_STACK_BYTES_DEFAULT;
    return bytes == 0 || session->config.no_stacks ||
           wr_stacks_reserve(&session->drain.stacks, bytes);
}

static bool drain_memory_reserve(struct weir_session *session)
{
    void *buffer = wr_os_pages_map(WR_NETTRACE_BUFFER_BYTES);
    session->drain.scratch = wr_os_pages_map(WR_SCRATCH_BYTES);
    if (buffer)
        wr_drain_stream_init(session, &session->stream, buffer);
    if (buffer && session->drain.scratch && stacks_reserve(session) &&
        wr_rundown_reserve_box(session))
        return true;
    drain_memory_release(session);
    return false;
}

/* A ladder: a step that fails undoes the steps before it. */
static enum weir_result session_build(struct weir_session *session,
                                      const struct weir_session_config *config,
                                      struct weir_error *error)
{
    enum weir_result result = wr_session_configure(session, config, error);
    if (result != WEIR_OK)
        return result;
    if (!drain_memory_reserve(session))
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for the encode buffer");
    if (!wr_buffers_init(&session->buffers, config)) {
        drain_memory_release(session);
        return wr_fail(error, WEIR_NO_MEMORY, "cannot reserve a budget of %llu bytes",
                       (unsigned long long)config->budget_bytes);
    }
    result = wr_stream_open(&session->stream, &config->sink, config->memory_bytes_max, error);
    if (result != WEIR_OK) {
        wr_buffers_fini(&session->buffers);
        drain_memory_release(session);
    }
    return result;
}

WR_COLD enum weir_result weir_session_create(const struct weir_session_config *host_config,
                                             struct weir_session **out, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    wr_init();
    if (!host_config || !out)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "config and session must not be NULL");
    struct weir_session_config own = WEIR_SESSION_CONFIG_INIT;
    const struct weir_session_config *config = &own;
    enum weir_result result = wr_session_config_take(&own, host_config, error);
    if (result != WEIR_OK)
        return result;
    struct weir_session *session = session_allocate(config);
    if (!session)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for a session");
    wr_self_enter();
    session->generation = wr_process_generation();
    result = session_build(session, config, error);
    wr_self_leave();
    if (result != WEIR_OK) {
        session_free(session);
        return result;
    }
    wr_sessions_add(session);
    *out = session;
    return WEIR_OK;
}

WR_COLD void wr_session_set_greeting(struct weir_session *session, void (*greet)(void),
                                     uint64_t requested_bytes)
{
    session->greet = greet;
    session->requested_bytes = requested_bytes;
}

/* --- Start. ---------------------------------------------------------------------------------- */

static void state_set(struct weir_session *session, enum wr_session_state state)
{
    /* edge CLOSED.release */
    wr_u32_store_release(&session->state, state);
    wr_os_futex_wake_all(&session->state);
}

static enum wr_session_state state_of(const struct weir_session *session)
{
    return (enum wr_session_state)wr_u32_load_acquire(&session->state);
}

static bool state_change(struct weir_session *session, enum wr_session_state from,
                         enum wr_session_state to)
{
    uint32_t expected = from;
    return wr_u32_cas_acq_rel(&session->state, &expected, to);
}

WR_COLD bool wr_session_wait_while(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns)
{
    while (wr_u32_load_acquire(word) == value) {
        uint64_t now = wr_os_monotonic_ns();
        if (now >= deadline_ns)
            return false;
        wr_os_futex_wait(word, value, deadline_ns - now);
    }
    return true;
}

WR_COLD bool wr_session_wait_hooked(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns)
{
    if (wr_u32_load_acquire(word) != value)
        return true;
    const struct weir_park_hooks *hooks = wr_hooks_before();
    bool has_changed = wr_session_wait_while(word, value, deadline_ns);
    wr_hooks_after(hooks);
    return has_changed;
}

static enum weir_result start(struct weir_session *session, struct weir_error *error)
{
    wr_self_enter();
    wr_os_module_keep(); /* before the drain thread starts and before any thread gets a lane */
    session->frequency_hz = wr_clock_frequency_hz();
    (void)wr_threads_barrier(wr_thread_fast); /* if it fails now, this session uses seq_cst pins */
    enum weir_result result =
        wr_registry_take_slot(&session->buffers, session->id, &session->slot, error);
    if (result == WEIR_OK) {
        session->buffers.slot = session->slot;
        result = wr_drain_start(session, error);
        if (result != WEIR_OK)
            wr_registry_give_slot(session->slot, UINT64_MAX);
    }
    if (result == WEIR_OK)
        wr_registry_enable(session->slot, session->interest); /* edge ENABLE */
    /* edge EARLY.acquire: a drain that failed before the masks were set has cleared them too early
     */
    if (result == WEIR_OK && wr_u32_load_acquire(&session->has_ended_early))
        wr_registry_disable(session->slot, UINT64_MAX);
    state_set(session, result == WEIR_OK ? WR_SESSION_ENABLED : WR_SESSION_CLOSED);
    wr_self_leave();
    return result;
}

WR_COLD enum weir_result weir_session_start(struct weir_session *session, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!session || session->generation != wr_process_generation())
        return wr_fail(error, WEIR_BAD_STATE, "no session, or a session of the parent process");
    if (!state_change(session, WR_SESSION_INERT, WR_SESSION_STARTING))
        return wr_fail(error, WEIR_BAD_STATE, "the session was started before");
    wr_sessions_set_starting(session, true);
    enum weir_result result = start(session, error);
    if (result == WEIR_OK) {
        wr_registry_run_callbacks(UINT64_MAX);
        wr_rundown_at_start(session);
    }
    wr_sessions_set_starting(session, false); /* from here on it may be destroyed */
    return result;
}

/* --- Stop. ----------------------------------------------------------------------------------- */

static uint64_t ns_until(uint64_t deadline_ns)
{
    uint64_t now = wr_os_monotonic_ns();
    return deadline_ns > now ? deadline_ns - now : 0;
}

static void lane_detach(struct wr_thread *thread, void *slot)
{
    /* edge QUIESCE: this store, the barrier, then the load of the pin */
    wr_ptr_store_seq_cst(wr_thread_lane(thread, *(uint32_t *)slot), WR_LANE_NONE);
}

/* The drain is done and no emitter can see the session. Clears the threads' pointers to its lanes,
 * and waits for exiting threads, which may be reading them. */
static bool detach_lanes(struct weir_session *session, uint64_t until_ns)
{
    struct wr_stop_progress *stop = &session->stop;
    if (!stop->are_detached) {
        wr_threads_each(lane_detach, &session->slot);
        stop->quiesce = (struct wr_quiesce){0};
        stop->are_detached = true;
    }
    /* edge QUIESCE */
    return wr_threads_quiesce(&stop->quiesce, session->buffers.has_plain_pins, until_ns);
}

/* Counts records that emitters published after the drain wrote the end, and that are not in the
 * file, as SINK_FAILED. Done once per lane, even if a stop that timed out is repeated. */
static bool lane_count_unwritten(struct weir_session *session, struct wr_lane *lane,
                                 uint64_t limit_ns)
{
    struct weir_counts counts = {0};
    if (lane->is_settled)
        return true;
    if (!wr_lane_counts_locked(lane, &counts, limit_ns))
        return false;
    lane->is_settled = true;
    /* In a recorder's lane, `records_read` includes overwritten records. */
    uint64_t left = counts.written + counts.lost[WEIR_LOSS_OVERWRITTEN] + lane->sink_failed -
                    lane->records_read;
    lane->sink_failed += left;
    session->has_unwritten |= left != 0;
    return true;
}

static bool count_unwritten(struct weir_session *session, uint64_t deadline_ns)
{
    struct wr_buffers *buffers = &session->buffers;
    uint64_t signals;
    if (!wr_buffers_lock(buffers, ns_until(deadline_ns), &signals))
        return false;
    bool is_done = true;
    for (struct wr_lane *lane = buffers->lanes; lane && is_done; lane = lane->next)
        is_done = lane_count_unwritten(session, lane, ns_until(deadline_ns));
    wr_buffers_unlock(buffers, signals);
    return is_done;
}

static bool abort_parked(struct weir_session *session, uint64_t until_ns)
{
    uint64_t signals = wr_os_signals_block();
    bool is_done;
    is_done = session->buffers.mode->send_away(&session->buffers, ns_until(until_ns));
    wr_os_signals_restore(signals);
    return is_done;
}

static uint64_t half_way_to(uint64_t deadline_ns)
{
    return deadline_ns - ns_until(deadline_ns) / 2;
}

/* In this order: a thread that waits then finds one bit or the other. */
static bool linger_begin(struct weir_session *session, uint64_t until_ns)
{
    return wr_registry_linger(session->slot, true, ns_until(until_ns)) &&
           wr_registry_disable(session->slot, ns_until(until_ns));
}

/* Waits until no emitter is inside that has seen the masks, so that each has written its event, lost
 * it, or waits; and then for those that wait. */
static bool waiting_are_served(struct weir_session *session, uint64_t until_ns)
{
    struct wr_buffers *buffers = &session->buffers;
    return wr_threads_quiesce(&session->stop.linger, buffers->has_plain_pins, until_ns) &&
           buffers->mode->wait_served(buffers, until_ns);
}

/* Ends the events, except those of threads that wait: these write theirs first. False: not over at
 * `until_ns`. If the sink fails or the session is lost, no thread waits any longer. */
static bool linger(struct weir_session *session, uint64_t until_ns, uint64_t deadline_ns)
{
    struct wr_stop_progress *stop = &session->stop;
    if (stop->has_lingered)
        return true;
    if (!stop->linger_by_ns)
        stop->linger_by_ns = half_way_to(deadline_ns);
    if (!stop->linger.is_begun && !linger_begin(session, until_ns))
        return false;
    if (!waiting_are_served(session, wr_min_u64(until_ns, stop->linger_by_ns)) &&
        !wr_session_is_lost(session) && until_ns < stop->linger_by_ns)
        return false;
    return stop->has_lingered = wr_registry_linger(session->slot, false, ns_until(until_ns));
}

static bool events_end(struct weir_session *session, uint64_t until_ns, uint64_t deadline_ns)
{
    if (session->stop.quiesce.is_begun)
        return true;
    bool are_off = session->config.stop_serves_waiting
                       ? linger(session, until_ns, deadline_ns)
                       : wr_registry_disable(session->slot, ns_until(until_ns));
    return are_off && abort_parked(session, until_ns);
}

static bool emitters_leave(struct weir_session *session, uint64_t until_ns)
{
    struct wr_stop_progress *stop = &session->stop;
    if (stop->have_left)
        return true;
    /* edge QUIESCE: no emitter is inside from here on, unless the wait ends early */
    bool have_left = wr_threads_quiesce(&stop->quiesce, session->buffers.has_plain_pins, until_ns);
    have_left &= session->buffers.mode->wait_away(&session->buffers, until_ns);
    return stop->have_left = have_left;
}

enum stop_outcome {
    STOP_BUSY, /* `until_ns` has passed */
    STOP_LOST, /* membarrier has failed: nothing more can be done */
    STOP_DONE,
};

/* Goes on with the stop until `until_ns`; the whole stop has until `deadline_ns`. The holder of a
 * lock may not be running, so no step waits for a lock any longer than that. */
static enum stop_outcome stop_go_on(struct weir_session *session, uint64_t until_ns,
                                    uint64_t deadline_ns)
{
    struct wr_stop_progress *stop = &session->stop;
    if (!events_end(session, until_ns, deadline_ns))
        return STOP_BUSY;
    /* Wait for the emitters half of the time only: a stuck pin must not keep the drain from writing
     * what it can. */
    if (!stop->leave_by_ns)
        stop->leave_by_ns = half_way_to(deadline_ns);
    bool have_left = emitters_leave(session, wr_min_u64(until_ns, stop->leave_by_ns));
    bool is_lost = wr_session_is_lost(session);
    if (!have_left && !is_lost && until_ns < stop->leave_by_ns)
        return STOP_BUSY;
    session->is_drained = session->is_drained || wr_drain_finish(session, until_ns);
    if (!session->is_drained)
        return STOP_BUSY;
    bool is_over = have_left && detach_lanes(session, until_ns);
    is_lost = wr_session_is_lost(session);
    if ((!is_over && !is_lost) || !count_unwritten(session, until_ns))
        return STOP_BUSY;
    if (!is_over)
        return STOP_LOST;
    return wr_registry_give_slot(session->slot, ns_until(until_ns)) ? STOP_DONE : STOP_BUSY;
}

/* The stream is as complete as possible, but the session's memory is never freed. */
static bool is_lost_and_drained(const struct weir_session *session)
{
    return session->is_drained && wr_session_is_lost(session);
}

static enum weir_result fail_timeout(const struct weir_session *session, const char *what,
                                     struct weir_error *error)
{
    return wr_fail(error, WEIR_TIMEOUT, "after stop_ms_max (%u ms) %s; stop again to continue",
                   session->config.stop_ms_max, what);
}

/* Called by the thread that set the state to STOPPING, before it sets another. */
static enum weir_result halted_result(const struct weir_session *session, struct weir_error *error)
{
    if (is_lost_and_drained(session))
        return wr_fail(error, WEIR_SYSTEM,
                       "membarrier is no longer permitted (%s): the stream is ended, and the "
                       "session's memory is kept",
                       strerror(wr_threads_membarrier_error()));
    if (!session->is_drained)
        return fail_timeout(session,
                            "the drain is not done: its sink blocks, or a thread that does not run "
                            "holds a lock",
                            error);
    return fail_timeout(session, "an emitter is still inside", error);
}

/* Of a stop that was completed. */
static enum weir_result closed_result(const struct weir_session *session, struct weir_error *error)
{
    if (session->stream.has_failed)
        return wr_fail(error, WEIR_IO, "%s", session->stream.reason);
    if (session->has_unwritten)
        return wr_fail(error, WEIR_IO,
                       "an emitter was so late that its events are not in the stream");
    return WEIR_OK;
}

/* Called by the thread that set the state to STOPPING, and sets the next one. */
static enum weir_result stop_end(struct weir_session *session, enum stop_outcome outcome,
                                 struct weir_error *error)
{
    bool is_done = outcome == STOP_DONE;
    if (session->is_drained) /* threads that are still inside do not write to the stream */
        wr_stream_finish(&session->stream);
    session->stop.leave_by_ns = 0; /* the next stop has its own deadline */
    enum weir_result result =
        is_done ? closed_result(session, error) : halted_result(session, error);
    state_set(session, is_done ? WR_SESSION_CLOSED : WR_SESSION_HALTED);
    return result;
}

/* Called by the thread that set the state to STOPPING. The session is CLOSED before the after hook
 * is called (wr_session_stop_end()): the hook may block, and other threads that stop or destroy the
 * session do not wait for it. */
static enum weir_result stop_own(struct weir_session *session, struct wr_stop *stop,
                                 struct weir_error *error)
{
    stop->hooks = wr_hooks_before();
    wr_self_enter();
    enum stop_outcome outcome = stop_go_on(session, stop->deadline_ns, stop->deadline_ns);
    enum weir_result result = stop_end(session, outcome, error);
    wr_self_leave();
    return result;
}

/* Another thread is stopping the session, or has stopped it. Without a step back from CLOSED: a
 * thread that has stopped the session may be reading its memory. */
static enum weir_result stop_of_other(struct weir_session *session, struct wr_stop *stop,
                                      struct weir_error *error)
{
    for (;;) {
        enum wr_session_state state = state_of(session);
        if (state == WR_SESSION_CLOSED)
            return closed_result(session, error);
        if (state_change(session, WR_SESSION_HALTED, WR_SESSION_STOPPING))
            return stop_own(session, stop, error);
        if (state != WR_SESSION_HALTED &&
            !wr_session_wait_hooked(&session->state, state, stop->deadline_ns))
            return fail_timeout(session, "another thread is still stopping the session", error);
    }
}

/* Is the caller in a callback of this session, for which a stop would wait? */
static bool is_own_callback(const struct weir_session *session)
{
    return wr_drain_is_self(session) || wr_self.parked_in == &session->buffers;
}

static uint64_t deadline_of(const struct weir_session *session)
{
    return wr_os_monotonic_ns() + (uint64_t)session->config.stop_ms_max * WR_NS_PER_MS;
}

static enum weir_result stop_check(const struct weir_session *session, struct weir_error *error)
{
    if (!session || session->generation != wr_process_generation())
        return wr_fail(error, WEIR_BAD_STATE, "no session, or a session of the parent process");
    if (state_of(session) == WR_SESSION_INERT)
        return wr_fail(error, WEIR_BAD_STATE, "the session was not started");
    if (is_own_callback(session))
        return wr_fail(error, WEIR_BAD_STATE, "a session's own callback may not stop it");
    return WEIR_OK;
}

WR_COLD enum weir_result wr_session_stop(struct weir_session *session, struct wr_stop *stop,
                                         struct weir_error *error)
{
    *stop = (struct wr_stop){0, NULL};
    enum weir_result result = stop_check(session, error);
    if (result != WEIR_OK)
        return result;
    stop->deadline_ns = deadline_of(session);
    /* Events are enabled shortly before the state is ENABLED, so a callback may stop that early. */
    if (!wr_session_wait_hooked(&session->state, WR_SESSION_STARTING, stop->deadline_ns))
        return fail_timeout(session, "the session is still being started", error);
    if (state_change(session, WR_SESSION_ENABLED, WR_SESSION_STOPPING))
        return stop_own(session, stop, error);
    return stop_of_other(session, stop, error);
}

WR_COLD void wr_session_stop_end(const struct wr_stop *stop)
{
    wr_hooks_after(stop->hooks);
    if (stop->deadline_ns)
        wr_registry_run_callbacks(ns_until(stop->deadline_ns));
}

WR_COLD enum weir_result weir_session_stop(struct weir_session *session, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    struct wr_stop stop;
    enum weir_result result = wr_session_stop(session, &stop, error);
    wr_session_stop_end(&stop);
    return result;
}

/* --- A stop that is polled. ------------------------------------------------------------------ */

/* Sets the state to STOPPING, unless it is so already by an earlier call. False: another thread is
 * starting or stopping the session. */
static bool polled_take(struct weir_session *session)
{
    session->is_polled = session->is_polled ||
                         state_change(session, WR_SESSION_HALTED, WR_SESSION_STOPPING) ||
                         state_change(session, WR_SESSION_ENABLED, WR_SESSION_STOPPING);
    return session->is_polled;
}

WR_COLD enum weir_result wr_session_stop_try(struct weir_session *session, uint64_t deadline_ns,
                                             struct weir_error *error)
{
    enum weir_result result = stop_check(session, error);
    if (result != WEIR_OK)
        return result;
    uint64_t now = wr_os_monotonic_ns();
    if (state_of(session) == WR_SESSION_CLOSED)
        return closed_result(session, error);
    if (!polled_take(session))
        return now < deadline_ns
                   ? WEIR_BUSY
                   : fail_timeout(session, "another thread is starting or stopping the session",
                                  error);
    wr_self_enter();
    enum stop_outcome outcome = stop_go_on(session, now, deadline_ns);
    session->is_polled = outcome == STOP_BUSY && now < deadline_ns;
    result = session->is_polled ? WEIR_BUSY : stop_end(session, outcome, error);
    wr_self_leave();
    return result;
}

/* --- Destroy. -------------------------------------------------------------------------------- */

/* A forked child destroys its parent's session: closes its descriptors, which would otherwise keep
 * a pipe's reader from seeing the end. */
static void destroy_inherited(struct weir_session *session)
{
    wr_stream_close_inherited(&session->stream);
    wr_stream_close_inherited(&session->snapshot.stream);
}

WR_COLD enum weir_result weir_session_destroy(struct weir_session *session)
{
    WR_OS_NO_CANCEL;
    if (!session)
        return WEIR_OK;
    if (session->generation != wr_process_generation()) {
        destroy_inherited(session);
        return WEIR_OK;
    }
    enum wr_session_state state = state_of(session);
    if (is_own_callback(session) || state == WR_SESSION_STARTING ||
        wr_sessions_is_starting(session))
        return WEIR_BAD_STATE;
    enum weir_result result =
        state == WR_SESSION_INERT ? WEIR_OK : weir_session_stop(session, NULL);
    if (result == WEIR_TIMEOUT || result == WEIR_SYSTEM)
        return result;
    if (session->generation != wr_process_generation()) { /* a callback of the stop has forked */
        destroy_inherited(session);
        return WEIR_OK;
    }
    if (!wr_sessions_remove(session, deadline_of(session)))
        return WEIR_TIMEOUT;
    wr_self_enter();
    wr_stream_close(&session->stream);
    wr_buffers_fini(&session->buffers);
    drain_memory_release(session);
    wr_self_leave();
    session_free(session);
    return WEIR_OK;
}

WR_COLD enum weir_result weir_session_memory(struct weir_session *session, const void **bytes,
                                             uint64_t *count)
{
    if (!session || !bytes || !count || session->config.memory_bytes_max == 0)
        return WEIR_BAD_ARGUMENT;
    enum wr_session_state state = state_of(session);
    if (state != WR_SESSION_CLOSED && (state != WR_SESSION_HALTED || !is_lost_and_drained(session)))
        return WEIR_BAD_STATE;
    *bytes = session->stream.memory;
    *count = session->stream.memory_bytes;
    return WEIR_OK;
}
