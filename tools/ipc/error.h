/* How calls of this library fail. It prints nothing: the text is for the caller to print. */
#ifndef WT_IPC_ERROR_H
#define WT_IPC_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum wt_ipc_result {
    WT_IPC_OK = 0,
    WT_IPC_ARGUMENT,  /* what the caller asks for cannot be sent */
    WT_IPC_NOT_FOUND, /* no such process, or it has no socket, or does not connect */
    WT_IPC_SYSTEM,    /* a call of the system failed */
    WT_IPC_PROTOCOL,  /* the peer's bytes are not the protocol */
    WT_IPC_CLOSED,    /* the peer closed the connection early */
    WT_IPC_REFUSED,   /* the peer answered with an error: `code` */
    WT_IPC_TIMEOUT,
};

struct wt_ipc_error {
    enum wt_ipc_result result;
    uint32_t code; /* of a refusal: an HRESULT, enum wt_ipc_code has some */
    char text[320];
};

/* Fills in the error and returns false. */
bool wt_ipc_fail(struct wt_ipc_error *error, enum wt_ipc_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
