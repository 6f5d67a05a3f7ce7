/*
 * Included before each source of core/wait/. Its 64-bit words are statistics that nothing depends
 * on, so accesses to them are not steps. A spinning thread looks once: looking longer is the same
 * as looking later.
 */
#ifndef MODEL_PRODUCT_GATE_H
#define MODEL_PRODUCT_GATE_H

#include <string.h>
#include "product_locks.h"
#include "base/atomic.h"

/* Adds to a statistic; returns its previous value. */
uint64_t model_figure_add(const struct wr_u64 *word, uint64_t value);
void model_figure_set(const struct wr_u64 *word, uint64_t value);

/* The value of the spun-on word at the first look of this spin. */
uint32_t model_spin_look(struct model_site *site, const struct wr_u32 *word);

#undef wr_u64_load_relaxed
#undef wr_u64_store_relaxed
#undef wr_u64_add_relaxed
#undef wr_u64_cas_release
#undef wr_u32_load_relaxed
#define wr_u64_load_relaxed(word)         model_figure_add(word, 0)
#define wr_u64_store_relaxed(word, value) model_figure_set(word, value)
#define wr_u64_add_relaxed(word, value)   ((void)model_figure_add(word, value))
#define wr_u64_cas_release(word, expected, value) \
    (model_figure_set(word, value), *(expected) = (value), true)
#define wr_u32_load_relaxed(word)                                          \
    (strcmp(__func__, "spin") == 0                                         \
         ? model_spin_look(MODEL_SITE_OF(MODEL_LOAD, MODEL_RELAXED), word) \
         : MODEL_LOAD_AT(u32, MODEL_RELAXED, word))

#endif
