#include "timing.h"

#include <sched.h>

double bench_now_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double bench_timed_s(bench_kernel kernel, uint64_t count, uint64_t *written)
{
    double start_s = bench_now_s(CLOCK_THREAD_CPUTIME_ID);
    *written = kernel(count);
    return bench_now_s(CLOCK_THREAD_CPUTIME_ID) - start_s;
}

/* The processors that the process may use. */
static const cpu_set_t *allowed(void)
{
    static cpu_set_t set;
    static bool is_known;
    if (!is_known)
        is_known = sched_getaffinity(0, sizeof set, &set) == 0;
    return &set;
}

void bench_bind(int processor)
{
    const cpu_set_t *all = allowed();
    int count = CPU_COUNT(all), seen = 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, all) && (processor < 0 || seen++ == processor % count))
            CPU_SET(i, &set);
    /* If the system refuses, figures are noisier but not wrong. */
    (void)sched_setaffinity(0, sizeof set, &set);
}

bool bench_start_beside(pthread_t *thread, void *(*run)(void *), void *argument)
{
    const cpu_set_t *all = allowed();
    int here = sched_getcpu(), other = 0;
    while (other < CPU_SETSIZE && (other == here || !CPU_ISSET((size_t)other, all)))
        other++;
    pthread_attr_t attributes;
    if (here < 0 || other == CPU_SETSIZE || pthread_attr_init(&attributes) != 0)
        return false;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)other, &set);
    bool is_started = pthread_attr_setaffinity_np(&attributes, sizeof set, &set) == 0 &&
                      pthread_create(thread, &attributes, run, argument) == 0;
    pthread_attr_destroy(&attributes);
    CPU_ZERO(&set);
    CPU_SET((size_t)here, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    return is_started;
}
