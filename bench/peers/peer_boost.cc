// Boost's queue for one writer and one reader, one for each thread, with one reader for all.
#include <boost/lockfree/spsc_queue.hpp>
#include <memory>
#include <vector>

#include "peer_queues.h"

namespace
{

struct Queue {
    explicit Queue(std::size_t capacity) : elements(capacity)
    {
    }
    boost::lockfree::spsc_queue<peer_element> elements;
    uint64_t refused = 0; // the writer's
};

const char *const variants[] = {"drop", "wait", nullptr};
std::vector<std::unique_ptr<Queue>> queues;
uint64_t queue_elements;
bool waits;

size_t take(uint32_t queue, peer_element *to, size_t max)
{
    return queues[queue]->elements.pop(to, max);
}

void open_queues(const peer_options *options)
{
    queue_elements = peer_queue_elements(options);
    waits = peer_variant_is(options, "wait");
    for (uint32_t i = 0; i < options->threads; i++)
        queues.push_back(std::make_unique<Queue>(queue_elements));
    peer_queues_start(options, take);
}

void emit_queue(uint32_t thread, uint64_t first, uint64_t count)
{
    Queue &queue = *queues[thread];
    for (uint64_t i = first; i < first + count; i++) {
        const peer_element element = peer_element_of(i, thread);
        while (!queue.elements.push(element)) {
            if (!waits) {
                queue.refused++;
                break;
            }
            sched_yield();
        }
    }
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

extern "C" const struct peer peer = {"boost",      variants,   open_queues,
                                     close_queues, emit_queue, nullptr};
