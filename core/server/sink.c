/*
 * The stream on its way to a tool: a session's sink, on its drain thread. The reply that the tool
 * waits for goes first, so nothing is in the stream before it.
 */
#include "server/sink.h"

#include <errno.h>
#include "session/session.h"

#define LOOK_NS (UINT64_C(100) * WR_NS_PER_MS)

static void taken(struct wr_connection *connection)
{
    wr_server_lock();
    connection->taken_ns = wr_os_monotonic_ns();
    wr_server_unlock();
}

/* Waits until the tool reads. False: it does not, and threads wait for it. Each time it looks whether
 * there is room, since the system reports none before the tool has read most of what it has. */
static bool await(struct wr_connection *connection, uint64_t since_ns)
{
    uint64_t limit_ns = (uint64_t)wr_server.config.block_ms_max * WR_NS_PER_MS;
    if (connection->is_block && wr_os_monotonic_ns() - since_ns >= limit_ns)
        return false;
    struct pollfd item = {.fd = connection->fd, .events = POLLOUT};
    wr_os_poll(&item, 1, LOOK_NS);
    return true;
}

static bool sink_send(struct wr_connection *connection, const unsigned char *bytes, size_t count)
{
    uint64_t since_ns = wr_os_monotonic_ns();
    while (count > 0) {
        int sent = wr_os_socket_send(connection->fd, bytes, count);
        if (sent > 0) {
            bytes += sent;
            count -= (size_t)sent;
            since_ns = wr_os_monotonic_ns();
            taken(connection);
        } else if (sent != -EAGAIN || !await(connection, since_ns)) {
            return false;
        }
    }
    return true;
}

/* The reply is sent once the events are enabled: what the host emits after the tool has it is in the
 * stream. The start waits for no sink. */
static bool reply_send(struct wr_connection *connection)
{
    unsigned char reply[WR_REPLY_ID_BYTES];
    wr_session_wait_while(&connection->session->state, WR_SESSION_STARTING, UINT64_MAX);
    wr_reply_id(reply, connection->id);
    connection->has_id = sink_send(connection, reply, sizeof reply);
    return connection->has_id;
}

bool wr_sink_write(void *context, const void *bytes, size_t count)
{
    struct wr_connection *connection = context;
    return (connection->has_id || reply_send(connection)) && sink_send(connection, bytes, count);
}

void wr_sink_failed(void *context, enum weir_result result, const char *text)
{
    struct wr_connection *connection = context;
    (void)result;
    (void)text; /* the tool sees that its stream has no end */
    wr_server_lock();
    connection->must_stop = true;
    wr_server_unlock_for_worker();
}
