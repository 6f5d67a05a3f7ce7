/*
 * The clock that stamps events.
 *
 * Where the processor's counter is invariant, ticks are its raw value: reading it is nine tenths of
 * the least that an event costs, and any conversion would add to that. Elsewhere ticks are
 * nanoseconds of CLOCK_MONOTONIC. The stream states the frequency, measured against
 * CLOCK_MONOTONIC, on aarch64 too: what cntfrq_el0 says is what firmware wrote there, which Linux
 * does not trust either.
 */
#ifndef WR_OS_CLOCK_H
#define WR_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/counter.h"
#include "os/os.h"

/* Constant after wr_clock_init(). */
struct wr_clock {
    bool is_counter;
};
extern struct wr_clock wr_clock;

/* Chooses the clock and takes the first point of the frequency measurement. Called once. */
void wr_clock_init(void);

/* Ticks per second. Sleeps until the measurement spans 15 ms, which only a process that calls this
 * right after wr_clock_init() notices, and otherwise for 1 ms, to see that the counter has not been
 * set since: two readings with 100 ns of doubt each, 15 ms apart, give 13
 * parts per million. */
uint64_t wr_clock_frequency_hz(void);

/* Around a fork, so that the child can measure. */
void wr_clock_fork_lock(void);
void wr_clock_fork_unlock(void);
void wr_clock_after_fork(void);

/* The system's clock, as wr_clock_ticks_ordered() says. */
uint64_t wr_clock_system_ordered(void);

/* Ticks and UTC of one moment, for the stream's anchor. */
void wr_clock_read_pair(uint64_t *ticks, uint64_t *realtime_ns);

/* The raw counter. Only if wr_clock.is_counter. Not serialized: program order within a thread is
 * what a trace needs, and a serializing read costs 7 ns more. */
WR_INLINE uint64_t wr_clock_counter(void)
{
    return wr_counter_read();
}

static inline uint64_t wr_clock_ticks(void)
{
    return WR_LIKELY(wr_clock.is_counter) ? wr_clock_counter() : wr_os_clock_ns();
}

/* A reading that no earlier or later memory access of this thread can cross. For the drain's
 * horizon and for the first record of a lane. */
static inline uint64_t wr_clock_ticks_ordered(void)
{
    return WR_LIKELY(wr_clock.is_counter) ? wr_counter_read_ordered() : wr_clock_system_ordered();
}

#endif
