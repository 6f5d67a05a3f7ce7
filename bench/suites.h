/* Shared by the suites of weir-bench. */
#ifndef BENCH_SUITES_H
#define BENCH_SUITES_H

#include <benchmark/benchmark.h>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel.h"
#include "machine.h"

namespace bench
{

/* Events in a burst: it fits into the budget and is long compared with a reading of the clock.
 */
constexpr std::uint64_t burst_events = 10000;

/* Events after which a producer pauses for longer than the drain needs for them, so that a drain
 * that works on another processor keeps up. */
constexpr std::uint64_t chunk_events = 1000;
void pause_for_drain();

/* Least bytes of an event in the stream: flags, time, payload. */
constexpr std::uint64_t stream_bytes_min(std::uint64_t payload_bytes)
{
    return payload_bytes + 2;
}

/* A budget that holds two bursts of all threads, so that none runs out of room; and hardly more, so
 * that the drain, which comes back when a quarter of the budget should be full, comes back at once
 * when it is let go. */
constexpr std::uint64_t budget_bytes(std::uint64_t payload_bytes, std::uint64_t threads)
{
    return 2 * threads * burst_events * (payload_bytes + 8) + (std::uint64_t{128} << 10);
}

/* The events that several suites have, by payload. */
struct sized_kernel {
    int payload_bytes;
    bench_kernel kernel;
};
constexpr sized_kernel sized_kernels[] = {{0, bench_emit_0},     {8, bench_emit_8},
                                          {16, bench_emit_16},   {32, bench_emit_32},
                                          {128, bench_emit_128}, {1024, bench_emit_1024}};

/* The suites' settings from the command line. */
struct settings {
    bool is_smoke = false;      /* run only enough to show that everything works */
    double brim_seconds = 0.25; /* of a run of suite brim */

    /* The full size, or the size for a smoke run. */
    template <class number> number sized(number full, number smoke) const
    {
        return is_smoke ? smoke : full;
    }
};
extern settings given;

double median(std::vector<double> values);
struct spread {
    double median = 0, least = 0, greatest = 0;
};
spread spread_of(const std::vector<double> &values);

/* Counters of the row: the state of the machine before and after. */
void report_machine(benchmark::State &state, const bench_machine &before,
                    const bench_machine &after);

/* What a benchmark's figures depend on: the processor that its thread is on, or two of them and
 * their distance. A benchmark with several threads depends on two in any case. A burst does not,
 * although another processor reads what it writes: it costs the same at every distance. */
enum class needs { one_processor, two_processors };

/* Registers a benchmark. Each of its rows has the state of the machine before and after it. */
template <class Run, class... Arguments>
benchmark::internal::Benchmark *add(const std::string &name, needs what, Run run,
                                    Arguments... arguments)
{
    auto in_state = [=](benchmark::State &state) {
        if (state.thread_index() != 0)
            return run(state, arguments...);
        bool is_parallel = what == needs::two_processors || state.threads() > 1;
        bench_machine before = bench_machine_take(is_parallel);
        run(state, arguments...);
        report_machine(state, before, bench_machine_take(is_parallel));
    };
    return benchmark::RegisterBenchmark(name.c_str(), in_state)->UseManualTime();
}

void add_context(); /* describes the machine and the build */
void register_floor();
void register_emit();
void register_server();
void register_sessions();
void register_drain();
void register_brim();
void register_reader();
void register_heap();
void register_ratios();

} // namespace bench

#endif
