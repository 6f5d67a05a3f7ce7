/* core/lane/threads.c for the explorer. */
#include "product.h"

#include <string.h>

#include "lane/threads.c" /* NOLINT: with its static variables */

/* Ignores the hint; the wait is the explorer's. */
bool wr_self_lock(pthread_mutex_t *mutex, struct wr_u32 *is_stuck)
{
    (void)is_stuck;
    return wr_os_mutex_lock_for(mutex, WR_PATIENCE_NS);
}

/* The model thread_name has them; in the others nothing depends on names. */
void wr_thread_name_ask(struct wr_thread *thread)
{
    (void)thread;
}

void wr_thread_name_end(struct wr_thread *thread)
{
    (void)thread;
}

void wr_thread_name_forget(struct wr_thread *thread)
{
    (void)thread;
}

/* The product's thread-local variables; all threads of the explorer run on one thread. */
static struct wr_self selves[MODEL_THREADS_MAX + 1];

static void exchange_self(uint32_t from, uint32_t to)
{
    selves[from] = wr_self;
    wr_self = selves[to];
}

void product_threads_reset(void)
{
    for (uint32_t i = 0; i <= MODEL_THREADS_MAX; i++)
        selves[i] = (struct wr_self){.ready = &wr_thread_none};
    wr_self = selves[0];
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
    model_lend(&all, sizeof all);
    model_lend(&free_records, sizeof free_records);
    model_lend(&membarrier_error, sizeof membarrier_error);
    model_lend(&wr_thread_none, sizeof wr_thread_none);
    model_name(&all, "records");
    model_name(&free_records, "free records");
    wr_ptr_store_relaxed(&all, first);
    wr_u64_store_relaxed(&wr_thread_none.pin, 1);
    membarrier_works = membarrier;
    wr_thread_fast = membarrier;
}

struct wr_thread *product_record_take(void)
{
    return record_take();
}

void product_record_list(struct wr_thread *thread)
{
    record_list(thread);
    thread->free_next = NULL;
    records_give(thread);
}
