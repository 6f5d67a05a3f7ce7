/*
 * Compiled without ThreadSanitizer's instrumentation: ck's operations are inline assembly that it
 * cannot see, and a pop reads the link of an entry that may just have been taken (the generation
 * then makes it try again). The two annotations tell it about the edge itself.
 */
#include "buffers/free_list.h"

#include <ck_stack.h>

#ifdef WR_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

_Static_assert(sizeof(struct ck_stack) == 2 * sizeof(void *), "head and generation");
_Static_assert(offsetof(struct ck_stack, head) == 0, "so is ours");
_Static_assert(sizeof(struct ck_stack_entry) == sizeof(((struct wr_segment *)0)->free_link),
               "it fits");

static struct ck_stack *stack_of(struct wr_free_list *list)
{
    return (struct ck_stack *)(void *)&list->head;
}

void wr_free_list_init(struct wr_free_list *list)
{
    ck_stack_init(stack_of(list));
}

void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment)
{
    wr_u32_add_acq_rel(&list->count, 1);
    __tsan_release(list);
    /* edge RECYCLE.release */
    ck_stack_push_mpmc(stack_of(list), (struct ck_stack_entry *)(void *)&segment->free_link);
}

struct wr_segment *wr_free_list_take(struct wr_free_list *list)
{
    /* edge RECYCLE.acquire */
    struct ck_stack_entry *entry = ck_stack_pop_mpmc(stack_of(list));
    __tsan_acquire(list);
    if (entry)
        wr_u32_add_acq_rel(&list->count, UINT32_MAX);
    return entry ? WR_CONTAINER(entry, struct wr_segment, free_link) : NULL;
}
