/*
 * The addresses that a walk has visited. The set is in parts, each an open addressing table over
 * pages from the system that is at most three quarters full and grows by half, so an address takes
 * 11 to 16 bytes; only the part that grows has its old table as well.
 */
#ifndef WR_RUNTIME_VISITED_H
#define WR_RUNTIME_VISITED_H

#include <stdbool.h>
#include <stdint.h>

#define WR_VISITED_PARTS 256u

struct wr_visited_part {
    uint64_t *slots; /* 0: free */
    uint32_t slot_count, used;
};

struct wr_visited {
    uint64_t used;
    struct wr_visited_part parts[WR_VISITED_PARTS];
};

enum wr_visit { WR_VISIT_FIRST, WR_VISIT_AGAIN, WR_VISIT_NO_ROOM };

/* Adds an address, not 0, unless the set has `most` of them or there is no memory. A set of zeros is
 * empty. */
enum wr_visit wr_visited_add(struct wr_visited *visited, uint64_t address, uint64_t most);
void wr_visited_release(struct wr_visited *visited);

#endif
