/* Requests: read, and answered unless they need a session. On the poller. */
#include "server/server.h"

#include <errno.h>

/* --- Replies. -------------------------------------------------------------------------------- */

uint64_t wr_request_deadline(uint64_t now_ns)
{
    return now_ns + (uint64_t)wr_server.config.request_ms_max * WR_NS_PER_MS;
}

/* Hands the reply, which is complete, to the poller. */
static void reply_send(struct wr_connection *connection)
{
    connection->deadline_ns = wr_request_deadline(wr_os_monotonic_ns());
    wr_connection_set(connection,
                      connection->reply.is_bad ? WR_CONNECTION_OVER : WR_CONNECTION_REPLYING);
}

void wr_request_fail(struct wr_connection *connection, uint32_t code)
{
    wr_reply_begin(&connection->reply, code);
    wr_reply_end(&connection->reply);
    reply_send(connection);
}

void wr_request_succeed(struct wr_connection *connection, uint64_t id)
{
    unsigned char reply[WR_REPLY_ID_BYTES];
    wr_reply_id(reply, id);
    wr_reply_bytes(&connection->reply, reply, sizeof reply);
    reply_send(connection);
}

void wr_request_send(struct wr_connection *connection, bool is_last_try)
{
    struct wr_reply *reply = &connection->reply;
    while (reply->sent < reply->used) {
        int sent = wr_os_socket_send(connection->fd, reply->bytes + reply->sent,
                                     reply->used - reply->sent);
        if (sent == -EAGAIN && !is_last_try)
            return;
        if (sent <= 0)
            break;
        reply->sent += (uint64_t)sent;
    }
    wr_connection_set(connection, WR_CONNECTION_OVER);
}

/* --- Requests. ------------------------------------------------------------------------------- */

void wr_request_resume(struct wr_connection *connection)
{
    wr_server_lock();
    wr_server.ports[connection->port].is_resumed = true;
    wr_server_unlock_changed();
    wr_reply_begin(&connection->reply, WR_REPLY_OK);
    wr_reply_u32(&connection->reply, 0);
    wr_reply_end(&connection->reply);
    reply_send(connection);
}

/* Hosts that veto Block answer as a runtime that does not have it: tools then say so, or do without.
 */
static void collect(struct wr_connection *connection)
{
    uint32_t code = wr_collect_read(connection->request, connection->payload,
                                    connection->payload_bytes, &connection->collect);
    if (code == WR_REPLY_OK && connection->collect->is_block && wr_server.config.block_ms_max == 0)
        code = WR_REPLY_UNKNOWN_COMMAND;
    if (code == WR_REPLY_OK)
        wr_connection_set(connection, WR_CONNECTION_WAITING);
    else
        wr_request_fail(connection, code);
}

static void stop_tracing(struct wr_connection *connection)
{
    struct wr_payload_reader reader =
        wr_payload_begin(connection->payload, connection->payload_bytes);
    connection->id = wr_read_u64(&reader);
    if (reader.is_bad)
        wr_request_fail(connection, WR_REPLY_BAD_ENCODING);
    else
        wr_connection_set(connection, WR_CONNECTION_WAITING);
}

static void answer(struct wr_connection *connection)
{
    switch (connection->request) {
    case WR_REQUEST_PROCESS_INFO:
    case WR_REQUEST_PROCESS_INFO_2:
    case WR_REQUEST_PROCESS_INFO_3:
        wr_process_info(&connection->reply, connection->request);
        reply_send(connection);
        break;
    case WR_REQUEST_PROCESS_ENVIRONMENT:
        wr_process_environment(&connection->reply);
        reply_send(connection);
        break;
    case WR_REQUEST_RESUME_RUNTIME: /* the worker's: not while the callbacks of a start run */
        wr_connection_set(connection, WR_CONNECTION_WAITING);
        break;
    case WR_REQUEST_STOP_TRACING:
        stop_tracing(connection);
        break;
    default:
        if (wr_collect_is(connection->request))
            collect(connection);
        else
            wr_request_fail(connection, WR_REPLY_UNKNOWN_COMMAND);
    }
}

/* --- Reading. -------------------------------------------------------------------------------- */

/* A request has come: a dialed port has served, and is dialed again for the next one before this one
 * is answered. */
static void port_take(struct wr_connection *connection, uint64_t now_ns)
{
    struct wr_port *port = &wr_server.ports[connection->port];
    if (port->is_dialed) {
        port->is_connected = false;
        port->due_ns = now_ns;
        port->delay_ns = WR_DIAL_NS_MIN;
    }
    connection->is_taken = true;
    wr_server_lock();
    connection->is_parked = false;
    wr_server_unlock();
}

static bool header_take(struct wr_connection *connection)
{
    uint32_t bytes = 0;
    uint32_t code = wr_header_read(connection->header, &bytes, &connection->request);
    if (code != WR_REPLY_OK) {
        wr_request_fail(connection, code);
        return false;
    }
    connection->payload_bytes = bytes - WR_MESSAGE_HEADER_BYTES;
    if (connection->payload_bytes == 0)
        return true;
    connection->payload = wr_os_pages_map(connection->payload_bytes);
    if (!connection->payload)
        wr_request_fail(connection, WR_REPLY_FAIL);
    return connection->payload != NULL;
}

/* A tool that has sent nothing was only testing whether the port is served. */
void wr_request_give_up(struct wr_connection *connection)
{
    if (connection->received == 0)
        wr_connection_set(connection, WR_CONNECTION_OVER);
    else
        wr_request_fail(connection, WR_REPLY_BAD_ENCODING);
}

/* Receives into the header, then into the payload. Returns what wr_os_socket_receive() does. */
static int receive(struct wr_connection *connection)
{
    uint32_t received = connection->received;
    bool is_header = received < WR_MESSAGE_HEADER_BYTES;
    uint32_t end = WR_MESSAGE_HEADER_BYTES + (is_header ? 0 : connection->payload_bytes);
    unsigned char *to = is_header ? connection->header + received
                                  : connection->payload + (received - WR_MESSAGE_HEADER_BYTES);
    int result = wr_os_socket_receive(connection->fd, to, end - received);
    if (result > 0)
        connection->received += (uint32_t)result;
    return result;
}

void wr_request_read(struct wr_connection *connection, uint64_t now_ns)
{
    for (;;) {
        bool had_header = connection->received >= WR_MESSAGE_HEADER_BYTES;
        int result = receive(connection);
        if (result == -EAGAIN)
            return;
        if (result <= 0) {
            wr_request_give_up(connection);
            return;
        }
        if (connection->deadline_ns == UINT64_MAX) /* of a dialed port: it has waited for this */
            connection->deadline_ns = wr_request_deadline(now_ns);
        bool has_header = connection->received >= WR_MESSAGE_HEADER_BYTES;
        if (has_header && !had_header) {
            port_take(connection, now_ns);
            if (!header_take(connection))
                return;
        }
        if (has_header &&
            connection->received == WR_MESSAGE_HEADER_BYTES + connection->payload_bytes) {
            answer(connection);
            return;
        }
    }
}
