/*
 * The sink of weir-stress: how it behaves, and where the bytes go after that: nowhere, to a file
 * that has no name, or into a pipe.
 *
 * brim_sink_write() runs on the drain thread; the other functions before it runs or after, but for
 * those that say so.
 */
#ifndef STRESS_BRIM_SINK_H
#define STRESS_BRIM_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brim_options.h"

struct brim_sink {
    /* CONST while it runs */
    enum brim_sink_kind kind;
    uint64_t amount;
    double bytes_per_event; /* COST */
    uint64_t close_at;      /* RANDOM_CLOSE: bytes */
    uint64_t bytes_max;     /* of the file; then it asks for an end */
    int fd;                 /* -1: nowhere */

    /* DRAIN */
    uint64_t bytes;
    double owed_ns;       /* COST: not yet paid, or paid too much if below 0 */
    uint64_t paid_ns;     /* COST: processor time */
    uint64_t free_at_ns;  /* SLOW: when what was taken has gone */
    uint64_t stall_at_ns; /* STALL: the next one */
    uint64_t last_ns;     /* when the last byte had been taken */
    int error;            /* errno of a write that failed */

    uint32_t wants_end; /* DRAIN; read by any: it has closed or is full */
};

/* `bytes_per_event` is what an event takes in the stream, for COST. No file, no pipe yet. */
void brim_sink_init(struct brim_sink *sink, const struct brim_options *options, uint64_t seed,
                    double bytes_per_event);

/* A file in that folder without a name, so that nothing is left behind however the program ends.
 * False if there can be none: errno. */
bool brim_sink_open_file(struct brim_sink *sink, const char *folder);
void brim_sink_close(struct brim_sink *sink);

/* A weir_write. */
bool brim_sink_write(void *sink, const void *bytes, size_t count);

/* Any thread: has it closed, or is the file full? Then the run should end. */
bool brim_sink_wants_end(const struct brim_sink *sink);

#endif
