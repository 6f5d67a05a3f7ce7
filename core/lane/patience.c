/* How long an emitting thread waits for a lock. */
#include "lane/thread.h"
#include "os/os.h"

static bool lock_patiently(pthread_mutex_t *mutex)
{
    uint64_t begin_ns = wr_os_monotonic_ns();
    bool is_locked = wr_os_mutex_lock_for(mutex, wr_self.patience_ns);
    uint64_t waited_ns = wr_os_monotonic_ns() - begin_ns;
    wr_self.patience_ns -= waited_ns < wr_self.patience_ns ? waited_ns : wr_self.patience_ns;
    return is_locked;
}

bool wr_self_lock(pthread_mutex_t *mutex, struct wr_u32 *is_stuck)
{
    bool is_locked = wr_os_mutex_lock_for(mutex, 0);
    /* relaxed: a hint; only the length of a wait depends on it */
    bool was_stuck = wr_u32_load_relaxed(is_stuck) != 0;
    if (!is_locked && !was_stuck)
        is_locked = lock_patiently(mutex);
    else if (!is_locked)
        wr_os_yield(); /* a thread like this one may have preempted the holder */
    if (is_locked == was_stuck)
        wr_u32_store_relaxed(is_stuck, !is_locked); /* relaxed: a hint */
    return is_locked;
}
