/*
 * The free segments of a session without BLOCK: ck_stack. Last in, first out keeps a segment warm
 * for a thread on the drain's own processor; one on another processor has to wait for the lines
 * that the drain has just read, which is why BLOCK's list is the other way round (wait/gate.c).
 *
 * Edge RECYCLE: whoever gives a segment has read it to its end; whoever takes it may write. Takers
 * are several, so the pop is the one with a generation (pop_mpmc): the single-consumer pop would
 * follow the link of a segment that another taker has just taken.
 */
#ifndef WR_BUFFERS_FREE_LIST_H
#define WR_BUFFERS_FREE_LIST_H

#include "base/compiler.h"
#include "base/atomic.h"
#include "lane/segment.h"

struct wr_free_list {
    /* struct ck_stack, that is, head and generation; no ck header in ours */
    WR_ALIGNED_LINE struct wr_ptr head;
    void *generation;
    struct wr_u32 count; /* ANY: a hint */
};

void wr_free_list_init(struct wr_free_list *list);
void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment);
/* NULL if there is none. Any thread, a signal handler too. */
struct wr_segment *wr_free_list_take(struct wr_free_list *list);

#endif
