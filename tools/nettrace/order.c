#include "order.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)1024 * 1024)

struct wt_order_node {
    struct wt_order_node *next;
    struct wt_order_chunk *chunk;
    int64_t time;
    uint64_t arrival; /* events with equal times leave in the order of arrival */
    bool is_gap;
    union {
        struct wt_event event;
        struct wt_gap gap;
    } as;
};

/* A chunk is freed when the last node in it has left, so that memory is proportional to the events
 * held back and not to all that have passed. */
struct wt_order_chunk {
    struct wt_order_chunk *next;
    size_t size, used, live;
    alignas(max_align_t) unsigned char bytes[];
};

static bool is_before(const struct wt_order_queue *a, const struct wt_order_queue *b)
{
    if (a->first->time != b->first->time)
        return a->first->time < b->first->time;
    return a->first->arrival < b->first->arrival;
}

static void sift_up(struct wt_order *order, uint32_t at)
{
    struct wt_order_queue **heap = order->heap;
    while (at > 0 && is_before(heap[at], heap[(at - 1) / 2])) {
        struct wt_order_queue *other = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = heap[at];
        heap[at] = other;
        at = (at - 1) / 2;
    }
}

static void sift_down(struct wt_order *order, uint32_t at)
{
    struct wt_order_queue **heap = order->heap;
    for (;;) {
        uint32_t least = at;
        uint32_t left = 2 * at + 1;
        if (left < order->heap_count && is_before(heap[left], heap[least]))
            least = left;
        if (left + 1 < order->heap_count && is_before(heap[left + 1], heap[least]))
            least = left + 1;
        if (least == at)
            return;
        struct wt_order_queue *other = heap[least];
        heap[least] = heap[at];
        heap[at] = other;
        at = least;
    }
}

/* The array of queues may move as it grows, so the heap is rebuilt from it. */
static bool have_queue(struct wt_order *order, uint32_t index)
{
    if (index < order->queue_count)
        return true;
    uint32_t wanted = order->queue_count ? order->queue_count : 16;
    while (wanted <= index)
        wanted *= 2;
    struct wt_order_queue **heap = realloc(order->heap, wanted * sizeof(struct wt_order_queue *));
    if (!heap)
        return false;
    order->heap = heap;
    struct wt_order_queue *queues = calloc(wanted, sizeof(*queues));
    if (!queues)
        return false;
    if (order->queue_count)
        memcpy(queues, order->queues, order->queue_count * sizeof(*queues));
    for (uint32_t i = 0; i < order->heap_count; i++)
        heap[i] = queues + (heap[i] - order->queues);
    free(order->queues);
    order->queues = queues;
    order->queue_count = wanted;
    return true;
}

static struct wt_order_chunk *take_chunk(struct wt_order *order, size_t size)
{
    struct wt_order_chunk *spare = order->spare;
    if (spare && size <= spare->size) {
        order->spare = NULL;
        spare->used = 0;
        return spare;
    }
    size_t wanted = size > CHUNK_SIZE ? size : CHUNK_SIZE;
    struct wt_order_chunk *chunk = malloc(sizeof(*chunk) + wanted);
    if (chunk) {
        chunk->size = wanted;
        chunk->used = chunk->live = 0;
        order->bytes += sizeof(*chunk) + wanted;
    }
    return chunk;
}

static void drop_chunk(struct wt_order *order, struct wt_order_chunk *chunk)
{
    order->bytes -= sizeof(*chunk) + chunk->size;
    free(chunk);
}

static void give_back(struct wt_order *order, struct wt_order_chunk *chunk)
{
    if (--chunk->live > 0)
        return;
    if (chunk == order->current)
        chunk->used = 0;
    else if (!order->spare && chunk->size == CHUNK_SIZE)
        order->spare = chunk;
    else
        drop_chunk(order, chunk);
}

static struct wt_order_node *take_node(struct wt_order *order, size_t payload)
{
    const size_t align = alignof(max_align_t);
    size_t size = (sizeof(struct wt_order_node) + payload + align - 1) / align * align;
    struct wt_order_chunk *chunk = order->current;
    if (!chunk || size > chunk->size - chunk->used) {
        chunk = take_chunk(order, size);
        if (!chunk)
            return NULL;
        if (order->current && order->current->live == 0)
            drop_chunk(order, order->current);
        order->current = chunk;
    }
    struct wt_order_node *node = (void *)(chunk->bytes + chunk->used);
    chunk->used += size;
    chunk->live++;
    node->chunk = chunk;
    node->next = NULL;
    return node;
}

static void fill_node(struct wt_order_node *node, const struct wt_event *event,
                      const struct wt_gap *gap)
{
    node->is_gap = gap != NULL;
    if (gap) {
        node->as.gap = *gap;
        return;
    }
    uint8_t *payload = (uint8_t *)(node + 1);
    if (event->payload_size)
        memcpy(payload, event->payload, event->payload_size);
    node->as.event = *event;
    node->as.event.payload = payload;
    node->as.event.block = NULL;
}

enum wt_order_result wt_order_put(struct wt_order *order, const struct wt_event *event,
                                  const struct wt_gap *gap, int64_t time)
{
    uint32_t index = gap ? gap->thread->index : event->thread->index;
    if (order->bytes > order->limit)
        return WT_ORDER_LIMIT;
    struct wt_order_node *node = take_node(order, gap ? 0 : event->payload_size);
    if (!node)
        return WT_ORDER_MEMORY;
    if (!have_queue(order, index)) {
        give_back(order, node->chunk);
        return WT_ORDER_MEMORY;
    }
    fill_node(node, event, gap);
    node->time = time;
    node->arrival = order->arrivals++;
    struct wt_order_queue *queue = &order->queues[index];
    if (queue->first) {
        queue->last->next = node;
        queue->last = node;
        return WT_ORDER_OK;
    }
    queue->first = queue->last = node;
    order->heap[order->heap_count++] = queue;
    sift_up(order, order->heap_count - 1);
    return WT_ORDER_OK;
}

static struct wt_order_node *pop(struct wt_order *order)
{
    struct wt_order_queue *queue = order->heap[0];
    struct wt_order_node *node = queue->first;
    queue->first = node->next;
    if (!queue->first)
        order->heap[0] = order->heap[--order->heap_count];
    if (order->heap_count > 0)
        sift_down(order, 0);
    return node;
}

void wt_order_release(struct wt_order *order, int64_t until, const struct wt_handlers *handlers,
                      void *context, const bool *stop)
{
    while (order->heap_count > 0 && !*stop && order->heap[0]->first->time <= until) {
        struct wt_order_node *node = pop(order);
        if (node->is_gap && handlers->gap)
            handlers->gap(context, &node->as.gap);
        else if (!node->is_gap && handlers->event)
            handlers->event(context, &node->as.event);
        give_back(order, node->chunk);
    }
}

void wt_order_fini(struct wt_order *order)
{
    while (order->heap_count > 0)
        give_back(order, pop(order)->chunk);
    free(order->current);
    free(order->spare);
    free(order->heap);
    free(order->queues);
    memset(order, 0, sizeof(*order));
}
