/*
 * Compiled without ThreadSanitizer's instrumentation: it cannot see ck's inline assembly, and give
 * and take both read nodes that may already be in use again. Two annotations show it edge RECYCLE.
 */
#include "buffers/free_list.h"

#include <ck_pr.h>

#if defined(CK_MD_TSO) && !defined(__x86_64__)
#error "these headers of ck are configured for x86: give the compiler those for this processor"
#endif

/* ck's dequeue reads a node's value and then moves the head past the node, with no order between
 * the two. If the processor moves the head first, the node can come back with another value before
 * it is read, and two threads take the same segment. On x86 the fence emits no instruction. */
static inline bool cas_after_loads(void *target, void *expected, void *value)
{
    ck_pr_fence_load_atomic();
    return ck_pr_cas_ptr_2(target, expected, value);
}
#define ck_pr_cas_ptr_2 cas_after_loads
#include <ck_fifo.h>

#ifdef WR_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

_Static_assert(sizeof(struct ck_fifo_mpmc) <= WR_LINE, "it fits");
_Static_assert(_Alignof(struct ck_fifo_mpmc) <= WR_LINE, "and lies as it must");
_Static_assert(sizeof(struct ck_fifo_mpmc_entry) == sizeof(struct wr_free_node), "so does a node");
_Static_assert(_Alignof(struct ck_fifo_mpmc_entry) == _Alignof(struct wr_free_node), "and lies so");

static struct ck_fifo_mpmc *fifo_of(struct wr_free_list *list)
{
    return (struct ck_fifo_mpmc *)(void *)list->fifo;
}

static struct ck_fifo_mpmc_entry *entry_of(struct wr_free_node *node)
{
    return (struct ck_fifo_mpmc_entry *)(void *)node;
}

WR_COLD void wr_free_list_init(struct wr_free_list *list)
{
    ck_fifo_mpmc_init(fifo_of(list), entry_of(&list->first_node));
}

void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment)
{
    struct wr_free_node *node = segment->free_node ? segment->free_node : &segment->node;
    wr_u32_add_acq_rel(&list->count, 1); /* also orders the giver's reads before the enqueue */
    __tsan_release(list);
    /* edge RECYCLE.release */
    ck_fifo_mpmc_enqueue(fifo_of(list), entry_of(node), segment);
}

/* ck also reports an empty list if the head that it loaded was taken and came back as the tail
 * before it loaded the tail. In that case another thread has taken a segment, so the retry is
 * lock-free. */
static bool dequeue(struct ck_fifo_mpmc *fifo, void **taken, struct ck_fifo_mpmc_entry **node)
{
    const char *generation;
    do {
        generation = ck_pr_load_ptr(&fifo->head.generation);
        ck_pr_fence_load();
        if (ck_fifo_mpmc_dequeue(fifo, taken, node))
            return true;
        ck_pr_fence_load();
    } while (ck_pr_load_ptr(&fifo->head.generation) != generation);
    return false;
}

struct wr_segment *wr_free_list_take(struct wr_free_list *list)
{
    void *taken;
    struct ck_fifo_mpmc_entry *node;
    /* edge RECYCLE.acquire */
    if (!dequeue(fifo_of(list), &taken, &node))
        return NULL;
    __tsan_acquire(list);
    wr_u32_add_acq_rel(&list->count, UINT32_MAX);
    struct wr_segment *segment = taken;
    segment->free_node = (struct wr_free_node *)(void *)node;
    return segment;
}
