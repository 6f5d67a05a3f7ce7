/* The worker: sessions of tools, from the request to the end of the stream. */
#include "server/sink.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "event/event.h"
#include "runtime/dotnet.h"
#include "server/greeting.h"
#include "session/session.h"
#include "session/text.h"

#define STOPPING_LOOK_NS (UINT64_C(2) * WR_NS_PER_MS)
#define LATE_LOOK_NS     (UINT64_C(100) * WR_NS_PER_MS) /* a stop whose time is over */
/* The host may stop any session by its id, and nothing tells the worker. */
#define SESSION_LOOK_NS (UINT64_C(500) * WR_NS_PER_MS)

static uint64_t stop_ns(void)
{
    return (uint64_t)wr_server.config.stop_ms_max * WR_NS_PER_MS;
}

/* --- Start. ---------------------------------------------------------------------------------- */

static uint32_t sessions_count(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wr_server.slot_count; i++)
        count += wr_server.connections[i].session != NULL;
    return count;
}

/* A host's heap has the name of .NET's runtime, but only the events of heaps. It is what a tool wants if
 * that asks for those by their keywords, but not if it asks for all that there is. */
static bool is_there(const struct weir_enable *enable)
{
    bool wants_heap = enable->keywords != UINT64_MAX &&
                      (enable->keywords & (WR_DOTNET_HEAP_DUMP | WR_DOTNET_HEAP_COLLECT)) != 0;
    return strcmp(enable->provider, "*") == 0 ||
           (wr_provider_exists(enable->provider) &&
            (wants_heap || strcasecmp(enable->provider, WR_DOTNET_RUNTIME) != 0));
}

static bool any_provider_exists(const struct wr_collect *collect)
{
    for (uint32_t i = 0; i < collect->enable_count; i++)
        if (is_there(&collect->enables[i]))
            return true;
    return false;
}

/* Unknown providers take effect when they are registered. A tool that was not told what to trace
 * asks for those of .NET, none of which is here. */
static void providers_choose(struct weir_session_config *config, const struct wr_collect *collect)
{
    config->enables = collect->enables;
    config->enable_count = collect->enable_count;
    config->unknown_providers_allowed = true;
    if (!wr_server.texts->default_providers[0] || any_provider_exists(collect))
        return;
    config->enables = NULL;
    config->enable_count = 0;
    config->providers = wr_server.texts->default_providers;
}

static enum weir_result session_create(struct wr_connection *connection, const char *name)
{
    const struct wr_collect *collect = connection->collect;
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    providers_choose(&config, collect);
    config.name = name;
    config.sink.write = wr_sink_write;
    config.sink.context = connection;
    config.budget_bytes = wr_min_u64(collect->budget_bytes, wr_server.config.budget_bytes_max);
    config.mode = collect->is_block ? WEIR_MODE_BLOCK : WEIR_MODE_DROP;
    config.stop_serves_waiting = collect->is_block; /* a tool expects no loss */
    config.rundown_keywords = collect->rundown_keywords;
    config.no_stacks = collect->no_stacks;
    config.rundown_at_start = false; /* a tool that does not read would hold up the others */
    config.stop_ms_max = wr_server.config.stop_ms_max;
    config.on_error = wr_sink_failed;
    config.on_error_context = connection;
    return weir_session_create(&config, &connection->session, NULL);
}

/* From here on the drain may write, and the poller looks whether the tool is there. */
static void stream_begin(struct wr_connection *connection, uint64_t id)
{
    connection->is_block = connection->collect->is_block;
    connection->has_id = connection->is_stopping = connection->is_cut = false;
    wr_session_set_greeting(connection->session, wr_greet, connection->collect->budget_bytes);
    wr_server_lock();
    connection->id = id;
    connection->is_hung_up = connection->must_stop = false;
    connection->taken_ns = wr_os_monotonic_ns();
    wr_server_unlock();
    wr_connection_set(connection, WR_CONNECTION_STREAMING);
}

/* The reply is the first that the sink writes, unless there is no session. */
static void session_begin(struct wr_connection *connection)
{
    char name[40];
    uint64_t id = wr_server.last_id + 1;
    snprintf(name, sizeof name, "diagnostics-%llu", (unsigned long long)id);
    if (sessions_count() >= wr_server.config.sessions_max ||
        session_create(connection, name) != WEIR_OK) {
        wr_request_fail(connection, WR_REPLY_FAIL);
        return;
    }
    wr_server.last_id = id;
    stream_begin(connection, id);
    enum weir_result result = weir_session_start(connection->session, NULL);
    wr_collect_free(connection->collect);
    connection->collect = NULL;
    if (result == WEIR_OK)
        return;
    if (weir_session_destroy(connection->session) != WEIR_OK) { /* somebody uses it by its id */
        connection->must_stop = true;
        return;
    }
    connection->session = NULL;
    wr_request_fail(connection, WR_REPLY_FAIL);
}

/* --- Stop. ----------------------------------------------------------------------------------- */

static struct wr_connection *session_find(uint64_t id)
{
    for (uint32_t i = 0; i < wr_server.slot_count; i++)
        if (wr_server.connections[i].session && wr_server.connections[i].id == id)
            return &wr_server.connections[i];
    return NULL;
}

/* The reply follows when the session is over and its tool has been sent everything. Returns when to
 * look again. */
static uint64_t stop_requested(struct wr_connection *connection, uint64_t now_ns)
{
    struct wr_connection *target = session_find(connection->id);
    if (target) {
        wr_server_lock();
        target->must_stop = true;
        wr_server_unlock();
        return now_ns + (target->is_cut ? LATE_LOOK_NS : STOPPING_LOOK_NS);
    }
    if (connection->id > 0 && connection->id <= wr_server.last_id)
        wr_request_succeed(connection, connection->id);
    else
        wr_request_fail(connection, WR_REPLY_FAIL);
    return now_ns;
}

/* Is there a reason to stop it? */
static bool is_to_stop(struct wr_connection *connection)
{
    wr_server_lock();
    bool is_wanted = connection->must_stop || connection->is_hung_up || wr_server.is_stopping;
    wr_server_unlock();
    return is_wanted || wr_session_is_stopped(connection->session); /* by the host, by its id */
}

/* Has the tool read nothing for so long that it has to go? */
static bool is_overdue(const struct wr_connection *connection, uint64_t now_ns)
{
    wr_server_lock();
    uint64_t since_ns = wr_max_u64(connection->stopping_ns, connection->taken_ns);
    wr_server_unlock();
    return now_ns >= since_ns + stop_ns();
}

static void session_end(struct wr_connection *connection)
{
    connection->session = NULL;
    wr_connection_set(connection, WR_CONNECTION_OVER);
}

/* Returns when to look again. A tool that does not read is disconnected: the drain then ends. What
 * else keeps a session from its end is the host's, and is reported. */
static uint64_t session_stop(struct wr_connection *connection, uint64_t now_ns)
{
    struct weir_error error = {""};
    if (!connection->is_stopping) {
        connection->is_stopping = true;
        connection->stopping_ns = now_ns;
    }
    if (!connection->is_cut && is_overdue(connection, now_ns)) {
        wr_os_socket_shutdown(connection->fd);
        connection->is_cut = true;
        connection->stopping_ns = now_ns;
    }
    uint64_t deadline_ns = connection->stopping_ns + stop_ns();
    enum weir_result result = wr_session_stop_try(connection->session, deadline_ns, &error);
    if (result == WEIR_BUSY)
        return now_ns + STOPPING_LOOK_NS;
    if (result != WEIR_TIMEOUT)
        result = weir_session_destroy(connection->session);
    if (result != WEIR_TIMEOUT) { /* WEIR_SYSTEM: it is over, and its memory stays */
        session_end(connection);
        return now_ns;
    }
    if (connection->is_cut)
        wr_server_report(WEIR_TIMEOUT, "a tool's session cannot be ended: %s", error.text);
    return now_ns + LATE_LOOK_NS;
}

/* --- The thread. ----------------------------------------------------------------------------- */

/* Is the request of a tool that waits still of use? */
static bool is_needed(struct wr_connection *connection)
{
    wr_server_lock();
    bool has_gone = connection->is_hung_up, is_stopping = wr_server.is_stopping;
    wr_server_unlock();
    return !has_gone && (connection->request == WR_REQUEST_STOP_TRACING || !is_stopping);
}

/* A tool waits. Tools send a request that depends on another one only after its reply, so the order
 * in which they are taken does not matter. Returns when to look again. */
static uint64_t request_take(struct wr_connection *connection, uint64_t now_ns)
{
    if (connection->request == WR_REQUEST_RESUME_RUNTIME)
        wr_request_resume(connection);
    else if (!is_needed(connection))
        wr_request_fail(connection, WR_REPLY_FAIL);
    else if (connection->request == WR_REQUEST_STOP_TRACING)
        return stop_requested(connection, now_ns);
    else
        session_begin(connection);
    return now_ns;
}

/* Returns when to look at the connection again. */
static uint64_t look(struct wr_connection *connection, uint64_t now_ns)
{
    wr_server_lock();
    enum wr_connection_state state = connection->state;
    wr_server_unlock();
    if (state == WR_CONNECTION_WAITING)
        return request_take(connection, now_ns);
    if (state != WR_CONNECTION_STREAMING)
        return UINT64_MAX;
    return connection->is_stopping || is_to_stop(connection) ? session_stop(connection, now_ns)
                                                             : now_ns + SESSION_LOOK_NS;
}

/* If the server is being stopped and nothing is left to do, the worker leaves: from then on no
 * connection waits for it. */
static bool leave(void)
{
    wr_server_lock();
    bool is_over = wr_server.is_stopping;
    for (uint32_t i = 0; i < wr_server.slot_count && is_over; i++)
        is_over = wr_server.connections[i].state != WR_CONNECTION_WAITING &&
                  wr_server.connections[i].state != WR_CONNECTION_STREAMING;
    if (!is_over) {
        wr_server_unlock();
        return false;
    }
    wr_server.worker_is_gone = true;
    wr_os_alarm_ring(wr_server.alarm);
    wr_server_unlock_changed();
    return true;
}

/* Callbacks of the host, which may fork, run in here. */
static uint64_t look_at_all(void)
{
    uint64_t due_ns = UINT64_MAX;
    wr_server_report_now();
    for (uint32_t i = 0; i < wr_server.slot_count && !wr_server_is_in_child(); i++)
        due_ns = wr_min_u64(due_ns, look(&wr_server.connections[i], wr_os_monotonic_ns()));
    return due_ns;
}

static void sleep_until(uint64_t due_ns, uint32_t ticket)
{
    uint64_t now_ns = wr_os_monotonic_ns();
    if (due_ns > now_ns)
        wr_os_futex_wait(&wr_server.work, ticket,
                         due_ns == UINT64_MAX ? UINT64_MAX : due_ns - now_ns);
}

/* In a child that a callback has forked, and that returns from it, this thread ends, and with it the
 * child. */
void *wr_worker_run(void *unused)
{
    (void)unused;
    wr_server_lock();
    wr_server.worker = pthread_self();
    wr_server_unlock();
    for (;;) {
        uint32_t ticket = wr_u32_load_acquire(&wr_server.work); /* before the connections */
        if (leave())
            return NULL;
        uint64_t due_ns = look_at_all();
        if (wr_server_is_in_child())
            return NULL;
        sleep_until(due_ns, ticket);
    }
}
