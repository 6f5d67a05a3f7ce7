#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define SPAN_NS_MIN      15000000u
#define SUSPENDED_NS_MIN 1000000u
#define CHECK_NS         1000000u /* two readings 100 ns off make 200 parts per million of it */
#define CHECK_RATIO      0.005

struct wr_clock wr_clock;

struct reading {
    uint64_t ticks;
    uint64_t ns;
};

/* Of the frequency measurement. */
struct start {
    struct reading at;
    uint64_t suspended_ns;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct start first; /* LOCK */

#if defined(__x86_64__)
/* Reads lines of a file until one is as wanted; -1 if the file cannot be read. */
static int file_has_line(const char *path, bool (*is_wanted)(const char *line))
{
    char line[4096];
    int found = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (!found && fgets(line, sizeof line, file))
        found = is_wanted(line);
    fclose(file);
    return found;
}

static bool says_invariant(const char *line)
{
    return strncmp(line, "flags", 5) == 0 && strstr(line, " constant_tsc") &&
           strstr(line, " nonstop_tsc");
}

/* A line of words, "tsc" among them. */
static bool names_tsc(const char *line)
{
    for (const char *at = strstr(line, "tsc"); at; at = strstr(at + 3, "tsc"))
        if ((at == line || at[-1] == ' ') && strchr(" \n", at[3])) /* its own zero, too */
            return true;
    return false;
}

/* The processor says that the counter neither stops nor changes its rate, and the kernel has not
 * found it unstable: then it would no longer offer it. Where the kernel does not say, the processor
 * is believed. */
static bool counter_is_invariant(void)
{
    static const char offered[] =
        "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    return file_has_line("/proc/cpuinfo", says_invariant) == 1 &&
           file_has_line(offered, names_tsc) != 0;
}
#else
/* That of aarch64 is by definition, for all processors of the system; where one is broken, Linux
 * traps the read and mends it. */
static bool counter_is_invariant(void)
{
    return WR_HAS_COUNTER;
}
#endif

/* The tightest of several brackets: an interrupt between the two clocks would cost precision. */
static struct reading read_both(uint64_t (*other_ns)(void))
{
    struct reading best = {0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t before = wr_clock_ticks_ordered();
        uint64_t ns = other_ns();
        uint64_t after = wr_clock_ticks_ordered();
        if (after - before < narrowest) {
            narrowest = after - before;
            best.ticks = before + (after - before) / 2;
            best.ns = ns;
        }
    }
    return best;
}

/* Where there is no counter. The language orders memory accesses only, so the reading stands
 * between two read-modify-writes, which none of this thread's accesses crosses. The reading is held
 * between them by the loads and barriers with which the vDSO or the kernel guards its own data. */
static struct wr_u32 guard;

uint64_t wr_clock_system_ordered(void)
{
    wr_u32_add_seq_cst(&guard, 1);
    uint64_t ns = wr_os_clock_ns();
    wr_u32_add_seq_cst(&guard, 1);
    return ns;
}

static struct start start_take(void)
{
    return (struct start){.suspended_ns = wr_os_suspended_ns(), .at = read_both(wr_os_clock_ns)};
}

void wr_clock_init(void)
{
    wr_clock.is_counter = counter_is_invariant();
    first = start_take();
}

static double rate(struct reading start, struct reading end)
{
    return (double)(end.ticks - start.ticks) / ((double)(end.ns - start.ns) / 1e9);
}

/* Has the counter stepped or leaped since the measurement began? In a long span that does not show
 * in its rate alone: a short one behind it must have the same. */
static bool has_stepped(struct reading start)
{
    struct reading middle = read_both(wr_os_clock_ns);
    if (middle.ticks <= start.ticks || middle.ns <= start.ns)
        return true;
    if (middle.ns - start.ns < SPAN_NS_MIN)
        return false; /* it is about to begin */
    wr_os_sleep_ns(CHECK_NS);
    struct reading end = read_both(wr_os_clock_ns);
    if (end.ticks <= middle.ticks || end.ns <= middle.ns)
        return true;
    double ratio = rate(start, middle) / rate(middle, end);
    return ratio < 1 - CHECK_RATIO || ratio > 1 + CHECK_RATIO;
}

static struct start first_load(void)
{
    pthread_mutex_lock(&lock);
    struct start start = first;
    pthread_mutex_unlock(&lock);
    return start;
}

/* Where the measurement begins. Anew after the system was suspended: the counter may have gone on
 * meanwhile, or have been reset; and where it was set otherwise. The lock is not held meanwhile: a
 * fork waits for it. */
static struct reading first_of_span(void)
{
    struct start start = first_load();
    if (wr_os_suspended_ns() <= start.suspended_ns + SUSPENDED_NS_MIN && !has_stepped(start.at))
        return start.at;
    start = start_take();
    pthread_mutex_lock(&lock);
    first = start;
    pthread_mutex_unlock(&lock);
    return start.at;
}

void wr_clock_fork_lock(void)
{
    pthread_mutex_lock(&lock);
}

void wr_clock_fork_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void wr_clock_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}

uint64_t wr_clock_frequency_hz(void)
{
    if (!wr_clock.is_counter)
        return 1000000000u;
    struct reading start = first_of_span();
    uint64_t elapsed = wr_os_clock_ns() - start.ns;
    if (elapsed < SPAN_NS_MIN)
        wr_os_sleep_ns(SPAN_NS_MIN - elapsed);
    struct reading now = read_both(wr_os_clock_ns);
    uint64_t hz = now.ns > start.ns ? (uint64_t)(rate(start, now) + 0.5) : 0;
    return hz ? hz : 1;
}

void wr_clock_read_pair(uint64_t *ticks, uint64_t *realtime_ns)
{
    struct reading pair = read_both(wr_os_realtime_ns);
    *ticks = pair.ticks;
    *realtime_ns = pair.ns;
}
