/*
 * The free segments of a session in mode DROP, first in, first out: a ck_fifo_mpmc. The segment
 * that came back last is still in the cache of the drain's processor, and a thread on another
 * processor would miss on each of its lines. BLOCK's list, in wait/gate.c, has the same order for
 * the same reason.
 *
 * Edge RECYCLE: the thread that gives a segment is done with its records; the thread that takes it
 * may write to it. Any thread may give and take, even a signal handler that interrupted a give or a
 * take: no operation waits for another.
 *
 * The list consists of nodes, one more than there are segments. A take leaves the taken segment's
 * node in the list, as the new head, and gets the node of the old head. So the node inside a
 * segment need not be its own: `free_node` names the node with which the segment goes back. Nodes
 * are never reused for anything else: an interrupted thread may still read one that has long been
 * in use again.
 *  - Head and tail each have a generation, which only rises. A thread that saw an old one retries.
 *  - The generation of a node's `next` does not survive reuse, so an interrupted giver may link to
 *    a node that has left the list meanwhile. If that node is the tail again, the link is correct.
 *    If a thread is about to give the node, both segments enter the list together, and until then
 *    one segment fewer is available. While a thread has the node in hand, the node has a successor,
 *    so the link fails.
 */
#ifndef WR_BUFFERS_FREE_LIST_H
#define WR_BUFFERS_FREE_LIST_H

#include "base/compiler.h"
#include "base/atomic.h"
#include "lane/segment.h"

/* Contains pointers into itself: must not be moved or copied. */
struct wr_free_list {
    /* A struct ck_fifo_mpmc; ck headers stay in .c files. */
    WR_ALIGNED_LINE unsigned char fifo[WR_LINE];
    struct wr_free_node first_node; /* the list's head until the first take */
    struct wr_u32 count;            /* ANY: a hint */
};

void wr_free_list_init(struct wr_free_list *list);
/* The segment's `free_node` is NULL if it has never been on the list. */
void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment);
/* Takes the segment that was given first; NULL if the list is empty. */
struct wr_segment *wr_free_list_take(struct wr_free_list *list);

#endif
