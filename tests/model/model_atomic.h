/*
 * core/base/atomic.h includes this file instead of the compiler's atomics if WR_MODEL is defined.
 * Names, types and sizes are the same. Each use in the source is a separate site, so that the
 * mutation sweep can weaken one at a time. Two equal operations on one line are one site.
 *
 * A struct wr_ptr holds the plain pointer; the explorer sees it as 64 bits.
 */
#ifndef MODEL_ATOMIC_H
#define MODEL_ATOMIC_H

#include "explorer.h"

#define WR_MODEL_ACTIVE 1

struct wr_u32 {
    uint32_t cell;
};
struct wr_u64 {
    uint64_t cell;
};
struct wr_ptr {
    void *cell;
};

_Static_assert(sizeof(void *) == 8, "the explorer keeps pointers in 64 bits");

#define MODEL_SITE(kind_, order_, failure_)                                     \
    (__extension__({                                                            \
        static struct model_site model_site_here = {.file = __FILE__,           \
                                                    .function = __func__,       \
                                                    .line = __LINE__,           \
                                                    .kind = (kind_),            \
                                                    .order = (order_),          \
                                                    .failure = (failure_),      \
                                                    .order_now = (order_),      \
                                                    .failure_now = (failure_)}; \
        &model_site_here;                                                       \
    }))
#define MODEL_SITE_OF(kind, order) MODEL_SITE(kind, order, MODEL_RELAXED)

/* These functions access the explorer's words, not the product's, so plain.c must not see them. */
#define MODEL_OWN __attribute__((no_sanitize("thread"))) static inline

#define MODEL_OPERATIONS(name, type, to_bits, from_bits)                                        \
    MODEL_OWN type model_##name##_load(struct model_site *site, const struct wr_##name *word)   \
    {                                                                                           \
        struct model_request r = {.site = site, .size = sizeof *word};                          \
        r.cell = (void *)(uintptr_t)&word->cell;                                                \
        return from_bits(model_operation(&r));                                                  \
    }                                                                                           \
    MODEL_OWN void model_##name##_store(struct model_site *site, struct wr_##name *word,        \
                                        type value)                                             \
    {                                                                                           \
        struct model_request r = {.site = site, .size = sizeof *word, .value = to_bits(value)}; \
        r.cell = &word->cell;                                                                   \
        model_operation(&r);                                                                    \
    }                                                                                           \
    MODEL_OWN type model_##name##_modify(struct model_site *site, struct wr_##name *word,       \
                                         type value)                                            \
    {                                                                                           \
        struct model_request r = {.site = site, .size = sizeof *word, .value = to_bits(value)}; \
        r.cell = &word->cell;                                                                   \
        return from_bits(model_operation(&r));                                                  \
    }                                                                                           \
    MODEL_OWN bool model_##name##_cas(struct model_site *site, struct wr_##name *word,          \
                                      type *expected, type value)                               \
    {                                                                                           \
        uint64_t bits = to_bits(*expected);                                                     \
        struct model_request r = {.site = site, .size = sizeof *word, .value = to_bits(value)}; \
        r.cell = &word->cell;                                                                   \
        r.expected = &bits;                                                                     \
        bool done = model_operation(&r) != 0;                                                   \
        *expected = from_bits(bits);                                                            \
        return done;                                                                            \
    }                                                                                           \
    MODEL_OWN type model_##name##_wait(struct model_site *site, const struct wr_##name *word,   \
                                       bool (*until)(uint64_t, uint64_t), uint64_t argument,    \
                                       enum model_sleep sleep)                                  \
    {                                                                                           \
        struct model_request r = {.site = site, .size = sizeof *word, .sleep = sleep};          \
        r.cell = (void *)(uintptr_t)&word->cell;                                                \
        r.until = until;                                                                        \
        r.argument = argument;                                                                  \
        return from_bits(model_operation(&r));                                                  \
    }

#define MODEL_U32_BITS(value) ((uint64_t)(value))
#define MODEL_BITS_U32(bits)  ((uint32_t)(bits))
#define MODEL_U64_BITS(value) (value)
#define MODEL_BITS_U64(bits)  (bits)
#define MODEL_PTR_BITS(value) ((uint64_t)(uintptr_t)(value))
#define MODEL_BITS_PTR(bits)  ((void *)(uintptr_t)(bits))

MODEL_OPERATIONS(u32, uint32_t, MODEL_U32_BITS, MODEL_BITS_U32)
MODEL_OPERATIONS(u64, uint64_t, MODEL_U64_BITS, MODEL_BITS_U64)
MODEL_OPERATIONS(ptr, void *, MODEL_PTR_BITS, MODEL_BITS_PTR)

#define MODEL_LOAD_AT(name, order, word) model_##name##_load(MODEL_SITE_OF(MODEL_LOAD, order), word)
#define MODEL_STORE_AT(name, order, word, value) \
    model_##name##_store(MODEL_SITE_OF(MODEL_STORE, order), word, value)
#define MODEL_EXCHANGE_AT(name, word, value) \
    model_##name##_modify(MODEL_SITE_OF(MODEL_EXCHANGE, MODEL_ACQ_REL), word, value)
#define MODEL_CAS_AT(name, order, failure, word, expected, value) \
    model_##name##_cas(MODEL_SITE(MODEL_CAS, order, failure), word, expected, value)

#define wr_u32_load_relaxed(word)            MODEL_LOAD_AT(u32, MODEL_RELAXED, word)
#define wr_u32_load_acquire(word)            MODEL_LOAD_AT(u32, MODEL_ACQUIRE, word)
#define wr_u32_load_seq_cst(word)            MODEL_LOAD_AT(u32, MODEL_SEQ_CST, word)
#define wr_u32_store_relaxed(word, value)    MODEL_STORE_AT(u32, MODEL_RELAXED, word, value)
#define wr_u32_store_release(word, value)    MODEL_STORE_AT(u32, MODEL_RELEASE, word, value)
#define wr_u32_store_seq_cst(word, value)    MODEL_STORE_AT(u32, MODEL_SEQ_CST, word, value)
#define wr_u32_exchange_acq_rel(word, value) MODEL_EXCHANGE_AT(u32, word, value)
#define wr_u32_cas_acq_rel(word, expected, value) \
    MODEL_CAS_AT(u32, MODEL_ACQ_REL, MODEL_ACQUIRE, word, expected, value)
#define wr_u32_cas_release(word, expected, value) \
    MODEL_CAS_AT(u32, MODEL_RELEASE, MODEL_RELAXED, word, expected, value)

#define wr_u64_load_relaxed(word)            MODEL_LOAD_AT(u64, MODEL_RELAXED, word)
#define wr_u64_load_acquire(word)            MODEL_LOAD_AT(u64, MODEL_ACQUIRE, word)
#define wr_u64_load_seq_cst(word)            MODEL_LOAD_AT(u64, MODEL_SEQ_CST, word)
#define wr_u64_store_relaxed(word, value)    MODEL_STORE_AT(u64, MODEL_RELAXED, word, value)
#define wr_u64_store_release(word, value)    MODEL_STORE_AT(u64, MODEL_RELEASE, word, value)
#define wr_u64_store_seq_cst(word, value)    MODEL_STORE_AT(u64, MODEL_SEQ_CST, word, value)
#define wr_u64_exchange_acq_rel(word, value) MODEL_EXCHANGE_AT(u64, word, value)
#define wr_u64_cas_acq_rel(word, expected, value) \
    MODEL_CAS_AT(u64, MODEL_ACQ_REL, MODEL_ACQUIRE, word, expected, value)
#define wr_u64_cas_release(word, expected, value) \
    MODEL_CAS_AT(u64, MODEL_RELEASE, MODEL_RELAXED, word, expected, value)

#define wr_ptr_load_relaxed(word)            MODEL_LOAD_AT(ptr, MODEL_RELAXED, word)
#define wr_ptr_load_acquire(word)            MODEL_LOAD_AT(ptr, MODEL_ACQUIRE, word)
#define wr_ptr_load_seq_cst(word)            MODEL_LOAD_AT(ptr, MODEL_SEQ_CST, word)
#define wr_ptr_store_relaxed(word, value)    MODEL_STORE_AT(ptr, MODEL_RELAXED, word, value)
#define wr_ptr_store_release(word, value)    MODEL_STORE_AT(ptr, MODEL_RELEASE, word, value)
#define wr_ptr_store_seq_cst(word, value)    MODEL_STORE_AT(ptr, MODEL_SEQ_CST, word, value)
#define wr_ptr_exchange_acq_rel(word, value) MODEL_EXCHANGE_AT(ptr, word, value)
#define wr_ptr_cas_acq_rel(word, expected, value) \
    MODEL_CAS_AT(ptr, MODEL_ACQ_REL, MODEL_ACQUIRE, word, expected, value)
#define wr_ptr_cas_release(word, expected, value) \
    MODEL_CAS_AT(ptr, MODEL_RELEASE, MODEL_RELAXED, word, expected, value)
#define wr_ptr_cas_relaxed(word, expected, value) \
    MODEL_CAS_AT(ptr, MODEL_RELAXED, MODEL_RELAXED, word, expected, value)

/* An event's enabled word and its route, and a provider's status, which the public header declares
 * as plain integers. */
#define wr_mask_load_seq_cst(mask) wr_u64_load_seq_cst((const struct wr_u64 *)(const void *)(mask))
#define wr_mask_store_seq_cst(mask, value) \
    wr_u64_store_seq_cst((struct wr_u64 *)(void *)(mask), value)
#define wr_status_store_relaxed(word, value) \
    wr_u64_store_relaxed((struct wr_u64 *)(void *)(word), value)
#define wr_route_load_seq_cst(route) \
    wr_u32_load_seq_cst((const struct wr_u32 *)(const void *)(route))
#define wr_route_store_relaxed(route, value) \
    wr_u32_store_relaxed((struct wr_u32 *)(void *)(route), value)
#define wr_route_store_release(route, value) \
    wr_u32_store_release((struct wr_u32 *)(void *)(route), value)

#define wr_mask_load_relaxed(mask) wr_u64_load_relaxed((const struct wr_u64 *)(const void *)(mask))

#define wr_u64_own_load(word) wr_u64_load_relaxed(word)
#define wr_u64_own_add_release(word, value) \
    wr_u64_store_release(word, wr_u64_load_relaxed(word) + (value))
#define wr_u64_own_add_to_release(word, before, value) \
    wr_u64_store_release(word, (before) + (value))
#define wr_u64_add_relaxed(word, value) \
    model_u64_modify(MODEL_SITE_OF(MODEL_ADD, MODEL_RELAXED), word, value)
#define wr_u32_add_acq_rel(word, value) \
    model_u32_modify(MODEL_SITE_OF(MODEL_ADD, MODEL_ACQ_REL), word, value)

/* The explorer runs each thread in program order, so it cannot see a compiler that moves an access;
 * the codegen tests check wr_compiler_barrier(). A handler may run here. */
#define wr_compiler_barrier() model_interrupt()

#define wr_data_written(bytes, count) \
    model_data_at(MODEL_SITE_OF(MODEL_DATA_WRITE, MODEL_RELAXED), bytes, (uint32_t)(count))
#define wr_data_read(bytes, count) \
    model_data_at(MODEL_SITE_OF(MODEL_DATA_READ, MODEL_RELAXED), bytes, (uint32_t)(count))

/* For models only. A lock is 0 when it is free. A wait loads with acquire until `until(value,
 * argument)` holds. */
#define model_membarrier() model_membarrier_at(MODEL_SITE_OF(MODEL_MEMBARRIER, MODEL_SEQ_CST))
#define model_lock_u32(word) \
    ((void)model_u32_modify(MODEL_SITE_OF(MODEL_LOCK, MODEL_ACQUIRE), word, 1))
#define model_futex_wait(word, expected, sleep) \
    model_futex_wait_at(MODEL_SITE_OF(MODEL_FUTEX_WAIT, MODEL_RELAXED), word, expected, sleep)
#define model_futex_wake(word, count) \
    model_futex_wake_at(MODEL_SITE_OF(MODEL_FUTEX_WAKE, MODEL_RELAXED), word, count)
#define model_count(word) \
    model_count_at(MODEL_SITE_OF(MODEL_ADD, MODEL_RELAXED), word, sizeof *(word))
#define model_wait_until_u32(word, until, argument)                                 \
    model_u32_wait(MODEL_SITE_OF(MODEL_WAIT, MODEL_ACQUIRE), word, until, argument, \
                   MODEL_SLEEP_LONG)
/* If the wait ended by itself, its last value was `argument`. */
#define model_wait_lazily_u32(word, until, argument)                                \
    model_u32_wait(MODEL_SITE_OF(MODEL_WAIT, MODEL_ACQUIRE), word, until, argument, \
                   MODEL_SLEEP_LAZY)
#define model_wait_until_u64(word, until, argument)                                 \
    model_u64_wait(MODEL_SITE_OF(MODEL_WAIT, MODEL_ACQUIRE), word, until, argument, \
                   MODEL_SLEEP_LONG)
#define model_wait_until_ptr(word, until, argument)                                 \
    model_ptr_wait(MODEL_SITE_OF(MODEL_WAIT, MODEL_ACQUIRE), word, until, argument, \
                   MODEL_SLEEP_LONG)

#endif
