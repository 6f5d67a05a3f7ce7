/* core/lane/threads.c as the explorer runs it. */
#include "product.h"

#include <string.h>

#include "lane/threads.c" /* NOLINT: with its static variables */

/* Thread-local; the explorer's threads are all one. */
static struct wr_self selves[MODEL_THREADS_MAX + 1];

static void exchange_self(uint32_t from, uint32_t to)
{
    selves[from] = wr_self;
    wr_self = selves[to];
}

void product_threads_reset(void)
{
    memset(selves, 0, sizeof selves);
    memset(&wr_self, 0, sizeof wr_self);
    model_on_switch = exchange_self;
}

struct wr_self *product_self(uint32_t thread)
{
    return &selves[thread];
}

void product_threads(struct wr_thread *first, bool membarrier)
{
    model_lend(&lock, sizeof lock);
    model_name(&lock, "threads lock");
    model_lend(&membarrier_error, sizeof membarrier_error);
    all = first;
    free_records = NULL;
    membarrier_works = membarrier;
    wr_thread_fast = membarrier;
}

struct wr_thread *product_record_take(void)
{
    return record_take();
}
