// A snapshot of a heap of two million objects, four references each, through 1 MB in Block into a
// sink that discards: the time for which the host stands still, and what it needs of memory.
#include <weir/heap.h>
#include <weir/session.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "suites.h"

namespace bench
{
namespace
{

constexpr std::uint64_t edges = 4;

void ask(void *)
{
}

std::uint64_t address_of(std::uint64_t object)
{
    return (object + 1) << 4;
}

void walk(void *context, weir_heap_graph *graph)
{
    std::uint64_t objects = *static_cast<std::uint64_t *>(context);
    weir_heap_type(graph, 8, "object", 0, 0);
    weir_heap_root(graph, WEIR_HEAP_ROOT_STACK, 0, address_of(0), 0);
    for (std::uint64_t i = 0; i < objects; i++) {
        if (!weir_heap_visit(graph, address_of(i)))
            weir_heap_fail(graph, "an object was met twice");
        weir_heap_node(graph, address_of(i), 56, 8);
        for (std::uint64_t j = 0; j < edges; j++)
            weir_heap_edge(graph, address_of((i * 7919 + j) % objects));
    }
}

bool discard(void *bytes, const void *, size_t count)
{
    *static_cast<std::uint64_t *>(bytes) += count;
    return true;
}

weir_session *session_start(std::uint64_t *bytes)
{
    weir_session *session = nullptr;
    weir_error error{};
    weir_session_config config = weir_session_config_init();
    config.providers = "Microsoft-Windows-DotNETRuntime:0x1980001:5";
    config.mode = WEIR_MODE_BLOCK;
    config.budget_bytes = 1u << 20;
    config.sink.write = discard;
    config.sink.context = bytes;
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK) {
        std::fprintf(stderr, "weir-bench: heap: %s\n", error.text);
        std::exit(1);
    }
    return session;
}

void snapshot(benchmark::State &state)
{
    std::uint64_t objects = given.sized<std::uint64_t>(2000000, 20000), bytes = 0;
    weir_heap_host host = WEIR_HEAP_HOST_INIT;
    host.context = &objects;
    host.request = ask;
    host.walk = walk;
    bool is_whole = weir_heap_register(&host, nullptr) == WEIR_OK;
    for (auto _ : state) {
        weir_session *session = session_start(&bytes);
        auto before = std::chrono::steady_clock::now();
        is_whole &= weir_heap_serve() == 1;
        std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
        is_whole &= weir_session_stop(session, nullptr) == WEIR_OK;
        is_whole &= weir_session_destroy(session) == WEIR_OK;
        state.SetIterationTime(taken.count());
    }
    weir_heap_unregister();
    is_whole &=
        bytes >= static_cast<std::uint64_t>(state.iterations()) * objects * (32 + 12 * edges);
    state.counters["bytes_per_object"] = static_cast<double>(bytes) /
                                         static_cast<double>(state.iterations()) /
                                         static_cast<double>(objects);
    if (!is_whole)
        state.SkipWithError("the snapshot is not whole");
}

} // namespace

void register_heap()
{
    add("heap/snapshot/objects:2000000", needs::two_processors, snapshot)->Iterations(1);
}

} // namespace bench
