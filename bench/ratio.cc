// Ratios: two kernels in turn, burst by burst in one run, because nanoseconds of two runs on a
// shared machine are not comparable. The processor's speed drifts over milliseconds, which a pair
// of bursts does not notice. A group's ratio is that of its medians; the report gives the median
// over the groups, with the least and the greatest.
#include <algorithm>
#include <cstdio>

#include "rig.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

struct pair {
    const char *benchmark;
    const char *name; // of the ratio or difference, in the report's last lines
    bench_kernel measured, reference;
    std::uint64_t payload_bytes; // 0: the measured kernel writes nothing to drain
    std::uint64_t budget;        // 0: no session
    bool is_difference;
    bool blocks;     // mode BLOCK
    bool is_dropped; // every event, once the warm-up bursts have filled the budget
};

std::string lines;

double per_event_ns(double seconds)
{
    return seconds * 1e9 / static_cast<double>(burst_events);
}

// Without a session a kernel is timed alone.
double measured_ns(const pair &of, bench_rig *rig, std::uint64_t *written)
{
    return per_event_ns(rig ? bench_rig_timed_s(rig, of.measured, burst_events, written)
                            : bench_timed_s(of.measured, burst_events, written));
}

// The kernel met the condition that it measures: room for all events, or for none.
bool is_expected(const pair &of, std::uint64_t written)
{
    return written == (of.is_dropped ? 0 : burst_events);
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
    for (int round = 0; round < given.sized(31, 3); round++) {
        std::uint64_t written, done;
        reference.push_back(per_event_ns(bench_timed_s(of.reference, burst_events, &done)));
        measured.push_back(measured_ns(of, rig, &written));
        all->is_whole &= catch_up(rig, of) && done == burst_events && is_expected(of, written);
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
    bench_rig_options options{};
    options.budget_bytes = of.budget;
    options.segment_bytes = of.payload_bytes ? 32768 : 4096;
    options.blocks = of.blocks;
    if (of.budget)
        rig = bench_rig_start(&options);
    measure_group(of, rig, &warm);
    all.is_whole = of.is_dropped || warm.is_whole; // a kernel that drops fills the budget first
    for (int group = 0; group < given.sized(15, 2); group++)
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
        state.SkipWithError("a burst found room that it should not have, or no room: the figure "
                            "would be a mixture");
        return;
    }
    report_ratio(state, of->name, spread_of(all.quotient), of->is_difference);
    state.counters["measured_ns"] = median(all.measured_ns);
    state.counters["reference_ns"] = median(all.reference_ns);
}

const pair pairs[] = {
    {"ratio/enabled", "enabled/floor at 32 bytes", bench_emit_32, bench_floor, 32,
     budget_bytes(32, 1), false, false, false},
    {"ratio/enabled_block", "enabled/floor at 32 bytes, mode BLOCK", bench_emit_32, bench_floor, 32,
     budget_bytes(32, 1), false, true, false},
    {"ratio/enabled_no_clock", "enabled/floor at 32 bytes, both without the clock",
     bench_emit_32_no_clock, bench_floor_no_clock, 32, budget_bytes(32, 1), false, false, false},
    {"ratio/at", "with the caller's stamp/floor at 32 bytes, both without the clock",
     bench_emit_32_at, bench_floor_no_clock, 32, budget_bytes(32, 1), false, false, false},
    {"ratio/batch", "batches of 16 with one reading of the clock/floor without the clock",
     bench_emit_32_batch, bench_floor_no_clock, 32, budget_bytes(32, 1), false, false, false},
    {"ratio/batch_of_floor", "batches of 16/floor, both with one reading of the clock",
     bench_emit_32_batch, bench_floor_batch, 32, budget_bytes(32, 1), false, false, false},
    {"ratio/dropped", "dropped/floor at 32 bytes", bench_emit_32, bench_floor, 0, 2 * 4096, false,
     false, true},
    {"ratio/disabled", "disabled - empty loop", bench_disabled, bench_empty, 0, 0, true, false,
     false},
};

} // namespace

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

void report_ratio(benchmark::State &state, const char *name, const spread &of, bool is_difference)
{
    char line[160];
    const char *format = is_difference ? "%s: %.2f ns (%.2f..%.2f)\n" : "%s: %.2fx (%.2f..%.2f)\n";
    std::snprintf(line, sizeof line, format, name, of.median, of.least, of.greatest);
    lines += line;
    state.counters[is_difference ? "difference_ns" : "ratio"] = of.median;
    state.counters["least"] = of.least;
    state.counters["greatest"] = of.greatest;
}

void register_ratios()
{
    for (const pair &of : pairs)
        benchmark::RegisterBenchmark(of.benchmark, run, &of)->UseManualTime()->Iterations(1);
}

std::string ratio_lines()
{
    return lines;
}

} // namespace bench
