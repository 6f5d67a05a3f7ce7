/*
 * The sink of weir-stress: how it behaves, and where the bytes then go: nowhere, to a file without
 * a name, or into a pipe.
 *
 * brim_sink_write() runs on the drain thread. The other functions are called before or after the
 * drain thread runs, except where a comment says so.
 */
#ifndef STRESS_BRIM_SINK_H
#define STRESS_BRIM_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brim_options.h"

struct brim_sink {
    /* CONST while the drain runs */
    enum brim_sink_kind kind;
    uint64_t amount;
    double bytes_per_event; /* COST */
    uint64_t close_at;      /* RANDOM_CLOSE: bytes */
    uint64_t bytes_max;     /* of the file; then the sink asks the run to end */
    int fd;                 /* -1: nowhere */

    /* DRAIN */
    uint64_t bytes;
    double owed_ns;       /* COST: not yet paid; negative if overpaid */
    uint64_t paid_ns;     /* COST: processor time */
    uint64_t free_at_ns;  /* SLOW: when the bytes taken so far are through */
    uint64_t stall_at_ns; /* STALL: when the next one begins */
    uint64_t last_ns;     /* when the last byte had been taken */
    int error;            /* errno of a write that failed */

    uint32_t wants_end; /* DRAIN; read by any thread: the sink has closed or is full */
};

/* `bytes_per_event` is the size of an event in the stream, for COST. No file or pipe yet. */
void brim_sink_init(struct brim_sink *sink, const struct brim_options *options, uint64_t seed,
                    double bytes_per_event);

/* Opens a file without a name in that folder, so that nothing is left behind however the program
 * ends. False with errno if that fails. */
bool brim_sink_open_file(struct brim_sink *sink, const char *folder);
void brim_sink_close(struct brim_sink *sink);

/* A weir_write. */
bool brim_sink_write(void *sink, const void *bytes, size_t count);

/* Any thread: true once the sink has closed or the file is full. Then the run should end. */
bool brim_sink_wants_end(const struct brim_sink *sink);

#endif
