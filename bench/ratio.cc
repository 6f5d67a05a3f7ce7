// Ratios: two kernels in turn, burst by burst in one run, because nanoseconds of two runs on a
// shared machine are not comparable. The processor's speed drifts over milliseconds, which a pair
// of bursts does not notice. A repetition is a group, whose ratio is that of its medians; each has
// the state of the machine that it was measured in.
#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <thread>

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
    std::uint64_t payload_bytes = 32;           // 0: the measured kernel writes nothing to drain
    std::uint64_t budget = budget_bytes(32, 1); // 0: no session
    bool is_difference = false;
    bool is_dropped = false;  // every event, once the warm-up bursts have filled the budget
    bool is_of_event = false; // the reference emits, too
    bool blocks = false;      // mode BLOCK, of several sessions the last
    bool overwrites = false;  // mode OVERWRITE: there is always room, and nothing to drain
    std::uint32_t sessions = 1;
    int drain_on = 0;                    // the processor of the drain; the emitter is on 0
    bool is_open = false;                // the drain reads whenever it wants to
    std::uint64_t events = burst_events; // of a burst
    unsigned threads = 1;

    pair(const char *name, bench_kernel kernel, bench_kernel floor)
        : benchmark(name), measured(kernel), reference(floor)
    {
    }
    pair &in_block()
    {
        return blocks = true, *this;
    }
    pair &in_overwrite()
    {
        return overwrites = is_open = true, payload_bytes = 0, *this;
    }
    pair &beside_drain()
    {
        drain_on = 1;
        is_open = true;
        events = chunk_events;
        budget = 1u << 20;
        return *this;
    }
    pair &wanted_by(std::uint32_t count)
    {
        return sessions = count, *this;
    }
    pair &of_event()
    {
        return is_of_event = true, *this;
    }
    pair &dropped()
    {
        return is_dropped = true, payload_bytes = 0, budget = 2 * 4096, *this;
    }
    pair &less()
    {
        return is_difference = true, payload_bytes = budget = 0, *this;
    }
    pair &on_two_threads()
    {
        return threads = 2, budget = budget_bytes(32, 2), *this;
    }
};

constexpr int warm_rounds = 8; // two bursts fill the budget once
constexpr int attempts_max = 1000;

// Without a session a kernel is timed alone.
double timed_ns(bench_kernel kernel, std::uint64_t events, bench_rig *rig, std::uint64_t *written)
{
    double seconds = rig ? bench_rig_timed_s(rig, kernel, events, written)
                         : bench_timed_s(kernel, events, written);
    return seconds * 1e9 / static_cast<double>(events);
}

// The kernel met the condition that it measures: room for all events, or for none.
bool is_expected(const pair &of, std::uint64_t written)
{
    return written == (of.is_dropped ? 0 : of.events);
}

struct figures {
    double measured_ns = 0, reference_ns = 0;
    bool is_whole = true;
};

// The threads of a pair, which run the same kernel at the same time, each on its own processor.
class group
{
  public:
    explicit group(const pair &one);
    ~group();
    figures measure();

  private:
    const pair &of;
    bench_rig *rig = nullptr;
    pthread_barrier_t barrier;

    bench_rig *start() const;
    bool catch_up(unsigned thread, bool has_written);
    double measured_burst_ns(unsigned thread, bool *is_whole);
    figures measure_rounds(unsigned thread, int rounds);
    figures measure_thread(unsigned thread);
};

group::group(const pair &one) : of(one)
{
    pthread_barrier_init(&barrier, nullptr, of.threads);
    bench_bind(of.drain_on); // the drain thread stays where it is started
    if (of.budget)
        rig = start();
    bench_bind(0);
}

group::~group()
{
    bench_bind(-1);
    pthread_barrier_destroy(&barrier);
}

bench_rig *group::start() const
{
    bench_rig_options options{};
    options.budget_bytes = of.budget;
    options.segment_bytes = of.is_dropped ? 4096 : 32768;
    options.blocks = of.blocks;
    options.overwrites = of.overwrites;
    options.is_open = of.is_open;
    options.sessions = of.sessions;
    return bench_rig_start(&options);
}

// All threads have finished their bursts; one of them lets the drain read what they wrote, or gives
// it time for that.
bool group::catch_up(unsigned thread, bool has_written)
{
    if (of.is_open)
        pause_for_drain();
    bool is_drained = true;
    pthread_barrier_wait(&barrier);
    if (thread == 0 && has_written && of.payload_bytes && !of.is_open)
        is_drained = bench_rig_drain(
            rig, of.threads * burst_events * stream_bytes_min(of.payload_bytes), nullptr);
    pthread_barrier_wait(&barrier);
    return is_drained;
}

// An open drain that has lost its processor for a while may not keep up: then once more.
double group::measured_burst_ns(unsigned thread, bool *is_whole)
{
    for (int attempt = 0; attempt < attempts_max; attempt++) {
        std::uint64_t written;
        double ns = timed_ns(of.measured, of.events, rig, &written);
        *is_whole &= catch_up(thread, true);
        if (is_expected(of, written))
            return ns;
        if (!of.is_open)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    *is_whole = false;
    return 0;
}

figures group::measure_rounds(unsigned thread, int rounds)
{
    std::vector<double> measured, reference;
    figures all;
    for (int round = 0; round < rounds; round++) {
        std::uint64_t done;
        bench_rig *floor_rig = of.is_of_event ? rig : nullptr;
        reference.push_back(timed_ns(of.reference, of.events, floor_rig, &done));
        all.is_whole &= done == of.events && catch_up(thread, of.is_of_event);
        measured.push_back(measured_burst_ns(thread, &all.is_whole));
    }
    all.measured_ns = median(measured);
    all.reference_ns = median(reference);
    return all;
}

figures group::measure_thread(unsigned thread)
{
    int bursts = static_cast<int>(burst_events / of.events);
    bool is_warm = measure_rounds(thread, warm_rounds * bursts).is_whole;
    figures all = measure_rounds(thread, given.sized(31, 3) * bursts);
    all.is_whole &= of.is_dropped || is_warm; // a kernel that drops fills the budget first
    return all;
}

figures group::measure()
{
    std::vector<figures> all(of.threads);
    std::vector<std::thread> others;
    for (unsigned i = 1; i < of.threads; i++)
        others.emplace_back([this, i, &all] {
            bench_bind(static_cast<int>(i));
            all[i] = measure_thread(i);
        });
    all[0] = measure_thread(0);
    for (std::thread &other : others)
        other.join();
    for (unsigned i = 1; i < of.threads; i++) {
        all[0].measured_ns += all[i].measured_ns;
        all[0].reference_ns += all[i].reference_ns;
        all[0].is_whole &= all[i].is_whole;
    }
    all[0].measured_ns /= of.threads;
    all[0].reference_ns /= of.threads;
    if (rig)
        all[0].is_whole &= bench_rig_stop(rig);
    return all[0];
}

void run(benchmark::State &state, const pair *of)
{
    figures all;
    for (auto _ : state) {
        all = group(*of).measure();
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

std::vector<pair> pairs = {
    pair("ratio/enabled/drain:same", bench_emit_32, bench_floor),
    pair("ratio/enabled/drain:other", bench_emit_32, bench_floor).beside_drain(),
    pair("ratio/enabled/threads:2", bench_emit_32, bench_floor).on_two_threads(),
    pair("ratio/enabled_block/drain:same", bench_emit_32, bench_floor).in_block(),
    pair("ratio/enabled_block/drain:other", bench_emit_32, bench_floor).in_block().beside_drain(),
    pair("ratio/enabled_block/threads:2", bench_emit_32, bench_floor).in_block().on_two_threads(),
    pair("ratio/enabled_overwrite", bench_emit_32, bench_floor).in_overwrite(),
    pair("ratio/enabled_overwrite/threads:2", bench_emit_32, bench_floor)
        .in_overwrite()
        .on_two_threads(),
    pair("ratio/enabled/sessions:2", bench_emit_32, bench_floor).wanted_by(2),
    pair("ratio/enabled/sessions:8", bench_emit_32, bench_floor).wanted_by(8),
    pair("ratio/enabled_drop_block", bench_emit_32, bench_floor).in_block().wanted_by(2),
    pair("ratio/enabled_no_clock/drain:same", bench_emit_32_no_clock, bench_floor_no_clock),
    pair("ratio/enabled_no_clock/drain:other", bench_emit_32_no_clock, bench_floor_no_clock)
        .beside_drain(),
    pair("ratio/at/drain:same", bench_emit_32_at, bench_floor_no_clock),
    pair("ratio/at/drain:other", bench_emit_32_at, bench_floor_no_clock).beside_drain(),
    pair("ratio/batch/drain:same", bench_emit_32_batch, bench_floor_no_clock),
    pair("ratio/batch/drain:other", bench_emit_32_batch, bench_floor_no_clock).beside_drain(),
    pair("ratio/batch_of_floor", bench_emit_32_batch, bench_floor_batch),
    pair("ratio/plugin", bench_emit_32_plugin, bench_emit_32).of_event(),
    pair("ratio/dropped", bench_emit_32, bench_floor).dropped(),
    pair("ratio/disabled", bench_disabled, bench_empty).less(),
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
        add(of.benchmark,
            of.threads > 1 || of.drain_on != 0 ? needs::two_processors : needs::one_processor, run,
            &of)
            ->Iterations(1)
            ->Repetitions(given.sized(15, 2));
}

} // namespace bench
