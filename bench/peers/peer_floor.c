/*
 * The floor: a call that reads the clock and copies the record into its thread's ring (see
 * kernel.h). Nothing reads the ring, so it delivers nothing; the others are compared with its cost.
 */
#include "kernel.h"
#include "peer.h"

#define RING_BYTES (UINT64_C(1) << 20)

static const char *const variants[] = {"unread", NULL};
static uint32_t threads;

static void open_floor(const struct peer_options *options)
{
    threads = options->threads;
}

/* The kernel numbers its events from 0 and uses one thread number; neither changes its cost. */
static void emit_floor(uint32_t thread, uint64_t first, uint64_t count)
{
    (void)thread;
    (void)first;
    bench_floor(count);
}

/* The first record creates the ring. */
static void prepare_floor(uint32_t thread)
{
    (void)thread;
    bench_floor(1);
}

static void close_floor(struct peer_outcome *outcome)
{
    outcome->buffer_bytes = RING_BYTES * threads;
    outcome->note = "a ring of 1 MiB per thread, without a reader";
}

const struct peer peer = {"floor",
                          variants,
                          open_floor,
                          close_floor,
                          emit_floor,
                          prepare_floor,
                          PEER_NO_BUDGET | PEER_NO_OUTPUT};
