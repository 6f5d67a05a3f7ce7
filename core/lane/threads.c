#include "lane/thread.h"

#include <errno.h>
#include <pthread.h>
#include "os/clock.h"
#include "os/os.h"

#define SLAB_BYTES (64u << 10)
/* How long a wait for a pin sleeps between two loads: at first, and at most. */
#define PAUSE_NS_MIN 1000u
#define PAUSE_NS_MAX 1000000u

struct wr_thread wr_thread_none = {.pin = {1}};
__thread struct wr_self wr_self
    __attribute__((tls_model("initial-exec"))) = {.ready = &wr_thread_none};
bool wr_thread_fast;
void (*wr_thread_on_exit)(struct wr_thread *thread);
void (*wr_threads_on_membarrier_error)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a record is taken */
static struct wr_u32 lock_is_stuck;                      /* ANY: see wr_self_lock() */
static pthread_key_t exit_key;
static struct wr_ptr all;              /* ANY(RECORD): never shrinks */
static struct wr_ptr free_records;     /* ANY(THREAD): given by any thread, taken under LOCK */
static bool membarrier_works;          /* CONST after init: it is registered */
static struct wr_u32 membarrier_error; /* ANY: the error of the first call that failed */

static void on_thread_exit(void *argument);

WR_COLD void wr_threads_init(void)
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
    wr_thread_fast = membarrier_works && wr_clock.is_counter;
}

/* Takes no lock: an exiting thread, the drain and a stop all give records back. */
static void records_give(struct wr_thread *first)
{
    struct wr_thread *last = first;
    while (last->free_next)
        last = last->free_next;
    void *head = wr_ptr_load_relaxed(&free_records); /* relaxed: the swap decides */
    do {
        last->free_next = head;
        wr_data_written(&last->free_next, sizeof last->free_next);
        /* edge THREAD.release: no thread still reads what the record's former thread left */
    } while (!wr_ptr_cas_release(&free_records, &head, first));
}

static struct wr_thread *record_next(const struct wr_thread *thread)
{
    wr_data_read(&thread->next, sizeof thread->next);
    return thread->next;
}

static void record_list(struct wr_thread *thread)
{
    void *head = wr_ptr_load_relaxed(&all); /* relaxed: the swap decides */
    do {
        thread->next = head;
        wr_data_written(&thread->next, sizeof thread->next);
        /* edge RECORD.release: the record, and its successor */
    } while (!wr_ptr_cas_release(&all, &head, thread));
}

/* The records of a fresh slab. It comes from the system, because the host may be tracing its own
 * allocator. */
static struct wr_thread *grow(void)
{
    struct wr_thread *records = wr_os_pages_map(SLAB_BYTES);
    struct wr_thread *first = NULL;
    for (size_t i = 0; records && i < SLAB_BYTES / sizeof *records; i++) {
        wr_thread_forget_lanes(&records[i]);
        record_list(&records[i]);
        records[i].free_next = first;
        first = &records[i];
    }
    return first;
}

/* Takers come one at a time, and givers only push in front. So while a record is on the list, its
 * successor does not change, and the swap cannot succeed with an old one. */
static struct wr_thread *record_pop_locked(void)
{
    void *first = wr_ptr_load_acquire(&free_records); /* edge THREAD.acquire */
    struct wr_thread *thread;
    do {
        thread = first;
        if (!thread)
            return NULL;
        wr_data_read(&thread->free_next, sizeof thread->free_next);
        /* edge THREAD.acquire */
    } while (!wr_ptr_cas_acq_rel(&free_records, &first, thread->free_next));
    return thread;
}

/* Takes a fresh record if no record is free, or if a thread that does not run holds the lock. */
static struct wr_thread *record_take(void)
{
    struct wr_thread *thread = NULL;
    if (wr_self_lock(&lock, &lock_is_stuck)) {
        thread = record_pop_locked();
        pthread_mutex_unlock(&lock);
    }
    if (!thread && (thread = grow()) && thread->free_next)
        records_give(thread->free_next);
    if (!thread)
        return NULL;
    thread->id = wr_os_thread_id();
    thread->last_loss = wr_self.last_loss;
    thread->context = NULL;
    thread->is_capturing = false;
    wr_thread_name_forget(thread);
    /* 1 for the thread itself, which its exit counts down. */
    wr_u32_store_release(&thread->lane_count, 1);
    return thread;
}

WR_COLD struct wr_thread *wr_thread_attach(void)
{
    if (wr_self.thread)
        return wr_self.thread;
    uint64_t signals = wr_os_signals_block();
    struct wr_thread *thread = record_take();
    wr_self.thread = thread;
    if (thread && exit_key != (pthread_key_t)-1)
        pthread_setspecific(exit_key, thread);
    wr_os_signals_restore(signals);
    return thread;
}

WR_COLD void wr_thread_lane_released(struct wr_thread *thread)
{
    /* edge THREAD: the last of the thread's exit and its lanes' releases frees the record */
    if (wr_u32_add_acq_rel(&thread->lane_count, UINT32_MAX) != 1)
        return;
    thread->free_next = NULL;
    records_give(thread);
}

/* Destructors of the thread's other keys may still emit. They get a new record, and this function
 * runs again for it. */
static void on_thread_exit(void *argument)
{
    struct wr_thread *thread = argument;
    /* relaxed: this thread's own pin */
    uint64_t pin = wr_u64_load_relaxed(&thread->pin);
    /* Odd if a handler has ended the thread in an event without weir_thread_reset(). The record's
     * next owner must not find it so. */
    if (wr_pin_is_inside(pin))
        wr_u64_store_release(&thread->pin, pin + 1); /* edge QUIESCE.release */
    wr_self_enter();
    wr_self.patience_ns = WR_PATIENCE_NS;
    wr_thread_name_end(thread);
    if (wr_thread_on_exit)
        wr_thread_on_exit(thread);
    wr_self.last_loss = thread->last_loss;
    wr_self.thread = NULL;
    wr_thread_lane_released(thread);
    wr_self_leave();
}

WR_COLD void wr_threads_each(void (*visit)(struct wr_thread *thread, void *context), void *context)
{
    struct wr_thread *thread = wr_ptr_load_acquire(&all); /* edge RECORD.acquire */
    for (; thread; thread = record_next(thread))
        visit(thread, context);
}

/* Waits until one thread's pin is even or has changed since it was noted. Sleeps between loads, so
 * that a preempted writer on the same processor can run. */
static bool wait_for_pin(const struct wr_thread *thread, uint64_t *noted, uint64_t until_ns)
{
    if (*noted == 0)
        *noted = wr_pin_load(thread);
    if (!wr_pin_is_inside(*noted) || thread == wr_self.thread)
        return true;
    uint64_t pause_ns = PAUSE_NS_MIN;
    while (wr_pin_load(thread) == *noted) {
        if (wr_os_monotonic_ns() >= until_ns)
            return false;
        wr_os_sleep_ns(pause_ns);
        pause_ns = pause_ns < PAUSE_NS_MAX / 2 ? pause_ns * 2 : PAUSE_NS_MAX;
    }
    return true;
}

WR_COLD int wr_threads_membarrier_error(void)
{
    /* relaxed: no other access relies on it; a mask says that its sessions have seq_cst pins */
    return (int)wr_u32_load_relaxed(&membarrier_error);
}

static void membarrier_fail(int error)
{
    uint32_t none = 0;
    if (wr_u32_cas_acq_rel(&membarrier_error, &none, (uint32_t)error) &&
        wr_threads_on_membarrier_error)
        wr_threads_on_membarrier_error();
}

WR_COLD bool wr_threads_barrier(bool has_plain_pins)
{
    if (!has_plain_pins)
        return true;
    /* After a failure membarrier is never tried again. A sandbox's filter may apply to some threads
     * only, but what one thread has given up stays given up. */
    if (wr_threads_membarrier_error())
        return false;
    int error = wr_os_membarrier();
    if (error)
        membarrier_fail(error);
    return error == 0;
}

WR_COLD bool wr_threads_quiesce(struct wr_quiesce *quiesce, bool has_plain_pins, uint64_t until_ns)
{
    if (!quiesce->is_begun) {
        /* edge QUIESCE: the caller's stores, this barrier, then the loads of the pins */
        quiesce->is_certain = wr_threads_barrier(has_plain_pins);
        quiesce->thread = wr_ptr_load_acquire(&all); /* edge RECORD.acquire */
        quiesce->is_begun = true;
    }
    /* `next` of a listed record never changes. A thread whose record is added during the walk sees
     * the caller's stores. */
    while (quiesce->thread && wait_for_pin(quiesce->thread, &quiesce->noted, until_ns)) {
        quiesce->thread = record_next(quiesce->thread);
        quiesce->noted = 0;
    }
    return !quiesce->thread && quiesce->is_certain;
}

WR_COLD void wr_threads_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    wr_u32_store_relaxed(&lock_is_stuck, 0); /* relaxed: the only thread */
    /* The parent's other threads do not exist here. Their pins may stay odd for ever, so nothing
     * may wait for them. This thread keeps its record, without lanes: a signal handler may have
     * forked in the middle of an event, which continues when the handler returns, and writes into
     * memory that no session owns. */
    struct wr_thread *self = wr_self.thread;
    wr_self.capture = NULL;
    wr_ptr_store_release(&all, self);
    wr_ptr_store_release(&free_records, NULL);
    if (self) {
        self->next = NULL;
        self->id = wr_os_thread_id();
        wr_u32_store_release(&self->lane_count, 1);
        wr_thread_forget_lanes(self);
    }
    if (membarrier_works && !wr_os_membarrier_register())
        membarrier_fail(EPERM);
}
