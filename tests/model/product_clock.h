/*
 * Included before each of the product's sources: replaces the instructions in core/base/counter.h
 * with the explorer's. So the product's own text runs, and each of its fences can be removed.
 */
#ifndef MODEL_PRODUCT_CLOCK_H
#define MODEL_PRODUCT_CLOCK_H

#include "base/atomic.h"

#undef __rdtsc
#undef _mm_mfence
#undef _mm_lfence
#define __rdtsc()    model_clock_at(MODEL_SITE_OF(MODEL_LOAD, MODEL_RELAXED))
#define _mm_mfence() model_mfence_at(MODEL_SITE_OF(MODEL_MEMBARRIER, MODEL_SEQ_CST))
#define _mm_lfence() model_lfence_at(MODEL_SITE_OF(MODEL_MEMBARRIER, MODEL_SEQ_CST))

#endif
