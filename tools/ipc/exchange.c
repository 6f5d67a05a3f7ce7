#include "exchange.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void wt_ipc_exchange_begin(struct wt_ipc_exchange *exchange)
{
    exchange->fd = -1;
    exchange->sent = exchange->got = 0;
    exchange->reply_size = WT_IPC_HEADER_SIZE;
}

short wt_ipc_exchange_events(const struct wt_ipc_exchange *exchange)
{
    return exchange->sent < exchange->request.size ? POLLOUT : POLLIN;
}

void wt_ipc_exchange_close(struct wt_ipc_exchange *exchange)
{
    if (exchange->fd >= 0)
        close(exchange->fd);
    exchange->fd = -1;
}

/* Of a call that returned -1 or, receiving, 0. */
static enum wt_ipc_step failed(ssize_t result, const struct wt_ipc_exchange *exchange,
                               struct wt_ipc_error *error)
{
    if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return WT_IPC_STEP_MORE;
    if (result < 0 && errno != EPIPE && errno != ECONNRESET)
        wt_ipc_fail(error, WT_IPC_SYSTEM, "%s", strerror(errno));
    else if (exchange->got == 0)
        wt_ipc_fail(error, WT_IPC_CLOSED, "the connection was closed without a reply");
    else
        wt_ipc_fail(error, WT_IPC_CLOSED,
                    "the connection was closed after %zu of %zu bytes of "
                    "the reply",
                    exchange->got, exchange->reply_size);
    return WT_IPC_STEP_FAILED;
}

static enum wt_ipc_step send_some(struct wt_ipc_exchange *exchange, struct wt_ipc_error *error)
{
    while (exchange->sent < exchange->request.size) {
        ssize_t sent = send(exchange->fd, exchange->request.bytes + exchange->sent,
                            exchange->request.size - exchange->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return failed(sent, exchange, error);
        exchange->sent += (size_t)sent;
    }
    return WT_IPC_STEP_DONE;
}

static enum wt_ipc_step receive_some(struct wt_ipc_exchange *exchange, struct wt_ipc_error *error)
{
    while (exchange->got < exchange->reply_size) {
        ssize_t got = recv(exchange->fd, exchange->reply + exchange->got,
                           exchange->reply_size - exchange->got, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return failed(got, exchange, error);
        exchange->got += (size_t)got;
        if (exchange->got == WT_IPC_HEADER_SIZE &&
            !wt_ipc_reply_size(exchange->reply, &exchange->reply_size, error))
            return WT_IPC_STEP_FAILED;
    }
    return WT_IPC_STEP_DONE;
}

enum wt_ipc_step wt_ipc_exchange_step(struct wt_ipc_exchange *exchange, struct wt_ipc_error *error)
{
    enum wt_ipc_step step = send_some(exchange, error);
    if (step == WT_IPC_STEP_DONE)
        step = receive_some(exchange, error);
    if (step == WT_IPC_STEP_DONE &&
        !wt_ipc_reply_is_ok(exchange->reply, exchange->reply_size, error))
        return WT_IPC_STEP_FAILED;
    return step;
}
