// The cost of an event, in bursts. The drain stands still during a burst and catches up untimed
// between two, so these figures are for the emitters' side alone.
#include <pthread.h>

#include "rig.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

bench_rig *rig;
pthread_barrier_t barrier;

// The benchmark library divides the time of all threads by the number of threads and by the
// iterations of all. The cost of an event is that on one thread.
void report(benchmark::State &state, double seconds)
{
    state.SetIterationTime(seconds * state.threads());
}

void disabled(benchmark::State &state)
{
    std::uint64_t written;
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events)))
        report(state, bench_timed_s(bench_disabled, burst_events, &written));
}

void burst_setup(const benchmark::State &state)
{
    auto threads = static_cast<std::uint64_t>(state.threads());
    bench_rig_options options{};
    options.budget_bytes = budget_bytes(static_cast<std::uint64_t>(state.range(0)), threads);
    options.segment_bytes = 32768;
    rig = bench_rig_start(&options);
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
}

void several_setup(const benchmark::State &state, std::uint32_t sessions, bool blocks)
{
    bench_rig_options options{};
    options.budget_bytes = budget_bytes(static_cast<std::uint64_t>(state.range(0)), 1);
    options.segment_bytes = 32768;
    options.sessions = sessions;
    options.blocks = blocks;
    rig = bench_rig_start(&options);
    pthread_barrier_init(&barrier, nullptr, 1);
}

void sessions_setup(const benchmark::State &state)
{
    several_setup(state, static_cast<std::uint32_t>(state.range(1)), false);
}

void drop_block_setup(const benchmark::State &state)
{
    several_setup(state, 2, true);
}

// The drain stands still: after the first two thousand events there is no room. With fewer
// segments, two threads would count as a crowd, which looks for room more often.
void dropped_setup(const benchmark::State &state)
{
    bench_rig_options options{};
    options.budget_bytes = 16 * 4096;
    options.segment_bytes = 4096;
    rig = bench_rig_start(&options);
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(state.threads()));
}

void teardown(const benchmark::State &)
{
    pthread_barrier_destroy(&barrier);
}

// All threads have emitted their bursts; one of them releases the drain.
bool catch_up(const benchmark::State &state, std::uint64_t written)
{
    bool is_drained = true;
    pthread_barrier_wait(&barrier);
    if (state.thread_index() == 0)
        is_drained =
            bench_rig_drain(rig,
                            static_cast<std::uint64_t>(state.threads()) * written *
                                stream_bytes_min(static_cast<std::uint64_t>(state.range(0))),
                            nullptr);
    pthread_barrier_wait(&barrier);
    return is_drained && written == burst_events;
}

// All threads are past the last burst: the benchmark library lets them out of its loop together.
void stop(benchmark::State &state)
{
    if (state.thread_index() != 0)
        return;
    if (!bench_rig_stop(rig))
        state.SkipWithError("the session's counts differ from the events emitted");
    rig = nullptr;
}

void burst(benchmark::State &state, bench_kernel kernel)
{
    std::uint64_t written;
    bool is_whole = true;
    for (int warm = 0; warm < 4; warm++) {
        bench_rig_timed_s(rig, kernel, burst_events, &written);
        is_whole &= catch_up(state, written);
    }
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events))) {
        report(state, bench_rig_timed_s(rig, kernel, burst_events, &written));
        is_whole &= catch_up(state, written);
    }
    stop(state);
    if (!is_whole)
        state.SkipWithError("events of a burst were lost: the figure would be a mixture");
}

void dropped(benchmark::State &state)
{
    std::uint64_t written;
    bench_rig_timed_s(rig, bench_emit_32, burst_events, &written);
    pthread_barrier_wait(&barrier);
    std::uint64_t written_late = 0;
    while (state.KeepRunningBatch(benchmark::IterationCount(burst_events))) {
        report(state, bench_rig_timed_s(rig, bench_emit_32, burst_events, &written));
        written_late += written;
    }
    stop(state);
    if (written_late)
        state.SkipWithError("there was room for events that should have been dropped");
}

benchmark::internal::Benchmark *of_payload(benchmark::internal::Benchmark *benchmark,
                                           int payload_bytes)
{
    return benchmark->ArgName("payload")->Arg(payload_bytes)->Threads(1)->Threads(2);
}

void add_burst(const char *name, bench_kernel kernel, int payload_bytes)
{
    of_payload(add(name, needs::one_processor, burst, kernel), payload_bytes)
        ->Setup(burst_setup)
        ->Teardown(teardown);
}

} // namespace

void register_emit()
{
    add("emit/disabled", needs::one_processor, disabled)->Threads(1)->Threads(2);
    for (const sized_kernel &sized : sized_kernels)
        add_burst("emit/enabled", sized.kernel, sized.payload_bytes);
    add("emit/enabled", needs::one_processor, burst, bench_emit_32)
        ->ArgNames({"payload", "sessions"})
        ->Args({32, 2})
        ->Args({32, 8})
        ->Threads(1)
        ->Setup(sessions_setup)
        ->Teardown(teardown);
    add("emit/enabled_drop_block", needs::one_processor, burst, bench_emit_32)
        ->ArgName("payload")
        ->Arg(32)
        ->Threads(1)
        ->Setup(drop_block_setup)
        ->Teardown(teardown);
    add_burst("emit/no_clock", bench_emit_32_no_clock, 32);
    add_burst("emit/ordered", bench_emit_32_ordered, 32);
    add_burst("emit/at", bench_emit_32_at, 32);
    add_burst("emit/batch", bench_emit_32_batch, 32);
    of_payload(add("emit/dropped", needs::one_processor, dropped), 32)
        ->Setup(dropped_setup)
        ->Teardown(teardown);
}

} // namespace bench
