/*
 * The stream of a run against what the producers noted, by the reader of tools/, which shares no
 * code with the writer: from a file after the clock has stopped, or from a pipe while the session
 * runs.
 *
 * Each payload must be whole, of a producer of ours, later than its last one, and where its number
 * says; per thread, events, losses and their causes must add up to what was attempted.
 */
#ifndef STRESS_BRIM_VERIFY_H
#define STRESS_BRIM_VERIFY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "brim_crowd.h"
#include "stream.h"
#include "trace.h"

struct brim_verifier {
    /* CONST */
    const struct brim_options *options;
    uint64_t seed;

    /* By producer; whoever reads the stream. */
    uint64_t *seen;
    uint64_t *next; /* the least own counter that may come */

    struct hs_trace trace; /* where the stream is; `stats` before the reader has met its end */
    struct hs_stream stream;
    bool is_whole;

    /* PIPE */
    int read_fd, write_fd; /* -1: none */
    pthread_t thread;
};

/* False if there is no memory; brim_verifier_free() is due in any case. */
bool brim_verifier_init(struct brim_verifier *verifier, const struct brim_options *options,
                        uint64_t seed);
void brim_verifier_free(struct brim_verifier *verifier);

/* Makes a pipe and starts reading it. Returns its other end, or -1 with errno. */
int brim_verifier_pipe_start(struct brim_verifier *verifier);
/* Closes the other end and waits until all has been read. */
void brim_verifier_pipe_end(struct brim_verifier *verifier, const struct weir_stats *stats);

/* Reads a whole stream from a file. */
void brim_verifier_read(struct brim_verifier *verifier, int fd, const struct weir_stats *stats);
/* Reads a stream that its sink has cut off. */
void brim_verifier_read_cut(struct brim_verifier *verifier, int fd, const struct weir_stats *stats);

/* After the reading: what the stream has against what the producers noted. */
void brim_verifier_compare(struct brim_verifier *verifier, const struct brim_crowd *crowd,
                           const struct weir_stats *stats);

#endif
