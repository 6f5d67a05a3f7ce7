/* core/session/session.c and drain_thread.c for the explorer. */
#include "product.h"
#include "product_session.h"
#include "session/names.h"
#include "session/read.h"

static bool finish(struct weir_session *session, uint64_t deadline_ns);

#define wr_drain_finish finish
#include "session/session.c" /* NOLINT: with its static functions */
#undef wr_drain_finish
#include "session/drain_thread.c" /* NOLINT */

void wr_names_write(struct weir_session *session, enum wr_names_ask ask)
{
    (void)session;
    (void)ask;
}

void wr_names_introduce(struct weir_session *session, const struct wr_track *track,
                        struct wr_lane *lane)
{
    (void)session;
    (void)track;
    (void)lane;
}

void wr_names_look(struct weir_session *session)
{
    (void)session;
}

static bool is_alone, has_finished;

static bool finish(struct weir_session *session, uint64_t deadline_ns)
{
    if (!is_alone)
        return wr_drain_finish(session, deadline_ns);
    uint64_t attached;
    if (has_finished)
        return true;
    has_finished = true;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        wr_read_lane(session, lane, UINT64_MAX);
    return true;
}

/* What run() does before its first look, so that a model need not explore it. */
void product_begin(struct weir_session *session)
{
    has_finished = false;
    wr_drain_begin(session);
    wr_drain_flush(session);
}

void product_drain(struct weir_session *session)
{
    wr_self_enter();
    loop(session);
    wr_drain_end(session);
    set_and_wake(&session->drain_is_gone, 1);
}

bool product_stop(struct weir_session *session, bool alone, uint64_t deadline_ns)
{
    is_alone = alone;
    session->stop.leave_by_ns = 0;
    return stop_go_on(session, deadline_ns, deadline_ns) == STOP_DONE;
}

bool product_stop_try(struct weir_session *session)
{
    is_alone = true;
    return stop_go_on(session, 0, UINT64_MAX) == STOP_DONE;
}
