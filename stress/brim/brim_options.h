/*
 * The settings of a run, which are the command line of weir-stress.
 */
#ifndef STRESS_BRIM_OPTIONS_H
#define STRESS_BRIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

enum brim_sink_kind {
    BRIM_SINK_FAST,         /* takes everything at once */
    BRIM_SINK_COST,         /* `amount` nanoseconds of processor time per event */
    BRIM_SINK_SLOW,         /* `amount` bytes per second */
    BRIM_SINK_STALL,        /* stands still now and then for `amount` milliseconds */
    BRIM_SINK_RANDOM_CLOSE, /* fails at a random point */
    BRIM_SINK_PIPE,         /* a pipe into the reader, which decodes the stream as it arrives */
};

enum brim_pattern {
    BRIM_FLAT_OUT,
    BRIM_DRIP,  /* evenly */
    BRIM_BOLUS, /* a second's worth at once, then idle until the next second */
};

struct brim_options {
    double seconds;  /* 0: `events` end the run */
    uint64_t events; /* of each thread; 0: `seconds` end the run */
    uint64_t threads;
    uint64_t seed;
    uint64_t repeat;

    enum weir_mode mode;
    enum weir_wake wake;
    uint32_t wake_flags;
    uint64_t grant_bytes;
    uint64_t max_block_ms;
    bool no_yield;

    uint64_t budget_bytes;
    uint64_t segment_bytes;
    uint64_t payload_bytes;

    enum brim_sink_kind sink;
    uint64_t sink_amount;
    const char *sink_text; /* as given on the command line */

    uint64_t rate; /* events per second and thread; 0: flat out */
    enum brim_pattern pattern;
    uint64_t work_ns; /* processor time of each thread between two of its events */

    bool pins;
    bool verifies;
    const char *trace_folder;
    bool json;
    bool bins;
};

/* The defaults. Without `events` and `seconds` the run would not end. */
#define BRIM_OPTIONS_DEFAULT                                                                   \
    {                                                                                          \
        .threads = 4, .seed = 1, .repeat = 1, .mode = WEIR_MODE_DROP, .wake = WEIR_WAKE_RELAY, \
        .budget_bytes = UINT64_C(1) << 20, .segment_bytes = 32768, .payload_bytes = 32,        \
        .sink_text = "fast"                                                                    \
    }

#define BRIM_WORK_NS_MAX UINT64_C(1000000000)

/* Most bytes of stream that are kept for the reader. */
#define BRIM_FILE_BYTES_MAX (UINT64_C(4) << 30)

#endif
