/*
 * The clock that stamps events.
 *
 * Where the processor's counter is invariant, ticks are its raw value. Reading it is about 90 % of
 * the minimum cost of an event, and a conversion would add to that. Elsewhere ticks are nanoseconds
 * of CLOCK_MONOTONIC. The stream states the frequency, which is measured against CLOCK_MONOTONIC.
 * It is measured on aarch64 too: firmware writes cntfrq_el0, and Linux does not trust it either.
 */
#ifndef WR_OS_CLOCK_H
#define WR_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/counter.h"
#include "os/os.h"

enum wr_clock_kind { WR_CLOCK_NONE, WR_CLOCK_SYSTEM, WR_CLOCK_COUNTER };

/* CONST after wr_clock_init(). */
struct wr_clock {
    bool is_counter;
    struct wr_u32 kind; /* ANY: enum wr_clock_kind, for threads that may ask before that */
};
extern struct wr_clock wr_clock;

/* Chooses the clock and takes the first point of the frequency measurement. Called once. */
void wr_clock_init(void);

/* Returns the ticks per second. Sleeps until the measurement spans 15 ms, right after
 * wr_clock_init() and where the measurement begins anew. Otherwise sleeps for 1 ms, to check that
 * the counter has not been set since the measurement began. Two readings 15 ms apart, each
 * uncertain by 100 ns, are accurate to 13 parts per million. */
uint64_t wr_clock_frequency_hz(void);

/* Called around a fork, so that the child can measure. */
void wr_clock_fork_lock(void);
void wr_clock_fork_unlock(void);
void wr_clock_after_fork(void);

/* Reads the system's clock in the order that wr_clock_ticks_ordered() promises. */
uint64_t wr_clock_system_ordered(void);

/* Reads ticks and UTC at one moment, for the stream's anchor. */
void wr_clock_read_pair(uint64_t *ticks, uint64_t *realtime_ns);

/* Reads the raw counter. Only if wr_clock.is_counter. The read is not serialized: a trace needs
 * program order within a thread only, and a serialized read costs 7 ns more. */
WR_INLINE uint64_t wr_clock_counter(void)
{
    return wr_counter_read();
}

static inline uint64_t wr_clock_ticks(void)
{
    return WR_LIKELY(wr_clock.is_counter) ? wr_clock_counter() : wr_os_clock_ns();
}

/* Reads the clock so that no earlier or later memory access of this thread crosses the reading. For
 * the drain's horizon and for the first record of a lane. */
static inline uint64_t wr_clock_ticks_ordered(void)
{
    return WR_LIKELY(wr_clock.is_counter) ? wr_counter_read_ordered() : wr_clock_system_ordered();
}

#endif
