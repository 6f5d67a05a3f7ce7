// weir-bench: what an event costs. README.md in this folder explains the figures.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "suites.h"
#include "timing.h"

namespace bench
{
settings given;
}

namespace
{

constexpr double brim_seconds_min = 0.01, brim_seconds_max = 600;

void help()
{
    std::puts("usage: weir-bench [OPTION]...\n\n"
              "What an event costs, by suite: floor, emit, drain, brim, session, server, "
              "reader, ratio.\n\n"
              "  --smoke             run only enough to show that everything works; the figures "
              "mean nothing\n"
              "  --brim_seconds=S    length of each run of suite brim, 0.01 to 600; default 0.25\n"
              "  --help              print this help\n\n"
              "Options of Google Benchmark:\n");
    benchmark::PrintDefaultHelp();
    std::puts("\nExit status: 0 finished (a benchmark that failed says so in its row), 1 could not "
              "finish, 2 wrong usage.");
}

bool take_seconds(const char *text)
{
    char *end = nullptr;
    double seconds = std::strtod(text, &end);
    if (end == text || *end || !(seconds >= brim_seconds_min && seconds <= brim_seconds_max)) {
        std::fprintf(stderr, "weir-bench: --brim_seconds: '%s' is not a number from 0.01 to 600\n",
                     text);
        return false;
    }
    bench::given.brim_seconds = seconds;
    return true;
}

// Removes our own options; the rest are for the benchmark library. False: wrong usage.
bool take_options(int *argc, char **argv)
{
    int kept = 1;
    bool is_right = true;
    for (int i = 1; i < *argc; i++) {
        if (std::strcmp(argv[i], "--smoke") == 0)
            bench::given.is_smoke = true;
        else if (std::strncmp(argv[i], "--brim_seconds=", 15) == 0)
            is_right = is_right && take_seconds(argv[i] + 15);
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = nullptr;
    *argc = kept;
    return is_right;
}

void register_all()
{
    bench::register_floor();
    bench::register_emit();
    bench::register_drain();
    bench::register_reader();
    bench::register_ratios();
    bench::register_server();
    bench::register_heap();
    bench::register_sessions();
    bench::register_brim();
}

} // namespace

int main(int argc, char **argv)
{
    bench_bind(-1); // while this thread may still run on every processor that the process may use
    if (!take_options(&argc, argv))
        return 2;
    benchmark::Initialize(&argc, argv, help);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    if (!bench_events_register() || !bench_plugin_begin())
        return 1;
    bench::add_context();
    register_all();
    if (benchmark::RunSpecifiedBenchmarks() == 0)
        return 2; // the filter matches nothing, and the library has said so
    benchmark::Shutdown();
    return 0;
}
