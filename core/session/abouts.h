/*
 * V6: the threads that events are about although others wrote them, and the index that each has in the
 * stream. An index is never forgotten within a stream: each costs its readers a row.
 */
#ifndef WR_SESSION_ABOUTS_H
#define WR_SESSION_ABOUTS_H

#include <stdbool.h>
#include <stdint.h>

struct wr_about {
    uint64_t thread_id; /* 0: the place is free */
    uint64_t index;
};

/* All zeros at first. */
struct wr_abouts {
    struct wr_about *places; /* pages from the system; NULL: none yet */
    uint32_t place_count;    /* a power of two */
    uint32_t used;
};

/* The place of a thread, whose index is 0 if it is new. NULL if there is no memory for it. */
struct wr_about *wr_abouts_find(struct wr_abouts *abouts, uint64_t thread_id);
/* Another stream begins, or the session ends. */
void wr_abouts_forget(struct wr_abouts *abouts);

#endif
