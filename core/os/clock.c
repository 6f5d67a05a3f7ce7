#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define SPAN_NS_MIN      15000000u
#define SUSPENDED_NS_MIN 1000000u
#define CHECK_NS         1000000u /* two readings, each off by 100 ns: 200 parts per million */
#define CHECK_RATIO      0.005

struct wr_clock wr_clock;

struct reading {
    uint64_t ticks;
    uint64_t ns;
};

/* Where the frequency measurement begins. */
struct start {
    struct reading at;
    uint64_t suspended_ns;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct start first; /* LOCK */

#if defined(__x86_64__)
/* 1 if the file has a line that `is_wanted`, 0 if it has none, -1 if it cannot be read. */
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

/* Is "tsc" among the words of the line? */
static bool names_tsc(const char *line)
{
    for (const char *at = strstr(line, "tsc"); at; at = strstr(at + 3, "tsc"))
        if ((at == line || at[-1] == ' ') && strchr(" \n", at[3])) /* or the line's end */
            return true;
    return false;
}

/* The processor says that the counter neither stops nor changes its rate. The kernel has not found
 * it unstable, in which case it would no longer offer it as a clock source. Where the kernel does
 * not say, the processor's word is enough. */
static bool counter_is_invariant(void)
{
    static const char offered[] =
        "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    return file_has_line("/proc/cpuinfo", says_invariant) == 1 &&
           file_has_line(offered, names_tsc) != 0;
}
#else
/* The counter of aarch64 is invariant by definition, across all processors of the system. Where one
 * is broken, Linux traps the read and corrects it. */
static bool counter_is_invariant(void)
{
    return WR_HAS_COUNTER;
}
#endif

/* Brackets the other clock several times and keeps the tightest bracket: an interrupt between the
 * readings costs precision. */
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

/* For machines without a usable counter. C orders memory accesses only, so the reading stands
 * between two read-modify-writes, which none of this thread's accesses crosses. The loads and
 * barriers with which the vDSO or the kernel guards its own data hold the reading between them. */
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

WR_COLD void wr_clock_init(void)
{
    wr_clock.is_counter = counter_is_invariant();
    first = start_take();
    /* relaxed: the number says all that its readers rely on */
    wr_u32_store_relaxed(&wr_clock.kind, wr_clock.is_counter ? WR_CLOCK_COUNTER : WR_CLOCK_SYSTEM);
}

static double rate(struct reading start, struct reading end)
{
    return (double)(end.ticks - start.ticks) / ((double)(end.ns - start.ns) / 1e9);
}

/* Has the counter stepped or leaped since the measurement began? The rate over a long span does not
 * show it alone, so the rate over a short span that follows must be the same. */
static bool has_stepped(struct reading start)
{
    struct reading middle = read_both(wr_os_clock_ns);
    if (middle.ticks <= start.ticks || middle.ns <= start.ns)
        return true;
    if (middle.ns - start.ns < SPAN_NS_MIN)
        return false; /* the measurement has only just begun */
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

/* Returns where the measurement begins. It begins anew if the counter was set, or if the system was
 * suspended: the counter may have continued during the suspension, or have been reset. The lock is
 * not held while the clocks are read, because a fork waits for it. */
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

WR_COLD void wr_clock_fork_lock(void)
{
    pthread_mutex_lock(&lock);
}

WR_COLD void wr_clock_fork_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

WR_COLD void wr_clock_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}

WR_COLD uint64_t wr_clock_frequency_hz(void)
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

WR_COLD void wr_clock_read_pair(uint64_t *ticks, uint64_t *realtime_ns)
{
    struct reading pair = read_both(wr_os_realtime_ns);
    *ticks = pair.ticks;
    *realtime_ns = pair.ns;
}
