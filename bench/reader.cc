// How fast the independent reader of tools/ decodes a stream that the library wrote: from memory,
// in file order, and by time.
#include <cstdlib>

#include "kernel_reader.h"
#include "sessions.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

void decode(benchmark::State &state, sized_kernel sized, std::uint32_t threads, bool by_time)
{
    std::uint64_t events = given.sized<std::uint64_t>(200000, 20000) / threads;
    bench_recording recording = bench_record(sized.kernel, threads, events);
    bool is_whole = true;
    double bytes = 0;
    while (state.KeepRunningBatch(benchmark::IterationCount(recording.events))) {
        double start_s = bench_now_s(CLOCK_THREAD_CPUTIME_ID);
        is_whole &= bench_read(recording.bytes, recording.count, by_time) >= recording.events;
        state.SetIterationTime(bench_now_s(CLOCK_THREAD_CPUTIME_ID) - start_s);
        bytes += static_cast<double>(recording.count);
    }
    state.counters["bytes_per_s"] = benchmark::Counter(bytes, benchmark::Counter::kIsRate);
    state.counters["events_per_s"] =
        benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    std::free(recording.bytes);
    if (!is_whole)
        state.SkipWithError("the reader did not find the events that were written");
}

} // namespace

void register_reader()
{
    for (const sized_kernel &sized : sized_kernels) {
        if (sized.payload_bytes == 16)
            continue;
        std::string name = "reader/decode/payload:" + std::to_string(sized.payload_bytes);
        add(name, needs::one_processor, decode, sized, 1u, false);
    }
    add("reader/by_time/payload:32/producers:4", needs::one_processor, decode,
        sized_kernel{32, bench_emit_32}, 4u, true);
}

} // namespace bench
