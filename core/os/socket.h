/*
 * What the server needs from the operating system: local sockets, waiting for several of them, and
 * facts about the process. Functions that return an int return a descriptor or a count, or the
 * negated error number. No descriptor is below 3, blocks, or is inherited by programs that the
 * process starts.
 */
#ifndef WR_OS_SOCKET_H
#define WR_OS_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Sockets. -------------------------------------------------------------------------------- */

#define WR_SOCKET_PATH_BYTES 108 /* with its end; the system's limit */

/* A socket's name in the file system, and the file that this process has made there. */
struct wr_os_socket_name {
    char path[WR_SOCKET_PATH_BYTES]; /* empty: none */
    uint64_t device;
    uint64_t inode;
    uint32_t process_id;
};

/* Listens at `path`, which only this process's user may connect to. Replaces a socket of that user
 * that has no listener any more; leaves anything else there alone (-EADDRINUSE). If the path is
 * shared, other processes may be about to listen there, too. */
int wr_os_socket_listen(const char *path, bool is_shared, struct wr_os_socket_name *name);
/* Removes the file, if this process has made it and it is still that file. */
void wr_os_socket_remove(struct wr_os_socket_name *name);
/* -EAGAIN: no connection is pending. */
int wr_os_socket_accept(int listener);
int wr_os_socket_connect(const char *path);
/* Is the other side of this process's user, or root's? */
bool wr_os_socket_peer_is_allowed(int fd);
/* Return how much was sent or received, which may be less; 0 received: the other side has ended.
 * -EAGAIN: nothing now. Neither raises a signal. */
int wr_os_socket_send(int fd, const void *bytes, size_t count);
int wr_os_socket_receive(int fd, void *bytes, size_t count);
/* Ends both directions: the other side reads the end, and a thread that waits for it goes on. */
void wr_os_socket_shutdown(int fd);

/* --- Waiting for several. -------------------------------------------------------------------- */

/* Sleeps until one is ready, at most `ns` (UINT64_MAX: no limit). May return early, with none. */
void wr_os_poll(struct pollfd *items, uint32_t count, uint64_t ns);

/* A descriptor that is readable from a ring until it is cleared. */
int wr_os_alarm_create(void);
void wr_os_alarm_ring(int fd);
void wr_os_alarm_clear(int fd);

/* --- The process. ---------------------------------------------------------------------------- */

/* When it was started, in clock ticks since the system was; 0 if unknown. */
uint64_t wr_os_process_start_ticks(void);
/* Is a shared library of that file name loaded? */
bool wr_os_module_is_loaded(const char *name);
/* Writes the name of the executable, with its end. */
void wr_os_program_name(char *name, size_t capacity);
void wr_os_random(void *bytes, size_t count);

enum wr_os_process_text {
    WR_OS_COMMAND_LINE,
    WR_OS_ENVIRONMENT /* as it was when the program started */
};

/* Strings, each with its end, in pages that the caller unmaps. NULL: not readable, or no memory. */
unsigned char *wr_os_process_text(enum wr_os_process_text which, uint64_t *bytes,
                                  uint64_t *capacity);

#endif
