/* Where connections to the process come from: its socket, or one of ours that it dials. */
#ifndef WT_IPC_PORT_H
#define WT_IPC_PORT_H

#include "message.h"

#include <poll.h>
#include <sys/types.h>

#define WT_IPC_CALLERS_MAX 16u

/* A connection that a process has made to our socket. */
struct wt_ipc_caller {
    int fd; /* -1: a free place */
    enum { WT_IPC_CALLER_NEW, WT_IPC_CALLER_READY, WT_IPC_CALLER_STRANGER } state;
    size_t got;
    uint8_t advertise[WT_IPC_ADVERTISE_SIZE];
};

struct wt_ipc_port {
    char path[108]; /* of the socket, as long as the system allows */
    bool listens;   /* the socket is ours */
    int listener;
    char folder[108]; /* ours, around our socket; "" otherwise */
    pid_t pid;        /* whose connections are used; others are strangers */
    struct wt_ipc_caller callers[WT_IPC_CALLERS_MAX];
    size_t next_place;
    uint64_t strangers[WT_IPC_CALLERS_MAX]; /* the last ones that were resumed */
    size_t stranger_count;
};

/* Connections are made to the socket at `path`. WT_IPC_ARGUMENT. Connects to nothing yet. */
bool wt_ipc_port_connect(struct wt_ipc_port *port, const char *path, struct wt_ipc_error *error);

/*
 * Makes a socket in a new folder, which only this user can enter, in $TMPDIR or /tmp. Its path is
 * for DOTNET_DiagnosticPorts of a process that is to be started; set `pid` once it is known.
 *
 * Processes that this one starts inherit the variable and dial too. Nobody would ever resume them,
 * so each is resumed once, at once, and its other connections are held and not used.
 */
bool wt_ipc_port_listen(struct wt_ipc_port *port, struct wt_ipc_error *error);

/* Fills in what poll() should wait for, up to WT_IPC_CALLERS_MAX + 1; returns how many. */
size_t wt_ipc_port_polls(const struct wt_ipc_port *port, struct pollfd *polls);

/* Accepts, and reads what processes say when they connect. */
void wt_ipc_port_step(struct wt_ipc_port *port);

/* A connection for one request, which the caller closes; -1 with WT_IPC_OK in `error`: not yet. */
int wt_ipc_port_take(struct wt_ipc_port *port, struct wt_ipc_error *error);

/* The last stranger that was resumed; 0: there was none. */
uint64_t wt_ipc_port_stranger(const struct wt_ipc_port *port);

/* Closes everything, and removes our socket and its folder. */
void wt_ipc_port_close(struct wt_ipc_port *port);

#endif
