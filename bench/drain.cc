// What the drain can encode: from segments that another processor has filled, in block order, into
// a sink that discards. Time is processor time of the drain thread; wall time is reported beside
// it.
#include <benchmark/benchmark.h>

#include "harness.h"
#include "kernel.h"
#include "rig.h"

namespace bench
{
namespace
{

// 4 MB of records: more than a second-level cache, as in a session with the default budget.
constexpr std::uint64_t drain_events = 100000;

void encode(benchmark::State &state)
{
    bench_bind(1); // the drain thread stays where it is started
    bench_rig *rig = bench_rig_start(16u << 20, 32768);
    bench_bind(0);
    double wall_s = 0;
    std::uint64_t bytes = 0;
    bool is_whole = true;
    while (state.KeepRunningBatch(benchmark::IterationCount(drain_events))) {
        bench_drained drained;
        is_whole &= bench_emit_32(drain_events) == drain_events;
        is_whole &= bench_rig_drain(rig, drain_events * stream_bytes_min(32), &drained);
        state.SetIterationTime(drained.cpu_s);
        wall_s += drained.wall_s;
        bytes += drained.bytes;
    }
    bench_bind(-1);
    is_whole &= bench_rig_stop(rig);
    auto events = static_cast<double>(state.iterations());
    state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
    state.counters["wall_ns"] = wall_s * 1e9 / events;
    state.counters["stream_bytes_per_event"] = static_cast<double>(bytes) / events;
    if (!is_whole)
        state.SkipWithError("events were lost: the figure would be a mixture");
}

} // namespace

void register_drain()
{
    benchmark::RegisterBenchmark("drain_encode/32", encode)->UseManualTime();
}

} // namespace bench
