/* core/lane/threads.c as the explorer runs it. */
#include "product.h"

#include "lane/threads.c" /* NOLINT: with its static variables */

void product_threads(struct wr_thread *first, bool membarrier)
{
    model_lend(&lock, sizeof lock);
    model_name(&lock, "threads lock");
    all = first;
    free_records = NULL;
    membarrier_works = membarrier;
    wr_thread_fast = membarrier;
}

struct wr_thread *product_record_take(void)
{
    return record_take();
}
