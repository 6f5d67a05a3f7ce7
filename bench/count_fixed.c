#include "count_fixed.h"

#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#define TICKS_PER_NS  2 /* the counter of a processor of 2 GHz, read every 20 ns */
#define THREAD_NUMBER 1000000

/* A large value, as real counters and clocks have. */
uint64_t count_ticks = UINT64_C(1) << 56;

void count_clock_pass(uint64_t ns)
{
    count_ticks += TICKS_PER_NS * ns;
}

/* --- Replacements for the C library's functions, by the linker's --wrap. --------------------- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_nanosleep(const struct timespec *request, struct timespec *left);
time_t __wrap_time(time_t *now);
clock_t __wrap_clock(void);
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock; /* all clocks have the same origin here */
    uint64_t ns = (count_ticks += COUNT_TICKS_PER_READING) / TICKS_PER_NS;
    now->tv_sec = (time_t)(ns / 1000000000u);
    now->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}

int __wrap_nanosleep(const struct timespec *request, struct timespec *left)
{
    count_clock_pass((uint64_t)request->tv_sec * 1000000000u + (uint64_t)request->tv_nsec);
    if (left)
        *left = (struct timespec){0, 0};
    return 0;
}

/* The reader's tables are seeded with time() and clock(). */
time_t __wrap_time(time_t *now)
{
    time_t seconds = (time_t)(count_ticks / TICKS_PER_NS / 1000000000u);
    if (now)
        *now = seconds;
    return seconds;
}

clock_t __wrap_clock(void)
{
    return 1;
}

long __wrap_syscall(long number, ...)
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_gettid)
        return THREAD_NUMBER;
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}
