/* Runs of weir-stress for the benchmarks: the same loop, session and figures.
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
    BENCH_BRIM_FAST,  /* takes everything at once */
    BENCH_BRIM_COST,  /* `sink_amount` nanoseconds of processor time per event */
    BENCH_BRIM_SLOW,  /* `sink_amount` bytes per second */
    BENCH_BRIM_STALL, /* stands still for `sink_amount` milliseconds, a tenth of the time */
};

struct bench_brim {
    enum weir_mode mode;
    enum weir_wake wake; /* BLOCK */
    uint64_t producers;
    uint64_t segment_bytes, budget_bytes, payload_bytes;
    uint64_t rate; /* events per second and producer; 0: flat out */
    bool is_bolus; /* one second's worth at once, one time; `seconds` is then ignored */
    bool is_pinned;
    enum bench_brim_sink sink;
    uint64_t sink_amount;
    double seconds;
};

/* A figure is NAN if there is none: no waits, too few of them, no bound. Events that OVERWRITE
 * recorded and later overwrote count as written, because keeping the latest is its purpose. */
struct bench_brim_figures {
    double events_per_s, ns_per_event; /* of the events written; wall time */
    double loss;                       /* share of the attempts */
    double park_p50_ns, park_p99_ns, park_p999_ns;
    double wakes_per_segment, jain, cpu_ns_per_event, of_bound;
    uint64_t lost;
    bool is_right; /* all checks held */
};

/* True if the process has one processor for the drain and another for the producers. */
bool bench_brim_can_pin(void);

/* Ends the program with a message if the session cannot be created. */
struct bench_brim_figures bench_brim_run(const struct bench_brim *brim);

#ifdef __cplusplus
}
#endif
#endif
