#define _GNU_SOURCE
#include "os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/compiler.h"

/* The kernel's numbers, as in linux/futex.h and linux/membarrier.h, which not every C library comes
 * with. */
enum {
    OS_FUTEX_WAIT_PRIVATE = 0 | 128,
    OS_FUTEX_WAKE_PRIVATE = 1 | 128,
    OS_MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3,
    OS_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
};

#define PROMPT_SLICE_NS 100000u

#define SPIN_LOOKS 32 /* between two readings of the clock, which costs as much as several looks */

WR_COLD const char *wr_os_environment(const char *name)
{
    return secure_getenv(name);
}

WR_COLD void *wr_os_pages_map(uint64_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

WR_COLD void wr_os_pages_unmap(void *pages, uint64_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

WR_COLD void *wr_os_pages_grow(void *pages, uint64_t bytes, uint64_t bytes_new)
{
    void *grown = mremap(pages, bytes, bytes_new, MREMAP_MAYMOVE);
    return grown == MAP_FAILED ? NULL : grown;
}

WR_COLD void wr_os_futex_wait(const struct wr_u32 *word, uint32_t expected, uint64_t ns)
{
    bool is_limited = ns < (uint64_t)INT64_MAX;
    struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
    syscall(SYS_futex, word, OS_FUTEX_WAIT_PRIVATE, expected, is_limited ? &limit : NULL, NULL, 0);
}

WR_COLD void wr_os_futex_wake(struct wr_u32 *word, uint32_t count)
{
    syscall(SYS_futex, word, OS_FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

WR_COLD void wr_os_futex_wake_all(struct wr_u32 *word)
{
    wr_os_futex_wake(word, INT_MAX);
}

bool wr_os_spin_while(const struct wr_u32 *word, uint32_t value, uint64_t ns)
{
    uint64_t end_ns = wr_os_monotonic_ns() + ns;
    do {
        for (unsigned i = 0; i < SPIN_LOOKS; i++) {
            /* relaxed: the caller loads it again, with acquire */
            if (wr_u32_load_relaxed(word) != value)
                return true;
            wr_pause();
        }
    } while (wr_os_monotonic_ns() < end_ns);
    return false;
}

WR_COLD void wr_os_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

/* ThreadSanitizer does not know pthread_mutex_clocklock(), and musl does not have it. There the limit
 * moves with the system's clock. */
static int mutex_lock_until(pthread_mutex_t *mutex, uint64_t limit_ns)
{
#if defined(UNDER_TSAN) || !defined(__GLIBC__)
    uint64_t end_ns = wr_os_realtime_ns() + limit_ns;
#else
    uint64_t end_ns = wr_os_monotonic_ns() + limit_ns;
#endif
    struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
                           .tv_nsec = (long)(end_ns % 1000000000u)};
#if defined(UNDER_TSAN) || !defined(__GLIBC__)
    return pthread_mutex_timedlock(mutex, &end);
#else
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &end);
#endif
}

WR_COLD bool wr_os_mutex_lock_for(pthread_mutex_t *mutex, uint64_t limit_ns)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return true;
    if (limit_ns > INT64_MAX) /* no limit, or centuries, with which a deadline could overflow */
        return pthread_mutex_lock(mutex) == 0;
    return limit_ns > 0 && mutex_lock_until(mutex, limit_ns) == 0;
}

static uint64_t signal_bit(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

/* Sets the kernel's own mask of 64 signals: glibc's functions would not block the cancellation
 * signal. */
static void signals_set(uint64_t set, uint64_t *before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, before, sizeof set);
}

/* Those that a thread's own instructions cause. */
static uint64_t faults(void)
{
    return signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) | signal_bit(SIGILL) |
           signal_bit(SIGTRAP) | signal_bit(SIGSYS);
}

WR_COLD uint64_t wr_os_signals_block(void)
{
    uint64_t before = 0;
    signals_set(~faults(), &before);
#ifdef UNDER_TSAN
    pthread_sigmask(SIG_BLOCK, NULL, NULL); /* let it deliver here what it has deferred */
#endif
    return before;
}

WR_COLD void wr_os_signals_restore(uint64_t before)
{
    signals_set(before, NULL);
}

WR_COLD int wr_os_cancel_disable(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

WR_COLD void wr_os_cancel_restore(const int *before)
{
    pthread_setcancelstate(*before, NULL);
}

WR_COLD bool wr_os_membarrier_register(void)
{
    return syscall(SYS_membarrier, OS_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

WR_COLD int wr_os_membarrier(void)
{
    return syscall(SYS_membarrier, OS_MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : errno;
}

WR_COLD uint64_t wr_os_thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

WR_COLD uint32_t wr_os_process_id(void)
{
    return (uint32_t)getpid();
}

WR_COLD uint32_t wr_os_processor_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (uint32_t)count;
}

/* sched_getaffinity() fails if a set is too small for the system, or if the thread has exited. */
WR_COLD bool wr_os_thread_may_run_here(uint64_t thread_id)
{
    cpu_set_t allowed;
    int here = sched_getcpu();
    return here < 0 || sched_getaffinity((pid_t)thread_id, sizeof allowed, &allowed) != 0 ||
           CPU_ISSET((size_t)here, &allowed);
}

WR_COLD void wr_os_thread_name(char *name)
{
    prctl(PR_GET_NAME, name, 0UL, 0UL, 0UL);
}

WR_COLD bool wr_os_thread_name_of(uint64_t thread_id, char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu64 "/comm", thread_id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char line[WR_OS_THREAD_NAME_BYTES + 1];
    ssize_t bytes = read(fd, line, sizeof line);
    wr_os_fd_close(&fd);
    if (bytes < 1 || bytes > WR_OS_THREAD_NAME_BYTES)
        return false;
    memset(name, 0, WR_OS_THREAD_NAME_BYTES);
    memcpy(name, line, (size_t)bytes - 1); /* without the newline */
    return true;
}

/* The first version of the kernel's struct sched_attr, which C libraries do not all have. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static void slice_set(uint64_t ns)
{
    struct attributes own = {0};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0 || own.policy != SCHED_OTHER)
        return;
    own.runtime_ns = ns;
    syscall(SYS_sched_setattr, 0, &own, 0);
}

WR_COLD void wr_os_thread_be_prompt(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    slice_set(PROMPT_SLICE_NS);
}

WR_COLD int wr_os_thread_start(const char *name, void *(*run)(void *), void *argument)
{
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (int signal = 1; signal < 32; signal++)
        if (faults() & signal_bit(signal))
            sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread;
    int error = pthread_create(&thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return error;
    pthread_setname_np(thread, name);
    pthread_detach(thread);
    return 0;
}

/* Weak, so that an older C library needs no -ldl: a process that loads plug-ins has both. */
#pragma weak dladdr
#pragma weak dlsym
/* The dynamic section of the module that this code is linked into; a static executable has none. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

/* Does this module stay loaded anyway? Only an executable has DT_DEBUG, where a debugger finds the
 * list of loaded libraries. */
static bool module_stays(void)
{
    if (!_DYNAMIC)
        return true;
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_DEBUG ||
            (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODELETE)))
            return true;
    return false;
}

WR_COLD void wr_os_module_keep(void)
{
    Dl_info self;
    if (module_stays() || !dladdr || !dlsym || !dladdr(_DYNAMIC, &self))
        return;
    /* Found by name: the linker warns about each static executable that refers to dlopen. */
    void *(*load)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");
    if (load)
        load(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t wr_os_clock_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t wr_os_monotonic_ns(void)
{
    /* In static TLS, like wr_self: a signal handler may be the first to access these. */
    static __thread uint64_t last __attribute__((tls_model("initial-exec")));
    static __thread uint64_t offset __attribute__((tls_model("initial-exec")));
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now < last)
        offset += last - now;
    last = now;
    return now + offset;
}

WR_COLD uint64_t wr_os_suspended_ns(void)
{
    uint64_t monotonic = clock_ns(CLOCK_MONOTONIC), boot = clock_ns(CLOCK_BOOTTIME);
    return boot > monotonic ? boot - monotonic : 0;
}

WR_COLD uint64_t wr_os_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

WR_COLD void wr_os_yield(void)
{
    sched_yield();
}

WR_COLD void wr_os_sleep_ns(uint64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* The open must not block, but later writes must wait for the reader. */
static int open_special(int directory, const char *name)
{
    int fd = wr_os_fd_above_standard(
        openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (fd < 0)
        return fd;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

WR_COLD const char *wr_os_name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* O_PATH, because names are only looked up in the directory; it may forbid reading. */
static int open_directory(const char *path)
{
    char directory[PATH_MAX] = ".";
    size_t length = (size_t)(wr_os_name_in(path) - path);
    if (length >= sizeof directory)
        return -ENAMETOOLONG;
    if (length > 0) {
        memcpy(directory, path, length);
        directory[length] = 0;
    }
    return wr_os_fd_above_standard(open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int create_beside(const char *name, struct wr_os_temporary *temporary)
{
    size_t capacity = sizeof temporary->name;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        int length =
            snprintf(temporary->name, capacity, "%s.%u-%u.part", name, (unsigned)getpid(), attempt);
        if (length < 0 || (size_t)length >= capacity)
            return -ENAMETOOLONG;
        int fd = openat(temporary->directory, temporary->name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int above = wr_os_fd_above_standard(fd);
        if (fd >= 0 && above < 0)
            unlinkat(temporary->directory, temporary->name, 0);
        if (above != -EEXIST)
            return above;
    }
    return -EEXIST;
}

static void temporary_forget(struct wr_os_temporary *temporary)
{
    close(temporary->directory);
    temporary->directory = -1;
    temporary->name[0] = 0;
}

WR_COLD int wr_os_file_create(const char *path, struct wr_os_temporary *temporary)
{
    struct stat status;
    const char *name = wr_os_name_in(path);
    int fd;
    temporary->name[0] = 0;
    temporary->directory = open_directory(path);
    if (temporary->directory < 0)
        return temporary->directory;
    bool exists = fstatat(temporary->directory, name, &status, 0) == 0;
    bool is_directory = !name[0] || (exists && S_ISDIR(status.st_mode));
    if (is_directory)
        fd = -EISDIR;
    else if (exists && !S_ISREG(status.st_mode))
        fd = open_special(temporary->directory, name);
    else
        fd = create_beside(name, temporary);
    if (fd < 0 || !temporary->name[0])
        temporary_forget(temporary);
    return fd;
}

WR_COLD int wr_os_file_publish(struct wr_os_temporary *temporary, const char *path)
{
    int directory = temporary->directory;
    if (renameat(directory, temporary->name, directory, wr_os_name_in(path)) != 0)
        return errno;
    temporary_forget(temporary);
    return 0;
}

WR_COLD void wr_os_file_discard(struct wr_os_temporary *temporary)
{
    if (!temporary->name[0])
        return;
    unlinkat(temporary->directory, temporary->name, 0);
    temporary_forget(temporary);
}

WR_COLD int wr_os_fd_duplicate(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return copy < 0 ? -errno : copy;
}

WR_COLD int wr_os_fd_above_standard(int fd)
{
    if (fd < 0)
        return -errno;
    if (fd > STDERR_FILENO)
        return fd;
    int copy = wr_os_fd_duplicate(fd);
    close(fd);
    return copy;
}

/* Not repeated after EINTR: on Linux the descriptor is closed then, and another file may have the
 * number. */
WR_COLD int wr_os_fd_close(int *fd)
{
    int closed = *fd;
    *fd = -1;
    wr_compiler_barrier();
    return closed < 0 || close(closed) == 0 || errno == EINTR ? 0 : errno;
}

/* If the host made the descriptor non-blocking, wait here as a blocking write would. */
static void wait_until_writable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    poll(&poll_fd, 1, 100);
}

WR_COLD int wr_os_file_write(int fd, const void *bytes, size_t count)
{
    const char *rest = bytes;
    while (count > 0) {
        ssize_t written = write(fd, rest, count);
        if (written > 0) {
            rest += written;
            count -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            wait_until_writable(fd);
        } else if (written == 0 || errno != EINTR) {
            return written == 0 ? EIO : errno;
        }
    }
    return 0;
}
