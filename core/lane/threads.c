#include "lane/thread.h"

#include <pthread.h>
#include "os/clock.h"
#include "os/os.h"

#define SLAB_BYTES (64u << 10)
/* How long a wait for a pin sleeps between two looks, at first and in the end. */
#define PAUSE_NS_MIN 1000u
#define PAUSE_NS_MAX 1000000u

__thread struct wr_self wr_self __attribute__((tls_model("initial-exec")));
bool wr_thread_fast;
void (*wr_thread_on_exit)(struct wr_thread *thread);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t exit_key;
static struct wr_thread *all;          /* LOCK */
static struct wr_thread *free_records; /* LOCK */
static bool membarrier_works;          /* CONST after init */

static void on_thread_exit(void *argument);

void wr_threads_init(void)
{
    /* A process can run out of keys; its threads then keep their lanes until the session stops. */
    if (pthread_key_create(&exit_key, on_thread_exit) != 0)
        exit_key = (pthread_key_t)-1;
#if defined(__SANITIZE_THREAD__)
    membarrier_works = false; /* ThreadSanitizer does not know membarrier */
#elif defined(__has_feature)
#if !__has_feature(thread_sanitizer)
    membarrier_works = wr_os_membarrier_register();
#endif
#else
    membarrier_works = wr_os_membarrier_register();
#endif
    wr_thread_fast = membarrier_works && wr_clock.is_tsc;
}

/* A fresh slab's records go to the free list. From the system, not from the host's allocator: the
 * host may be tracing its allocator. */
static bool grow_locked(void)
{
    struct wr_thread *records = wr_os_pages_map(SLAB_BYTES);
    if (!records)
        return false;
    for (size_t i = 0; i < SLAB_BYTES / sizeof *records; i++) {
        records[i].next = all;
        all = &records[i];
        records[i].free_next = free_records;
        free_records = &records[i];
    }
    return true;
}

static struct wr_thread *record_take(void)
{
    pthread_mutex_lock(&lock);
    if (!free_records)
        grow_locked();
    struct wr_thread *thread = free_records;
    if (thread) {
        free_records = thread->free_next;
        thread->id = wr_os_thread_id();
        /* One for the thread itself; its exit gives it back. */
        wr_u32_store_release(&thread->lane_count, 1);
    }
    pthread_mutex_unlock(&lock);
    return thread;
}

struct wr_thread *wr_thread_attach(void)
{
    if (wr_self.thread)
        return wr_self.thread;
    struct wr_thread *thread = record_take();
    if (!thread)
        return NULL;
    wr_self.thread = thread;
    if (exit_key != (pthread_key_t)-1)
        pthread_setspecific(exit_key, thread);
    return thread;
}

void wr_thread_lane_released(struct wr_thread *thread)
{
    /* edge THREAD: the last of the thread's exit and its lanes' releases reuses the record */
    if (wr_u32_add_acq_rel(&thread->lane_count, UINT32_MAX) != 1)
        return;
    pthread_mutex_lock(&lock);
    thread->free_next = free_records;
    free_records = thread;
    pthread_mutex_unlock(&lock);
}

/* The destructors of a thread's other keys may still emit: they get a new record, and this runs
 * again for it. */
static void on_thread_exit(void *argument)
{
    struct wr_thread *thread = argument;
    wr_self_enter();
    if (wr_thread_on_exit)
        wr_thread_on_exit(thread);
    wr_self.thread = NULL;
    wr_thread_lane_released(thread);
    wr_self_leave();
}

void wr_threads_each(void (*visit)(struct wr_thread *thread, void *context), void *context)
{
    pthread_mutex_lock(&lock);
    for (struct wr_thread *thread = all; thread; thread = thread->next)
        visit(thread, context);
    pthread_mutex_unlock(&lock);
}

/* Waits for one thread's pin to be even or to change. Sleeps, so that a preempted writer on the
 * same processor gets to run. */
static bool wait_for_pin(const struct wr_thread *thread, uint64_t deadline_ns)
{
    uint64_t noted = wr_pin_load(thread);
    if (!wr_pin_is_inside(noted) || thread == wr_self.thread)
        return true;
    uint64_t pause_ns = PAUSE_NS_MIN;
    while (wr_pin_load(thread) == noted) {
        if (wr_os_monotonic_ns() >= deadline_ns)
            return false;
        wr_os_sleep_ns(pause_ns);
        pause_ns = pause_ns < PAUSE_NS_MAX / 2 ? pause_ns * 2 : PAUSE_NS_MAX;
    }
    return true;
}

void wr_threads_barrier(void)
{
    if (membarrier_works)
        wr_os_membarrier();
}

bool wr_threads_quiesce(uint64_t deadline_ns)
{
    /* edge QUIESCE: the caller's stores, this barrier, then the loads of the pins */
    wr_threads_barrier();
    pthread_mutex_lock(&lock);
    struct wr_thread *first = all;
    pthread_mutex_unlock(&lock);
    bool is_quiet = true;
    /* `next` of a listed record never changes; records added meanwhile see the caller's stores. */
    for (struct wr_thread *thread = first; thread; thread = thread->next)
        is_quiet &= wait_for_pin(thread, deadline_ns);
    return is_quiet;
}

void wr_threads_fork_lock(void)
{
    pthread_mutex_lock(&lock);
}

void wr_threads_fork_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void wr_threads_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    /* The parent's other threads do not exist here: their pins may be odd for ever, and nothing may
     * wait for them. This thread keeps its record, without lanes: a signal handler may have forked
     * in the middle of an event, which goes on when the handler returns, into memory of nobody's.
     */
    struct wr_thread *self = wr_self.thread;
    wr_self.capture = NULL;
    all = self;
    free_records = NULL;
    if (self) {
        self->next = NULL;
        self->id = wr_os_thread_id();
        wr_u32_store_release(&self->lane_count, 1);
        for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
            wr_ptr_store_release(&self->lanes[slot], NULL);
    }
    if (membarrier_works)
        wr_os_membarrier_register();
}
