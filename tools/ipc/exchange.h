/* One request and its reply, over a connection that does not block: the caller polls, and steps
 * when there is something to do. */
#ifndef WT_IPC_EXCHANGE_H
#define WT_IPC_EXCHANGE_H

#include "message.h"

enum wt_ipc_step { WT_IPC_STEP_MORE, WT_IPC_STEP_DONE, WT_IPC_STEP_FAILED };

struct wt_ipc_exchange {
    int fd; /* -1: there is no connection yet, or no more */
    struct wt_ipc_request request;
    size_t sent;
    uint8_t reply[WT_IPC_MESSAGE_MAX];
    size_t got, reply_size; /* reply_size: of the header until that has been read */
};

/* The request is in place; nothing is sent yet. */
void wt_ipc_exchange_begin(struct wt_ipc_exchange *exchange);

/* What poll() should wait for. */
short wt_ipc_exchange_events(const struct wt_ipc_exchange *exchange);

/* Sends and receives as much as is possible at once, and not one byte after the reply. WT_IPC_STEP_DONE
 * once the reply is whole and an OK. Failures: WT_IPC_CLOSED, WT_IPC_PROTOCOL, WT_IPC_REFUSED,
 * WT_IPC_SYSTEM. */
enum wt_ipc_step wt_ipc_exchange_step(struct wt_ipc_exchange *exchange, struct wt_ipc_error *error);

/* Closes the connection, if there is one. */
void wt_ipc_exchange_close(struct wt_ipc_exchange *exchange);

#endif
