// Lower bounds: loops without Weir in them. An event is compared with the first of them.
#include "rig.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

constexpr std::uint64_t round_trips = 2000;

// The benchmark library divides the time of all threads by the number of threads and by the
// iterations of all. The cost of an event is that on one thread.
void loop(benchmark::State &state, bench_kernel kernel)
{
    std::uint64_t done;
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events)))
        state.SetIterationTime(bench_timed_s(kernel, burst_events, &done) * state.threads());
}

void round_trip(benchmark::State &state)
{
    while (state.KeepRunningBatch(benchmark::IterationCount(round_trips))) {
        double seconds = bench_futex_round_trips_s(round_trips);
        if (seconds < 0)
            state.SkipWithError("a second thread cannot be started");
        state.SetIterationTime(seconds);
    }
}

benchmark::internal::Benchmark *add(const char *name, bench_kernel kernel)
{
    return benchmark::RegisterBenchmark(name, loop, kernel)->UseManualTime();
}

} // namespace

void register_floor()
{
    add("floor/32", bench_floor)->Threads(1)->Threads(2);
    add("floor/32_no_clock", bench_floor_no_clock)->Threads(1)->Threads(2);
    add("floor/empty_loop", bench_empty)->Threads(1)->Threads(2);
    add("floor/arithmetic", bench_arithmetic);
    add("floor/clock", bench_clock);
    add("floor/copy_64", bench_copy_64);
    add("floor/lock_add", bench_lock_add);
    benchmark::RegisterBenchmark("floor/futex_round_trip", round_trip)->UseManualTime();
}

} // namespace bench
