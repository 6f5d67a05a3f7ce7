/* What the core needs from the compiler beyond C17, and small helpers. */
#ifndef WR_BASE_COMPILER_H
#define WR_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define WR_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define WR_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define WR_NOINLINE            __attribute__((noinline))
/* For what does not run for each event: compiled for size, and so are the static functions that only such
 * functions call. */
#if defined(__clang__)
#define WR_COLD __attribute__((cold, minsize))
#else
#define WR_COLD __attribute__((cold))
#endif
#define WR_INLINE       static inline __attribute__((always_inline))
#define WR_ALIGNED_LINE _Alignas(WR_LINE)

/* Hides from the compiler where the value of a variable comes from. */
#define WR_OPAQUE(variable) __asm__ volatile("" : "+r"(variable))

/* Where registers are short: what depends on the variable is computed again from here on, not kept. */
#if defined(__x86_64__)
#define WR_COMPUTE_AGAIN(variable) WR_OPAQUE(variable)
#else
#define WR_COMPUTE_AGAIN(variable) ((void)0)
#endif

/* Has a variable pass through a register, where gcc then leaves it. Left alone, gcc takes the registers
 * of a function's arguments first and moves the arguments to others. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WR_PREFER(variable, name)                                            \
    do {                                                                     \
        register __typeof__(variable) preferred_ __asm__(name) = (variable); \
        WR_OPAQUE(preferred_);                                               \
        (variable) = preferred_;                                             \
    } while (0)
#else
#define WR_PREFER(variable, name) ((void)0)
#endif

/* For a loop that spins until another processor stores a word. */
WR_INLINE void wr_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* yield does nothing on most processors; isb takes about as long as pause on x86. */
    __asm__ volatile("isb" : : : "memory");
#endif
}

/* The struct of type `type` whose member `member` is at `pointer`. */
#define WR_CONTAINER(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Checks an invariant, and traps if it is false, in debug and sanitizer builds only: a release
 * build never ends its host. */
#if defined(NDEBUG) && !defined(WR_CHECKS)
#define WR_CHECK(condition) ((void)(0 && (condition)))
#else
#define WR_CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

static inline uint64_t wr_round_up(uint64_t value, uint64_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

static inline uint64_t wr_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t wr_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The running median of values, from what it was and the next one, which moves it by a sixteenth: unlike a
 * mean, it does not follow the few that are many times longer. */
static inline uint64_t wr_median_next(uint64_t median, uint64_t value)
{
    uint64_t step = median / 16;
    return value > median ? median + step + 1 : median - step;
}

#endif
