#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLOSING_MS     2000 /* for the end of the stream, after a StopTracing that has failed */
#define AGAIN_MS       20   /* until a connection is tried again, if the socket's queue is full */
#define STREAM_BYTES   (256u * 1024u)
#define READS_PER_TURN 16

struct wt_ipc_session {
    struct wt_ipc_port *port;
    int64_t answer_ms; /* for how long a command waits */
    wt_ipc_write write;
    void *context;
    enum wt_ipc_state state;
    bool stop_wanted;
    bool stop_failed;
    bool exchanging;     /* a command is under way, at least waiting for a connection */
    const char *command; /* its name, the last one's if none is */
    struct wt_ipc_exchange exchange;
    int stream;
    uint64_t session_id;
    uint64_t bytes;
    int64_t deadline_ms; /* of the command, or of the stream's end; 0: none */
    struct wt_ipc_error error;
    uint8_t buffer[STREAM_BYTES];
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The request is in session->exchange.request. */
static void begin_command(struct wt_ipc_session *session, enum wt_ipc_state state, const char *name)
{
    session->state = state;
    session->command = name;
    session->exchanging = true;
    session->deadline_ms = now_ms() + session->answer_ms;
    wt_ipc_exchange_begin(&session->exchange);
}

static void end_command(struct wt_ipc_session *session)
{
    wt_ipc_exchange_close(&session->exchange);
    session->exchanging = false;
    session->deadline_ms = 0;
}

bool wt_ipc_session_create(struct wt_ipc_session **out, struct wt_ipc_port *port,
                           const struct wt_ipc_collect *collect, uint32_t answer_s,
                           wt_ipc_write write, void *context, struct wt_ipc_error *error)
{
    struct wt_ipc_session *session = calloc(1, sizeof(*session));
    *out = NULL;
    if (!session)
        return wt_ipc_fail(error, WT_IPC_SYSTEM, "out of memory");
    if (!wt_ipc_encode_collect(&session->exchange.request, collect, error)) {
        free(session);
        return false;
    }
    session->port = port;
    session->answer_ms = (int64_t)answer_s * 1000;
    session->write = write;
    session->context = context;
    session->stream = -1;
    begin_command(session, WT_IPC_STARTING, wt_ipc_collect_name(collect));
    *out = session;
    return true;
}

/* Says in the error which command has failed. */
static void name_command(struct wt_ipc_session *session)
{
    struct wt_ipc_error reason = session->error;
    wt_ipc_fail(&session->error, reason.result, "%s: %.280s", session->command, reason.text);
    session->error.code = reason.code;
}

static void fail(struct wt_ipc_session *session)
{
    end_command(session);
    session->state = WT_IPC_FAILED;
}

/* --- Commands. ------------------------------------------------------------------------------ */

static void started(struct wt_ipc_session *session)
{
    struct wt_ipc_exchange *exchange = &session->exchange;
    if (!wt_ipc_reply_session(exchange->reply, exchange->reply_size, &session->session_id,
                              &session->error)) {
        name_command(session);
        fail(session);
        return;
    }
    session->stream = exchange->fd; /* the stream follows the reply */
    exchange->fd = -1;
    wt_ipc_encode_resume(&exchange->request);
    begin_command(session, WT_IPC_RESUMING, "ResumeRuntime");
}

static void command_done(struct wt_ipc_session *session)
{
    if (session->state == WT_IPC_STARTING) {
        started(session);
        return;
    }
    end_command(session);
    if (session->state == WT_IPC_RESUMING)
        session->state = WT_IPC_RUNNING;
    else /* the rest of the stream has its time, too */
        session->deadline_ms = now_ms() + session->answer_ms;
}

static void command_failed(struct wt_ipc_session *session)
{
    bool is_unknown = session->error.result == WT_IPC_REFUSED &&
                      session->error.code == WT_IPC_CODE_UNKNOWN_COMMAND;
    if (session->state == WT_IPC_RESUMING && is_unknown) {
        end_command(session);
        session->state = WT_IPC_RUNNING;
    } else if (session->state == WT_IPC_STARTING) {
        fail(session);
    } else {
        /* A process that is about to end refuses connections before its stream ends. */
        end_command(session);
        session->state = WT_IPC_STOPPING;
        session->stop_failed = true;
        session->deadline_ms = now_ms() + CLOSING_MS;
    }
}

/* A process may have dialed and closed again, at its end or because another one has answered it;
 * its next connection is as good. */
static bool may_try_again(const struct wt_ipc_session *session)
{
    return session->port->listens && session->error.result == WT_IPC_CLOSED &&
           session->exchange.got == 0;
}

static void step_command(struct wt_ipc_session *session)
{
    struct wt_ipc_exchange *exchange = &session->exchange;
    if (exchange->fd < 0) {
        exchange->fd = wt_ipc_port_take(session->port, &session->error);
        if (exchange->fd < 0) {
            if (session->error.result != WT_IPC_OK)
                command_failed(session);
            return;
        }
    }
    enum wt_ipc_step step = wt_ipc_exchange_step(exchange, &session->error);
    if (step == WT_IPC_STEP_DONE)
        command_done(session);
    if (step != WT_IPC_STEP_FAILED)
        return;
    if (may_try_again(session)) {
        wt_ipc_exchange_close(exchange);
        wt_ipc_exchange_begin(exchange);
        return;
    }
    name_command(session);
    command_failed(session);
}

static void begin_stop(struct wt_ipc_session *session)
{
    wt_ipc_encode_stop(&session->exchange.request, session->session_id);
    begin_command(session, WT_IPC_STOPPING, "StopTracing");
}

void wt_ipc_session_stop(struct wt_ipc_session *session)
{
    session->stop_wanted = true;
    if (session->state == WT_IPC_STARTING) {
        wt_ipc_fail(&session->error, WT_IPC_CLOSED, "ended before the session was started");
        fail(session);
    }
}

/* --- The stream. ---------------------------------------------------------------------------- */

static void stream_ended(struct wt_ipc_session *session, ssize_t got)
{
    end_command(session);
    session->state = WT_IPC_ENDED;
    /* A process that is killed with bytes of ours unread resets the connection. */
    if (got < 0 && errno != ECONNRESET) {
        wt_ipc_fail(&session->error, WT_IPC_SYSTEM, "cannot read the stream: %s", strerror(errno));
        session->state = WT_IPC_FAILED;
    }
}

static void stream_moved(struct wt_ipc_session *session, size_t size)
{
    session->bytes += size;
    if (session->state == WT_IPC_STOPPING && !session->stop_failed)
        session->deadline_ms = now_ms() + session->answer_ms;
    if (session->write(session->context, session->buffer, size))
        return;
    wt_ipc_fail(&session->error, WT_IPC_SYSTEM, "%s", "");
    fail(session);
}

static void step_stream(struct wt_ipc_session *session)
{
    for (int i = 0; i < READS_PER_TURN && session->state < WT_IPC_ENDED; i++) {
        ssize_t got = recv(session->stream, session->buffer, sizeof(session->buffer), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (got <= 0)
            stream_ended(session, got);
        else
            stream_moved(session, (size_t)got);
    }
}

/* --- Turns. --------------------------------------------------------------------------------- */

static void wait_for_any(const struct wt_ipc_session *session, int wake, int timeout_ms)
{
    struct pollfd polls[WT_IPC_CALLERS_MAX + 4];
    size_t count = wt_ipc_port_polls(session->port, polls);
    if (wake >= 0)
        polls[count++] = (struct pollfd){wake, POLLIN, 0};
    if (session->stream >= 0)
        polls[count++] = (struct pollfd){session->stream, POLLIN, 0};
    if (session->exchange.fd >= 0)
        polls[count++] =
            (struct pollfd){session->exchange.fd, wt_ipc_exchange_events(&session->exchange), 0};
    else if (session->exchanging && !session->port->listens && timeout_ms > AGAIN_MS)
        timeout_ms = AGAIN_MS;
    poll(polls, (nfds_t)count, timeout_ms);
}

static void check_deadline(struct wt_ipc_session *session)
{
    if (session->deadline_ms == 0 || now_ms() < session->deadline_ms)
        return;
    bool is_connecting = session->exchanging && session->exchange.fd < 0;
    if (!session->stop_failed) {
        wt_ipc_fail(&session->error, is_connecting ? WT_IPC_NOT_FOUND : WT_IPC_TIMEOUT,
                    "%s within %d s",
                    is_connecting         ? "no connection"
                    : session->exchanging ? "no answer"
                                          : "the stream has not ended",
                    (int)(session->answer_ms / 1000));
        name_command(session);
    }
    fail(session);
}

enum wt_ipc_state wt_ipc_session_turn(struct wt_ipc_session *session, int wake, int timeout_ms)
{
    if (session->state >= WT_IPC_ENDED)
        return session->state;
    if (session->stop_wanted && session->state == WT_IPC_RUNNING)
        begin_stop(session);
    const enum wt_ipc_state before = session->state;
    if (session->exchange.fd < 0 && session->exchanging)
        step_command(session); /* it may have a connection, and even its reply, at once */
    if (session->state != before)
        return session->state;
    wait_for_any(session, wake, timeout_ms);
    wt_ipc_port_step(session->port);
    if (session->stream >= 0)
        step_stream(session);
    if (session->state < WT_IPC_ENDED && session->exchanging)
        step_command(session);
    if (session->state < WT_IPC_ENDED)
        check_deadline(session);
    return session->state;
}

uint64_t wt_ipc_session_bytes(const struct wt_ipc_session *session)
{
    return session->bytes;
}

const struct wt_ipc_error *wt_ipc_session_error(const struct wt_ipc_session *session)
{
    return &session->error;
}

void wt_ipc_session_destroy(struct wt_ipc_session *session)
{
    if (!session)
        return;
    wt_ipc_exchange_close(&session->exchange);
    if (session->stream >= 0)
        close(session->stream);
    free(session);
}
