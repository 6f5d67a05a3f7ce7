/* Reports the figures of a session, while it runs and afterwards. */
#include "session/session.h"

#include <string.h>
#include "os/os.h"

static uint64_t reserved_bytes(const struct weir_session *session)
{
    return session->allocation_bytes + WR_NETTRACE_BUFFER_BYTES + WR_SCRATCH_BYTES +
           wr_u64_load_relaxed(&session->buffers.slab_bytes); /* relaxed: a figure */
}

/* How long a report waits for a lock. The thread that holds it may not be running. */
static uint64_t limit_of(const struct weir_session *session)
{
    return (uint64_t)session->config.stop_ms_max * WR_NS_PER_MS;
}

static bool stats_locked(struct weir_session *session, struct weir_stats *stats)
{
    struct wr_buffers *buffers = &session->buffers;
    wr_counts_add(&stats->counts, &buffers->released);
    wr_counts_add(&stats->counts, &session->drain.own);
    for (struct wr_lane *lane = buffers->lanes; lane; lane = lane->next) {
        struct weir_counts counts = {0};
        if (!wr_lane_counts_locked(lane, &counts, limit_of(session)))
            return false;
        wr_counts_add(&stats->counts, &counts);
    }
    stats->reserved_bytes = reserved_bytes(session);
    stats->bytes_sent = session->drain.bytes_sent;
    stats->sequence_points = session->drain.points;
    stats->late_records = session->drain.late_records;
    stats->threads_seen = buffers->lanes_attached;
    return true;
}

static enum weir_result stats_take(struct weir_session *session, struct weir_stats *stats)
{
    uint64_t signals;
    if (!wr_buffers_lock(&session->buffers, limit_of(session), &signals))
        return WEIR_TIMEOUT;
    bool is_done = stats_locked(session, stats);
    wr_buffers_unlock(&session->buffers, signals);
    if (is_done)
        is_done = session->buffers.mode->figures(&session->buffers, stats, limit_of(session));
    return is_done ? WEIR_OK : WEIR_TIMEOUT;
}

enum weir_result weir_session_stats(struct weir_session *session, struct weir_stats *stats)
{
    WR_OS_NO_CANCEL;
    if (!session || !stats || stats->size != sizeof *stats)
        return WEIR_BAD_ARGUMENT;
    if (session->generation != wr_process_generation())
        return WEIR_BAD_STATE;
    memset(stats, 0, sizeof *stats);
    stats->size = sizeof *stats;
    stats->budget_bytes = session->buffers.arena_bytes;
    wr_self_enter();
    enum weir_result result = stats_take(session, stats);
    wr_self_leave();
    return result;
}

static bool threads_locked(struct weir_session *session, struct weir_thread_stats *threads,
                           uint32_t max, uint32_t *count)
{
    for (struct wr_lane *lane = session->buffers.lanes; lane; lane = lane->next) {
        if (wr_u32_load_acquire(&lane->exited)) /* edge EXIT.acquire */
            continue;
        if (*count < max) {
            struct weir_thread_stats *thread = &threads[*count];
            memset(thread, 0, sizeof *thread);
            thread->thread_id = lane->track.thread_id;
            thread->capture_thread = lane->track.capture_id;
            if (!wr_lane_counts_locked(lane, &thread->counts, limit_of(session)))
                return false;
        }
        ++*count;
    }
    return true;
}

enum weir_result weir_session_thread_stats(struct weir_session *session,
                                           struct weir_thread_stats *threads, uint32_t max,
                                           uint32_t *count)
{
    WR_OS_NO_CANCEL;
    if (!session || !count || (max && !threads))
        return WEIR_BAD_ARGUMENT;
    if (session->generation != wr_process_generation())
        return WEIR_BAD_STATE;
    *count = 0;
    uint64_t signals;
    wr_self_enter();
    bool is_done = wr_buffers_lock(&session->buffers, limit_of(session), &signals);
    if (is_done) {
        is_done = threads_locked(session, threads, max, count);
        wr_buffers_unlock(&session->buffers, signals);
    }
    wr_self_leave();
    return is_done ? WEIR_OK : WEIR_TIMEOUT;
}
