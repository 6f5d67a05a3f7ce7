/*
 * Everything the core needs from an operating system. Each system has one implementation:
 * os_linux.c.
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
/* Grows a mapping, which may move. NULL on failure: the old mapping stays. */
void *wr_os_pages_grow(void *pages, uint64_t bytes, uint64_t bytes_new);

/* --- Waiting. -------------------------------------------------------------------------------- */

/* Sleeps while *word == expected, at most `ns` (UINT64_MAX: no limit). May return early. */
void wr_os_futex_wait(const struct wr_u32 *word, uint32_t expected, uint64_t ns);
void wr_os_futex_wake(struct wr_u32 *word, uint32_t count);
void wr_os_futex_wake_all(struct wr_u32 *word);
/* Waits awake while *word == value, at most `ns`. True if the word has changed. */
bool wr_os_spin_while(const struct wr_u32 *word, uint32_t value, uint64_t ns);
/* Initializes a mutex for short critical sections. Where the C library can, it spins for a bounded
 * time before it sleeps. */
void wr_os_mutex_init(pthread_mutex_t *mutex);
/* Locks the mutex, waiting at most `limit_ns` (0: one try; UINT64_MAX: no limit). False: it is not
 * locked. */
bool wr_os_mutex_lock_for(pthread_mutex_t *mutex, uint64_t limit_ns);

/* --- The asymmetric barrier. ----------------------------------------------------------------- */

/* Registers the process; false where the kernel has no private expedited membarrier. */
bool wr_os_membarrier_register(void);
/* Returns 0 after every thread of the process has passed a full memory barrier, between the entry
 * and the return of this call. Otherwise returns the system's error number: a registered process
 * may enter a sandbox that forbids the call. */
int wr_os_membarrier(void);

/* --- Threads. -------------------------------------------------------------------------------- */

uint64_t wr_os_thread_id(void);
uint32_t wr_os_process_id(void);
uint32_t wr_os_processor_count(void);
/* May that thread of this process run on the processor that the caller is on? A system call. True if
 * that is not known. */
bool wr_os_thread_may_run_here(uint64_t thread_id);
/* Blocks the calling thread's signals, except those that its own instructions cause: a host may
 * handle faults in memory that the library reads for it. Returns the previous mask. A system call.
 */
uint64_t wr_os_signals_block(void);
void wr_os_signals_restore(uint64_t before);
/* WR_OS_NO_CANCEL disables cancellation of the calling thread until the end of the enclosing block:
 * a cancelled control call would leave its session in an intermediate state. */
int wr_os_cancel_disable(void);
void wr_os_cancel_restore(const int *before);
#define WR_OS_NO_CANCEL                                                           \
    int wr_cancel_before __attribute__((unused, cleanup(wr_os_cancel_restore))) = \
        wr_os_cancel_disable()
/* Starts a detached thread that blocks all signals but those that its own instructions cause, which a
 * host's callback may rely on. Returns 0, or the system's error number. */
int wr_os_thread_start(const char *name, void *(*run)(void *), void *argument);
/* What the system calls the calling thread: in the host's encoding, up to 15 bytes and a zero. Does
 * not set errno. */
#define WR_OS_THREAD_NAME_BYTES 16
void wr_os_thread_name(char *name);
/* The same of the process's thread with this id. Opens a file of /proc. False, and `name` is as it was,
 * if there is no such thread, or the system does not tell. */
bool wr_os_thread_name_of(uint64_t thread_id, char *name);
/* Asks Linux to run the calling thread soon after it is woken. Its timed waits end when they are due;
 * by default they may end 50 us later, so as to wake once for several timers. Its time slices are of
 * 100 us: from Linux 6.12 on, a thread with a shorter slice need not wait for the end of another
 * one's, which takes milliseconds; it gets no more processor time. Neither needs a privilege, or
 * concerns other threads; where the system refuses, the thread is as late as before. */
void wr_os_thread_be_prompt(void);

/* --- The environment. ------------------------------------------------------------------------ */

/* The variable's value; NULL if there is none, or if the process has privileges that its user lacks. */
const char *wr_os_environment(const char *name);

/* --- Code. ----------------------------------------------------------------------------------- */

/* Keeps the plug-in or shared library that contains this code loaded until the process ends.
 * Threads that have emitted run a destructor of the library when they exit, which may be long after
 * a dlclose(). Does nothing in an executable, or in a module that was linked with -z nodelete.
 * Otherwise takes the loader's lock and may allocate. If it fails, dlclose() unloads the module;
 * nothing else changes. */
void wr_os_module_keep(void);

/* --- Time. ----------------------------------------------------------------------------------- */

#define WR_NS_PER_MS 1000000u

/* CLOCK_MONOTONIC for waits and deadlines. Within a thread it never steps back, even if the
 * system's does, as in a process that was restored. */
uint64_t wr_os_monotonic_ns(void);
/* CLOCK_MONOTONIC as the system reports it, for stamps. */
uint64_t wr_os_clock_ns(void);
uint64_t wr_os_realtime_ns(void);
/* How long the system has been suspended since it started. CLOCK_MONOTONIC stops meanwhile. */
uint64_t wr_os_suspended_ns(void);
void wr_os_sleep_ns(uint64_t ns);
/* Lets another thread run on this processor, if one is ready. */
void wr_os_yield(void);

/* --- Files. ---------------------------------------------------------------------------------- */

/* The temporary name of a file, in the directory of its final name. The directory is held open, so
 * that neither a chdir nor a rename of the directory separates the two names. */
struct wr_os_temporary {
    char name[256]; /* empty: none */
    int directory;  /* open if there is a name */
};

/* Opens `path` for writing, without waiting: a FIFO without a reader is refused. If `path` is
 * missing or a regular file, creates a file beside it; `temporary` receives the name of that, and
 * wr_os_file_publish() renames it. Anything else (a pipe, /dev/stdout) is opened directly, without
 * a temporary name. Returns the descriptor, or the negated error number. */
int wr_os_file_create(const char *path, struct wr_os_temporary *temporary);
/* Renames the file to the last component of `path`. Returns 0, and there is no temporary name any
 * more; or the system's error number. */
int wr_os_file_publish(struct wr_os_temporary *temporary, const char *path);
/* Removes the file if it still has its temporary name. */
void wr_os_file_discard(struct wr_os_temporary *temporary);
/* Duplicates `fd` to one that exec closes, above the standard descriptors. Returns it, or the negated
 * error number. */
int wr_os_fd_duplicate(int fd);
/* For what open() or the like has just returned: moves it above the standard descriptors. If the host
 * has closed one of those, its number must not become the trace. Returns the descriptor, or the
 * negated error number. */
int wr_os_fd_above_standard(int fd);
/* Closes `*fd`, unless it is -1. Sets it to -1 first: a child that is forked in between must not close
 * another file's number. Returns 0, or the system's error number: some file systems report a failed
 * write only here. */
int wr_os_fd_close(int *fd);
/* The last component of a path. */
const char *wr_os_name_in(const char *path);
/* Writes all bytes, through short and interrupted writes. Returns 0, or the system's error number.
 */
int wr_os_file_write(int fd, const void *bytes, size_t count);

#endif
