/* core/buffers/free_list.c for the explorer, over ck's own queue. The lane models use a simpler
 * list under these names. */
#define wr_free_list_init product_fifo_init
#define wr_free_list_give product_fifo_give
#define wr_free_list_take product_fifo_take

#include "buffers/free_list.c" /* NOLINT: the queue's inline functions */

#define GENERATION_SHIFT 48

static struct wr_u64 *pair_of(const void *half)
{
    return (struct wr_u64 *)((uintptr_t)half & ~(uintptr_t)15);
}

static bool is_generation(const void *half)
{
    return ((uintptr_t)half & 15) != 0;
}

static uint64_t low_mask(void)
{
    return (UINT64_C(1) << GENERATION_SHIFT) - 1;
}

void *product_load_ptr(const void *half)
{
    uint64_t word = wr_u64_load_acquire(pair_of(half));
    return (void *)(uintptr_t)(is_generation(half) ? word >> GENERATION_SHIFT : word & low_mask());
}

void product_store_ptr(void *half, void *value)
{
    struct wr_u64 *pair = pair_of(half);
    uint64_t word = wr_u64_load_acquire(pair), stored;
    do
        stored = is_generation(half)
                     ? (word & low_mask()) | (uint64_t)(uintptr_t)value << GENERATION_SHIFT
                     : (word & ~low_mask()) | (uint64_t)(uintptr_t)value;
    while (!wr_u64_cas_acq_rel(pair, &word, stored));
}

static uint64_t packed(const void *pair)
{
    const struct ck_fifo_mpmc_pointer *both = pair;
    return (uint64_t)(uintptr_t)both->generation << GENERATION_SHIFT |
           (uint64_t)(uintptr_t)both->pointer;
}

bool product_cas_ptr_2(void *pair, const void *compare, const void *set)
{
    uint64_t word = packed(compare);
    return wr_u64_cas_acq_rel(pair_of(pair), &word, packed(set));
}
