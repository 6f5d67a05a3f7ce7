/*
 * What ck_fifo_mpmc is made of, through the explorer: loads acquire, stores release, and a
 * compare-and-swap does both, as they do on x86; ck's fences add nothing to that.
 *
 * A pair of pointer and generation, which ck swaps at once, is one word here: the pointer below, 16
 * bits of generation above. Either half is loaded, or stored, by itself.
 */
#ifndef MODEL_PRODUCT_FIFO_H
#define MODEL_PRODUCT_FIFO_H

#include <ck_cc.h>
#include <ck_md.h>
#include <ck_pr.h>
#include <ck_spinlock.h>
#include <ck_stddef.h>
#include "base/atomic.h"

void *product_load_ptr(const void *half);
void product_store_ptr(void *half, void *value);
bool product_cas_ptr_2(void *pair, const void *compare, const void *set);

#undef ck_pr_load_ptr
#undef ck_pr_cas_ptr_2 /* free_list.c's, with its fence */
#define ck_pr_load_ptr(source)   ((CK_CC_TYPEOF(*(source), (void *)))product_load_ptr(source))
#define ck_pr_cas_ptr_2          product_cas_ptr_2
#define ck_pr_fence_load         product_no_fence
#define ck_pr_fence_atomic       product_no_fence
#define ck_pr_fence_store_atomic product_no_fence

static inline void product_no_fence(void)
{
}

#endif
