/*
 * Everything the core asks of an operating system. One implementation per system: os_linux.c.
 */
#ifndef WR_OS_OS_H
#define WR_OS_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/atomic.h"

/* --- Memory: whole pages, zeroed, never from the host's allocator. --------------------------- */

/* NULL on failure. */
void *wr_os_pages_map(uint64_t bytes);
void wr_os_pages_unmap(void *pages, uint64_t bytes);
/* Grows a mapping, which may move it; NULL on failure, the old one then stays. */
void *wr_os_pages_grow(void *pages, uint64_t bytes, uint64_t bytes_new);

/* --- Waiting. -------------------------------------------------------------------------------- */

/* Sleeps while *word == expected, at most `ns` (UINT64_MAX: without limit). May return early. */
void wr_os_futex_wait(const struct wr_u32 *word, uint32_t expected, uint64_t ns);
void wr_os_futex_wake(struct wr_u32 *word, uint32_t count);
void wr_os_futex_wake_all(struct wr_u32 *word);
/* Waits awake while *word == value, at most `ns`. True if the word has changed. */
bool wr_os_spin_while(const struct wr_u32 *word, uint32_t value, uint64_t ns);
/* A mutex for short sections: it spins for a bounded time before it sleeps, where the C library can
 * do that. */
void wr_os_mutex_init(pthread_mutex_t *mutex);
/* Locks it, waiting at most `limit_ns` for the thread that holds it: 0: one try; UINT64_MAX: no
 * limit. False: it is not locked. */
bool wr_os_mutex_lock_for(pthread_mutex_t *mutex, uint64_t limit_ns);

/* --- The asymmetric barrier. ----------------------------------------------------------------- */

/* Registers the process; false where the kernel has no private expedited membarrier. */
bool wr_os_membarrier_register(void);
/* Each thread of the process passes a full memory barrier between entry and return of this call,
 * which returns 0; or the system's error number: a registered process may enter a sandbox that
 * forbids the call. */
int wr_os_membarrier(void);

/* --- Threads. -------------------------------------------------------------------------------- */

uint64_t wr_os_thread_id(void);
uint32_t wr_os_process_id(void);
uint32_t wr_os_processor_count(void);
/* Blocks the calling thread's signals, but for those that its own instructions cause: a host may
 * have handlers for faults in what we read for it. Returns what was blocked before. A system call.
 */
uint64_t wr_os_signals_block(void);
void wr_os_signals_restore(uint64_t before);
/* Disables cancellation of the calling thread until the end of the block that it stands in: a
 * control call that is cancelled would leave its session half way. */
int wr_os_cancel_disable(void);
void wr_os_cancel_restore(const int *before);
#define WR_OS_NO_CANCEL                                                           \
    int wr_cancel_before __attribute__((unused, cleanup(wr_os_cancel_restore))) = \
        wr_os_cancel_disable()
/* Starts a detached thread that blocks all signals. 0, or the system's error number. */
int wr_os_thread_start(const char *name, void *(*run)(void *), void *argument);

/* --- Code. ----------------------------------------------------------------------------------- */

/* Keeps the plug-in or shared library that contains this code loaded until the process ends:
 * threads that have emitted run our destructor when they end, long after a dlclose() perhaps. Does
 * nothing in an executable, or where the linker was told already (-z nodelete). Otherwise takes the
 * loader's lock and may allocate. If it fails, nothing else does: dlclose() then unloads. */
void wr_os_module_keep(void);

/* --- Time. ----------------------------------------------------------------------------------- */

/* CLOCK_MONOTONIC for waits and deadlines: within a thread it never falls, even if the system's
 * does (a process that was restored, say). */
uint64_t wr_os_monotonic_ns(void);
/* CLOCK_MONOTONIC as the system tells it, for stamps. */
uint64_t wr_os_clock_ns(void);
uint64_t wr_os_realtime_ns(void);
/* How long the system has been suspended since its start: the monotonic clock stands still then. */
uint64_t wr_os_suspended_ns(void);
void wr_os_sleep_ns(uint64_t ns);
/* Lets another thread run on this processor, if one is ready. */
void wr_os_yield(void);

/* --- Files. ---------------------------------------------------------------------------------- */

/* The name of a file that is not whole yet, in the directory of its own name. That directory is
 * held open, so that no chdir and no rename of it comes between the two names. */
struct wr_os_temporary {
    char name[256]; /* empty: none */
    int directory;  /* if there is a name */
};

/* Opens `path` for writing without waiting: a FIFO that nobody reads is refused. A missing or
 * regular file is written under a new name beside it, which `temporary` receives and
 * wr_os_file_publish() renames; anything else (a pipe, /dev/stdout) is opened itself, and there is
 * no temporary name. Returns the descriptor, or the negated error number. */
int wr_os_file_create(const char *path, struct wr_os_temporary *temporary);
/* Gives the file the last part of `path` as its name. 0, or the system's error number; after 0
 * there is no temporary name any more. */
int wr_os_file_publish(struct wr_os_temporary *temporary, const char *path);
/* Removes the file if it has its temporary name. */
void wr_os_file_discard(struct wr_os_temporary *temporary);
/* Another descriptor, closed by exec, for what `fd` stands for; or the negated error number. */
int wr_os_fd_duplicate(int fd);
/* 0, or the system's error number: some file systems tell a failed write only here. */
int wr_os_file_close(int fd);
/* Writes all of it, through short and interrupted writes. 0, or the system's error number. */
int wr_os_file_write(int fd, const void *bytes, size_t count);

#endif
