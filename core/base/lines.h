/*
 * Cache lines that this thread has read and another one will write.
 *
 * The writer waits for a line that another processor holds, 300 ns and more between processors that
 * share no cache. If the reader evicts what it has read, the writer finds it in memory, where its
 * prefetch is in time.
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
