/*
 * All atomic operations of the core. Others exist: the inline tests of an event's enabled word and of
 * a provider's status in weir/trace.h, and the operations inside ck.
 *
 * A word that threads share is wrapped in a struct, so that a bare `word = 1` or `word++` does not
 * compile, and each operation names its memory order: wr_u64_store_release, wr_u64_load_acquire.
 * Each pair of accesses that synchronizes has a name, an "edge". A comment names it at both ends,
 * and core/ORDERING.md has a row for it.
 *
 * There are no fences here: ThreadSanitizer does not model them, and an order on the access itself
 * is easier to check. Where a later load must not overtake a store, either both sides use seq_cst
 * or the other side calls wr_os_membarrier() (edge QUIESCE).
 *
 * With WR_MODEL defined, the same operations call the explorer in tests/model/, which runs the
 * core's own sources under every interleaving and every stale value that C11 allows.
 */
#ifndef WR_BASE_ATOMIC_H
#define WR_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Two 64-byte lines: the adjacent-line prefetcher fetches them in pairs. */
#define WR_LINE 128

#ifdef WR_MODEL
#include "model_atomic.h" /* tests/model/ */
#else

#include <stdatomic.h>

#if defined(__SANITIZE_THREAD__)
#define WR_UNDER_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WR_UNDER_TSAN
#endif
#endif

struct wr_u32 {
    _Atomic(uint32_t) cell;
};
struct wr_u64 {
    _Atomic(uint64_t) cell;
};
struct wr_ptr {
    _Atomic(void *) cell;
};

_Static_assert(sizeof(struct wr_u32) == 4 && sizeof(struct wr_u64) == 8, "no hidden lock");
_Static_assert(sizeof(struct wr_ptr) == sizeof(void *), "no hidden lock");

#define WR_ATOMIC_OPERATIONS(name, type)                                                           \
    static inline type wr_##name##_load_relaxed(const struct wr_##name *word)                      \
    {                                                                                              \
        return atomic_load_explicit(&word->cell, memory_order_relaxed);                            \
    }                                                                                              \
    static inline type wr_##name##_load_acquire(const struct wr_##name *word)                      \
    {                                                                                              \
        return atomic_load_explicit(&word->cell, memory_order_acquire);                            \
    }                                                                                              \
    static inline type wr_##name##_load_seq_cst(const struct wr_##name *word)                      \
    {                                                                                              \
        return atomic_load_explicit(&word->cell, memory_order_seq_cst);                            \
    }                                                                                              \
    static inline void wr_##name##_store_relaxed(struct wr_##name *word, type value)               \
    {                                                                                              \
        atomic_store_explicit(&word->cell, value, memory_order_relaxed);                           \
    }                                                                                              \
    static inline void wr_##name##_store_release(struct wr_##name *word, type value)               \
    {                                                                                              \
        atomic_store_explicit(&word->cell, value, memory_order_release);                           \
    }                                                                                              \
    static inline void wr_##name##_store_seq_cst(struct wr_##name *word, type value)               \
    {                                                                                              \
        atomic_store_explicit(&word->cell, value, memory_order_seq_cst);                           \
    }                                                                                              \
    static inline type wr_##name##_exchange_acq_rel(struct wr_##name *word, type value)            \
    {                                                                                              \
        return atomic_exchange_explicit(&word->cell, value, memory_order_acq_rel);                 \
    }                                                                                              \
    static inline bool wr_##name##_cas_acq_rel(struct wr_##name *word, type *expected, type value) \
    {                                                                                              \
        return atomic_compare_exchange_strong_explicit(                                            \
            &word->cell, expected, value, memory_order_acq_rel, memory_order_acquire);             \
    }                                                                                              \
    static inline bool wr_##name##_cas_release(struct wr_##name *word, type *expected, type value) \
    {                                                                                              \
        return atomic_compare_exchange_strong_explicit(                                            \
            &word->cell, expected, value, memory_order_release, memory_order_relaxed);             \
    }                                                                                              \
    static inline bool wr_##name##_cas_relaxed(struct wr_##name *word, type *expected, type value) \
    {                                                                                              \
        return atomic_compare_exchange_strong_explicit(                                            \
            &word->cell, expected, value, memory_order_relaxed, memory_order_relaxed);             \
    }

WR_ATOMIC_OPERATIONS(u32, uint32_t)
WR_ATOMIC_OPERATIONS(u64, uint64_t)
WR_ATOMIC_OPERATIONS(ptr, void *)

/* Loads a word that only this thread and its signal handlers store. A plain load, because compilers do
 * not make an atomic one an operand of another instruction. */
static inline uint64_t wr_u64_own_load(const struct wr_u64 *word)
{
    return *(const uint64_t *)(const void *)&word->cell;
}

/* Adds to a word that only this thread and its signal handlers store: a relaxed load, then a release
 * store. On x86 it is one instruction, which is not locked: to other processors a load and a store,
 * but no handler comes between them. ThreadSanitizer would not see it. */
#if defined(__x86_64__) && !defined(WR_UNDER_TSAN)
static inline void wr_u64_own_add_release(struct wr_u64 *word, uint64_t value)
{
    __asm__ volatile("addq %1, %0"
                     : "+m"(*(uint64_t *)(void *)&word->cell)
                     : "er"(value)
                     : "memory", "cc");
}
/* The same, where the thread has loaded `before` from the word already. */
static inline void wr_u64_own_add_to_release(struct wr_u64 *word, uint64_t before, uint64_t value)
{
    (void)before;
    wr_u64_own_add_release(word, value);
}
#else
static inline void wr_u64_own_add_release(struct wr_u64 *word, uint64_t value)
{
    wr_u64_store_release(word, wr_u64_load_relaxed(word) + value);
}
static inline void wr_u64_own_add_to_release(struct wr_u64 *word, uint64_t before, uint64_t value)
{
    wr_u64_store_release(word, before + value);
}
#endif

static inline uint64_t wr_u64_add_relaxed(struct wr_u64 *word, uint64_t value)
{
    return atomic_fetch_add_explicit(&word->cell, value, memory_order_relaxed);
}

static inline uint32_t wr_u32_add_acq_rel(struct wr_u32 *word, uint32_t value)
{
    return atomic_fetch_add_explicit(&word->cell, value, memory_order_acq_rel);
}

/* For wr_clock_system_ordered() only. */
static inline uint32_t wr_u32_add_seq_cst(struct wr_u32 *word, uint32_t value)
{
    return atomic_fetch_add_explicit(&word->cell, value, memory_order_seq_cst);
}

/* An event's enabled word and its route, and a provider's status, are plain integers, because the
 * public header must compile as C++, which has no _Atomic. Hosts test them with inline relaxed
 * loads. */
static inline uint64_t wr_mask_load_relaxed(const uint64_t *mask)
{
    return __atomic_load_n(mask, __ATOMIC_RELAXED);
}
static inline uint64_t wr_mask_load_seq_cst(const uint64_t *mask)
{
    return __atomic_load_n(mask, __ATOMIC_SEQ_CST);
}
static inline void wr_mask_store_seq_cst(uint64_t *mask, uint64_t value)
{
    __atomic_store_n(mask, value, __ATOMIC_SEQ_CST);
}
static inline void wr_status_store_relaxed(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
static inline uint32_t wr_route_load_seq_cst(const uint32_t *route)
{
    return __atomic_load_n(route, __ATOMIC_SEQ_CST);
}
static inline void wr_route_store_relaxed(uint32_t *route, uint32_t value)
{
    __atomic_store_n(route, value, __ATOMIC_RELAXED);
}
static inline void wr_route_store_release(uint32_t *route, uint32_t value)
{
    __atomic_store_n(route, value, __ATOMIC_RELEASE);
}

/* Keeps the compiler from moving memory accesses across it; the processor still may. It orders a
 * thread against its own signal handlers, and it is the writer's half of the asymmetric barrier
 * whose other half is wr_os_membarrier(). */
static inline void wr_compiler_barrier(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

/* Mark accesses to plain bytes that an edge publishes. No code here; the explorer checks them for
 * races. */
static inline void wr_data_written(const void *bytes, uint32_t count)
{
    (void)bytes;
    (void)count;
}
static inline void wr_data_read(const void *bytes, uint32_t count)
{
    (void)bytes;
    (void)count;
}

#endif /* WR_MODEL */
#endif
