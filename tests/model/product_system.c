#include "product.h"

#include "os/clock.h"
#include "os/os.h"
#include "product_locks.h"

static struct {
    struct wr_ptr *slot;
    struct wr_segment *segment[SEGMENTS_MAX];
    uint32_t count;
} pool;

void product_free_list(struct wr_segment *const *segments, uint32_t count)
{
    static const char *const names[SEGMENTS_MAX] = {"free0", "free1", "free2", "free3"};
    pool.slot = model_memory((uint32_t)sizeof *pool.slot * count);
    pool.count = count;
    for (uint32_t i = 0; i < count; i++) {
        pool.segment[i] = segments[i];
        model_name(&pool.slot[i], names[i]);
        wr_ptr_store_relaxed(&pool.slot[i], segments[i]);
    }
}

void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment)
{
    (void)list;
    for (uint32_t i = 0; i < pool.count; i++)
        if (pool.segment[i] == segment)
            wr_ptr_store_release(&pool.slot[i], segment); /* edge RECYCLE.release */
}

struct wr_segment *wr_free_list_take(struct wr_free_list *list)
{
    (void)list;
    for (uint32_t i = 0; i < pool.count; i++) {
        /* edge RECYCLE.acquire */
        struct wr_segment *segment = wr_ptr_exchange_acq_rel(&pool.slot[i], NULL);
        if (segment != NULL)
            return segment;
    }
    return NULL;
}

void wr_free_list_init(struct wr_free_list *list)
{
    (void)list;
}

/* The first word of the mutex: 0 free, 1 held. */
static struct wr_u32 *mutex_word(pthread_mutex_t *mutex)
{
    return (struct wr_u32 *)(void *)mutex;
}

static bool is_free(uint64_t value, uint64_t argument)
{
    (void)argument;
    return value == 0;
}

int model_mutex_lock(pthread_mutex_t *mutex)
{
    uint32_t seen = 0;
    while (!wr_u32_cas_acq_rel(mutex_word(mutex), &seen, 1)) {
        model_wait_until_u32(mutex_word(mutex), is_free, 0);
        seen = 0;
    }
    return 0;
}

int model_mutex_trylock(pthread_mutex_t *mutex)
{
    uint32_t seen = 0;
    return wr_u32_cas_acq_rel(mutex_word(mutex), &seen, 1) ? 0 : 1;
}

int model_mutex_unlock(pthread_mutex_t *mutex)
{
    wr_u32_store_release(mutex_word(mutex), 0);
    return 0;
}

void wr_os_membarrier(void)
{
    model_membarrier();
}

bool wr_os_membarrier_register(void)
{
    return true;
}

void wr_os_sleep_ns(uint64_t ns)
{
    (void)ns;
    model_pause();
}

/* Time stands still: no deadline passes. */
uint64_t wr_os_monotonic_ns(void)
{
    return 0;
}

uint32_t wr_os_processor_count(void)
{
    return 2;
}

void wr_os_mutex_init(pthread_mutex_t *mutex)
{
    (void)mutex;
}

void wr_os_futex_wait(const struct wr_u32 *word, uint32_t expected, uint64_t ns)
{
    (void)word;
    (void)expected;
    (void)ns;
    model_pause();
}

void wr_os_futex_wake(struct wr_u32 *word, uint32_t count)
{
    (void)word;
    (void)count;
}

void wr_os_futex_wake_all(struct wr_u32 *word)
{
    (void)word;
}

uint64_t wr_os_thread_id(void)
{
    return 1;
}

uint32_t wr_os_process_id(void)
{
    return 1;
}

void *wr_os_pages_map(uint64_t bytes)
{
    (void)bytes;
    return NULL;
}

void wr_os_pages_unmap(void *pages, uint64_t bytes)
{
    (void)pages;
    (void)bytes;
}

struct wr_clock wr_clock;

void wr_bell_init(struct wr_bell *bell)
{
    (void)bell;
}

/* A hint: the drain of a model looks without being asked. */
void wr_bell_ring(struct wr_bell *bell)
{
    (void)bell;
}
