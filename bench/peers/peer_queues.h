/*
 * For peers that are only queues of elements: the element, and a thread that reads all queues,
 * which any user of such a queue for tracing would have to write.
 *
 * An element is what a tracer without a compact record keeps: a stamp, an id, the payload. The
 * reader takes from each queue in turn, writes what it got to a file, and rests after each round
 * that yielded little. A reader that spins would make each event several times as expensive,
 * because it takes the cache line of each published index from the writer. It rests for half a
 * millisecond, or, if that is less, for the time in which a quarter of a queue fills at ten
 * nanoseconds per element.
 */
#ifndef BENCH_PEER_QUEUES_H
#define BENCH_PEER_QUEUES_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include "clock_ticks.h"
#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct peer_element {
    uint64_t ticks;
    uint64_t id;
    uint64_t words[4];
};

/* Takes up to `max` elements out of a queue; called on the reader's thread. */
typedef size_t (*peer_queue_take)(uint32_t queue, struct peer_element *to, size_t max);

/* Starts reading `options->threads` queues of `elements` elements each. */
void peer_queues_start(const struct peer_options *options, uint64_t elements, peer_queue_take take);

/* Reads what is left, ends the reader, and fills in the outcome. `refused` is the number of
 * elements that found no room, `capacity` the number that all queues hold. */
void peer_queues_stop(struct peer_outcome *outcome, uint64_t refused, uint64_t capacity);

static inline struct peer_element peer_element_of(uint64_t i, uint32_t thread)
{
    struct peer_element element = {clock_ticks(), 1, {PEER_EMIT(i, thread)}};
    return element;
}

/* Elements per queue, from the budget that the queues share. */
static inline uint64_t peer_queue_elements(const struct peer_options *options)
{
    uint64_t elements = options->budget_bytes / sizeof(struct peer_element) / options->threads;
    if (elements < 4)
        peer_fail("a budget of %llu bytes is too small for %u threads",
                  (unsigned long long)options->budget_bytes, options->threads);
    return elements;
}

#ifdef __cplusplus
}
#endif
#endif
