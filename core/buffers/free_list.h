/*
 * The free segments of a session without BLOCK, first in, first out: ck_fifo_mpmc. The segment that
 * came back last is in the cache of the drain's processor, and a thread on another one would wait
 * for each of its lines (BLOCK's list, in wait/gate.c, is in the same order for the same reason).
 *
 * Edge RECYCLE: whoever gives a segment has read it to its end; whoever takes it may write. Both
 * may be any thread, or a signal handler in the middle of another one's give or take: nobody waits
 * here for anybody.
 *
 * The list is of nodes, one more than segments: a take leaves the node of the segment that was
 * taken as the list's new head, and gets the old head's. So a segment has a node in it, but not for
 * itself: `free_node` says with which one it goes back. A node is never anything else, since
 * somebody who was interrupted may still look at one that has long been in use again:
 *  - Head and tail have a generation each, which only rises: who has seen an old one tries again.
 *  - A node's `next` has none that would last, so a giver who was interrupted may link to a node
 *    that has been elsewhere meanwhile. If that is the last one of the list again, all is well. If
 *    somebody is about to give it, both come into the list with it, and until then one segment
 *    fewer is to be had. While somebody has it in hand it has a successor, and the link fails.
 */
#ifndef WR_BUFFERS_FREE_LIST_H
#define WR_BUFFERS_FREE_LIST_H

#include "base/compiler.h"
#include "base/atomic.h"
#include "lane/segment.h"

/* It points into itself: it stays where it was made. */
struct wr_free_list {
    /* struct ck_fifo_mpmc; no ck header in ours */
    WR_ALIGNED_LINE unsigned char fifo[WR_LINE];
    struct wr_free_node first_node; /* the head of a list that nothing was taken from */
    struct wr_u32 count;            /* ANY: a hint */
};

void wr_free_list_init(struct wr_free_list *list);
/* The segment's `free_node` is NULL if it has never been on the list. */
void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment);
/* The one that was given first; NULL if there is none. */
struct wr_segment *wr_free_list_take(struct wr_free_list *list);

#endif
