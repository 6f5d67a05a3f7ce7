#include "product.h"

#include <errno.h>
#include <string.h>
#include "base/lines.h"
#include "os/clock.h"
#include "os/os.h"
#include "product_gate.h"

void model_trap(void)
{
    model_fail("a WR_CHECK of the product");
}

static struct {
    struct wr_ptr *slot;
    struct wr_segment *segment[SEGMENTS_MAX];
    uint32_t count;
    uint32_t segment_bytes;
} pool;

void product_free_list(struct wr_segment *const *segments, uint32_t count, uint32_t segment_bytes)
{
    static const char *const names[SEGMENTS_MAX] = {"free0", "free1", "free2", "free3"};
    pool.slot = model_memory((uint32_t)sizeof *pool.slot * count);
    pool.count = count;
    pool.segment_bytes = segment_bytes;
    for (uint32_t i = 0; i < count; i++) {
        pool.segment[i] = segments[i];
        model_name(&pool.slot[i], names[i]);
        wr_ptr_store_relaxed(&pool.slot[i], segments[i]);
    }
}

void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment)
{
    (void)list;
    wr_data_written(segment, offsetof(struct wr_segment, commit));
    wr_data_written(segment->records, pool.segment_bytes - WR_SEGMENT_HEADER_BYTES);
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

static pthread_mutex_t *free_lock;

void product_without_lock(pthread_mutex_t *mutex)
{
    free_lock = mutex;
}

int model_mutex_lock(pthread_mutex_t *mutex)
{
    if (mutex == free_lock)
        return 0;
    model_lock_u32(mutex_word(mutex));
    return 0;
}

int model_mutex_trylock(pthread_mutex_t *mutex)
{
    if (mutex == free_lock)
        return 0;
    uint32_t seen = 0;
    return wr_u32_cas_acq_rel(mutex_word(mutex), &seen, 1) ? 0 : 1;
}

int model_mutex_unlock(pthread_mutex_t *mutex)
{
    if (mutex == free_lock)
        return 0;
    wr_u32_store_release(mutex_word(mutex), 0);
    return 0;
}

uint64_t wr_os_signals_block(void)
{
    return 0;
}

void wr_os_signals_restore(uint64_t before)
{
    (void)before;
}

int wr_os_cancel_disable(void)
{
    return 0;
}

void wr_os_cancel_restore(const int *before)
{
    (void)before;
}

static bool membarrier_fails;

void product_membarrier_fails(void)
{
    membarrier_fails = true;
}

int wr_os_membarrier(void)
{
    if (membarrier_fails)
        return EPERM;
    model_membarrier();
    return 0;
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

/* Time stands still, but for a thread whose sleep or spin has ended by itself. */
static uint64_t clock_ns[MODEL_THREADS_MAX];
static uint32_t ends_left[MODEL_THREADS_MAX]; /* of sleeps that end by themselves */
static bool bell_rings, bell_is_own;
static struct wr_u32 *clock_word; /* NULL: stamps come from memory.c's clock */
static uint32_t clock_readings;

void product_system_reset(void)
{
    free_lock = NULL;
    membarrier_fails = false;
    memset(clock_ns, 0, sizeof clock_ns);
    memset(ends_left, 0, sizeof ends_left);
    bell_rings = bell_is_own = false;
    clock_word = NULL;
    clock_readings = 0;
    wr_clock.is_counter = true;
}

void product_timed(uint32_t thread, uint32_t times)
{
    ends_left[thread] = times;
}

void product_pass_ns(uint64_t ns)
{
    clock_ns[model_self()] += ns;
}

uint64_t product_clock_ns(uint32_t thread)
{
    return clock_ns[thread];
}

uint64_t wr_os_monotonic_ns(void)
{
    return clock_ns[model_self()];
}

void product_clock(uint32_t ticks)
{
    clock_word = model_memory(sizeof *clock_word);
    model_name(clock_word, "clock");
    wr_u32_store_relaxed(clock_word, ticks);
    wr_clock.is_counter = false;
}

void product_clock_step(int32_t ticks)
{
    wr_u32_add_acq_rel(clock_word, (uint32_t)ticks);
}

/* A drain that waits for the clock would read it for ever. */
#define CLOCK_READINGS_MAX 100

/* Orders like the clock readings for the drain's horizon and for a lane's attachment. */
uint64_t wr_os_clock_ns(void)
{
    if (!clock_word)
        return wr_os_monotonic_ns();
    model_check(++clock_readings < CLOCK_READINGS_MAX);
    return wr_u32_add_acq_rel(clock_word, 1);
}

void wr_os_futex_wait(const struct wr_u32 *word, uint32_t expected, uint64_t ns)
{
    uint32_t self = model_self();
    bool is_timed = ns != UINT64_MAX && ends_left[self] > 0;
    if (!model_futex_wait(word, expected, is_timed ? MODEL_SLEEP_TIMED : MODEL_SLEEP_LONG))
        return;
    ends_left[self]--;
    clock_ns[self] += ns;
}

/* Looks once: to look longer is to look later. */
bool wr_os_spin_while(const struct wr_u32 *word, uint32_t value, uint64_t ns)
{
    bool is_changed = wr_u32_load_relaxed(word) != value;
    clock_ns[model_self()] += ns;
    return is_changed;
}

void wr_os_futex_wake(struct wr_u32 *word, uint32_t count)
{
    model_futex_wake(word, count);
}

void wr_os_futex_wake_all(struct wr_u32 *word)
{
    model_futex_wake(word, UINT32_MAX);
}

/* If the thread's waits may end by themselves, the lock's holder may be suspended past
 * `limit_ns`. */
bool wr_os_mutex_lock_for(pthread_mutex_t *mutex, uint64_t limit_ns)
{
    uint32_t self = model_self();
    bool is_timed = limit_ns != UINT64_MAX && ends_left[self] > 0;
    if (limit_ns != 0 && !is_timed)
        return model_mutex_lock(mutex) == 0;
    if (model_mutex_trylock(mutex) == 0)
        return true;
    ends_left[self] -= limit_ns != 0;
    clock_ns[self] += limit_ns;
    return false;
}

uint32_t wr_os_processor_count(void)
{
    return 2;
}

/* Otherwise it is served when the others stand still, which takes time (tests/unit/relay.c). */
bool wr_os_thread_may_run_here(uint64_t thread_id)
{
    (void)thread_id;
    return true;
}

void wr_os_yield(void)
{
}

void wr_os_thread_be_prompt(void)
{
}

uint32_t wr_lines_far_ns(void)
{
    return 0;
}

void wr_lines_evict(const void *at, uint64_t bytes)
{
    (void)at;
    (void)bytes;
}

void wr_os_mutex_init(pthread_mutex_t *mutex)
{
    (void)mutex;
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

struct wr_clock wr_clock = {.is_counter = true};

uint64_t wr_clock_system_ordered(void)
{
    return wr_os_clock_ns();
}

/* --- The bell: an event count. --------------------------------------------------------------- */

/* Unless a model rings it, the bell is only a hint: the drain looks by itself. */
void product_bell(struct wr_bell *bell)
{
    bell_rings = true;
    model_name(bell->event_count, "bell");
}

void product_own_bell(struct wr_bell *bell)
{
    bell_is_own = true;
    product_bell_init(bell);
}

static struct wr_u32 *bell_word(const struct wr_bell *bell)
{
    return (struct wr_u32 *)(uintptr_t)bell->event_count;
}

void wr_bell_init(struct wr_bell *bell)
{
    (void)bell;
}

void product_ring(struct wr_bell *bell, uint32_t rings)
{
    if (bell_rings)
        wr_u32_add_acq_rel(bell_word(bell), rings);
}

void wr_bell_ring(struct wr_bell *bell)
{
    if (bell_is_own)
        product_bell_ring(bell);
    else
        product_ring(bell, 1);
}

uint32_t wr_bell_ticket(const struct wr_bell *bell)
{
    if (bell_is_own)
        return product_bell_ticket(bell);
    /* An older count would only make the drain look once more. */
    return bell_rings ? wr_u32_add_acq_rel(bell_word(bell), 0) : 0;
}

static bool has_rung(uint64_t value, uint64_t ticket)
{
    return value != ticket;
}

/* The drain's timers expire once no other thread can go on. */
void wr_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns)
{
    if (bell_is_own)
        product_bell_wait(bell, ticket, ns);
    else if (!bell_rings)
        model_pause();
    else if (ns == UINT64_MAX)
        model_wait_until_u32(bell_word(bell), has_rung, ticket);
    else if (model_wait_lazily_u32(bell_word(bell), has_rung, ticket) == ticket)
        clock_ns[model_self()] += ns;
}

/* --- Statistics and spins. ------------------------------------------------------------------- */

uint64_t model_figure_add(const struct wr_u64 *word, uint64_t value)
{
    struct wr_u64 *figure = (struct wr_u64 *)(uintptr_t)word;
    model_count(figure);
    figure->cell += value;
    return figure->cell - value;
}

void model_figure_set(const struct wr_u64 *word, uint64_t value)
{
    struct wr_u64 *figure = (struct wr_u64 *)(uintptr_t)word;
    model_count(figure);
    figure->cell = value;
}
