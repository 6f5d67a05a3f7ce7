/*
 * Included before each source of core/wait/. Its 64-bit words are figures: nothing depends on them,
 * so that they are no steps.
 */
#ifndef MODEL_PRODUCT_GATE_H
#define MODEL_PRODUCT_GATE_H

#include "product_locks.h"
#include "base/atomic.h"

/* Adds to a statistic; returns its previous value. */
uint64_t model_figure_add(const struct wr_u64 *word, uint64_t value);
void model_figure_set(const struct wr_u64 *word, uint64_t value);

#undef wr_u64_load_relaxed
#undef wr_u64_store_relaxed
#undef wr_u64_add_relaxed
#undef wr_u64_cas_release
#define wr_u64_load_relaxed(word)         model_figure_add(word, 0)
#define wr_u64_store_relaxed(word, value) model_figure_set(word, value)
#define wr_u64_add_relaxed(word, value)   ((void)model_figure_add(word, value))
#define wr_u64_cas_release(word, expected, value) \
    (model_figure_set(word, value), *(expected) = (value), true)

#endif
