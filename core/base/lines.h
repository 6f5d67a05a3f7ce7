/*
 * Cache lines that this thread has read and another one will write.
 *
 * A writer waits for a line that another processor's cache holds: 25 ns, or 150 if the two share no
 * cache. No prefetch helps, neither the processor's nor one in the program. If the reader evicts
 * what it has read, the writer finds its lines in memory, and the processor fetches those ahead of
 * its stores. A prefetch in the program would spoil that: an event then takes a quarter longer.
 */
#ifndef WR_BASE_LINES_H
#define WR_BASE_LINES_H

#include <stdbool.h>
#include <stdint.h>

/* Does the processor have an instruction for this that does not wait? Asks the processor, which
 * takes microseconds in a guest. */
bool wr_lines_can_evict(void);

/* Evicts the lines of `bytes` from `at`, about 2 ns for 40 bytes. Only if they can be evicted. */
void wr_lines_evict(const void *at, uint64_t bytes);

#endif
