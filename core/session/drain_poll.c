/*
 * In a single-threaded build, the drain looks when the host calls weir_session_poll(). There is no
 * other thread to wait for. If the budget fills up between two polls, events are dropped, or
 * overwritten in mode OVERWRITE.
 */
#include "os/os.h"
#include "session/configure.h"
#include "session/session.h"

enum weir_result wr_drain_start(struct weir_session *session, struct weir_error *error)
{
    enum weir_result result = wr_stream_publish(&session->stream, error);
    if (result != WEIR_OK)
        return result;
    session->is_draining = true;
    wr_drain_begin(session);
    if (session->drain.nettrace.length)
        wr_drain_flush(session);
    session->is_draining = false;
    return WEIR_OK;
}

bool wr_drain_finish(struct weir_session *session, uint64_t deadline_ns)
{
    (void)deadline_ns;
    session->is_draining = true;
    wr_drain_end(session);
    session->is_draining = false;
    return true;
}

void wr_drain_take_snapshot(struct weir_session *session)
{
    session->is_draining = true;
    wr_snapshot_answer(session);
    session->is_draining = false;
}

void wr_drain_take_rundown(struct weir_session *session)
{
    session->is_draining = true;
    wr_drain_look(session, false);
    session->is_draining = false;
}

bool wr_drain_is_self(const struct weir_session *session)
{
    return session->is_draining;
}

enum weir_result weir_session_poll(struct weir_session *session, struct weir_error *error)
{
    if (!session)
        return wr_configured_poll(error);
    /* relaxed: a build without threads */
    if (session->generation != wr_process_generation() || session->is_draining ||
        wr_u32_load_relaxed(&session->state) != WR_SESSION_ENABLED || wr_self.depth > 0)
        return wr_fail(error, WEIR_BAD_STATE,
                       "the session does not run, or this is a callback of the library");
    uint64_t now = wr_os_monotonic_ns();
    bool is_timed = now >= session->drain.timer_ns;
    if (is_timed)
        session->drain.timer_ns = now + (uint64_t)session->config.flush_ms * WR_NS_PER_MS;
    wr_self_enter();
    session->is_draining = true;
    wr_drain_look(session, is_timed);
    session->is_draining = false;
    wr_self_leave();
    return session->stream.has_failed ? wr_fail(error, WEIR_IO, "%s", session->stream.reason)
                                      : WEIR_OK;
}
