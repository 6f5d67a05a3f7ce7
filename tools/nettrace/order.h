/* Events held back until it is certain that nothing older follows in the file.
 *
 * Each capture thread's events come in order of time, so each thread has a queue. A heap holds the
 * threads whose queues are not empty, the one with the oldest event on top. A sorted event releases
 * everything not younger than itself; a sequence point and the end release everything. */
#ifndef WT_NETTRACE_ORDER_H
#define WT_NETTRACE_ORDER_H

#include "reader.h"

struct wt_order_node;
struct wt_order_chunk;

struct wt_order_queue {
    struct wt_order_node *first, *last;
};

struct wt_order {
    struct wt_order_queue *queues; /* by thread index */
    uint32_t queue_count;
    struct wt_order_queue **heap;
    uint32_t heap_count; /* its capacity is queue_count */
    struct wt_order_chunk *current, *spare;
    size_t bytes; /* of all chunks */
    size_t limit;
    uint64_t arrivals;
};

enum wt_order_result { WT_ORDER_OK, WT_ORDER_LIMIT, WT_ORDER_MEMORY };

/* Keeps a copy of the event, including its payload but not its stack, or of the gap; one of them is
 * NULL. */
enum wt_order_result wt_order_put(struct wt_order *order, const struct wt_event *event,
                                  const struct wt_gap *gap, int64_t time);

/* Delivers everything not younger than `until`, oldest first; ends early when *stop is set. */
void wt_order_release(struct wt_order *order, int64_t until, const struct wt_handlers *handlers,
                      void *context, const bool *stop);

void wt_order_fini(struct wt_order *order);

#endif
