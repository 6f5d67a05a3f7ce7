/* Reports the figures of a session, while it runs and afterwards. */
#include "session/session.h"

#include <string.h>
#include "base/host_struct.h"
#include "os/os.h"

static uint64_t reserved_bytes(const struct weir_session *session)
{
    return session->allocation_bytes + WR_NETTRACE_BUFFER_BYTES + WR_SCRATCH_BYTES +
           session->drain.stacks.bytes +
           wr_u64_load_relaxed(&session->box.reserved_bytes) + /* relaxed: figures */
           wr_u64_load_relaxed(&session->buffers.slab_bytes);
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
    stats->stacks_cut = session->drain.stacks_cut;
    stats->threads_seen = buffers->lanes_attached;
    stats->drain_wakes = wr_bell_wakes(&buffers->bell);
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

/* --- In the layout of the host's headers. ---------------------------------------------------- */

/* A struct of figures ends with its counts, and these end with the losses. In front of them is the
 * head, which grows as well: a host's is as long as its size and its number of causes leave it. */
#define HEAD_BYTES(kind)     (offsetof(struct kind, counts))
#define STATS_HEAD_FIRST     144 /* in 0.2 */
#define THREAD_HEAD_FIRST    24
#define LOST_COUNT_FIRST     9
#define COUNTS_BYTES(causes) (offsetof(struct weir_counts, lost) + (causes) * sizeof(uint64_t))

static bool layout_is_known(size_t bytes, uint32_t causes, size_t head_first, size_t head)
{
    return causes >= LOST_COUNT_FIRST && causes <= WEIR_LOSS_COUNT &&
           bytes >= COUNTS_BYTES(causes) &&
           wr_host_size_is_known(bytes - COUNTS_BYTES(causes), head_first, head);
}

static uint64_t lost_beyond(const struct weir_counts *counts, uint32_t causes)
{
    uint64_t lost = 0;
    for (uint32_t cause = causes; cause < WEIR_LOSS_COUNT; cause++)
        lost += counts->lost[cause];
    return lost;
}

static void figures_put(void *host, size_t bytes, uint32_t causes, const void *head,
                        const struct weir_counts *counts)
{
    size_t head_bytes = bytes - COUNTS_BYTES(causes);
    memcpy(host, head, head_bytes);
    memcpy((unsigned char *)host + head_bytes, counts, COUNTS_BYTES(causes));
}

/* --- Calls. ---------------------------------------------------------------------------------- */

WR_COLD enum weir_result weir_session_stats(struct weir_session *session, struct weir_stats *stats)
{
    WR_OS_NO_CANCEL;
    if (!session || !stats ||
        !layout_is_known(stats->size, stats->lost_count, STATS_HEAD_FIRST, HEAD_BYTES(weir_stats)))
        return WEIR_BAD_ARGUMENT;
    if (session->generation != wr_process_generation())
        return WEIR_BAD_STATE;
    struct weir_stats own = WEIR_STATS_INIT;
    size_t bytes = own.size = stats->size;
    uint32_t causes = own.lost_count = stats->lost_count;
    own.budget_bytes = session->buffers.arena_bytes;
    wr_self_enter();
    enum weir_result result = stats_take(session, &own);
    wr_self_leave();
    own.lost_other = lost_beyond(&own.counts, causes);
    if (result == WEIR_OK)
        figures_put(stats, bytes, causes, &own, &own.counts);
    return result;
}

static bool thread_put(struct weir_session *session, struct wr_lane *lane,
                       const struct weir_thread_table *table, uint32_t at)
{
    struct weir_thread_stats own = {.thread_id = lane->track.thread_id,
                                    .capture_thread = lane->track.capture_id};
    if (!wr_lane_counts_locked(lane, &own.counts, limit_of(session)))
        return false;
    own.lost_other = lost_beyond(&own.counts, table->lost_count);
    figures_put((unsigned char *)table->threads + (size_t)at * table->thread_bytes,
                table->thread_bytes, table->lost_count, &own, &own.counts);
    return true;
}

static bool threads_locked(struct weir_session *session, struct weir_thread_table *table)
{
    for (struct wr_lane *lane = session->buffers.lanes; lane; lane = lane->next) {
        if (wr_u32_load_acquire(&lane->exited)) /* edge EXIT.acquire */
            continue;
        if (table->thread_count < table->threads_max &&
            !thread_put(session, lane, table, table->thread_count))
            return false;
        table->thread_count++;
    }
    return true;
}

/* The host's table; false if it is none of a known version. */
static bool table_take(struct weir_thread_table *own, const struct weir_thread_table *host)
{
    static const struct wr_host_struct kind = {"table", "WEIR_THREAD_TABLE_INIT", 32, sizeof *own};
    return host && wr_host_struct_take(&kind, own, host, NULL) == WEIR_OK &&
           layout_is_known(own->thread_bytes, own->lost_count, THREAD_HEAD_FIRST,
                           HEAD_BYTES(weir_thread_stats)) &&
           (own->threads || own->threads_max == 0);
}

WR_COLD enum weir_result weir_session_thread_stats(struct weir_session *session,
                                                   struct weir_thread_table *table)
{
    WR_OS_NO_CANCEL;
    struct weir_thread_table own = WEIR_THREAD_TABLE_INIT;
    if (!session || !table_take(&own, table))
        return WEIR_BAD_ARGUMENT;
    if (session->generation != wr_process_generation())
        return WEIR_BAD_STATE;
    own.thread_count = 0;
    uint64_t signals;
    wr_self_enter();
    bool is_done = wr_buffers_lock(&session->buffers, limit_of(session), &signals);
    if (is_done) {
        is_done = threads_locked(session, &own);
        wr_buffers_unlock(&session->buffers, signals);
    }
    wr_self_leave();
    table->thread_count = own.thread_count;
    return is_done ? WEIR_OK : WEIR_TIMEOUT;
}
