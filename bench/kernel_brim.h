/* The runs of weir-stress, for the benchmarks: the same loop, the same session, the same figures.
 */
#ifndef BENCH_KERNEL_BRIM_H
#define BENCH_KERNEL_BRIM_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bench_brim_sink {
    BENCH_BRIM_FAST,  /* takes all, at once */
    BENCH_BRIM_COST,  /* `sink_amount` nanoseconds of processor time an event */
    BENCH_BRIM_SLOW,  /* `sink_amount` bytes per second */
    BENCH_BRIM_STALL, /* stands still for `sink_amount` milliseconds, a tenth of the time */
};

struct bench_brim {
    enum weir_mode mode;
    enum weir_wake wake; /* BLOCK */
    uint64_t producers;
    uint64_t segment_bytes, budget_bytes, payload_bytes;
    uint64_t rate; /* events per second and producer; 0: flat out */
    bool is_bolus; /* a second's worth at once, once; `seconds` do not count then */
    bool is_pinned;
    enum bench_brim_sink sink;
    uint64_t sink_amount;
    double seconds;
};

/* NAN where there is none: no waits, too few of them, no bound. Events that OVERWRITE has recorded
 * and let go later count as written: keeping the latest is what it is for. */
struct bench_brim_figures {
    double events_per_s, ns_per_event; /* of those written, by the wall */
    double loss;                       /* of those attempted */
    double park_p50_ns, park_p99_ns, park_p999_ns;
    double wakes_per_segment, jain, cpu_ns_per_event, of_bound;
    uint64_t lost;
    bool is_right; /* all checks held */
};

/* Has the process a processor for the drain and one for others? */
bool bench_brim_can_pin(void);

/* A session that cannot be had ends the program with a message. */
struct bench_brim_figures bench_brim_run(const struct bench_brim *brim);

#ifdef __cplusplus
}
#endif
#endif
