#define _GNU_SOURCE
#include "system_calls.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

_Thread_local bool system_is_test;
static const struct system_fault *current; /* ANY, as the next one */
static uint64_t calls;

void system_fault_begin(const struct system_fault *fault)
{
    __atomic_store_n(&calls, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&current, fault, __ATOMIC_RELEASE);
}

uint64_t system_fault_end(void)
{
    __atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

/* NULL: this call does what it always does. */
static const struct system_fault *fault_of(enum system_call call)
{
    const struct system_fault *fault = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (system_is_test || !fault || fault->call != call)
        return NULL;
    uint64_t index = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    return index >= fault->index && index - fault->index < fault->times ? fault : NULL;
}

/* --- Calls that return a descriptor or a count. ---------------------------------------------- */

#define WRAP(call, name, parameters, ...)                  \
    int __real_##name parameters;                          \
    int __wrap_##name parameters;                          \
    int __wrap_##name parameters                           \
    {                                                      \
        const struct system_fault *fault = fault_of(call); \
        if (!fault)                                        \
            return __real_##name(__VA_ARGS__);             \
        errno = fault->error;                              \
        return -1;                                         \
    }

WRAP(SYSTEM_SOCKET, socket, (int domain, int type, int protocol), domain, type, protocol)
WRAP(SYSTEM_BIND, bind, (int fd, const struct sockaddr *at, socklen_t bytes), fd, at, bytes)
WRAP(SYSTEM_LISTEN, listen, (int fd, int backlog), fd, backlog)
WRAP(SYSTEM_CONNECT, connect, (int fd, const struct sockaddr *at, socklen_t bytes), fd, at, bytes)
WRAP(SYSTEM_ACCEPT, accept4, (int fd, struct sockaddr *from, socklen_t *bytes, int flags), fd, from,
     bytes, flags)
WRAP(SYSTEM_GETSOCKOPT, getsockopt, (int fd, int level, int name, void *value, socklen_t *bytes),
     fd, level, name, value, bytes)
WRAP(SYSTEM_EVENTFD, eventfd, (unsigned count, int flags), count, flags)
WRAP(SYSTEM_POLL, poll, (struct pollfd * items, nfds_t count, int ms), items, count, ms)

/* --- Send and receive. ----------------------------------------------------------------------- */

ssize_t __real_send(int fd, const void *bytes, size_t count, int flags);
ssize_t __real_recv(int fd, void *bytes, size_t count, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t count, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t count, int flags);

ssize_t __wrap_send(int fd, const void *bytes, size_t count, int flags)
{
    const struct system_fault *fault = fault_of(SYSTEM_SEND);
    if (!fault || fault->error == 0)
        return __real_send(fd, bytes, fault && count > 1 ? 1 : count, flags);
    errno = fault->error;
    return -1;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t count, int flags)
{
    const struct system_fault *fault = fault_of(SYSTEM_RECV);
    if (!fault || fault->error == 0)
        return __real_recv(fd, bytes, fault && count > 1 ? 1 : count, flags);
    errno = fault->error;
    return -1;
}
