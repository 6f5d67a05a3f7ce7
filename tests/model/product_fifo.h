/*
 * Maps the operations of ck_fifo_mpmc to the explorer: loads acquire, stores release, and a
 * compare-and-swap does both, as on x86, where ck's fences add nothing.
 *
 * ck swaps a pointer and its generation in one operation. Here the pair is one word: the pointer in
 * the low bits, 16 bits of generation above it. Each half can be loaded or stored alone.
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
#undef ck_pr_cas_ptr_2 /* free_list.c has its own, with its fence */
#define ck_pr_load_ptr(source)   ((CK_CC_TYPEOF(*(source), (void *)))product_load_ptr(source))
#define ck_pr_cas_ptr_2          product_cas_ptr_2
#define ck_pr_fence_load         product_no_fence
#define ck_pr_fence_atomic       product_no_fence
#define ck_pr_fence_store_atomic product_no_fence

static inline void product_no_fence(void)
{
}

#endif
