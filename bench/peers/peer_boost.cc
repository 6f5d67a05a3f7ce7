// Boost's single-producer, single-consumer queue: one per thread, with one reader for all.
#include <boost/lockfree/spsc_queue.hpp>
#include <memory>
#include <type_traits>
#include <vector>

#include "peer_queues.h"

namespace
{

// The queue copies its element. A whole structure is copied in pairs of words that were stored one
// by one just before, so the copy waits until they have left the processor's store buffer. Copied
// word by word, the compiler stores into the queue from registers.
struct Element {
    uint64_t ticks, id, a, b, c, d;

    Element() = default;
    Element(const Element &of) : ticks(of.ticks), id(of.id), a(of.a), b(of.b), c(of.c), d(of.d)
    {
    }
    Element &operator=(const Element &) = default;
    explicit Element(const peer_element &of)
        : ticks(of.ticks), id(of.id), a(of.words[0]), b(of.words[1]), c(of.words[2]), d(of.words[3])
    {
    }
};
static_assert(sizeof(Element) == sizeof(peer_element) && std::is_standard_layout<Element>::value,
              "the reader casts one to the other");

struct Queue {
    explicit Queue(std::size_t capacity) : elements(capacity)
    {
    }
    boost::lockfree::spsc_queue<Element> elements;
    uint64_t refused = 0; // the writer's
};

const char *const variants[] = {"drop", "wait", nullptr};
std::vector<std::unique_ptr<Queue>> queues;
uint64_t queue_elements;
bool waits;

size_t take(uint32_t queue, peer_element *to, size_t max)
{
    return queues[queue]->elements.pop(reinterpret_cast<Element *>(to), max);
}

void open_queues(const peer_options *options)
{
    queue_elements = peer_queue_elements(options);
    waits = peer_variant_is(options, "wait");
    for (uint32_t i = 0; i < options->threads; i++)
        queues.push_back(std::make_unique<Queue>(queue_elements));
    peer_queues_start(options, queue_elements, take);
}

// Checked first, so that an event without room does not pay for the clock.
bool has_room(Queue &queue)
{
    while (queue.elements.write_available() == 0) {
        if (!waits) {
            queue.refused++;
            return false;
        }
        sched_yield();
    }
    return true;
}

void emit_queue(uint32_t thread, uint64_t first, uint64_t count)
{
    Queue &queue = *queues[thread];
    for (uint64_t i = first; i < first + count; i++)
        if (has_room(queue))
            queue.elements.push(Element(peer_element_of(i, thread)));
}

void close_queues(peer_outcome *outcome)
{
    uint64_t refused = 0;
    for (const auto &queue : queues)
        refused += queue->refused;
    peer_queues_stop(outcome, refused, queue_elements * queues.size());
    queues.clear();
}

} // namespace

extern "C" const struct peer peer = {"boost", variants, open_queues, close_queues, emit_queue,
                                     nullptr, 0};
