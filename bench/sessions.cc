// Whole sessions: how fast producers run when the drain must keep up and when it has time, what a
// thread's life costs, how long a stop takes while all producers are parked, and what the calls in
// a session's life take.
#include <algorithm>
#include <chrono>
#include <thread>

#include "rig.h"
#include "sessions.h"
#include "suites.h"
#include "timing.h"
#include "tmpfs.h"

namespace bench
{
namespace
{

constexpr std::uint32_t parked_producers = 32;
constexpr int warm_rounds = 2;                   // they touch the pages, which is not measured
constexpr int burst_rounds_warm = 6;             // two bursts fill the budget once
constexpr std::uint64_t encoded_events = 100000; // 4 MB of records
constexpr double pause_s = 15e-6;                // more than the drain needs for a chunk
constexpr int chunk_tries_max = 1000;

std::uint64_t sustained_events()
{
    return given.sized<std::uint64_t>(2000000, 100000);
}

// Wall time of one producer: from its first event until the last byte of all producers is written.
void sustained(benchmark::State &state, std::uint32_t producers)
{
    std::uint64_t events = sustained_events();
    bool is_whole = true;
    double lost = 0, written = 0, producer_s = 0;
    while (state.KeepRunningBatch(benchmark::IterationCount(events))) {
        bench_sustained run = bench_sustain(producers, events);
        state.SetIterationTime(run.wall_s);
        is_whole &= run.is_whole;
        lost += static_cast<double>(run.lost);
        written += static_cast<double>(producers * events);
        producer_s += run.producer_s;
    }
    state.counters["events_per_s"] = benchmark::Counter(written, benchmark::Counter::kIsRate);
    state.counters["producer_ns"] = producer_s * 1e9 / static_cast<double>(state.iterations());
    state.counters["loss"] = lost / written;
    if (!is_whole || lost > 0)
        state.SkipWithError("mode BLOCK lost events, or they are not accounted for");
}

// --- Sustained, against its parts. ---------------------------------------------------------------

struct parts {
    double burst_ns = 0, encode_ns = 0, write_ns = 0, sustained_ns = 0;
    bool is_whole = true;
};

double per_event_ns(double seconds, std::uint64_t events)
{
    return seconds * 1e9 / static_cast<double>(events);
}

bench_rig *start_rig(std::uint64_t budget, bool is_open)
{
    bench_rig_options options{};
    options.budget_bytes = budget;
    options.segment_bytes = 32768;
    options.is_open = is_open;
    return bench_rig_start(&options);
}

// A burst, and its encoding. False if events were lost.
bool measure_round(bench_rig *rig, std::uint64_t events, double *burst_s, bench_drained *drained)
{
    std::uint64_t written;
    *burst_s = bench_rig_timed_s(rig, bench_emit_32, events, &written);
    return bench_rig_drain(rig, events * stream_bytes_min(32), drained) && written == events;
}

// Bursts like those of suite emit: the same length and budget. Threads are not bound to processors,
// because those of measure_whole() are not either.
void measure_burst(parts *all)
{
    bench_rig *rig = start_rig(budget_bytes(32, 1), false);
    std::vector<double> burst_ns;
    for (int round = -burst_rounds_warm; round < given.sized(31, 2); round++) {
        double burst_s;
        bench_drained drained;
        all->is_whole &= measure_round(rig, burst_events, &burst_s, &drained);
        if (round >= 0)
            burst_ns.push_back(per_event_ns(burst_s, burst_events));
    }
    all->is_whole &= bench_rig_stop(rig); // before the next session starts
    all->burst_ns = median(burst_ns);
}

// Like suite drain: as many events at a time, from segments that another processor has filled.
void measure_encoding(parts *all)
{
    bench_bind(1); // the drain thread
    bench_rig *rig = start_rig(8u << 20, false);
    bench_bind(0);
    std::vector<double> encode_ns;
    for (int round = -warm_rounds; round < given.sized(7, 2); round++) {
        double burst_s;
        bench_drained drained;
        all->is_whole &= measure_round(rig, encoded_events, &burst_s, &drained);
        if (round >= 0)
            encode_ns.push_back(per_event_ns(drained.cpu_s, encoded_events));
    }
    bench_bind(-1);
    all->is_whole &= bench_rig_stop(rig);
    all->encode_ns = median(encode_ns);
}

// Everything together; then the same bytes written alone, in pieces of the same size.
void measure_whole(parts *all)
{
    bench_sustained run = bench_sustain(1, sustained_events());
    double write_s = bench_tmpfs_timed_s(run.bytes, run.bytes / run.pieces);
    all->sustained_ns = per_event_ns(run.wall_s, sustained_events());
    all->write_ns = per_event_ns(write_s, run.events);
    all->is_whole &= run.is_whole && run.lost == 0 && write_s > 0;
}

void sustained_ratio(benchmark::State &state)
{
    parts all;
    for (auto _ : state) {
        measure_burst(&all);
        measure_encoding(&all);
        measure_whole(&all);
        state.SetIterationTime(all.sustained_ns * 1e-9);
    }
    if (!all.is_whole) {
        state.SkipWithError("events were lost: the figure would be a mixture");
        return;
    }
    double allowed_ns = std::max(1.25 * all.burst_ns, 1.1 * (all.encode_ns + all.write_ns));
    state.counters["ratio"] = all.sustained_ns / allowed_ns;
    state.counters["burst_ns"] = all.burst_ns;
    state.counters["encode_ns"] = all.encode_ns;
    state.counters["write_ns"] = all.write_ns;
    state.counters["sustained_ns"] = all.sustained_ns;
}

// --- Paced: the drain reads on another processor, and keeps up. ----------------------------------

struct pace {
    bench_rig *rig;
    std::uint64_t attempted = 0, lost = 0;
};

// A producer that slept would come back to colder caches.

double paced_chunk_s(pace *of, std::uint64_t *written)
{
    pause_for_drain();
    double seconds = bench_rig_timed_s(of->rig, bench_emit_32, chunk_events, written);
    of->attempted += chunk_events;
    of->lost += chunk_events - *written;
    return seconds;
}

// Of a chunk without losses; negative if there is none. The drain is late only where another
// program takes its processor, so the next chunk waits for that.
double whole_chunk_s(pace *of)
{
    for (int tries = 0; tries < chunk_tries_max; tries++) {
        std::uint64_t written;
        double seconds = paced_chunk_s(of, &written);
        if (written == chunk_events)
            return seconds;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return -1;
}

// In a session whose pages are resident.
pace start_pace(std::uint64_t budget)
{
    bench_bind(1); // the drain thread
    pace of{start_rig(budget, true)};
    bench_bind(0);
    std::uint64_t written;
    for (std::uint64_t bytes = 0; bytes < budget; bytes += chunk_events * (32 + 8))
        paced_chunk_s(&of, &written);
    return {of.rig};
}

void paced(benchmark::State &state, std::uint64_t budget)
{
    pace of = start_pace(budget);
    while (state.KeepRunningBatch(benchmark::IterationCount(chunk_events))) {
        double seconds = whole_chunk_s(&of);
        if (seconds < 0)
            state.SkipWithError("the drain does not keep up");
        state.SetIterationTime(seconds);
    }
    bench_bind(-1);
    state.counters["loss"] = static_cast<double>(of.lost) / static_cast<double>(of.attempted);
    if (!bench_rig_stop(of.rig))
        state.SkipWithError("the session's counts differ from the events emitted");
}

// --- Lives and stops. ----------------------------------------------------------------------------

void short_lived(benchmark::State &state)
{
    bench_lives lives{};
    for (auto _ : state) {
        lives = bench_lives_run(given.sized(10000u, 500u));
        state.SetIterationTime(lives.traced_ns * 1e-9);
    }
    state.counters["difference_ns"] = lives.traced_ns - lives.plain_ns;
    state.counters["measured_ns"] = lives.traced_ns;
    state.counters["reference_ns"] = lives.plain_ns;
    state.counters["resident_growth_bytes"] = static_cast<double>(lives.growth_bytes);
    state.counters["resident_left_bytes"] = static_cast<double>(lives.left_bytes);
    state.counters["loss"] = static_cast<double>(lives.lost) / static_cast<double>(lives.events);
    if (!lives.is_whole || lives.lost)
        state.SkipWithError("a thread or an event is not accounted for");
}

void stop_parked(benchmark::State &state)
{
    std::vector<double> seconds;
    for (auto _ : state) {
        for (int round = 0; round < given.sized(9, 1); round++)
            seconds.push_back(bench_stop_parked_s(parked_producers));
        state.SetIterationTime(median(seconds));
    }
    spread of = spread_of(seconds);
    state.counters["least_ns"] = of.least * 1e9;
    state.counters["greatest_ns"] = of.greatest * 1e9;
    if (of.least <= 0)
        state.SkipWithError("not all producers were parked, or events are not accounted for");
}

void call(benchmark::State &state, double bench_calls::*measured)
{
    std::vector<double> seconds;
    bool is_whole = true;
    for (auto _ : state) {
        for (int round = 0; round < given.sized(101, 2); round++) {
            bench_calls calls = bench_calls_run();
            seconds.push_back(calls.*measured);
            is_whole &= calls.is_whole;
        }
        state.SetIterationTime(median(seconds));
    }
    spread of = spread_of(seconds);
    state.counters["least_ns"] = of.least * 1e9;
    state.counters["greatest_ns"] = of.greatest * 1e9;
    if (!is_whole)
        state.SkipWithError("an event was lost");
}

} // namespace

void pause_for_drain()
{
    double end_s = bench_now_s(CLOCK_MONOTONIC) + pause_s;
    while (bench_now_s(CLOCK_MONOTONIC) < end_s)
        continue;
}

void register_sessions()
{
    constexpr needs two = needs::two_processors;
    add("emit/sustained/payload:32/producers:1", two, sustained, 1u);
    add("emit/sustained/payload:32/producers:2", two, sustained, 2u);
    for (std::uint64_t budget_kib : {512, 1024, 16384})
        add("emit/paced/budget_kib:" + std::to_string(budget_kib), two, paced, budget_kib << 10);
    add("emit/short_lived", two, short_lived)->Iterations(1);
    add("brim/stop_parked/producers:32", two, stop_parked)->Iterations(1);
    add("session/create", two, call, &bench_calls::create_s)->Iterations(1);
    add("session/start", two, call, &bench_calls::start_s)->Iterations(1);
    add("session/stop", two, call, &bench_calls::stop_s)->Iterations(1);
    add("session/destroy", two, call, &bench_calls::destroy_s)->Iterations(1);
    add("ratio/sustained", two, sustained_ratio)->Iterations(1)->Repetitions(given.sized(7, 1));
}

} // namespace bench
