// Ratios: two kernels in turn, burst by burst in one run, because nanoseconds of two runs on a
// shared machine are not comparable. The processor's speed drifts over milliseconds, which a pair
// of bursts does not notice. A repetition is a group, whose ratio is that of its medians; each has
// the state of the machine that it was measured in.
#include <algorithm>

#include "rig.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

struct pair {
    const char *benchmark;
    bench_kernel measured, reference;
    std::uint64_t payload_bytes; // 0: the measured kernel writes nothing to drain
    std::uint64_t budget;        // 0: no session
    bool is_difference;
    bool blocks;      // mode BLOCK, of several sessions the last
    bool is_dropped;  // every event, once the warm-up bursts have filled the budget
    bool is_of_event; // the reference emits, too
    std::uint32_t sessions = 1;
};

constexpr int warm_rounds = 8; // two bursts fill the budget once

double per_event_ns(double seconds)
{
    return seconds * 1e9 / static_cast<double>(burst_events);
}

// Without a session a kernel is timed alone.
double timed_ns(bench_kernel kernel, bench_rig *rig, std::uint64_t *written)
{
    return per_event_ns(rig ? bench_rig_timed_s(rig, kernel, burst_events, written)
                            : bench_timed_s(kernel, burst_events, written));
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
    double measured_ns = 0, reference_ns = 0;
    bool is_whole = true;
};

figures measure_group(const pair &of, bench_rig *rig, int rounds)
{
    std::vector<double> measured, reference;
    figures all;
    for (int round = 0; round < rounds; round++) {
        std::uint64_t written, done;
        reference.push_back(timed_ns(of.reference, of.is_of_event ? rig : nullptr, &done));
        all.is_whole &= done == burst_events && (!of.is_of_event || catch_up(rig, of));
        measured.push_back(timed_ns(of.measured, rig, &written));
        all.is_whole &= catch_up(rig, of) && is_expected(of, written);
    }
    all.measured_ns = median(measured);
    all.reference_ns = median(reference);
    return all;
}

bench_rig *start(const pair &of)
{
    bench_rig_options options{};
    options.budget_bytes = of.budget;
    options.segment_bytes = of.payload_bytes ? 32768 : 4096;
    options.blocks = of.blocks;
    options.sessions = of.sessions;
    return of.budget ? bench_rig_start(&options) : nullptr;
}

figures measure(const pair &of)
{
    bench_rig *rig = start(of);
    bool is_warm = measure_group(of, rig, warm_rounds).is_whole;
    figures all = measure_group(of, rig, given.sized(31, 3));
    all.is_whole &= of.is_dropped || is_warm; // a kernel that drops fills the budget first
    if (rig)
        all.is_whole &= bench_rig_stop(rig);
    return all;
}

void run(benchmark::State &state, const pair *of)
{
    figures all;
    for (auto _ : state) {
        all = measure(*of);
        state.SetIterationTime(all.measured_ns * 1e-9);
    }
    if (!all.is_whole) {
        state.SkipWithError("a burst found room that it should not have, or no room: the figure "
                            "would be a mixture");
        return;
    }
    state.counters[of->is_difference ? "difference_ns" : "ratio"] =
        of->is_difference ? all.measured_ns - all.reference_ns : all.measured_ns / all.reference_ns;
    state.counters["measured_ns"] = all.measured_ns;
    state.counters["reference_ns"] = all.reference_ns;
}

const pair pairs[] = {
    {"ratio/enabled", bench_emit_32, bench_floor, 32, budget_bytes(32, 1), false, false, false,
     false},
    {"ratio/enabled_block", bench_emit_32, bench_floor, 32, budget_bytes(32, 1), false, true, false,
     false},
    {"ratio/enabled/sessions:2", bench_emit_32, bench_floor, 32, budget_bytes(32, 1), false, false,
     false, false, 2},
    {"ratio/enabled/sessions:8", bench_emit_32, bench_floor, 32, budget_bytes(32, 1), false, false,
     false, false, 8},
    {"ratio/enabled_drop_block", bench_emit_32, bench_floor, 32, budget_bytes(32, 1), false, true,
     false, false, 2},
    {"ratio/enabled_no_clock", bench_emit_32_no_clock, bench_floor_no_clock, 32,
     budget_bytes(32, 1), false, false, false, false},
    {"ratio/at", bench_emit_32_at, bench_floor_no_clock, 32, budget_bytes(32, 1), false, false,
     false, false},
    {"ratio/batch", bench_emit_32_batch, bench_floor_no_clock, 32, budget_bytes(32, 1), false,
     false, false, false},
    {"ratio/batch_of_floor", bench_emit_32_batch, bench_floor_batch, 32, budget_bytes(32, 1), false,
     false, false, false},
    {"ratio/plugin", bench_emit_32_plugin, bench_emit_32, 32, budget_bytes(32, 1), false, false,
     false, true},
    {"ratio/dropped", bench_emit_32, bench_floor, 0, 2 * 4096, false, false, true, false},
    {"ratio/disabled", bench_disabled, bench_empty, 0, 0, true, false, false, false},
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

void register_ratios()
{
    for (const pair &of : pairs)
        add(of.benchmark, needs::one_processor, run, &of)
            ->Iterations(1)
            ->Repetitions(given.sized(15, 2));
}

} // namespace bench
