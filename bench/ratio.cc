// Ratios: two kernels in turn, burst by burst in one run, because nanoseconds of two runs on a
// machine that is not ours alone do not compare. The processor's speed drifts over milliseconds; a
// pair of bursts does not notice. A group's ratio is that of its medians; what is reported is the
// median over the groups, with the least and the greatest.
#include <benchmark/benchmark.h>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "harness.h"
#include "kernel.h"
#include "rig.h"

namespace bench
{
namespace
{

constexpr int groups = 15, rounds = 31;

struct pair {
    const char *name; // of the quotient or difference, in the report's last lines
    bench_kernel measured, reference;
    std::uint64_t payload_bytes; // 0: the measured kernel writes nothing that must be drained
    std::uint64_t budget;        // 0: no session
    bool is_difference;
};

struct spread {
    double median = 0, least = 0, greatest = 0;
};

std::vector<std::pair<const pair *, spread>> results;

double median(std::vector<double> values)
{
    auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

spread spread_of(const std::vector<double> &values)
{
    auto ends = std::minmax_element(values.begin(), values.end());
    return {median(values), *ends.first, *ends.second};
}

double burst_ns(bench_kernel kernel)
{
    std::uint64_t written;
    return bench_timed_s(kernel, burst_events, &written) * 1e9 / static_cast<double>(burst_events);
}

bool catch_up(bench_rig *rig, const pair &of)
{
    return of.payload_bytes == 0 ||
           bench_rig_drain(rig, burst_events * stream_bytes_min(of.payload_bytes), nullptr);
}

struct figures {
    std::vector<double> measured_ns, reference_ns, quotient;
    bool is_whole = true;
};

void measure_group(const pair &of, bench_rig *rig, figures *all)
{
    std::vector<double> measured, reference;
    for (int round = 0; round < rounds; round++) {
        reference.push_back(burst_ns(of.reference));
        measured.push_back(burst_ns(of.measured));
        all->is_whole &= catch_up(rig, of);
    }
    double a = median(measured), b = median(reference);
    all->measured_ns.push_back(a);
    all->reference_ns.push_back(b);
    all->quotient.push_back(of.is_difference ? a - b : a / b);
}

figures measure(const pair &of)
{
    figures all, warm;
    bench_rig *rig = nullptr;
    if (of.budget)
        rig = bench_rig_start(of.budget, of.payload_bytes ? 32768 : 4096);
    measure_group(of, rig, &warm);
    for (int group = 0; group < groups; group++)
        measure_group(of, rig, &all);
    if (rig)
        all.is_whole &= bench_rig_stop(rig);
    return all;
}

void run(benchmark::State &state, const pair *of)
{
    figures all;
    for (auto _ : state) {
        all = measure(*of);
        state.SetIterationTime(median(all.measured_ns) * 1e-9);
    }
    if (!all.is_whole) {
        state.SkipWithError("events were lost: the figure would be a mixture");
        return;
    }
    spread quotient = spread_of(all.quotient);
    state.counters[of->is_difference ? "difference_ns" : "ratio"] = quotient.median;
    state.counters["least"] = quotient.least;
    state.counters["greatest"] = quotient.greatest;
    state.counters["measured_ns"] = median(all.measured_ns);
    state.counters["reference_ns"] = median(all.reference_ns);
    results.emplace_back(of, quotient);
}

const pair pairs[] = {
    {"enabled/floor at 32 bytes", bench_emit_32, bench_floor, 32, budget_bytes(32, 1), false},
    {"enabled/floor at 32 bytes, both without the clock", bench_emit_32_no_clock,
     bench_floor_no_clock, 32, budget_bytes(32, 1), false},
    {"dropped/floor at 32 bytes", bench_emit_32, bench_floor, 0, 2 * 4096, false},
    {"disabled - empty loop", bench_disabled, bench_empty, 0, 0, true},
};
const char *const benchmark_names[] = {"ratio/enabled", "ratio/enabled_no_clock", "ratio/dropped",
                                       "ratio/disabled"};

} // namespace

void register_ratios()
{
    for (std::size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        benchmark::RegisterBenchmark(benchmark_names[i], run, &pairs[i])
            ->UseManualTime()
            ->Iterations(1);
}

std::string ratio_lines()
{
    std::string lines;
    char line[160];
    for (const auto &result : results) {
        const char *format =
            result.first->is_difference ? "%s: %.2f ns (%.2f..%.2f)\n" : "%s: %.2fx (%.2f..%.2f)\n";
        std::snprintf(line, sizeof line, format, result.first->name, result.second.median,
                      result.second.least, result.second.greatest);
        lines += line;
    }
    return lines;
}

} // namespace bench
