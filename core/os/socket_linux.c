#define _GNU_SOURCE
#include "os/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "os/os.h"

#define FAILED_POLL_NS   (UINT64_C(10) * WR_NS_PER_MS)
#define FILE_BYTES_FIRST 4096u

#define STALE_SECONDS_MIN 2

/* --- Sockets. -------------------------------------------------------------------------------- */

static bool address_make(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address->sun_path)
        return false;
    memcpy(address->sun_path, path, length + 1);
    return true;
}

static int socket_create(void)
{
    return wr_os_fd_above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int wr_os_socket_connect(const char *path)
{
    struct sockaddr_un address;
    if (!address_make(&address, path))
        return -ENAMETOOLONG;
    int fd = socket_create();
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int failure = errno;
    close(fd);
    return -failure;
}

static bool is_own_socket(const char *path, struct stat *status)
{
    return lstat(path, status) == 0 && S_ISSOCK(status->st_mode) && status->st_uid == geteuid();
}

/* Removes a socket of this user that has no listener any more. At a shared path a recent one stays:
 * the process that has made it may be about to listen. */
static bool stale_remove(const char *path, bool is_shared)
{
    struct stat found, now;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (!is_own_socket(path, &found) ||
        (is_shared && time.tv_sec - found.st_mtim.tv_sec < STALE_SECONDS_MIN))
        return false;
    int fd = wr_os_socket_connect(path);
    if (fd >= 0)
        close(fd);
    return fd == -ECONNREFUSED && is_own_socket(path, &now) && now.st_ino == found.st_ino &&
           unlink(path) == 0;
}

/* The mode is set before the file exists, so other users can never connect. */
static int bind_private(int fd, const char *path, bool is_shared)
{
    struct sockaddr_un address;
    if (!address_make(&address, path))
        return -ENAMETOOLONG;
    if (fchmod(fd, S_IRUSR | S_IWUSR) != 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    int failure = errno;
    if (failure != EADDRINUSE || !stale_remove(path, is_shared))
        return -failure;
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : -errno;
}

static void name_make(struct wr_os_socket_name *name, const char *path)
{
    struct stat status;
    *name = (struct wr_os_socket_name){.process_id = wr_os_process_id()};
    if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return;
    memcpy(name->path, path, strlen(path) + 1);
    name->device = status.st_dev;
    name->inode = status.st_ino;
}

int wr_os_socket_listen(const char *path, bool is_shared, struct wr_os_socket_name *name)
{
    *name = (struct wr_os_socket_name){.path = ""};
    int fd = socket_create();
    if (fd < 0)
        return fd;
    int result = bind_private(fd, path, is_shared);
    if (result == 0) {
        name_make(name, path);
        result = listen(fd, SOMAXCONN) == 0 ? fd : -errno;
    }
    if (result < 0) {
        wr_os_socket_remove(name);
        close(fd);
    }
    return result;
}

void wr_os_socket_remove(struct wr_os_socket_name *name)
{
    struct stat status;
    if (name->path[0] && name->process_id == wr_os_process_id() &&
        lstat(name->path, &status) == 0 && status.st_dev == name->device &&
        status.st_ino == name->inode)
        unlink(name->path);
    name->path[0] = 0;
}

int wr_os_socket_accept(int listener)
{
    int fd;
    do
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return wr_os_fd_above_standard(fd);
}

bool wr_os_socket_peer_is_allowed(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

int wr_os_socket_send(int fd, const void *bytes, size_t count)
{
    ssize_t sent;
    do
        sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : (int)sent;
}

/* Descriptors that come with the bytes are closed by the system, which has no place to put them. */
int wr_os_socket_receive(int fd, void *bytes, size_t count)
{
    ssize_t received;
    do
        received = recv(fd, bytes, count, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    return received < 0 ? -errno : (int)received;
}

void wr_os_socket_shutdown(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

/* --- Waiting for several. -------------------------------------------------------------------- */

/* Rounded up: a wait must not end before what it waits for is due, again and again. */
static int poll_ms(uint64_t ns)
{
    uint64_t ms = ns / WR_NS_PER_MS + (ns % WR_NS_PER_MS != 0);
    return ns == UINT64_MAX ? -1 : ms > INT_MAX ? INT_MAX : (int)ms;
}

void wr_os_poll(struct pollfd *items, uint32_t count, uint64_t ns)
{
    if (poll(items, count, poll_ms(ns)) >= 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        items[i].revents = 0;
    if (errno != EINTR) /* no memory: the caller will try again, and must not spin */
        wr_os_sleep_ns(FAILED_POLL_NS);
}

int wr_os_alarm_create(void)
{
    return wr_os_fd_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void wr_os_alarm_ring(int fd)
{
    eventfd_write(fd, 1); /* fails only if it has been rung 2^64 times since it was cleared */
}

void wr_os_alarm_clear(int fd)
{
    eventfd_t count;
    eventfd_read(fd, &count);
}

/* --- The process. ---------------------------------------------------------------------------- */

/* Reads a file of the system, whose size is not known before, to its end. */
static unsigned char *file_read(const char *path, uint64_t *bytes, uint64_t *capacity)
{
    *bytes = 0;
    *capacity = FILE_BYTES_FIRST;
    int fd = wr_os_fd_above_standard(open(path, O_RDONLY | O_CLOEXEC));
    unsigned char *pages = fd < 0 ? NULL : wr_os_pages_map(*capacity);
    ssize_t got = 0;
    while (pages && (got = read(fd, pages + *bytes, *capacity - *bytes)) > 0) {
        *bytes += (uint64_t)got;
        if (*bytes < *capacity)
            continue;
        void *grown = wr_os_pages_grow(pages, *capacity, *capacity * 2);
        if (!grown)
            break;
        pages = grown;
        *capacity *= 2;
    }
    if (fd >= 0)
        close(fd);
    if (got == 0)
        return pages;
    wr_os_pages_unmap(pages, *capacity);
    *bytes = 0;
    return NULL;
}

/* Field 22. The name before it may contain spaces and parentheses, so parse from the last one. */
uint64_t wr_os_process_start_ticks(void)
{
    uint64_t bytes, capacity, ticks = 0;
    unsigned char *stat = file_read("/proc/self/stat", &bytes, &capacity);
    if (!stat)
        return 0;
    stat[bytes] = 0; /* a page is larger than the file */
    const char *at = strrchr((char *)stat, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        ticks = strtoull(at, NULL, 10);
    wr_os_pages_unmap(stat, capacity);
    return ticks;
}

static int module_compare(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    return strcmp(wr_os_name_in(info->dlpi_name), name) == 0;
}

bool wr_os_module_is_loaded(const char *name)
{
    return dl_iterate_phdr(module_compare, (void *)(uintptr_t)name) != 0;
}

void wr_os_program_name(char *name, size_t capacity)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    snprintf(name, capacity, "%s", wr_os_name_in(path));
}

void wr_os_random(void *bytes, size_t count)
{
    if (getrandom(bytes, count, GRND_NONBLOCK) == (ssize_t)count)
        return;
    /* An old kernel, or one that has just started: unique, though not secret. */
    uint64_t words[2] = {wr_os_realtime_ns(), wr_os_clock_ns() ^ (uint64_t)wr_os_process_id()
                                                                     << 32};
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)bytes)[i] = ((unsigned char *)words)[i % sizeof words];
}

unsigned char *wr_os_process_text(enum wr_os_process_text which, uint64_t *bytes,
                                  uint64_t *capacity)
{
    return file_read(which == WR_OS_COMMAND_LINE ? "/proc/self/cmdline" : "/proc/self/environ",
                     bytes, capacity);
}
