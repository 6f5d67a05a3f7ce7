// weir-bench: the costs of an event. See README.md of this folder for how to read them.
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstring>

#include "harness.h"
#include "kernel.h"

namespace
{

// The report on the standard output is for a program; nothing may be added to it.
bool is_for_program(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (std::strncmp(argv[i], "--benchmark_format=", 19) == 0 &&
            std::strcmp(argv[i] + 19, "console") != 0)
            return true;
    return false;
}

} // namespace

int main(int argc, char **argv)
{
    std::FILE *lines_to = is_for_program(argc, argv) ? stderr : stdout;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    if (!bench_events_register())
        return 1;
    bench::add_context();
    bench::register_emit();
    bench::register_drain();
    bench::register_ratios();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    std::fputs(bench::ratio_lines().c_str(), lines_to);
    return 0;
}
