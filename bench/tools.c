#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weir/server.h>

#include "kernel.h"
#include "timing.h"

#define HEADER_BYTES   20
#define ID_REPLY_BYTES 28
#define STUCK_EVENTS   100000u /* 3 MB of stream: more than a socket takes */

/* CollectTracing2 of 64 MB, nettrace, no rundown, one provider: WeirBench, any keywords, level 5. */
static const unsigned char collect[] = {
    'D', 'O', 'T', 'N', 'E', 'T', '_', 'I', 'P', 'C', '_', 'V', '1', 0,   73, 0,   2, 3,   0,
    0,   64,  0,   0,   0,   1,   0,   0,   0,   0,   1,   0,   0,   0,   0,  0,   0, 0,   0,
    0,   0,   0,   5,   0,   0,   0,   10,  0,   0,   0,   'W', 0,   'e', 0,  'i', 0, 'r', 0,
    'B', 0,   'e', 0,   'n', 0,   'c', 0,   'h', 0,   0,   0,   0,   0,   0,  0};

static const unsigned char stop_head[HEADER_BYTES] = "DOTNET_IPC_V1\0\x1c\0\2\1\0";

static void fail(const char *what)
{
    fprintf(stderr, "weir-bench: %s\n", what);
    exit(1);
}

static int tool_connect(void)
{
    struct weir_server_info status = WEIR_SERVER_INFO_INIT;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (weir_server_status(&status) != WEIR_OK || !status.path[0])
        fail("the server does not listen");
    memcpy(address.sun_path, status.path, strlen(status.path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot connect to the server");
    return fd;
}

/* Sends a request, and receives the reply to a Collect or a Stop, or nothing if `reply` is NULL. */
static void ask(int fd, const void *request, size_t bytes, unsigned char *reply)
{
    if (send(fd, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        fail("the server does not take a request");
    if (reply && (recv(fd, reply, ID_REPLY_BYTES, MSG_WAITALL) != ID_REPLY_BYTES ||
                  reply[HEADER_BYTES - 3] != 0))
        fail("the server refuses a session");
}

/* Has the session stopped, on a connection whose reply is not awaited. */
static int stop_ask(const unsigned char *collect_reply)
{
    unsigned char request[ID_REPLY_BYTES];
    memcpy(request, stop_head, HEADER_BYTES);
    memcpy(request + HEADER_BYTES, collect_reply + HEADER_BYTES, 8);
    int fd = tool_connect();
    ask(fd, request, sizeof request, NULL);
    return fd;
}

static void read_to_end(int fd)
{
    static unsigned char bytes[65536];
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
    }
    close(fd);
}

struct bench_beside_stuck bench_beside_stuck_run(void)
{
    unsigned char stuck_reply[ID_REPLY_BYTES], reply[ID_REPLY_BYTES];
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    struct weir_error error = {""};
    if (weir_server_start(&config, &error) != WEIR_OK)
        fail(error.text);
    int stuck = tool_connect();
    ask(stuck, collect, sizeof collect, stuck_reply);
    bench_emit_32(STUCK_EVENTS);
    int stuck_stop = stop_ask(stuck_reply);
    double begin_s = bench_now_s(CLOCK_MONOTONIC);
    int fd = tool_connect();
    ask(fd, collect, sizeof collect, reply);
    double started_s = bench_now_s(CLOCK_MONOTONIC);
    int stop = stop_ask(reply);
    read_to_end(fd);
    double stopped_s = bench_now_s(CLOCK_MONOTONIC);
    bool was_stuck = recv(stuck_stop, reply, 1, MSG_DONTWAIT) < 0; /* no reply yet */
    close(stuck);
    read_to_end(stop);
    read_to_end(stuck_stop);
    if (weir_server_stop(&error) != WEIR_OK)
        fail(error.text);
    return (struct bench_beside_stuck){started_s - begin_s, stopped_s - started_s, was_stuck};
}
