/*
 * Four tools that talk to a server of this process at the same time, as the bytes say: pieces of
 * requests, pauses, ends, events in between. Whatever they do, what a tool reads begins with a reply,
 * and when they have gone the server has neither connections nor sessions, and answers.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <weir/weir.h>

#define TOOLS        4
#define SECONDS_MAX  20
#define EVENTS       50
#define REPLY_BYTES  28u /* to a request that starts a session */
#define PIECE_BYTES  7u
#define ACTION_SHIFT 2

/* An action's byte: the tool in its lowest two bits, then one of these. */
enum action {
    SEND,        /* as many bytes as the next two say */
    SEND_PIECES, /* a few at a time */
    SEND_STOP,   /* of the session that was started last */
    END,
    END_OF_SENDING,
    AWAIT_REPLY,
    READ,
    EMIT,
    ACTIONS
};

#define FUZZ_EVENTS(EVENT, P) EVENT(P, Tick, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number))
WEIR_PROVIDER(Fuzz, FUZZ_EVENTS)
WEIR_PROVIDER_DEFINE(Fuzz, FUZZ_EVENTS)

struct tool {
    int fd; /* -1: not connected */
    size_t received;
    unsigned char reply[REPLY_BYTES];
};

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static uint64_t last_id;

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* --- The server. ----------------------------------------------------------------------------- */

static char directory[] = "/tmp/weir-conversation-XXXXXX";

static void server_end(void)
{
    must(weir_server_stop(NULL) == WEIR_OK, "the server does not stop");
    rmdir(directory);
}

static void on_error(void *context, enum weir_result result, const char *text)
{
    (void)context;
    (void)result;
    must(false, text);
}

static void server_begin(void)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    char ports[sizeof address.sun_path + 32];
    must(mkdtemp(directory) != NULL, "no directory");
    snprintf(address.sun_path, sizeof address.sun_path, "%s/port", directory);
    snprintf(ports, sizeof ports, "%s,listen,nosuspend", address.sun_path);
    config.ports = ports;
    config.no_default_port = true;
    config.on_error = on_error;
    config.budget_bytes_max = 1u << 20;
    config.sessions_max = TOOLS;
    config.connections_max = TOOLS + 1;
    config.request_ms_max = 1000;
    config.stop_ms_max = 1000;
    config.block_ms_max = 1000;
    must(weir_provider_register(&weir_provider_Fuzz, NULL, NULL, NULL, NULL) == WEIR_OK, "events");
    must(weir_server_start(&config, NULL) == WEIR_OK, "the server does not start");
    atexit(server_end);
}

static bool is_quiet(void)
{
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    must(weir_server_status(&info) == WEIR_OK && info.is_running, "the server does not run");
    must(info.connections <= TOOLS + 1 && info.sessions <= info.connections, "too many");
    return info.connections == 0;
}

static void await_quiet(void)
{
    static const struct timespec pause = {0, 100000};
    time_t begin = time(NULL);
    while (!is_quiet()) {
        must(time(NULL) <= begin + SECONDS_MAX, "a connection is left");
        nanosleep(&pause, NULL);
    }
    must(!weir_event_is_enabled(&weir_events_Fuzz.Tick), "a session is left");
}

/* --- Tools. ---------------------------------------------------------------------------------- */

static void tool_connect(struct tool *tool)
{
    if (tool->fd >= 0)
        return;
    tool->received = 0;
    tool->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(connect(tool->fd, (struct sockaddr *)&address, sizeof address) == 0, "nobody listens");
}

static void reply_check(const struct tool *tool)
{
    bool is_right = memcmp(tool->reply, "DOTNET_IPC_V1", 14) == 0 && tool->reply[16] == 0xff &&
                    (tool->reply[17] == 0 || tool->reply[17] == 0xff);
    must(is_right, "this is no reply");
    if (tool->reply[14] == REPLY_BYTES && tool->received == REPLY_BYTES)
        memcpy(&last_id, tool->reply + 20, 8);
}

static void tool_read(struct tool *tool)
{
    static unsigned char bytes[1 << 16];
    ssize_t got;
    while ((got = recv(tool->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        size_t rest = sizeof tool->reply - tool->received;
        size_t count = (size_t)got < rest ? (size_t)got : rest;
        memcpy(tool->reply + tool->received, bytes, count);
        tool->received += count;
        if (tool->received >= 20)
            reply_check(tool);
    }
}

static void tool_await(const struct tool *tool, int ms)
{
    struct pollfd item = {.fd = tool->fd, .events = POLLIN};
    (void)poll(&item, 1, ms);
}

static void tool_send(const struct tool *tool, const uint8_t *bytes, size_t count, size_t piece)
{
    for (size_t sent = 0; sent < count; sent += piece) {
        size_t now = count - sent < piece ? count - sent : piece;
        if (send(tool->fd, bytes + sent, now, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return; /* the server has refused it and gone */
        if (piece < count)
            sched_yield();
    }
}

static void tool_send_stop(const struct tool *tool)
{
    uint8_t message[28] = "DOTNET_IPC_V1\0\x1c\0\2\1";
    memcpy(message + 20, &last_id, 8);
    tool_send(tool, message, sizeof message, sizeof message);
}

static void tool_end(struct tool *tool)
{
    if (tool->fd >= 0)
        close(tool->fd);
    tool->fd = -1;
}

/* Returns what it has used of the bytes. */
static size_t act(struct tool *tool, enum action action, const uint8_t *bytes, size_t size)
{
    size_t count = 0;
    tool_connect(tool);
    switch (action) {
    case SEND:
    case SEND_PIECES:
        if (size < 2)
            return size;
        count = (size_t)bytes[0] | (size_t)bytes[1] << 8;
        count = count < size - 2 ? count : size - 2;
        tool_send(tool, bytes + 2, count, action == SEND ? count : PIECE_BYTES);
        return count + 2;
    case SEND_STOP:
        tool_send_stop(tool);
        break;
    case END:
        tool_end(tool);
        break;
    case END_OF_SENDING:
        shutdown(tool->fd, SHUT_WR);
        break;
    case AWAIT_REPLY:
        tool_await(tool, 5);
        tool_read(tool);
        break;
    case READ:
        tool_read(tool);
        break;
    default:
        for (uint64_t i = 0; i < EVENTS; i++)
            (void)WEIR_EMIT(Fuzz, Tick, i);
    }
    return 0;
}

/* One that behaves. */
static void server_check(void)
{
    static const uint8_t message[20] = "DOTNET_IPC_V1\0\x14\0\4";
    struct tool tool = {.fd = -1};
    tool_connect(&tool);
    tool_send(&tool, message, sizeof message, sizeof message);
    tool_await(&tool, SECONDS_MAX * 1000);
    tool_read(&tool);
    must(tool.received == REPLY_BYTES && tool.reply[17] == 0, "the server does not answer");
    tool_end(&tool);
    await_quiet();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tool tools[TOOLS] = {{.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}};
    if (!address.sun_path[0])
        server_begin();
    for (size_t at = 0; at < size;) {
        struct tool *tool = &tools[bytes[at] % TOOLS];
        enum action action = (enum action)((bytes[at] >> ACTION_SHIFT) % ACTIONS);
        at++;
        at += act(tool, action, bytes + at, size - at);
    }
    for (int i = 0; i < TOOLS; i++)
        tool_end(&tools[i]);
    await_quiet();
    server_check();
    return 0;
}
