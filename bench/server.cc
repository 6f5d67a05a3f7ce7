// What a tool waits for: a start and a stop of a session, while another tool does not read.
#include <vector>

#include "suites.h"
#include "tools.h"

namespace bench
{
namespace
{

void beside_stuck(benchmark::State &state, double bench_beside_stuck::*measured)
{
    std::vector<double> seconds;
    bool was_stuck = true;
    for (auto _ : state) {
        for (int round = 0; round < given.sized(9, 1); round++) {
            bench_beside_stuck run = bench_beside_stuck_run();
            seconds.push_back(run.*measured);
            was_stuck &= run.was_stuck;
        }
        state.SetIterationTime(median(seconds));
    }
    spread of = spread_of(seconds);
    state.counters["least_ns"] = of.least * 1e9;
    state.counters["greatest_ns"] = of.greatest * 1e9;
    if (!was_stuck)
        state.SkipWithError("the other tool's session ended too early");
}

} // namespace

void register_server()
{
    add("server/start/beside:stuck", needs::two_processors, beside_stuck,
        &bench_beside_stuck::start_s)
        ->Iterations(1);
    add("server/stop/beside:stuck", needs::two_processors, beside_stuck,
        &bench_beside_stuck::stop_s)
        ->Iterations(1);
}

} // namespace bench
