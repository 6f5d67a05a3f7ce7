/*
 * The registry's lock; what the library sets up once per process; forks.
 *
 * The registry holds the providers, their events, and which session wants which event. One mutex
 * guards all of it. Emitting an event never takes that mutex. Only an event's mask and the table of
 * definitions, which only grows, are read without it, so there is nothing for ck_epoch to protect.
 */
#include "event/registry.h"

#include <pthread.h>
#include "buffers/buffers.h"
#include "os/clock.h"
#include "os/os.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t signals_before; /* LOCK: the signal mask of the thread that holds it */
static uint32_t generation;     /* of the process; changes in fork only */
bool wr_registry_is_broken;

/* --- The lock. ------------------------------------------------------------------------------- */

WR_COLD bool wr_registry_lock_for(uint64_t limit_ns)
{
    wr_self_enter();
    uint64_t before = wr_os_signals_block();
    if (wr_os_mutex_lock_for(&lock, limit_ns)) {
        signals_before = before;
        return true;
    }
    wr_os_signals_restore(before);
    wr_self_leave();
    return false;
}

WR_COLD void wr_registry_lock(void)
{
    wr_registry_lock_for(UINT64_MAX);
}

WR_COLD void wr_registry_unlock(void)
{
    uint64_t before = signals_before;
    struct wr_interest *dead = wr_interests_take_dead_locked();
    pthread_mutex_unlock(&lock);
    wr_os_signals_restore(before);
    wr_interests_free(dead);
    wr_self_leave();
}

/* --- Forks. ---------------------------------------------------------------------------------- */

/*
 * A fork takes the registry's lock and the clock's, so that the child finds consistent lists behind
 * fresh locks. Signals stay as they are: the host's own fork handlers run meanwhile, and may wait
 * for a collector that suspends this thread.
 *
 * A signal handler that forks while its thread is in the library cannot take the locks. Its child
 * may only continue untraced: if another thread held a session's lock, the code that the handler
 * interrupted could wait for that lock in the child forever. A handler that interrupts the fast
 * path, which holds no lock, may fork without this restriction; its pin stays odd in the child, where
 * the event continues.
 *
 * A handler may also fork between these functions: only the outermost fork does anything.
 */
static void before_fork(void)
{
    if (wr_self.fork_depth++ > 0)
        return;
    wr_self.fork_is_nested = wr_self.depth > 0;
    wr_self.fork_ready = wr_self.ready;
    wr_self_enter();
    if (wr_self.fork_is_nested)
        return;
    pthread_mutex_lock(&lock);
    wr_clock_fork_lock();
}

static void fork_leave(void)
{
    wr_compiler_barrier();
    wr_self.depth--;
    /* Not if another handler of the fork has given the thread a context. */
    if (!wr_self.thread || !wr_self.thread->context)
        wr_self.ready = wr_self.fork_ready;
}

static void after_fork_parent(void)
{
    if (--wr_self.fork_depth > 0)
        return;
    if (!wr_self.fork_is_nested) {
        wr_clock_fork_unlock();
        pthread_mutex_unlock(&lock);
    }
    fork_leave();
}

/* The child has no drain threads, so it clears all masks. It touches no session of the parent. */
static void after_fork_child(void)
{
    wr_definitions_after_fork();
    wr_slots_after_fork();
    wr_callbacks_after_fork();
    wr_sources_after_fork();
    /* If a handler forked within a fork, this is the child of the inner fork, and it continues in
     * the middle of the outer one. */
    wr_registry_is_broken |= wr_self.fork_is_nested || wr_self.fork_depth > 1;
    generation++;
    pthread_mutex_init(&lock, NULL);
    wr_marker_keep_locked();
    wr_threads_after_fork();
    wr_clock_after_fork();
    if (--wr_self.fork_depth == 0)
        fork_leave();
}

uint32_t wr_process_generation(void)
{
    return generation;
}

WR_COLD enum weir_result wr_registry_fail_broken(struct weir_error *error)
{
    return wr_fail(error, WEIR_BAD_STATE,
                   "this process was forked while its thread was inside the library");
}

/* --- Once per process. ----------------------------------------------------------------------- */

static void init_once(void)
{
    wr_clock_init();
    wr_threads_init();
    wr_buffers_init_process();
    wr_threads_on_membarrier_error = wr_slots_on_membarrier_error;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

WR_COLD void wr_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}
