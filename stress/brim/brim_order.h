/*
 * Were waits served in the order in which they began? Each wait records its grant's number in its
 * own cell; after the run the numbers must rise.
 */
#ifndef STRESS_BRIM_ORDER_H
#define STRESS_BRIM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct brim_order {
    uint64_t *grants; /* by queue number, from 1; 0: the wait gave up */
};

#define BRIM_ORDER_WAITS_MAX (UINT64_C(1) << 22) /* only the first ones are compared */

/* False if there is no address space. Pages are used only as waits come. */
bool brim_order_init(struct brim_order *order);
void brim_order_fini(struct brim_order *order);
/* Any thread. */
void brim_order_note(struct brim_order *order, uint64_t queue_number, uint64_t grant_number);
/* How many of the first `waits` waits were granted before an older one. After the run. */
uint64_t brim_order_inversions(const struct brim_order *order, uint64_t waits);

#endif
