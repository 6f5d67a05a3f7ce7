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

#define wr_clock_counter() opaque(segment->base_ticks)
#define weir_emit          bench_emit_without_clock
#include "event/emit.c"
