// Costs of an event, in bursts: between two of them the drain, which stands still while they run,
// catches up untimed. So these are figures of the emitters' side alone.
#include <benchmark/benchmark.h>
#include <pthread.h>

#include "harness.h"
#include "kernel.h"
#include "rig.h"

namespace bench
{
namespace
{

bench_rig *rig;
pthread_barrier_t barrier;

// The benchmark library divides the time of all threads by their number and by the iterations of
// all of them. An event's cost is that of one thread.
void report(benchmark::State &state, double seconds)
{
    state.SetIterationTime(seconds * state.threads());
}

void loop(benchmark::State &state, bench_kernel kernel)
{
    std::uint64_t written;
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events)))
        report(state, bench_timed_s(kernel, burst_events, &written));
}

void burst_setup(const benchmark::State &state)
{
    auto threads = static_cast<std::uint64_t>(state.threads());
    rig = bench_rig_start(budget_bytes(static_cast<std::uint64_t>(state.range(0)), threads), 32768);
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
}

// Two segments and a drain that stands still: after the first hundred events there is no room.
void dropped_setup(const benchmark::State &state)
{
    rig = bench_rig_start(2 * 4096, 4096);
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(state.threads()));
}

void teardown(const benchmark::State &)
{
    pthread_barrier_destroy(&barrier);
    bench_rig_stop(rig);
    rig = nullptr;
}

// All threads have emitted their bursts; one of them lets the drain go on.
bool catch_up(const benchmark::State &state, std::uint64_t written)
{
    bool is_drained = true;
    pthread_barrier_wait(&barrier);
    if (state.thread_index() == 0)
        is_drained =
            bench_rig_drain(rig,
                            static_cast<std::uint64_t>(state.threads()) * written *
                                stream_bytes_min(static_cast<std::uint64_t>(state.range(0))),
                            nullptr);
    pthread_barrier_wait(&barrier);
    return is_drained && written == burst_events;
}

void burst(benchmark::State &state, bench_kernel kernel)
{
    std::uint64_t written;
    bool is_whole = true;
    for (int warm = 0; warm < 4; warm++) {
        bench_timed_s(kernel, burst_events, &written);
        is_whole &= catch_up(state, written);
    }
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events))) {
        report(state, bench_timed_s(kernel, burst_events, &written));
        is_whole &= catch_up(state, written);
    }
    if (!is_whole)
        state.SkipWithError("events of a burst were lost: the figure would be a mixture");
}

void dropped(benchmark::State &state)
{
    std::uint64_t written;
    bench_emit_32(burst_events);
    pthread_barrier_wait(&barrier);
    std::uint64_t written_late = 0;
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events))) {
        report(state, bench_timed_s(bench_emit_32, burst_events, &written));
        written_late += written;
    }
    if (written_late)
        state.SkipWithError("there was room for events that should have been dropped");
}

void add_loop(const char *name, bench_kernel kernel)
{
    benchmark::RegisterBenchmark(name, loop, kernel)->UseManualTime()->Threads(1)->Threads(2);
}

void add_burst(const char *name, bench_kernel kernel, int payload_bytes)
{
    benchmark::RegisterBenchmark(name, burst, kernel)
        ->Arg(payload_bytes)
        ->Setup(burst_setup)
        ->Teardown(teardown)
        ->UseManualTime()
        ->Threads(1)
        ->Threads(2);
}

} // namespace

void register_emit()
{
    add_loop("empty_loop", bench_empty);
    add_loop("disabled", bench_disabled);
    add_loop("floor/32", bench_floor);
    add_loop("floor_no_clock/32", bench_floor_no_clock);
    add_burst("enabled", bench_emit_0, 0);
    add_burst("enabled", bench_emit_16, 16);
    add_burst("enabled", bench_emit_32, 32);
    add_burst("enabled", bench_emit_128, 128);
    add_burst("enabled_no_clock", bench_emit_32_no_clock, 32);
    benchmark::RegisterBenchmark("dropped/32", dropped)
        ->Setup(dropped_setup)
        ->Teardown(teardown)
        ->UseManualTime()
        ->Threads(1)
        ->Threads(2);
}

} // namespace bench
