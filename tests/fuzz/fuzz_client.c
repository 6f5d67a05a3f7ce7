/* The client of the Diagnostics IPC protocol: the first byte says whether the others are what a
 * server answers, or a list of providers as a user writes it. */
#include "fuzz.h"

#include "exchange.h"
#include "providers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)100 * 1024) /* fits in a socket's buffer */

static void check(bool holds)
{
    if (!holds)
        abort();
}

static size_t drain(int fd)
{
    uint8_t buffer[4096];
    size_t size = 0;
    for (ssize_t got; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
        size += (size_t)got;
    return size;
}

/* Not one byte after the reply is taken, and a reply that is not whole is an error. */
static void answer(const uint8_t *bytes, size_t size)
{
    static struct wt_ipc_exchange exchange;
    struct wt_ipc_error error = {.result = WT_IPC_OK};
    uint64_t session;
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    wt_ipc_encode_resume(&exchange.request);
    wt_ipc_exchange_begin(&exchange);
    exchange.fd = ends[0];
    check(send(ends[1], bytes, size, 0) == (ssize_t)size && shutdown(ends[1], SHUT_WR) == 0);
    enum wt_ipc_step step = wt_ipc_exchange_step(&exchange, &error);
    check(step == WT_IPC_STEP_DONE || (step == WT_IPC_STEP_FAILED && error.text[0]));
    if (step == WT_IPC_STEP_DONE) {
        check(exchange.got == exchange.reply_size && drain(ends[0]) == size - exchange.got);
        check(wt_ipc_reply_session(exchange.reply, exchange.reply_size, &session, &error) ==
              (exchange.reply_size >= WT_IPC_HEADER_SIZE + 8));
    }
    wt_ipc_exchange_close(&exchange);
    close(ends[1]);
}

/* What is accepted can be sent, or the error says why it cannot. */
static void list(const uint8_t *bytes, size_t size)
{
    static struct wt_ipc_request request;
    struct wt_ipc_providers providers;
    struct wt_ipc_error error = {.result = WT_IPC_OK};
    char *text = malloc(size + 1);
    check(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (wt_ipc_providers_parse(&providers, text, &error)) {
        const struct wt_ipc_collect collect = {providers.items, providers.count, 1, 5, size % 2};
        check(providers.count > 0 && providers.items[0].name[0] && providers.items[0].level <= 5);
        if (wt_ipc_encode_collect(&request, &collect, &error))
            check(request.size == (size_t)(request.bytes[14] | request.bytes[15] << 8));
        wt_ipc_providers_fini(&providers);
    }
    check(error.result == WT_IPC_OK || error.text[0]);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0 || size > ANSWER_MAX)
        return 0;
    if (bytes[0] % 2)
        list(bytes + 1, size - 1);
    else
        answer(bytes + 1, size - 1);
    return 0;
}
