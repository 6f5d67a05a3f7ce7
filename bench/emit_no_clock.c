/*
 * The library's source of the emit function, compiled again under another name with the clock
 * replaced by the segment's base. Any other change to the function is measured as it is in the
 * library.
 */
#include "os/clock.h"

/* Hides the value from the compiler, so that the subtraction and the test stay. */
static inline uint64_t opaque(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* Only the emitter of four words is called; the others get names that nothing has. */
#define wr_clock_counter() opaque(segment->base_ticks)
#define weir_emit          bench_without_clock
#define weir_emit_words0   bench_without_clock_0
#define weir_emit_words1   bench_without_clock_1
#define weir_emit_words2   bench_without_clock_2
#define weir_emit_words3   bench_without_clock_3
#define weir_emit_words4   bench_without_clock_4
#define weir_emit_words5   bench_without_clock_5

#define weir_emit_at        bench_without_clock_at
#define weir_emit_words0_at bench_without_clock_at_0
#define weir_emit_words1_at bench_without_clock_at_1
#define weir_emit_words2_at bench_without_clock_at_2
#define weir_emit_words3_at bench_without_clock_at_3
#define weir_emit_words4_at bench_without_clock_at_4
#include "event/emit.c"
