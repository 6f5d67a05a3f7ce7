// How fast the drain encodes segments that another processor has filled, in block order, into a
// sink that discards or into a tmpfs. Time is processor time of the drain thread; wall time is also
// reported.
#include <weir/session.h>

#include "rig.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

// With 32 bytes of payload, 4 MB of records: more than a second-level cache, as in a session with
// the default budget.
constexpr std::uint64_t drain_records_bytes = 4000000;

// A record with a stack has 48 bytes more than its payload and its header: the same memory.
std::uint64_t events_of(const sized_kernel &sized)
{
    std::uint64_t more = sized.kernel == bench_emit_32_stack ? 48 : 24;
    bool has_more = sized.kernel == bench_emit_32_stack || sized.kernel == bench_emit_32_activity;
    return drain_records_bytes /
           (static_cast<std::uint64_t>(sized.payload_bytes + 8) + (has_more ? more : 0));
}

struct variant {
    bool to_tmpfs;
    std::uint8_t format;
};

bench_rig *start(variant how)
{
    bench_rig_options options{};
    options.budget_bytes = 8u << 20; /* two batches: see budget_bytes() */
    options.segment_bytes = 32768;
    options.to_tmpfs = how.to_tmpfs;
    options.format = how.format;
    bench_bind(1); // the drain thread stays on the processor where it is started
    bench_rig *rig = bench_rig_start(&options);
    bench_bind(0);
    return rig;
}

void drain(benchmark::State &state, sized_kernel sized, variant how)
{
    bench_rig *rig = start(how);
    std::uint64_t batch = events_of(sized), bytes = 0;
    std::uint64_t least = batch * stream_bytes_min(static_cast<std::uint64_t>(sized.payload_bytes));
    double wall_s = 0;
    bool is_whole = true;
    while (state.KeepRunningBatch(benchmark::IterationCount(batch))) {
        bench_drained drained;
        std::uint64_t written;
        bench_rig_timed_s(rig, sized.kernel, batch, &written);
        is_whole &= bench_rig_drain(rig, least, &drained) && written == batch;
        state.SetIterationTime(drained.cpu_s);
        wall_s += drained.wall_s;
        bytes += drained.bytes;
    }
    bench_bind(-1);
    is_whole &= bench_rig_stop(rig);
    auto events = static_cast<double>(state.iterations());
    state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
    state.counters["bytes_per_s"] =
        benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kIsRate);
    state.counters["bytes_per_event"] = static_cast<double>(bytes) / events;
    state.counters["wall_ns"] = wall_s * 1e9 / events;
    if (!is_whole)
        state.SkipWithError("events were lost: the figure would be a mixture");
}

void add_drain(const char *name, const sized_kernel &sized, variant how, const char *rest = "")
{
    std::string full = std::string(name) + "/payload:" + std::to_string(sized.payload_bytes) + rest;
    add(full, needs::two_processors, drain, sized, how);
}

} // namespace

void register_drain()
{
    for (const sized_kernel &sized : sized_kernels)
        if (sized.payload_bytes != 16)
            add_drain("drain/encode", sized, {false, WEIR_FORMAT_NETTRACE_4});
    add_drain("drain/encode", {32, bench_emit_32_stack}, {false, WEIR_FORMAT_NETTRACE_4},
              "/with:stack");
    add_drain("drain/encode", {32, bench_emit_32_activity}, {false, WEIR_FORMAT_NETTRACE_4},
              "/with:activity");
    add_drain("drain/encode", {32, bench_emit_32}, {false, WEIR_FORMAT_NETTRACE_6}, "/format:6");
    for (const sized_kernel &sized : sized_kernels)
        if (sized.payload_bytes == 32 || sized.payload_bytes == 1024)
            add_drain("drain/tmpfs", sized, {true, WEIR_FORMAT_NETTRACE_4});
}

} // namespace bench
