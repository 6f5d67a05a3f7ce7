#include "kernel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ticks.h"

/* Keeps it a call: neither inlined nor specialized for its only caller. */
#if defined(__clang__)
#define BENCH_CALL __attribute__((noinline))
#else
#define BENCH_CALL __attribute__((noinline, noclone, noipa))
#endif

#define RING_BYTES    (UINT64_C(1) << 20)
#define PAYLOAD_WORDS 4u
#define RECORD_BYTES  (8u + 8u * PAYLOAD_WORDS)
#define EVENT_INDEX   3u

struct payload {
    uint64_t words[PAYLOAD_WORDS];
};

struct ring {
    _Atomic uint64_t head; /* bytes ever written; a reader would acquire it */
    uint64_t tail_cached;  /* the reader's position as the writer last saw it */
    uint64_t base_ticks;
    /* With room behind the end, so that no record is split. */
    _Alignas(64) unsigned char bytes[RING_BYTES + RECORD_BYTES];
};

static __thread struct ring *thread_ring __attribute__((tls_model("initial-exec")));

/* The thread's first record creates the ring and touches its pages. It is never freed. */
static __attribute__((noinline)) struct ring *ring_create(void)
{
    struct ring *ring = aligned_alloc(64, sizeof *ring);
    if (!ring)
        abort();
    memset(ring, 0, sizeof *ring);
    ring->base_ticks = clock_ticks();
    thread_ring = ring;
    return ring;
}

/* Simulates a reader that has read everything: one call per megabyte. */
static __attribute__((noinline)) void wait_for_reader(struct ring *ring, uint64_t head)
{
    ring->tail_cached = head;
}

static inline __attribute__((always_inline)) bool record(const struct payload *payload,
                                                         bool with_clock, uint64_t stamp)
{
    struct ring *ring = thread_ring;
    if (__builtin_expect(!ring, 0))
        ring = ring_create();
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (__builtin_expect(head + RECORD_BYTES - ring->tail_cached > RING_BYTES, 0))
        wait_for_reader(ring, head);
    uint64_t ticks = with_clock ? clock_ticks() - ring->base_ticks : stamp;
    uint64_t *to = (void *)(ring->bytes + (head & (RING_BYTES - 1)));
    to[0] = (uint64_t)EVENT_INDEX << 48 | ticks;
    for (uint32_t i = 0; i < PAYLOAD_WORDS; i++)
        to[1 + i] = payload->words[i];
    atomic_store_explicit(&ring->head, head + RECORD_BYTES, memory_order_release);
    return true;
}

static BENCH_CALL bool record_with_clock(const struct payload *payload)
{
    return record(payload, true, 0);
}

static BENCH_CALL bool record_without_clock(const struct payload *payload)
{
    return record(payload, false, 0);
}

static BENCH_CALL bool record_at(uint64_t stamp, const struct payload *payload)
{
    return record(payload, false, stamp);
}

uint64_t bench_clock(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t ticks = clock_ticks();
        __asm__ volatile("" : : "r"(ticks)); /* forces the clock to be read */
    }
    return count;
}

uint64_t bench_floor(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct payload payload = {{i, 2, i * 3, i ^ 0x5555}};
        written += record_with_clock(&payload);
    }
    return written;
}

uint64_t bench_floor_no_clock(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct payload payload = {{i, 2, i * 3, i ^ 0x5555}};
        written += record_without_clock(&payload);
    }
    return written;
}

uint64_t bench_floor_batch(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count;) {
        uint64_t stamp = clock_ticks() & UINT32_MAX;
        uint64_t end = count - i < BENCH_BATCH ? count : i + BENCH_BATCH;
        for (; i < end; i++) {
            struct payload payload = {{i, 2, i * 3, i ^ 0x5555}};
            written += record_at(stamp, &payload);
        }
    }
    return written;
}
