/*
 * Included before each source of core/wait/. Its 64-bit words are figures: nothing depends on them,
 * so that they are no steps. And a thread that spins looks once: to look longer is to look later.
 */
#ifndef MODEL_PRODUCT_GATE_H
#define MODEL_PRODUCT_GATE_H

#include <string.h>
#include "product_locks.h"
#include "base/atomic.h"

/* Adds to the figure; what it was. */
uint64_t model_figure_add(const struct wr_u64 *word, uint64_t value);
void model_figure_set(const struct wr_u64 *word, uint64_t value);

/* Of the word that is spun on: its value at the first look of this spin. */
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
