/* The poller: accepts and dials, and gives each connection its turn. */
#include "server/server.h"

#include <errno.h>
#include <string.h>

/* While no descriptor is free, a port that somebody connects to would be ready all the time. */
#define ACCEPT_PAUSE_NS (UINT64_C(100) * WR_NS_PER_MS)

/* --- Connections. ---------------------------------------------------------------------------- */

static struct wr_connection *connection_find_free(void)
{
    struct wr_connection *found = NULL;
    wr_server_lock();
    for (uint32_t i = 0; i < wr_server.slot_count && !found; i++)
        if (wr_server.connections[i].state == WR_CONNECTION_FREE)
            found = &wr_server.connections[i];
    wr_server_unlock();
    return found;
}

static void connection_begin(struct wr_connection *connection, int fd, uint32_t port,
                             uint64_t deadline_ns)
{
    connection->port = port;
    connection->deadline_ns = deadline_ns;
    connection->received = connection->payload_bytes = 0;
    connection->is_taken = connection->is_hung_up = connection->is_shut = false;
    connection->id = 0;
    connection->fd = fd;
    connection->is_parked = wr_server.ports[port].is_dialed; /* seen with the state */
    wr_connection_set(connection, WR_CONNECTION_READING);
}

/* Anything that the tool has sent beyond its request is read first: a reset would cost it the reply.
 */
static void fd_end(int *fd)
{
    unsigned char rest[4096];
    wr_os_socket_shutdown(*fd);
    for (int i = 0; i < 16 && wr_os_socket_receive(*fd, rest, sizeof rest) > 0; i++) {
    }
    wr_os_fd_close(fd);
}

static void connection_end(struct wr_connection *connection)
{
    struct wr_port *port = &wr_server.ports[connection->port];
    if (port->is_dialed && !connection->is_taken) {
        port->is_connected = false;
        wr_port_delay(port, wr_os_monotonic_ns());
    }
    fd_end(&connection->fd);
    wr_reply_free(&connection->reply);
    wr_collect_free(connection->collect);
    wr_os_pages_unmap(connection->payload, connection->payload_bytes);
    connection->collect = NULL;
    connection->payload = NULL;
    wr_connection_set(connection, WR_CONNECTION_FREE);
}

/* --- Ports. ---------------------------------------------------------------------------------- */

static bool is_out_of_descriptors(int failure)
{
    return failure == -EMFILE || failure == -ENFILE || failure == -ENOBUFS || failure == -ENOMEM;
}

static void port_accept(uint32_t index, uint64_t now_ns)
{
    struct wr_port *port = &wr_server.ports[index];
    struct wr_connection *connection = connection_find_free();
    if (!connection)
        return;
    int fd = wr_os_socket_accept(port->fd);
    if (fd == -EAGAIN)
        return;
    if (fd < 0) {
        port->due_ns = now_ns + ACCEPT_PAUSE_NS;
        wr_server_report_later(WEIR_SYSTEM, "cannot accept a tool's connection: %s", strerror(-fd));
    } else if (!wr_os_socket_peer_is_allowed(fd)) {
        fd_end(&fd);
    } else {
        connection_begin(connection, fd, index, wr_request_deadline(now_ns));
    }
}

/* False: the listener belongs to another user, or does not take the message. */
static bool advertise(int fd)
{
    unsigned char bytes[WR_ADVERTISE_BYTES];
    wr_advertise(bytes, wr_server.cookie, wr_os_process_id());
    return wr_os_socket_peer_is_allowed(fd) &&
           wr_os_socket_send(fd, bytes, sizeof bytes) == (int)sizeof bytes;
}

static void port_dial(uint32_t index, uint64_t now_ns)
{
    struct wr_port *port = &wr_server.ports[index];
    struct wr_connection *connection = connection_find_free();
    int fd = connection ? wr_os_socket_connect(port->path) : -EAGAIN;
    if (is_out_of_descriptors(fd))
        wr_server_report_later(WEIR_SYSTEM, "cannot dial %s: %s", port->path, strerror(-fd));
    if (fd >= 0 && !advertise(fd))
        fd_end(&fd);
    if (fd < 0) {
        wr_port_delay(port, now_ns);
        return;
    }
    port->is_connected = true;
    connection_begin(connection, fd, index, UINT64_MAX);
}

/* Dials what is due, and returns when the next port is. */
static uint64_t ports_look(uint64_t now_ns)
{
    uint64_t due_ns = UINT64_MAX;
    for (uint32_t i = 0; i < wr_server.port_count; i++) {
        struct wr_port *port = &wr_server.ports[i];
        if (port->is_dialed && !port->is_connected && port->due_ns <= now_ns)
            port_dial(i, now_ns);
        bool is_paused = port->is_dialed ? !port->is_connected : port->due_ns > now_ns;
        if (is_paused)
            due_ns = wr_min_u64(due_ns, port->due_ns);
    }
    return due_ns;
}

void wr_ports_remove(void)
{
    for (uint32_t i = 0; i < wr_server.port_count; i++) {
        wr_server_lock();
        struct wr_os_socket_name name = wr_server.ports[i].name;
        wr_server.ports[i].name.path[0] = 0;
        wr_server_unlock();
        wr_os_socket_remove(&name);
    }
}

/* Shut down, a socket refuses connections although a child may have a copy. */
void wr_ports_close(void)
{
    wr_ports_remove();
    for (uint32_t i = 0; i < wr_server.port_count; i++) {
        struct wr_port *port = &wr_server.ports[i];
        wr_server_lock();
        int fd = port->fd;
        port->fd = -1;
        wr_server_unlock();
        if (fd < 0)
            continue;
        wr_os_socket_shutdown(fd);
        wr_os_fd_close(&fd);
    }
}

/* --- The loop. ------------------------------------------------------------------------------- */

static short events_of(const struct wr_connection *connection)
{
    return connection->state == WR_CONNECTION_READING    ? POLLIN
           : connection->state == WR_CONNECTION_REPLYING ? POLLOUT
                                                         : 0;
}

/* One that waits for the worker, or has a stream, is looked at for its end only. */
static bool is_polled(const struct wr_connection *connection)
{
    return events_of(connection) || ((connection->state == WR_CONNECTION_WAITING ||
                                      connection->state == WR_CONNECTION_STREAMING) &&
                                     !connection->is_hung_up);
}

/* When the connection's time is over, if that is for the poller to see. */
static uint64_t due_of(const struct wr_connection *connection)
{
    if (events_of(connection))
        return connection->deadline_ns;
    bool is_to_cut = connection->state == WR_CONNECTION_STREAMING && wr_server.is_stopping;
    return is_to_cut && !connection->is_shut ? wr_server.cut_ns : UINT64_MAX;
}

static struct pollfd *polled_connections(void)
{
    return wr_server.polled + 1 + wr_server.port_count;
}

/* Fills in the connections that are waited for, and returns when the first deadline is. `*count`:
 * up to the last one, as poll() refuses more items than a process may have descriptors. */
static uint64_t polled_fill_connections(uint32_t *count, bool *has_room)
{
    uint64_t due_ns = UINT64_MAX;
    struct pollfd *items = polled_connections();
    *count = 0;
    wr_server_lock();
    *has_room = wr_server_connected_locked() < wr_server.config.connections_max;
    for (uint32_t i = 0; i < wr_server.slot_count; i++) {
        const struct wr_connection *connection = &wr_server.connections[i];
        bool is_waited_for = is_polled(connection);
        items[i] = (struct pollfd){.fd = is_waited_for ? connection->fd : -1,
                                   .events = events_of(connection)};
        if (is_waited_for)
            *count = i + 1;
        due_ns = wr_min_u64(due_ns, due_of(connection));
    }
    wr_server_unlock();
    return due_ns;
}

static uint64_t polled_fill(uint64_t now_ns, uint32_t *count)
{
    bool has_room;
    uint64_t due_ns = polled_fill_connections(count, &has_room);
    *count += 1 + wr_server.port_count;
    for (uint32_t i = 0; i < wr_server.port_count; i++) {
        const struct wr_port *port = &wr_server.ports[i];
        bool accepts = has_room && port->due_ns <= now_ns;
        wr_server.polled[1 + i] = (struct pollfd){.fd = accepts ? port->fd : -1, .events = POLLIN};
    }
    wr_server.polled[0] = (struct pollfd){.fd = wr_server.alarm, .events = POLLIN};
    return due_ns;
}

static void hung_up(struct wr_connection *connection)
{
    wr_server_lock();
    connection->is_hung_up = true;
    wr_server_unlock_for_worker();
}

/* The server is being stopped, and the tool has had its time: the session's drain goes on. */
static void shut(struct wr_connection *connection)
{
    connection->is_shut = true;
    wr_os_socket_shutdown(connection->fd);
}

static void connection_look(struct wr_connection *connection, short ready, uint64_t now_ns)
{
    wr_server_lock();
    enum wr_connection_state state = connection->state;
    bool is_late = now_ns >= due_of(connection);
    bool is_stopping = wr_server.is_stopping;
    wr_server_unlock();
    if (state == WR_CONNECTION_READING && ready)
        wr_request_read(connection, now_ns);
    else if (state == WR_CONNECTION_READING && (is_late || is_stopping))
        wr_request_give_up(connection);
    else if (state == WR_CONNECTION_REPLYING && (ready || is_late || is_stopping))
        wr_request_send(connection, is_late || is_stopping);
    else if (state == WR_CONNECTION_STREAMING && is_late)
        shut(connection);
    else if ((state == WR_CONNECTION_STREAMING || state == WR_CONNECTION_WAITING) && ready)
        hung_up(connection);
    else if (state == WR_CONNECTION_OVER)
        connection_end(connection);
}

/* If the host has closed the descriptor, the poller is deaf: it looks now and then. */
static void alarm_take(short ready)
{
    if (ready & POLLNVAL)
        wr_os_sleep_ns(ACCEPT_PAUSE_NS);
    else if (ready)
        wr_os_alarm_clear(wr_server.alarm);
}

static void turn(bool is_stopping)
{
    uint64_t now_ns = wr_os_monotonic_ns();
    uint64_t due_ns = is_stopping ? UINT64_MAX : ports_look(now_ns);
    uint32_t count;
    due_ns = wr_min_u64(due_ns, polled_fill(now_ns, &count));
    wr_os_poll(wr_server.polled, count,
               due_ns == UINT64_MAX ? UINT64_MAX : due_ns - wr_min_u64(now_ns, due_ns));
    now_ns = wr_os_monotonic_ns();
    alarm_take(wr_server.polled[0].revents);
    for (uint32_t i = 0; i < wr_server.port_count; i++)
        if (wr_server.polled[1 + i].revents && !is_stopping)
            port_accept(i, now_ns);
    for (uint32_t i = 0; i < wr_server.slot_count; i++)
        connection_look(&wr_server.connections[i], polled_connections()[i].revents, now_ns);
}

static bool is_any_left(void)
{
    bool is_left = !wr_server.worker_is_gone;
    for (uint32_t i = 0; i < wr_server.slot_count && !is_left; i++)
        is_left = wr_server.connections[i].state != WR_CONNECTION_FREE;
    return is_left;
}

void *wr_poller_run(void *unused)
{
    (void)unused;
    bool is_stopping = false, is_left = true;
    while (is_left) {
        turn(is_stopping);
        wr_server_lock();
        bool was_stopping = is_stopping;
        is_stopping = wr_server.is_stopping;
        is_left = !is_stopping || is_any_left();
        wr_server_unlock();
        if (is_stopping && !was_stopping)
            wr_ports_close();
    }
    wr_server_lock();
    wr_server.poller_is_gone = true;
    wr_server_unlock_changed();
    return NULL;
}
