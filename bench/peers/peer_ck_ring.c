/*
 * Concurrency Kit's ring, one per thread, with one reader: elements by value. Its size must be a
 * power of two, so the budget is rounded down; one slot always stays empty.
 */
#include <ck_ring.h>
#include <stdlib.h>

#include "peer_queues.h"

CK_RING_PROTOTYPE(element, peer_element)

/* The ring keeps the indices of writer and reader on separate lines; so do we with the rest. */
struct queue {
    _Alignas(128) ck_ring_t ring;
    struct peer_element *elements;
    uint64_t refused; /* WRITER */
};

static const char *const variants[] = {"drop", "wait", NULL};
static struct queue *queues; /* CONST between open and close, except for what the threads own */
static uint32_t queue_count;
static uint64_t queue_elements;
static bool waits;

static size_t take(uint32_t queue, struct peer_element *to, size_t max)
{
    size_t count = 0;
    while (count < max &&
           CK_RING_DEQUEUE_SPSC(element, &queues[queue].ring, queues[queue].elements, &to[count]))
        count++;
    return count;
}

static void open_rings(const struct peer_options *options)
{
    uint64_t share = peer_queue_elements(options);
    for (queue_elements = 4; queue_elements * 2 <= share;)
        queue_elements *= 2;
    queue_count = options->threads;
    waits = peer_variant_is(options, "wait");
    queues = aligned_alloc(_Alignof(struct queue), queue_count * sizeof *queues);
    if (!queues)
        peer_fail("no memory");
    for (uint32_t i = 0; i < queue_count; i++) {
        queues[i].refused = 0;
        queues[i].elements = calloc(queue_elements, sizeof *queues[i].elements);
        if (!queues[i].elements)
            peer_fail("no memory");
        ck_ring_init(&queues[i].ring, (unsigned int)queue_elements);
    }
    peer_queues_start(options, queue_elements, take);
}

/* In variant drop, NULL if there is no room, and counted: such an event does not pay for the
 * clock. */
static struct peer_element *reserve(struct queue *queue)
{
    for (;;) {
        /* The macro of that name takes one argument too many (0.7.1). */
        struct peer_element *to =
            ck_ring_enqueue_reserve_spsc_element(&queue->ring, queue->elements);
        if (to)
            return to;
        if (!waits)
            break;
        sched_yield();
    }
    queue->refused++;
    return NULL;
}

/* The element is written in place: if it were built first and then copied, the copy would wait
 * until its words have left the processor's store buffer. */
static void emit_ring(uint32_t thread, uint64_t first, uint64_t count)
{
    struct queue *queue = &queues[thread];
    for (uint64_t i = first; i < first + count; i++) {
        struct peer_element *to = reserve(queue);
        if (!to)
            continue;
        *to = peer_element_of(i, thread);
        ck_ring_enqueue_commit_spsc(&queue->ring);
    }
}

static void close_rings(struct peer_outcome *outcome)
{
    uint64_t refused = 0;
    for (uint32_t i = 0; i < queue_count; i++)
        refused += queues[i].refused;
    peer_queues_stop(outcome, refused, queue_elements * queue_count);
    for (uint32_t i = 0; i < queue_count; i++)
        free(queues[i].elements);
    free(queues);
}

const struct peer peer = {"ck-ring", variants, open_rings, close_rings, emit_ring, NULL, 0};
