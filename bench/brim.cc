// Sessions at the brim: short runs of weir-stress, by mode, strategy, producers, segment and
// budget, and along the axes of the tool that stresses EventPipe. A name gives what differs from
// the defaults: 32 bytes of payload, a budget of 1 MiB, a sink that takes everything, flat out, not
// pinned.
#include <cmath>
#include <initializer_list>

#include "buffers/modes.h"
#include "kernel_brim.h"
#include "suites.h"
#include "wait/strategies.h"

namespace bench
{
namespace
{

struct policy {
    const char *name;
    weir_mode mode;
    weir_wake wake;
};
constexpr policy drop = {"drop", WEIR_MODE_DROP, WEIR_WAKE_RELAY};
constexpr policy relay = {"block/relay", WEIR_MODE_BLOCK, WEIR_WAKE_RELAY};
#define POLICY(name, table, word) {word, WEIR_MODE_##name, WEIR_WAKE_RELAY},
constexpr policy modes[] = {WR_MODES(POLICY)};
#undef POLICY
#define POLICY(name, table, word, is_ordered) {"block/" word, WEIR_MODE_BLOCK, WEIR_WAKE_##name},
constexpr policy waking[] = {WR_WAKE_STRATEGIES(POLICY)};
#undef POLICY
constexpr policy columns[] = {drop, relay};

constexpr std::uint64_t segment_default = 32768, budget_default = 1 << 20, payload_default = 32;
constexpr std::uint64_t axis_producers = 4;
constexpr std::uint64_t rate = 200000; // of each producer

void count(benchmark::State &state, const char *name, double value)
{
    if (std::isfinite(value))
        state.counters[name] = value;
}

void report(benchmark::State &state, const bench_brim &brim, const bench_brim_figures &figures)
{
    count(state, "events_per_s", figures.events_per_s);
    count(state, "cpu_ns_per_event", figures.cpu_ns_per_event);
    count(state, "loss", figures.loss);
    count(state, "jain", figures.jain);
    if (brim.mode == WEIR_MODE_OVERWRITE)
        return;
    if (!brim.rate) // the bound is what could be written, not what the rate asks for
        count(state, "of_bound", figures.of_bound);
    if (brim.mode == WEIR_MODE_DROP)
        return;
    count(state, "park_p50_ns", figures.park_p50_ns);
    count(state, "park_p99_ns", figures.park_p99_ns);
    count(state, "park_p999_ns", figures.park_p999_ns);
    count(state, "wakes_per_segment", figures.wakes_per_segment);
}

void run(benchmark::State &state, bench_brim brim)
{
    bench_brim_figures figures{};
    brim.seconds = given.is_smoke ? 0.02 : given.brim_seconds;
    for (auto _ : state) {
        figures = bench_brim_run(&brim);
        state.SetIterationTime(figures.ns_per_event * 1e-9);
    }
    report(state, brim, figures);
    if (brim.mode == WEIR_MODE_BLOCK && figures.lost)
        state.SkipWithError("mode BLOCK lost events");
    else if (!figures.is_right)
        state.SkipWithError("a check failed; see the lines above");
}

bench_brim plain(const policy &of, std::uint64_t producers)
{
    bench_brim brim{};
    brim.mode = of.mode;
    brim.wake = of.wake;
    brim.producers = producers;
    brim.segment_bytes = segment_default;
    brim.budget_bytes = budget_default;
    brim.payload_bytes = payload_default;
    return brim;
}

// `more`: what the name gives besides producers and segment.
void add(const policy &of, const bench_brim &brim, const std::string &more = "")
{
    std::string name = std::string("brim/") + of.name +
                       "/producers:" + std::to_string(brim.producers) +
                       "/segment:" + std::to_string(brim.segment_bytes) + more;
    add(name, needs::two_processors, run, brim)->Iterations(1);
}

std::string key(const char *name, std::uint64_t value)
{
    return std::string("/") + name + ":" + std::to_string(value);
}

void add_policies()
{
    for (std::uint64_t producers : std::initializer_list<std::uint64_t>{1, 2, 8, 32}) {
        for (const policy &of : modes)
            if (of.mode != WEIR_MODE_BLOCK)
                add(of, plain(of, producers));
        for (const policy &of : waking) {
            bench_brim brim = plain(of, producers);
            add(of, brim);
            brim.is_pinned = true;
            if (bench_brim_can_pin())
                add(of, brim, key("pinned", 1));
        }
    }
}

void add_sizes()
{
    for (const policy &of : waking)
        for (std::uint64_t segment : std::initializer_list<std::uint64_t>{4096, 65536}) {
            bench_brim brim = plain(of, 8);
            brim.segment_bytes = segment;
            add(of, brim);
        }
    for (const policy &of : columns)
        for (std::uint64_t budget : std::initializer_list<std::uint64_t>{1 << 18, 1 << 22}) {
            bench_brim brim = plain(of, 8);
            brim.budget_bytes = budget;
            add(of, brim, key("budget", budget));
        }
}

void add_events(const policy &of)
{
    for (std::uint64_t payload : std::initializer_list<std::uint64_t>{0, 8, 128, 1024, 8192}) {
        bench_brim brim = plain(of, axis_producers);
        brim.payload_bytes = payload;
        add(of, brim, key("payload", payload));
    }
    bench_brim brim = plain(of, axis_producers);
    add(of, brim); // flat out: what weir-stress calls --pattern none
    brim.rate = rate;
    add(of, brim, key("drip", rate));
    brim.is_bolus = true;
    add(of, brim, key("bolus", rate));
}

void add_slow_readers(const policy &of)
{
    const struct {
        const char *name;
        bench_brim_sink sink;
        std::uint64_t amount;
    } readers[] = {{"cost_ns", BENCH_BRIM_COST, 50},
                   {"slow", BENCH_BRIM_SLOW, std::uint64_t{256} << 20},
                   {"stall_ms", BENCH_BRIM_STALL, 20}};
    for (const auto &reader : readers) {
        bench_brim brim = plain(of, axis_producers);
        brim.sink = reader.sink;
        brim.sink_amount = reader.amount;
        add(of, brim, key(reader.name, reader.amount));
    }
}

} // namespace

void register_brim()
{
    add_policies();
    add_sizes();
    for (const policy &of : columns) {
        add_events(of);
        add_slow_readers(of);
    }
}

} // namespace bench
