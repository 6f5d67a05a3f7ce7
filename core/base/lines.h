/*
 * Cache lines that this thread has read and another one will write.
 *
 * A writer waits for a line that another processor's cache holds: 25 to 100 ns, or 130 to 300 if the two
 * share no cache. No prefetch helps, neither the processor's nor one in the program. If the reader evicts
 * what it has read, the writer finds its lines in memory, and the processor fetches those ahead of
 * its stores. A prefetch in the program would spoil that: an event then takes a quarter longer. Between
 * processors that share a cache, memory is the slower way.
 *
 * The reader is different. It reads each line once, and faster than the lines come; and the processor's
 * own prefetching stops at each page. So the reader asks for lines ahead.
 */
#ifndef WR_BASE_LINES_H
#define WR_BASE_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"

/* If half of the lines take longer than this to load, they come from a cache that the two threads do not
 * share; 0: this processor should not evict, or has no instruction for it that does not wait. Asks the
 * processor, which takes microseconds in a guest. */
uint32_t wr_lines_far_ns(void);

/* Evicts the lines of `bytes` from `at`, 2 to 3 ns for 40 bytes. Only if wr_lines_far_ns() is not 0. */
void wr_lines_evict(const void *at, uint64_t bytes);

/* Decides whether a reading thread should evict what it has read. It judges by how long the first load of a
 * segment takes that another thread has just written. */
struct wr_lines_way {
    /* wr_lines_far_ns() in ticks of the clock; 0: never evict. */
    uint64_t far_ticks;
    int32_t votes; /* loads that took longer, less the others; at most WR_LINES_SURE either way */
    bool is_far;   /* as the votes were when they last reached that */
    uint64_t segments; /* that were read to their ends */
};

/* Every eighth segment is timed. The one before it is never evicted: a load right behind evictions waits up
 * to 500 ns for them, and a near line would look far away. */
#define WR_LINES_TIMED_OF 8u

/* The first decision takes a lead of 16 loads on one side of the limit, and reversing it takes 32. The times of
 * single loads vary by half: a median of the last few went back and forth. */
#define WR_LINES_SURE 16

/* Until this is called, nothing is to be evicted. `hz`: ticks per second; `far_ns`: of wr_lines_far_ns(). */
static inline void wr_lines_watch(struct wr_lines_way *way, uint64_t hz, uint32_t far_ns)
{
    way->far_ticks = hz / 1000000 * far_ns / 1000;
}

static inline bool wr_lines_is_timed(const struct wr_lines_way *way)
{
    return way->far_ticks && way->segments % WR_LINES_TIMED_OF == 0;
}

/* The load of a line that another thread has written since the last look took so long. */
static inline void wr_lines_came(struct wr_lines_way *way, uint64_t ticks)
{
    if (ticks > way->far_ticks)
        way->votes += way->votes < WR_LINES_SURE;
    else
        way->votes -= way->votes > -WR_LINES_SURE;
    if (way->votes == WR_LINES_SURE || way->votes == -WR_LINES_SURE)
        way->is_far = way->votes > 0;
}

/* A segment was read to its end. True: it should be evicted. */
static inline bool wr_lines_pass(struct wr_lines_way *way)
{
    bool is_next_timed = ++way->segments % WR_LINES_TIMED_OF == 0;
    return way->is_far && !is_next_timed;
}

/* 1024 is slower by a twentieth, 4096 no faster; the more, the more is asked for in vain behind the last record. */
#define WR_LINES_AHEAD 2560u

/* Asks for a pair of lines ahead of a record in a run of records: a fifth to a third more events a second
 * if another processor has just written them. They may lie behind the segment, which nothing can see. */
WR_INLINE void wr_lines_ask(const unsigned char *record)
{
    __builtin_prefetch((const void *)((uintptr_t)record + WR_LINES_AHEAD));
}

/* The same for all pairs of a record that may be long: with 1 KB, 1.4 to 2 times the events a second. It asks
 * for both lines of the first pair, since the second one of a pair comes later. Most records end there. */
WR_INLINE void wr_lines_ask_all(const unsigned char *record, uint32_t bytes)
{
    wr_lines_ask(record);
    wr_lines_ask(record + WR_LINE / 2);
    for (uint32_t at = WR_LINE; at < bytes; at += WR_LINE)
        wr_lines_ask(record + at);
}

#endif
