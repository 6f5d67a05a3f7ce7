#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define SPAN_NS_MIN 15000000u

struct wr_clock wr_clock;

struct reading {
    uint64_t ticks;
    uint64_t ns;
};
static struct reading first;

/* The kernel says what cpuid cannot tell inside a guest: that the counter neither stops nor changes
 * its rate. */
static bool counter_is_invariant(void)
{
    bool found = false;
#if defined(__x86_64__)
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file)
        return false;
    char line[4096];
    while (!found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " constant_tsc") &&
                strstr(line, " nonstop_tsc");
    fclose(file);
#endif
    return found;
}

/* The tightest of several brackets: an interrupt between the two clocks would cost precision. */
static struct reading read_both(uint64_t (*other_ns)(void))
{
    struct reading best = { 0, 0 };
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

void wr_clock_init(void)
{
    wr_clock.is_tsc = counter_is_invariant();
    first = read_both(wr_os_monotonic_ns);
}

uint64_t wr_clock_frequency_hz(void)
{
    if (!wr_clock.is_tsc)
        return 1000000000u;
    uint64_t elapsed = wr_os_monotonic_ns() - first.ns;
    if (elapsed < SPAN_NS_MIN)
        wr_os_sleep_ns(SPAN_NS_MIN - elapsed);
    struct reading now = read_both(wr_os_monotonic_ns);
    double seconds = (double)(now.ns - first.ns) / 1e9;
    uint64_t hz = (uint64_t)((double)(now.ticks - first.ticks) / seconds + 0.5);
    return hz ? hz : 1;
}

void wr_clock_read_pair(uint64_t *ticks, uint64_t *realtime_ns)
{
    struct reading pair = read_both(wr_os_realtime_ns);
    *ticks = pair.ticks;
    *realtime_ns = pair.ns;
}
