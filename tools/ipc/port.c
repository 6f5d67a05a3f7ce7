#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

static void clear(struct wt_ipc_port *port)
{
    memset(port, 0, sizeof(*port));
    port->listener = -1;
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX; i++)
        port->callers[i].fd = -1;
}

bool wt_ipc_port_connect(struct wt_ipc_port *port, const char *path, struct wt_ipc_error *error)
{
    clear(port);
    if (strlen(path) >= sizeof(port->path))
        return wt_ipc_fail(error, WT_IPC_ARGUMENT,
                           "%.150s...: the path of a socket has up to %zu bytes", path,
                           sizeof(port->path) - 1);
    memcpy(port->path, path, strlen(path) + 1);
    return true;
}

static struct sockaddr_un address_of(const struct wt_ipc_port *port)
{
    struct sockaddr_un address;
    memset(&address, 0, sizeof(address));
    address.sun_family = AF_UNIX;
    _Static_assert(sizeof(address.sun_path) >= sizeof(port->path), "a path fits");
    memcpy(address.sun_path, port->path, sizeof(port->path));
    return address;
}

static bool be_quiet(int fd) /* neither blocks nor is inherited */
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && !be_quiet(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool make_folder(struct wt_ipc_port *port, struct wt_ipc_error *error)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = "/tmp";
    int size = snprintf(port->folder, sizeof(port->folder), "%s/weir-collect-XXXXXX", parent);
    /* The path must fit with its file, and go into a list of ports. */
    if (size < 0 || (size_t)size + sizeof("/port") > sizeof(port->path) || strpbrk(parent, ",;")) {
        port->folder[0] = '\0';
        return wt_ipc_fail(error, WT_IPC_ARGUMENT,
                           "TMPDIR is too long for a socket in it, or has a comma or semicolon: "
                           "%.150s",
                           parent);
    }
    if (!mkdtemp(port->folder)) {
        port->folder[0] = '\0';
        return wt_ipc_fail(error, WT_IPC_SYSTEM, "cannot make a folder in %.150s: %s", parent,
                           strerror(errno));
    }
    snprintf(port->path, sizeof(port->path), "%.*s/port", size, port->folder);
    return true;
}

bool wt_ipc_port_listen(struct wt_ipc_port *port, struct wt_ipc_error *error)
{
    clear(port);
    port->listens = true;
    if (!make_folder(port, error))
        return false;
    const struct sockaddr_un address = address_of(port);
    port->listener = open_socket();
    if (port->listener >= 0 &&
        bind(port->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(port->listener, BACKLOG) == 0)
        return true;
    wt_ipc_fail(error, WT_IPC_SYSTEM, "cannot listen at %s: %s", port->path, strerror(errno));
    wt_ipc_port_close(port);
    return false;
}

size_t wt_ipc_port_polls(const struct wt_ipc_port *port, struct pollfd *polls)
{
    size_t count = 0;
    if (port->listener >= 0)
        polls[count++] = (struct pollfd){port->listener, POLLIN, 0};
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX; i++)
        if (port->callers[i].fd >= 0)
            polls[count++] = (struct pollfd){port->callers[i].fd, POLLIN, 0};
    return count;
}

static void drop(struct wt_ipc_caller *caller)
{
    if (caller->fd >= 0)
        close(caller->fd);
    caller->fd = -1;
}

/* Places are taken in turn, so the oldest connection gives way. */
static void accept_all(struct wt_ipc_port *port)
{
    int fd;
    while ((fd = accept(port->listener, NULL, NULL)) >= 0) {
        struct wt_ipc_caller *caller = &port->callers[port->next_place++ % WT_IPC_CALLERS_MAX];
        drop(caller);
        caller->fd = be_quiet(fd) ? fd : (close(fd), -1);
        caller->state = WT_IPC_CALLER_NEW;
        caller->got = 0;
    }
}

static bool is_resumed(const struct wt_ipc_port *port, uint64_t pid)
{
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX && i < port->stranger_count; i++)
        if (port->strangers[i] == pid)
            return true;
    return false;
}

static void resume_stranger(struct wt_ipc_port *port, const struct wt_ipc_caller *caller,
                            uint64_t pid)
{
    struct wt_ipc_request request;
    if (is_resumed(port, pid))
        return;
    wt_ipc_encode_resume(&request);
    if (send(caller->fd, request.bytes, request.size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        port->strangers[port->stranger_count++ % WT_IPC_CALLERS_MAX] = pid;
}

/* A newer connection of the process replaces an older one that was not used. */
static void introduce(struct wt_ipc_port *port, struct wt_ipc_caller *caller)
{
    uint64_t pid;
    if (!wt_ipc_advertise_pid(caller->advertise, &pid)) {
        drop(caller);
        return;
    }
    if (pid != (uint64_t)port->pid) {
        caller->state = WT_IPC_CALLER_STRANGER;
        resume_stranger(port, caller, pid);
        return;
    }
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX; i++)
        if (port->callers[i].state == WT_IPC_CALLER_READY)
            drop(&port->callers[i]);
    caller->state = WT_IPC_CALLER_READY;
}

/* A connection that waits to be used has nothing to say: bytes, or its end, make it useless. A
 * stranger's reply to its being resumed is not read. */
static void listen_to(struct wt_ipc_port *port, struct wt_ipc_caller *caller)
{
    uint8_t ignored[256];
    bool is_new = caller->state == WT_IPC_CALLER_NEW;
    ssize_t got =
        recv(caller->fd, is_new ? caller->advertise + caller->got : ignored,
             is_new ? sizeof(caller->advertise) - caller->got : sizeof(ignored), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (got <= 0 || caller->state == WT_IPC_CALLER_READY) {
        drop(caller);
        return;
    }
    caller->got += is_new ? (size_t)got : 0;
    if (is_new && caller->got == sizeof(caller->advertise))
        introduce(port, caller);
}

void wt_ipc_port_step(struct wt_ipc_port *port)
{
    if (port->listener < 0)
        return;
    accept_all(port);
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX; i++)
        if (port->callers[i].fd >= 0)
            listen_to(port, &port->callers[i]);
}

static int take_ready(struct wt_ipc_port *port)
{
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX; i++) {
        struct wt_ipc_caller *caller = &port->callers[i];
        if (caller->fd >= 0 && caller->state == WT_IPC_CALLER_READY) {
            int fd = caller->fd;
            caller->fd = -1;
            return fd;
        }
    }
    return -1;
}

static int connect_now(const struct wt_ipc_port *port, struct wt_ipc_error *error)
{
    const struct sockaddr_un address = address_of(port);
    int fd = open_socket();
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    /* A local socket connects at once, or its queue is full. */
    if (reason != EAGAIN && reason != EINTR)
        wt_ipc_fail(error, WT_IPC_SYSTEM, "cannot connect to %s: %s", port->path,
                    reason == ECONNREFUSED ? "nobody listens there any more" : strerror(reason));
    return -1;
}

int wt_ipc_port_take(struct wt_ipc_port *port, struct wt_ipc_error *error)
{
    error->result = WT_IPC_OK;
    return port->listens ? take_ready(port) : connect_now(port, error);
}

uint64_t wt_ipc_port_stranger(const struct wt_ipc_port *port)
{
    return port->stranger_count ? port->strangers[(port->stranger_count - 1) % WT_IPC_CALLERS_MAX]
                                : 0;
}

void wt_ipc_port_close(struct wt_ipc_port *port)
{
    for (size_t i = 0; i < WT_IPC_CALLERS_MAX; i++)
        drop(&port->callers[i]);
    if (port->listener >= 0) {
        close(port->listener);
        unlink(port->path);
    }
    port->listener = -1;
    if (port->folder[0])
        rmdir(port->folder);
    port->folder[0] = '\0';
}
