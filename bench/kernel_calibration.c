#include "kernel.h"

#include <stdatomic.h>
#include <string.h>

#define COPY_BYTES 64u
#define RING_BYTES 32768u

/* A chain of multiplications and additions, each of which depends on the previous one: a change of
 * the processor's clock rate affects this as it affects everything that waits only for the
 * processor. */
uint64_t bench_arithmetic(uint64_t count)
{
    uint64_t x = count;
    for (uint64_t i = 0; i < count; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        __asm__ volatile("" : "+r"(x));
    }
    return count;
}

/* What a processor can issue at a time, which its hardware threads share: this is slower while the
 * other one is busy, where a chain is not. Two rounds of eight registers, all of them in flight. */
uint64_t bench_issue(uint64_t count)
{
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (uint64_t i = 0; i < count; i++)
        for (int round = 0; round < 2; round++) {
            a++, b++, c++, d++, e++, f++, g++, h++;
            __asm__ volatile(""
                             : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g),
                               "+r"(h));
        }
    return count;
}

uint64_t bench_copy_64(uint64_t count)
{
    static _Alignas(64) __thread unsigned char ring[RING_BYTES];
    _Alignas(64) unsigned char source[COPY_BYTES] = {1};
    for (uint64_t i = 0; i < count; i++) {
        unsigned char *to = ring + i * COPY_BYTES % RING_BYTES;
        memcpy(to, source, COPY_BYTES);
        /* Pretends to read the copy and to change the source. Without a reader the compiler could
         * drop the copy, because the ring does not escape. */
        __asm__ volatile("" : : "r"(to), "r"(source) : "memory");
    }
    return count;
}

uint64_t bench_lock_add(uint64_t count)
{
    static _Alignas(64) __thread _Atomic uint64_t word;
    for (uint64_t i = 0; i < count; i++)
        atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
    return count;
}
