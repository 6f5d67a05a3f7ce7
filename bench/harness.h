/* What the parts of weir-bench, the program, share. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <cstdint>
#include <string>

namespace bench
{

/* How many events a burst has: it fits into the budget and is long beside a reading of the clock.
 */
constexpr std::uint64_t burst_events = 10000;

/* Bytes of an event of one field kind in the stream, at least: flags, time, payload. */
constexpr std::uint64_t stream_bytes_min(std::uint64_t payload_bytes)
{
    return payload_bytes + 2;
}

/* A budget that holds four bursts of all threads: so that a burst never meets its end, and retires
 * enough segments that the drain, which wakes at a sixteenth, is wakened by each. */
constexpr std::uint64_t budget_bytes(std::uint64_t payload_bytes, std::uint64_t threads)
{
    return 4 * threads * burst_events * (payload_bytes + 8) + (std::uint64_t{256} << 10);
}

void add_context(); /* what the figures were taken on */
void register_emit();
void register_drain();
void register_ratios();
/* One line per ratio that was measured. */
std::string ratio_lines();

} // namespace bench

#endif
