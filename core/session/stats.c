/* Figures of a session, while it runs and after. */
#include "session/session.h"

#include <string.h>
#include "buffers/block.h"

static uint64_t reserved_bytes(const struct weir_session *session)
{
    return session->allocation_bytes + WR_NETTRACE_BUFFER_BYTES + WR_SCRATCH_BYTES +
           session->buffers.slab_bytes;
}

static void gate_stats(struct wr_buffers *buffers, struct weir_stats *stats)
{
    struct wr_gate_figures figures = {0};
    wr_block_figures(buffers, &figures);
    stats->budget_bytes_used = stats->budget_bytes - figures.free_bytes;
    stats->parks = figures.parks;
    stats->parked_ns = figures.parked_ns;
    stats->parked_ns_max = figures.parked_ns_max;
    stats->parked_now = figures.parked_now;
    stats->grants = figures.grants;
    stats->grant_bytes = figures.grant_bytes;
    stats->grant_bytes_now = figures.grant_bytes_now;
    stats->wakes = figures.wakes;
}

enum weir_result weir_session_stats(struct weir_session *session, struct weir_stats *stats)
{
    if (!session || !stats || stats->size != sizeof *stats)
        return WEIR_BAD_ARGUMENT;
    if (session->generation != wr_process_generation())
        return WEIR_BAD_STATE;
    struct wr_buffers *buffers = &session->buffers;
    memset(stats, 0, sizeof *stats);
    stats->size = sizeof *stats;
    stats->budget_bytes = buffers->arena_bytes;
    wr_self_enter();
    pthread_mutex_lock(&buffers->lock);
    wr_counts_add(&stats->counts, &buffers->released);
    wr_counts_add(&stats->counts, &session->drain.own);
    for (struct wr_lane *lane = buffers->lanes; lane; lane = lane->next) {
        struct weir_counts counts = {0};
        wr_lane_counts_locked(lane, &counts);
        wr_counts_add(&stats->counts, &counts);
        stats->budget_bytes_used +=
            (uint64_t)wr_lane_segments_locked(lane) * buffers->segment_bytes;
    }
    if (buffers->overwrite.is_on)
        stats->budget_bytes_used = wr_overwrite_used(buffers);
    stats->reserved_bytes = reserved_bytes(session);
    stats->bytes_sent = session->drain.bytes_sent;
    stats->sequence_points = session->drain.points;
    stats->late_records = session->drain.late_records;
    stats->threads_seen = buffers->lanes_attached;
    pthread_mutex_unlock(&buffers->lock);
    if (buffers->blocks)
        gate_stats(buffers, stats);
    wr_self_leave();
    return WEIR_OK;
}

enum weir_result weir_session_thread_stats(struct weir_session *session,
                                           struct weir_thread_stats *threads, uint32_t max,
                                           uint32_t *count)
{
    if (!session || !count || (max && !threads))
        return WEIR_BAD_ARGUMENT;
    if (session->generation != wr_process_generation())
        return WEIR_BAD_STATE;
    *count = 0;
    wr_self_enter();
    pthread_mutex_lock(&session->buffers.lock);
    for (struct wr_lane *lane = session->buffers.lanes; lane; lane = lane->next) {
        if (wr_u32_load_acquire(&lane->exited)) /* edge EXIT.acquire */
            continue;
        if (*count < max) {
            struct weir_thread_stats *thread = &threads[*count];
            memset(thread, 0, sizeof *thread);
            thread->thread_id = lane->thread_id;
            thread->capture_thread = lane->capture_id;
            wr_lane_counts_locked(lane, &thread->counts);
        }
        ++*count;
    }
    pthread_mutex_unlock(&session->buffers.lock);
    wr_self_leave();
    return WEIR_OK;
}
