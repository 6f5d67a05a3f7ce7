/*
 * The sessions of this process by id, for those who did not create them. A call by id uses the
 * session, which destroy then waits for, but calls neither a provider nor the host's after hook
 * meanwhile: a provider may destroy the session, and a hook may wait for a thread that does.
 *
 * The list and its members are under the registry's lock. A forked child's list still has the
 * sessions of its parent; they have another generation, and are passed over.
 */
#include "session/session.h"

#include <string.h>
#include "base/host_struct.h"
#include "os/os.h"

static struct weir_session *sessions;
static uint64_t last_id;
static struct wr_u32 uses_ended; /* raised under the lock; slept on without it */

WR_COLD void wr_sessions_add(struct weir_session *session)
{
    wr_registry_lock();
    session->id = ++last_id;
    session->next = sessions;
    sessions = session;
    wr_registry_unlock();
}

WR_COLD bool wr_sessions_remove(struct weir_session *session, uint64_t deadline_ns)
{
    wr_registry_lock();
    struct weir_session **link = &sessions;
    while (*link && *link != session)
        link = &(*link)->next;
    if (*link)
        *link = session->next;
    bool is_free;
    for (bool has_time = true; !(is_free = session->users == 0) && has_time;) {
        uint32_t ended = wr_u32_load_acquire(&uses_ended);
        wr_registry_unlock();
        has_time = wr_session_wait_hooked(&uses_ended, ended, deadline_ns);
        wr_registry_lock();
    }
    wr_registry_unlock();
    return is_free;
}

WR_COLD void wr_sessions_set_starting(struct weir_session *session, bool is_starting)
{
    wr_registry_lock();
    session->is_starting = is_starting;
    session->starter = pthread_self();
    wr_registry_unlock();
}

WR_COLD bool wr_sessions_is_starting(struct weir_session *session)
{
    bool is_called = wr_self.callbacks || wr_self.depth > 0; /* a rundown is inside the library */
    wr_registry_lock();
    bool has_left = pthread_equal(session->starter, pthread_self()) && !is_called;
    bool is_starting = session->is_starting && !has_left;
    wr_registry_unlock();
    return is_starting;
}

/* The session with the lowest id from `id`; NULL if there is none. */
static struct weir_session *use_from(uint64_t id)
{
    struct weir_session *found = NULL;
    wr_registry_lock();
    for (struct weir_session *session = sessions; session; session = session->next)
        if (session->id >= id && session->generation == wr_process_generation() &&
            (!found || session->id < found->id))
            found = session;
    if (found)
        found->users++;
    wr_registry_unlock();
    return found;
}

static void use_end(struct weir_session *session)
{
    wr_registry_lock();
    session->users--;
    wr_u32_add_acq_rel(&uses_ended, 1);
    wr_registry_unlock();
    wr_os_futex_wake_all(&uses_ended);
}

uint64_t weir_session_id(const struct weir_session *session)
{
    return session ? session->id : 0;
}

WR_COLD enum weir_result weir_session_stop_id(uint64_t session_id, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    struct weir_session *session = use_from(session_id);
    bool is_found = session && session->id == session_id;
    enum weir_result result = WEIR_NOT_FOUND;
    struct wr_stop stop = {0, NULL};
    if (is_found)
        result = wr_session_stop(session, &stop, error);
    if (session)
        use_end(session);
    if (!is_found)
        return wr_fail(error, WEIR_NOT_FOUND, "there is no session with id %llu",
                       (unsigned long long)session_id);
    wr_session_stop_end(&stop);
    return result;
}

WR_COLD uint32_t wr_sessions_segment_bytes(uint64_t session_id)
{
    uint32_t bytes = 0;
    wr_registry_lock();
    for (const struct weir_session *session = sessions; session; session = session->next)
        if (session->id == session_id && session->generation == wr_process_generation() &&
            wr_u32_load_acquire(&session->state) <= WR_SESSION_ENABLED &&
            !wr_u32_load_acquire(&session->has_ended_early))
            bytes = session->buffers.segment_bytes;
    wr_registry_unlock();
    return bytes;
}

/* --- The list. ------------------------------------------------------------------------------- */

static enum weir_session_state public_state(const struct weir_session *session)
{
    switch ((enum wr_session_state)wr_u32_load_acquire(&session->state)) {
    case WR_SESSION_INERT:
    case WR_SESSION_STARTING:
        return WEIR_SESSION_CREATED;
    case WR_SESSION_ENABLED:
        return WEIR_SESSION_RUNNING;
    default:
        return WEIR_SESSION_STOPPED;
    }
}

static enum weir_result info_fill(struct weir_session *session, struct weir_session_info *info)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    enum weir_result result = weir_session_stats(session, &stats);
    if (result != WEIR_OK)
        return result;
    *info = (struct weir_session_info){.session_id = session->id,
                                       .budget_bytes = stats.budget_bytes,
                                       .budget_bytes_used = stats.budget_bytes_used,
                                       .bytes_sent = stats.bytes_sent,
                                       .attempted = stats.counts.attempted,
                                       .written = stats.counts.written,
                                       .parked_now = stats.parked_now,
                                       .mode = session->config.mode,
                                       .sink = session->sink_kind,
                                       .state = public_state(session)};
    for (uint32_t cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        info->lost += stats.counts.lost[cause];
    memcpy(info->name, session->name, sizeof info->name);
    return WEIR_OK;
}

/* The host's table; false if it is none of a known version. */
static bool table_take(struct weir_session_table *own, const struct weir_session_table *host)
{
    static const struct wr_host_struct kind = {"table", "WEIR_SESSION_TABLE_INIT", 32, sizeof *own};
    return host && wr_host_struct_take(&kind, own, host, NULL) == WEIR_OK &&
           wr_host_size_is_known(own->session_bytes, sizeof(struct weir_session_info),
                                 sizeof(struct weir_session_info)) &&
           own->reserved == 0 && (own->sessions || own->sessions_max == 0);
}

WR_COLD enum weir_result weir_session_list(struct weir_session_table *table)
{
    WR_OS_NO_CANCEL;
    struct weir_session_table own = WEIR_SESSION_TABLE_INIT;
    if (!table_take(&own, table))
        return WEIR_BAD_ARGUMENT;
    enum weir_result result = WEIR_OK;
    uint32_t count = 0;
    struct weir_session *session;
    for (uint64_t id = 1; result == WEIR_OK && (session = use_from(id)) != NULL; count++) {
        id = session->id + 1;
        struct weir_session_info info;
        if (count < own.sessions_max)
            result = info_fill(session, &info);
        if (count < own.sessions_max && result == WEIR_OK)
            memcpy((unsigned char *)own.sessions + (size_t)count * own.session_bytes, &info,
                   own.session_bytes);
        use_end(session);
    }
    if (result == WEIR_OK)
        table->session_count = count;
    return result;
}
