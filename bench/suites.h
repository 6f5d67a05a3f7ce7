/* What the suites of weir-bench, the program, share. */
#ifndef BENCH_SUITES_H
#define BENCH_SUITES_H

#include <benchmark/benchmark.h>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel.h"

namespace bench
{

/* How many events a burst has: it fits into the budget and is long beside a reading of the clock.
 */
constexpr std::uint64_t burst_events = 10000;

/* Bytes of an event of one field kind in the stream, at least: flags, time, payload. */
constexpr std::uint64_t stream_bytes_min(std::uint64_t payload_bytes)
{
    return payload_bytes + 2;
}

/* A budget that holds four bursts of all threads: so that a burst never meets its end, and retires
 * enough segments that the drain, which wakes at a sixteenth, is wakened by each. */
constexpr std::uint64_t budget_bytes(std::uint64_t payload_bytes, std::uint64_t threads)
{
    return 4 * threads * burst_events * (payload_bytes + 16) + (std::uint64_t{256} << 10);
}

/* The events that several suites have, by payload. */
struct sized_kernel {
    int payload_bytes;
    bench_kernel kernel;
};
constexpr sized_kernel sized_kernels[] = {{0, bench_emit_0},     {8, bench_emit_8},
                                          {16, bench_emit_16},   {32, bench_emit_32},
                                          {128, bench_emit_128}, {1024, bench_emit_1024}};

/* What the command line says of the suites. */
struct settings {
    bool is_smoke = false;      /* as little as shows that it works */
    double brim_seconds = 0.25; /* of a run of suite brim */

    /* One of a full size and of one that is enough for a smoke run. */
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

/* A ratio, or a difference in nanoseconds, with its spread: counters of the benchmark, and a line
 * under the report, which begins with `name`. */
void report_ratio(benchmark::State &state, const char *name, const spread &of, bool is_difference);

void add_context(); /* what the figures were taken on */
void register_floor();
void register_emit();
void register_sessions();
void register_drain();
void register_brim();
void register_reader();
void register_ratios();
/* One line per ratio that was measured. */
std::string ratio_lines();

} // namespace bench

#endif
