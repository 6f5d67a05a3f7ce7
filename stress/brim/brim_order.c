#include "brim_order.h"

#include <stddef.h>
#include <sys/mman.h>

#define BYTES ((BRIM_ORDER_WAITS_MAX + 1) * sizeof(uint64_t))

bool brim_order_init(struct brim_order *order)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    order->grants = memory == MAP_FAILED ? NULL : memory;
    return order->grants != NULL;
}

void brim_order_fini(struct brim_order *order)
{
    if (order->grants)
        munmap(order->grants, BYTES);
}

void brim_order_note(struct brim_order *order, uint64_t queue_number, uint64_t grant_number)
{
    /* Queue numbers are unique, so no two threads write the same cell. */
    if (queue_number <= BRIM_ORDER_WAITS_MAX)
        order->grants[queue_number] = grant_number;
}

uint64_t brim_order_inversions(const struct brim_order *order, uint64_t waits)
{
    uint64_t inversions = 0, latest = 0;
    for (uint64_t number = 1; number <= waits && number <= BRIM_ORDER_WAITS_MAX; number++) {
        uint64_t grant = order->grants[number];
        if (grant != 0 && grant < latest)
            inversions++;
        if (grant > latest)
            latest = grant;
    }
    return inversions;
}
