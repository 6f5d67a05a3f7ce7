/*
 * Decides when the drain looks: the drain thread sleeps until its bell rings or its timer ends.
 * Single-threaded builds use drain_poll.c instead.
 */
#include <string.h>
#include "base/lines.h"
#include "os/clock.h"
#include "os/os.h"
#include "session/session.h"

/* How often the drain looks for segments that idle threads hold: while a thread in OVERWRITE or in
 * a no-block scope finds none, and while lanes wait and no segment comes back. */
#define SWEEP_NS_WHEN_STARVED (UINT64_C(5) * WR_NS_PER_MS)
#define SWEEP_NS_WHEN_STUCK   (UINT64_C(1) * WR_NS_PER_MS)
/* How soon the drain looks again while threads wait that it need not serve: those that may take what
 * is free may stand still. */
#define LOOK_NS_WHEN_PARKED UINT64_C(200000)

/* Bytes of the budget, in the arithmetic of flow_next(): small beside a segment, and large enough
 * that 60 s times 64 GiB do not overflow. */
#define FLOW_UNIT 256u

/* --- The thread. ----------------------------------------------------------------------------- */

/* After a look: serves the threads that wait, as the mode requires. Returns when to look again
 * (monotonic; 0: at once; UINT64_MAX: when the bell rings). While a thread waits and nothing is
 * free, takes back unused grants, and segments held since the last sweep. */
static uint64_t attend(struct weir_session *session)
{
    struct wr_buffers *buffers = &session->buffers;
    switch (buffers->mode->attend(buffers)) {
    case WR_ATTENTION_NONE:
        return UINT64_MAX;
    case WR_ATTENTION_AGAIN:
        return 0;
    case WR_ATTENTION_SOON:
        return wr_os_monotonic_ns() + LOOK_NS_WHEN_PARKED;
    case WR_ATTENTION_STUCK:
        break;
    }
    uint64_t due_ns = session->drain.sweep_ns + SWEEP_NS_WHEN_STUCK;
    if (wr_os_monotonic_ns() < due_ns)
        return due_ns;
    bool is_found = buffers->mode->take_back(buffers);
    wr_drain_sweep(session, true);
    buffers->mode->serve(buffers); /* grants what the sweep took back */
    if (is_found)
        return 0;
    /* relaxed: this thread put the lanes with revoked segments on the list */
    return wr_ptr_load_relaxed(&buffers->ready) ? 0 : session->drain.sweep_ns + SWEEP_NS_WHEN_STUCK;
}

/* When the next timed look is due; sooner if a thread found no segment. */
static uint64_t timer_next(struct weir_session *session, uint64_t timer_ns)
{
    uint64_t sweep_ns = wr_os_monotonic_ns() + SWEEP_NS_WHEN_STARVED;
    bool is_starved = wr_u32_load_acquire(&session->buffers.is_starved) != 0;
    return is_starved && sweep_ns < timer_ns ? sweep_ns : timer_ns;
}

/* When to look again, so that no thread has to ring: when a quarter of what can become full will be
 * full, if events come as fast as since the last look that found some. A look that is due for this
 * reason and finds none ends it (UINT64_MAX). `bytes`: what this look has read. */
static uint64_t flow_next(struct weir_session *session, uint64_t look_ns, uint64_t bytes)
{
    struct wr_drain *drain = &session->drain;
    /* relaxed: this thread put lanes on the list whose segments are full, but younger than the look */
    if (bytes == 0 && wr_ptr_load_relaxed(&session->buffers.ready))
        return look_ns;
    if (bytes == 0)
        return look_ns < drain->flow_ns ? drain->flow_ns : UINT64_MAX;
    uint64_t flush_ns = (uint64_t)session->config.flush_ms * WR_NS_PER_MS;
    uint64_t elapsed_ns = wr_min_u64(look_ns - drain->found_ns, flush_ns);
    const struct wr_buffers *buffers = &session->buffers;
    uint64_t held = (uint64_t)wr_buffers_held(buffers) * buffers->segment_bytes;
    uint64_t loose = buffers->arena_bytes - wr_min_u64(held, buffers->arena_bytes);
    uint64_t quarter = wr_max_u64(loose / 4, buffers->arena_bytes / 64);
    drain->found_ns = look_ns;
    drain->flow_ns = look_ns + elapsed_ns * (quarter / FLOW_UNIT) / (bytes / FLOW_UNIT + 1);
    return drain->flow_ns;
}

/* One look. Reports its speed to the mode, which may adapt the grant size to it. Returns when the
 * next look is due, as flow_next(). */
static uint64_t look_timed(struct weir_session *session, bool is_timed, uint64_t look_ns)
{
    uint64_t bytes_before = session->drain.bytes_read;
    wr_drain_look(session, is_timed);
    uint64_t bytes = session->drain.bytes_read - bytes_before;
    if (bytes > 0 && session->buffers.mode->tune)
        session->buffers.mode->tune(&session->buffers, bytes, wr_os_monotonic_ns() - look_ns);
    return flow_next(session, look_ns, bytes);
}

static void loop(struct weir_session *session)
{
    uint64_t flush_ns = (uint64_t)session->config.flush_ms * WR_NS_PER_MS;
    session->drain.found_ns = wr_os_monotonic_ns();
    uint64_t timer_ns = session->drain.found_ns + flush_ns;
    if (wr_clock.is_counter)
        wr_lines_watch(&session->drain.lines, session->frequency_hz, wr_lines_far_ns());
    while (!wr_u32_load_acquire(&session->stop_requested)) { /* edge STOP.acquire */
        uint32_t ticket = wr_bell_ticket(&session->buffers.bell);
        uint64_t now = wr_os_monotonic_ns();
        bool is_timed = now >= timer_ns;
        if (is_timed)
            timer_ns = now + flush_ns;
        uint64_t flow_ns = look_timed(session, is_timed, now);
        timer_ns = timer_next(session, timer_ns);
        uint64_t due_ns = wr_min_u64(attend(session), wr_min_u64(timer_ns, flow_ns));
        now = wr_os_monotonic_ns();
        if (now < due_ns && !wr_u32_load_acquire(&session->stop_requested))
            wr_bell_wait(&session->buffers.bell, ticket, due_ns - now);
    }
}

static void set_and_wake(struct wr_u32 *word, uint32_t value)
{
    wr_u32_store_release(word, value);
    wr_os_futex_wake_all(word);
}

WR_COLD static void *run(void *argument)
{
    struct weir_session *session = argument;
    /* This thread is inside the library for its whole life: events of its callbacks count as
     * nested, so it never waits for itself. */
    wr_self_enter();
    wr_self.is_drain = true;
    wr_os_thread_be_prompt();
    session->drain_thread = pthread_self();
    while (!wr_u32_load_acquire(&session->drain_go)) /* edge GO.acquire */
        wr_os_futex_wait(&session->drain_go, 0, UINT64_MAX);
    if (wr_u32_load_acquire(&session->drain_go) == WR_DRAIN_RUN) {
        wr_drain_begin(session);
        /* Before the first flush: a stuck sink must not block weir_session_start(). */
        set_and_wake(&session->drain_runs, 1); /* edge START.release */
        if (session->drain.nettrace.length)
            wr_drain_flush(session);
        loop(session);
        wr_drain_end(session);
        uint32_t stopping = WR_SESSION_STOPPING; /* if the stop has timed out, HALTED stays */
        wr_u32_cas_acq_rel(&session->state, &stopping, WR_SESSION_DRAINED);
    }
    set_and_wake(&session->drain_is_gone, 1); /* edge GONE.release: the last access */
    return NULL;
}

/* --- Other threads. -------------------------------------------------------------------------- */

static void drain_go(struct weir_session *session, enum wr_drain_go how)
{
    wr_u32_store_release(&session->drain_go, how); /* edge GO.release */
    wr_os_futex_wake_all(&session->drain_go);
}

/* The file gets its name last, when only the events remain to be enabled. */
WR_COLD enum weir_result wr_drain_start(struct weir_session *session, struct weir_error *error)
{
    int failure = wr_os_thread_start("weir-drain", run, session);
    if (failure)
        return wr_fail(error, WEIR_SYSTEM, "cannot start the drain thread: %s", strerror(failure));
    enum weir_result result = wr_stream_publish(&session->stream, error);
    drain_go(session, result == WEIR_OK ? WR_DRAIN_RUN : WR_DRAIN_GIVE_UP);
    if (result == WEIR_OK)
        wr_session_wait_hooked(&session->drain_runs, 0, UINT64_MAX); /* edge START.acquire */
    else
        wr_session_wait_hooked(&session->drain_is_gone, 0, UINT64_MAX); /* edge GONE.acquire */
    return result;
}

WR_COLD bool wr_drain_finish(struct weir_session *session, uint64_t deadline_ns)
{
    wr_u32_store_release(&session->stop_requested, 1); /* edge STOP.release */
    wr_bell_ring(&session->buffers.bell);
    return wr_session_wait_while(&session->drain_is_gone, 0, deadline_ns); /* edge GONE.acquire */
}

WR_COLD void wr_drain_take_snapshot(struct weir_session *session)
{
    struct wr_snapshot *snapshot = &session->snapshot;
    wr_bell_ring(&session->buffers.bell);
    wr_session_wait_hooked(&snapshot->state, WR_SNAPSHOT_ASKED,
                           UINT64_MAX); /* edge ANSWER.acquire */
}

WR_COLD void wr_drain_take_rundown(struct weir_session *session)
{
    wr_bell_ring(&session->buffers.bell);
}

WR_COLD bool wr_drain_is_self(const struct weir_session *session)
{
    return wr_u32_load_acquire(&session->drain_runs) &&
           !wr_u32_load_acquire(&session->drain_is_gone) &&
           pthread_equal(pthread_self(), session->drain_thread);
}

WR_COLD enum weir_result weir_session_poll(struct weir_session *session, struct weir_error *error)
{
    (void)session;
    (void)error;
    return WEIR_OK; /* nothing to do: the drain thread looks */
}
