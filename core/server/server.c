/* The server's life: start, stop, what a host asks; its lock; exits and forks. */
#include "server/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/host_struct.h"
#include "event/event.h"
#include "os/copies.h"
#include "server/asked.h"
#include "server/greeting.h"
#include "session/session.h"

#define SUSPEND_MESSAGE_NS (UINT64_C(5000) * WR_NS_PER_MS)
#define SETTLE_NS          (UINT64_C(10000) * WR_NS_PER_MS) /* for a start to be over */

struct wr_server wr_server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- The lock. ------------------------------------------------------------------------------- */

/* No handler interrupts a thread that holds it: the handler could emit, and wait for a tool whose
 * session waits for the lock. */
void wr_server_lock(void)
{
    wr_self_enter();
    uint64_t before = wr_os_signals_block();
    pthread_mutex_lock(&wr_server.lock);
    wr_server.signals_before = before;
}

void wr_server_unlock(void)
{
    uint64_t before = wr_server.signals_before;
    pthread_mutex_unlock(&wr_server.lock);
    wr_os_signals_restore(before);
    wr_self_leave();
}

static void raise_and_unlock(struct wr_u32 *word)
{
    wr_u32_add_acq_rel(word, 1);
    wr_server_unlock();
    wr_os_futex_wake_all(word);
}

void wr_server_unlock_for_worker(void)
{
    raise_and_unlock(&wr_server.work);
}

void wr_server_unlock_changed(void)
{
    raise_and_unlock(&wr_server.changes);
}

void wr_connection_set(struct wr_connection *connection, enum wr_connection_state state)
{
    wr_server_lock();
    if (state == WR_CONNECTION_WAITING && wr_server.worker_is_gone)
        state = WR_CONNECTION_OVER;
    connection->state = state;
    if (state == WR_CONNECTION_WAITING) {
        wr_server_unlock_for_worker();
        return;
    }
    wr_server_unlock();
    wr_os_alarm_ring(wr_server.alarm);
}

/* Waits until `is_so(argument)`. False: at the deadline it is not. */
static bool await(bool (*is_so)(uint64_t argument), uint64_t argument, uint64_t deadline_ns)
{
    for (bool has_time = true; has_time;) {
        uint32_t ticket = wr_u32_load_acquire(&wr_server.changes); /* before the look */
        if (is_so(argument))
            return true;
        has_time = wr_session_wait_hooked(&wr_server.changes, ticket, deadline_ns);
    }
    return is_so(argument);
}

uint32_t wr_server_connected_locked(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wr_server.slot_count; i++) {
        const struct wr_connection *connection = &wr_server.connections[i];
        count += connection->state != WR_CONNECTION_FREE && !connection->is_parked;
    }
    return count;
}

/* --- Reports. -------------------------------------------------------------------------------- */

/* What a start finds is the host's to know, each time; what happens later, once of each kind. */
static bool is_to_be_reported(enum weir_result result)
{
    wr_server_lock();
    bool is_first = wr_server.state == WR_SERVER_CHANGING || !(wr_server.reported & 1u << result);
    wr_server.reported |= 1u << result;
    wr_server_unlock();
    return is_first;
}

static void report(enum weir_result result, const char *text)
{
    if (wr_server.config.on_error)
        wr_server.config.on_error(wr_server.config.on_error_context, result, text);
    else
        fprintf(stderr, "weir: %s\n", text);
}

void wr_server_report(enum weir_result result, const char *format, ...)
{
    char text[WR_REPORT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (is_to_be_reported(result))
        report(result, text);
}

void wr_server_report_later(enum weir_result result, const char *format, ...)
{
    va_list arguments;
    if (!is_to_be_reported(result))
        return;
    wr_server_lock();
    va_start(arguments, format);
    vsnprintf(wr_server.report, sizeof wr_server.report, format, arguments);
    va_end(arguments);
    wr_server.report_result = result;
    wr_server_unlock_for_worker();
}

void wr_server_report_now(void)
{
    char text[WR_REPORT_BYTES];
    wr_server_lock();
    enum weir_result result = wr_server.report_result;
    memcpy(text, wr_server.report, sizeof text);
    wr_server.report_result = WEIR_OK;
    wr_server_unlock();
    if (result != WEIR_OK)
        report(result, text);
}

/* --- Forks and exits. ------------------------------------------------------------------------ */

/* Only the parent serves. The child's copies would keep its sockets alive, and tools waiting. The
 * lock may be held by a thread that the child does not have. The pages stay: a callback of the worker
 * may have forked, and uses them until it has returned. */
static void after_fork_child(void)
{
    struct wr_connection *connections = wr_server.connections;
    pthread_mutex_init(&wr_server.lock, NULL);
    wr_os_fd_close(&wr_server.alarm);
    for (uint32_t i = 0; i < wr_server.port_count; i++) {
        wr_os_fd_close(&wr_server.ports[i].fd);
        wr_server.ports[i].name.path[0] = 0;
    }
    for (uint32_t i = 0; connections && i < wr_server.slot_count; i++)
        wr_os_fd_close(&connections[i].fd);
    wr_server.connections = NULL;
    wr_server.polled = NULL;
    wr_server.port_count = 0;
    wr_server.state = WR_SERVER_NONE;
}

bool wr_server_is_in_child(void)
{
    return wr_server.generation != wr_process_generation();
}

/* A host that exits within a callback of the worker cannot stop the server, but no socket stays. */
static void stop_at_exit(void)
{
    struct weir_error error = {""};
    wr_self.has_let_go = true;
    enum weir_result result = weir_server_stop(&error);
    wr_self.has_let_go = false;
    if (result == WEIR_BAD_STATE)
        wr_ports_remove();
    else if (result != WEIR_OK)
        fprintf(stderr, "weir: at exit: %s\n", error.text);
}

static void init_once(void)
{
    wr_server.alarm = -1;
    pthread_atfork(NULL, NULL, after_fork_child);
    atexit(stop_at_exit);
}

/* --- Start. ---------------------------------------------------------------------------------- */

/* What belongs to the process, not to one of its servers. It is held only once, and neither is a
 * child that it forks: the tool that waits for a process waits for this one. */
static void process_begin(void)
{
    static uint32_t generations; /* that have had a server: the last one, and one more */
    for (uint32_t i = 0; wr_server.has_served && i < wr_server.port_count; i++)
        wr_server.ports[i].suspends = false;
    wr_server.generation = wr_process_generation();
    if (generations != wr_server.generation + 1) {
        wr_os_random(wr_server.cookie, sizeof wr_server.cookie);
        wr_server.last_id = 0;
    }
    generations = wr_server.generation + 1;
}

static uint64_t connections_bytes(void)
{
    return wr_server.slot_count * sizeof(struct wr_connection);
}

static uint64_t polled_bytes(void)
{
    return (1 + wr_server.port_count + wr_server.slot_count) * sizeof(struct pollfd);
}

/* A child that is forked at any moment finds no table, or a whole one. */
static void memory_release(void)
{
    void *connections = wr_server.connections, *polled = wr_server.polled;
    wr_server.connections = NULL;
    wr_server.polled = NULL;
    wr_compiler_barrier();
    wr_os_pages_unmap(connections, connections_bytes());
    wr_os_pages_unmap(polled, polled_bytes());
}

/* Beside the connections that tools make, each port that is dialed has one that waits for a tool. */
static bool memory_reserve(void)
{
    wr_server.slot_count = wr_server.config.connections_max + wr_server.port_count;
    struct wr_connection *connections = wr_os_pages_map(connections_bytes());
    for (uint32_t i = 0; connections && i < wr_server.slot_count; i++)
        connections[i].fd = -1;
    wr_compiler_barrier();
    wr_server.connections = connections;
    wr_server.polled = wr_os_pages_map(polled_bytes());
    if (wr_server.connections && wr_server.polled)
        return true;
    memory_release();
    return false;
}

/* False: the port cannot be used, so the host is not held for it either. */
static bool port_open(struct wr_port *port)
{
    if (port->is_dialed)
        return true;
    int fd = wr_os_socket_listen(port->path, !port->is_default, &port->name);
    if (fd < 0) {
        port->suspends = false;
        wr_server_report(WEIR_IO, "cannot listen at %s: %s%s", port->path, strerror(-fd),
                         port->is_default ? "; TMPDIR sets the folder" : "");
        return false;
    }
    port->fd = fd;
    return true;
}

/* Returns how many ports can be served. */
static uint32_t ports_open(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wr_server.port_count; i++)
        count += port_open(&wr_server.ports[i]);
    return count;
}

static bool are_gone_locked(void)
{
    return wr_server.poller_is_gone && wr_server.worker_is_gone;
}

static bool are_gone(uint64_t unused)
{
    (void)unused;
    wr_server_lock();
    bool are_gone = are_gone_locked();
    wr_server_unlock();
    return are_gone;
}

/* The worker first: the poller hands requests to it. */
static int threads_start(void)
{
    wr_server_lock();
    wr_server.is_stopping = wr_server.poller_is_gone = wr_server.worker_is_gone = false;
    wr_server.reported = 0;
    wr_server.worker = 0; /* a thread of the host's may have its number now */
    wr_server_unlock();
    wr_os_module_keep(); /* the threads' code must stay until they have returned */
    int failure = wr_os_thread_start("weir-worker", wr_worker_run, NULL);
    if (failure)
        return failure;
    failure = wr_os_thread_start("weir-poller", wr_poller_run, NULL);
    if (!failure)
        return 0;
    wr_server_lock();
    wr_server.is_stopping = wr_server.poller_is_gone = true;
    wr_server_unlock_for_worker();
    await(are_gone, 0, UINT64_MAX);
    return failure;
}

/* A ladder: a step that fails undoes the steps before it. `*is_served`: there are threads. */
static enum weir_result build(bool *is_served, struct weir_error *error)
{
    enum weir_result result = wr_greeting_register(error);
    if (result != WEIR_OK)
        return result;
    if (!memory_reserve())
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for %u connections",
                       wr_server.config.connections_max);
    wr_server.alarm = wr_os_alarm_create();
    int failure = wr_server.alarm < 0 ? -wr_server.alarm : 0;
    bool has_ports = !failure && ports_open() > 0;
    if (has_ports)
        failure = threads_start();
    *is_served = has_ports && !failure;
    if (*is_served)
        return WEIR_OK;
    wr_ports_close();
    wr_os_fd_close(&wr_server.alarm);
    memory_release();
    return !failure ? WEIR_OK
                    : wr_fail(error, WEIR_SYSTEM, "cannot serve tools: %s", strerror(failure));
}

/* Takes the server for a change of its state, if `is_so`. Gives up the lock. */
static bool change_begin_locked(bool is_so)
{
    if (is_so) {
        wr_server.state = WR_SERVER_CHANGING;
        wr_server.changer = pthread_self();
    }
    wr_server_unlock();
    return is_so;
}

static void change_end(enum wr_server_state to)
{
    wr_server_lock();
    wr_server.state = to;
    wr_server_unlock_changed();
}

enum weir_result weir_server_start(const struct weir_server_config *config,
                                   struct weir_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool is_wanted = false, is_served = false;
    WR_OS_NO_CANCEL;
    wr_init();
    pthread_once(&once, init_once);
    if (!config)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "config must not be NULL");
    wr_server_lock();
    bool is_free = wr_server.state == WR_SERVER_NONE;
    wr_server.starts += is_free;
    if (!change_begin_locked(is_free))
        return wr_fail(error, WEIR_EXISTS, "this process has a server");
    enum weir_result result = wr_server_configure(config, &is_wanted, error);
    if (result == WEIR_OK && is_wanted)
        result = wr_copies_check("only that one serves tools", error);
    if (result == WEIR_OK && is_wanted) {
        process_begin();
        result = build(&is_served, error);
    }
    wr_server.has_served |= is_served;
    change_end(is_served ? WR_SERVER_RUNNING : WR_SERVER_NONE);
    return result;
}

/* --- Resume. --------------------------------------------------------------------------------- */

/* The first port that waits to be resumed; NULL: none. */
static const struct wr_port *suspending_locked(void)
{
    if (wr_server.state == WR_SERVER_RUNNING && !wr_server.is_stopping)
        for (uint32_t i = 0; i < wr_server.port_count; i++)
            if (wr_server.ports[i].suspends && !wr_server.ports[i].is_resumed)
                return &wr_server.ports[i];
    return NULL;
}

static bool is_resumed(uint64_t unused)
{
    (void)unused;
    wr_server_lock();
    bool is_resumed = !suspending_locked();
    wr_server_unlock();
    return is_resumed;
}

static void suspension_describe(char *text, size_t capacity)
{
    wr_server_lock();
    const struct wr_port *port = suspending_locked();
    snprintf(text, capacity, "through %s (%s)", port ? port->path : "a port",
             port ? port->asked_by : "resumed meanwhile");
    wr_server_unlock();
}

enum weir_result weir_server_wait_for_resume(struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    char text[WR_SOCKET_PATH_BYTES + 64];
    uint64_t begin_ns = wr_os_monotonic_ns();
    wr_server_lock();
    uint64_t limit_ns = (uint64_t)wr_server.config.suspend_ms_max * WR_NS_PER_MS;
    wr_server_unlock();
    uint64_t deadline_ns = limit_ns ? begin_ns + limit_ns : UINT64_MAX;
    if (await(is_resumed, 0, wr_min_u64(deadline_ns, begin_ns + SUSPEND_MESSAGE_NS)))
        return WEIR_OK;
    suspension_describe(text, sizeof text);
    if (wr_os_monotonic_ns() < deadline_ns) {
        fprintf(stderr,
                "weir: waiting until a tool resumes this process %s; for a port with the tag "
                "nosuspend it would not wait\n",
                text);
        if (await(is_resumed, 0, deadline_ns))
            return WEIR_OK;
    }
    return wr_fail(error, WEIR_TIMEOUT, "no tool has resumed this process %s", text);
}

/* --- Stop. ----------------------------------------------------------------------------------- */

/* Would the server wait for this thread? Rundowns are on the threads of their sessions. */
static bool is_own_thread(void)
{
    pthread_t self = pthread_self();
    wr_server_lock();
    bool is_own =
        wr_self.sources ||
        (wr_server.state == WR_SERVER_CHANGING && pthread_equal(self, wr_server.changer)) ||
        (wr_server.state == WR_SERVER_RUNNING && !wr_server.worker_is_gone &&
         pthread_equal(self, wr_server.worker));
    wr_server_unlock();
    return is_own;
}

static bool is_settled(uint64_t unused)
{
    (void)unused;
    wr_server_lock();
    bool is_settled = wr_server.state != WR_SERVER_CHANGING;
    wr_server_unlock();
    return is_settled;
}

/* Has the server of that start ended? Of several threads that stop it, one cleans up behind it. */
static bool is_over(uint64_t start)
{
    wr_server_lock();
    bool is_over = wr_server.state == WR_SERVER_NONE || wr_server.starts != start;
    bool is_ended = wr_server.state == WR_SERVER_RUNNING && are_gone_locked();
    if (!change_begin_locked(!is_over && is_ended))
        return is_over;
    wr_os_fd_close(&wr_server.alarm);
    memory_release();
    change_end(WR_SERVER_NONE);
    return true;
}

/* Has both threads end. Returns the number of the start whose server that is. Tools that do not read
 * stay connected until `cut_ns`, and as long again is for the host. */
static uint64_t stop_begin(uint64_t *deadline_ns)
{
    uint64_t now_ns = wr_os_monotonic_ns();
    wr_server_lock();
    uint64_t stop_ns = (uint64_t)wr_server.config.stop_ms_max * WR_NS_PER_MS;
    if (wr_server.state == WR_SERVER_RUNNING && !wr_server.is_stopping) {
        wr_server.is_stopping = true;
        wr_server.cut_ns = now_ns + stop_ns;
        wr_os_alarm_ring(wr_server.alarm);
    }
    *deadline_ns = wr_max_u64(wr_server.cut_ns, now_ns) + stop_ns;
    uint64_t start = wr_server.starts;
    wr_server_unlock_for_worker();
    return start;
}

enum weir_result weir_server_stop(struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    uint64_t deadline_ns;
    if (is_own_thread())
        return wr_fail(error, WEIR_BAD_STATE, "a callback of the server may not stop it");
    if (!await(is_settled, 0, wr_os_monotonic_ns() + SETTLE_NS))
        return wr_fail(error, WEIR_TIMEOUT, "another thread is still starting the server");
    uint64_t start = stop_begin(&deadline_ns);
    if (!await(is_over, start, deadline_ns))
        return wr_fail(error, WEIR_TIMEOUT,
                       "after twice stop_ms_max a session of a tool has not ended, or a callback "
                       "has not returned; stop again to continue");
    return WEIR_OK;
}

/* --- Status. --------------------------------------------------------------------------------- */

static void info_fill_locked(struct weir_server_info *info)
{
    info->is_running = true;
    info->is_suspended = suspending_locked() != NULL;
    info->connections = wr_server_connected_locked();
    for (uint32_t i = 0; i < wr_server.slot_count; i++)
        info->sessions += wr_server.connections[i].state == WR_CONNECTION_STREAMING;
    for (uint32_t i = 0; i < wr_server.port_count; i++) {
        const struct wr_port *port = &wr_server.ports[i];
        info->ports += port->is_dialed || port->fd >= 0;
        if (port->is_default && port->fd >= 0)
            memcpy(info->path, port->path, sizeof port->path);
    }
}

enum weir_result weir_server_status(struct weir_server_info *info)
{
    static const struct wr_host_struct kind = {"info", "WEIR_SERVER_INFO_INIT",
                                               WR_SERVER_INFO_FIRST, sizeof *info};
    struct weir_server_info own = WEIR_SERVER_INFO_INIT, filled = WEIR_SERVER_INFO_INIT;
    if (!info || wr_host_struct_take(&kind, &own, info, NULL) != WEIR_OK)
        return WEIR_BAD_ARGUMENT;
    wr_server_lock();
    if (wr_server.state == WR_SERVER_RUNNING)
        info_fill_locked(&filled);
    wr_server_unlock();
    size_t size = info->size;
    memcpy(info, &filled, size);
    info->size = size;
    return WEIR_OK;
}
