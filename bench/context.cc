#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sys/utsname.h>

#include "bench_commit.h"
#include "suites.h"
#include "timing.h"

namespace bench
{
namespace
{

std::string first_line(const char *path)
{
    std::ifstream file(path);
    std::string line;
    return std::getline(file, line) ? line : "unknown";
}

// "model name : AMD EPYC", with family, model and stepping, because virtual machines shorten the
// name.
std::string processor()
{
    std::ifstream file("/proc/cpuinfo");
    std::string line, name = "unknown", numbers;
    while (std::getline(file, line) && !line.empty()) {
        std::size_t tab = line.find('\t'), colon = line.find(": ");
        if (colon == std::string::npos)
            continue;
        std::string key = line.substr(0, tab), value = line.substr(colon + 2);
        if (key == "model name")
            name = value;
        if (key == "cpu family" || key == "model" || key == "stepping")
            numbers += (numbers.empty() ? "" : ", ") + (key == "cpu family" ? "family" : key) +
                       " " + value;
    }
    return numbers.empty() ? name : name + " (" + numbers + ")";
}

std::string kernel()
{
    utsname names;
    if (uname(&names) != 0)
        return "unknown";
    return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

// The library takes stamps from the processor's counter only if that always runs at one speed.
std::string event_clock()
{
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line))
        if (line.compare(0, 5, "flags") == 0)
            return line.find("constant_tsc") != std::string::npos &&
                           line.find("nonstop_tsc") != std::string::npos
                       ? "tsc, invariant"
                       : "tsc is not invariant";
    return "unknown";
}

// Nanoseconds per iteration of the same arithmetic on every machine: if this changes between two
// runs, the machine changed, not the program.
std::string calibration_ns()
{
    constexpr std::uint64_t count = 500000;
    double least_s = 1e9;
    for (int round = 0; round < given.sized(15, 3); round++) {
        std::uint64_t done;
        least_s = std::min(least_s, bench_timed_s(bench_arithmetic, count, &done));
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", least_s * 1e9 / static_cast<double>(count));
    return text;
}

} // namespace

void report_machine(benchmark::State &state, const bench_machine &before,
                    const bench_machine &after)
{
    state.counters["step_before_ns"] = before.step_ns;
    state.counters["step_after_ns"] = after.step_ns;
    state.counters["trip_before_ns"] = before.trip_ns;
    state.counters["trip_after_ns"] = after.trip_ns;
}

void add_context()
{
    benchmark::AddCustomContext("cpu", processor());
    benchmark::AddCustomContext("kernel", kernel());
    benchmark::AddCustomContext("c_compiler", BENCH_C_COMPILER);
    benchmark::AddCustomContext("cxx_compiler", BENCH_CXX_COMPILER);
    benchmark::AddCustomContext("build_type", BENCH_BUILD_TYPE);
    benchmark::AddCustomContext("commit", BENCH_COMMIT);
    benchmark::AddCustomContext("event_clock", event_clock());
    benchmark::AddCustomContext(
        "system_clock",
        first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    benchmark::AddCustomContext(
        "governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    benchmark::AddCustomContext("load", first_line("/proc/loadavg"));
    benchmark::AddCustomContext("calibration_ns", calibration_ns());
    benchmark::AddCustomContext("benchmark_version", BENCH_BENCHMARK_VERSION);
}

} // namespace bench
