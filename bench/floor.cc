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

benchmark::internal::Benchmark *add_loop(const char *name, bench_kernel kernel)
{
    return add(name, needs::one_processor, loop, kernel);
}

} // namespace

void register_floor()
{
    add_loop("floor/32", bench_floor)->Threads(1)->Threads(2);
    add_loop("floor/32_no_clock", bench_floor_no_clock)->Threads(1)->Threads(2);
    add_loop("floor/empty_loop", bench_empty)->Threads(1)->Threads(2);
    add_loop("floor/arithmetic", bench_arithmetic);
    add_loop("floor/issue", bench_issue);
    add_loop("floor/clock", bench_clock);
    add_loop("floor/copy_64", bench_copy_64);
    add_loop("floor/lock_add", bench_lock_add);
    add("floor/futex_round_trip", needs::two_processors, round_trip);
}

} // namespace bench
