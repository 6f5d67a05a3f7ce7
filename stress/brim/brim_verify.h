/*
 * Compares the stream of a run with the producers' records. It is read with the reader of tools/,
 * which shares no code with the writer: from a file after the clock has stopped, or from a pipe
 * while the session runs.
 *
 * Each payload must be whole, from one of our producers, later than that producer's last one, and
 * at the place that its number gives. Per thread, events, losses and their causes must add up to
 * the attempts.
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

    /* By producer; owned by the thread that reads the stream. */
    uint64_t *seen;
    uint64_t *next; /* the least counter that may come next */

    struct hs_trace trace; /* where the stream is; `stats` is set before the reader meets its end */
    struct hs_stream stream;
    bool is_whole;

    /* PIPE */
    int read_fd, write_fd; /* -1: none */
    pthread_t thread;
};

/* False if there is no memory; call brim_verifier_free() in any case. */
bool brim_verifier_init(struct brim_verifier *verifier, const struct brim_options *options,
                        uint64_t seed);
void brim_verifier_free(struct brim_verifier *verifier);

/* Makes a pipe and starts reading it. Returns its other end, or -1 with errno. */
int brim_verifier_pipe_start(struct brim_verifier *verifier);
/* Closes the other end and waits until everything has been read. */
void brim_verifier_pipe_end(struct brim_verifier *verifier, const struct weir_stats *stats);

/* Reads a whole stream from a file. */
void brim_verifier_read(struct brim_verifier *verifier, int fd, const struct weir_stats *stats);
/* Reads a stream that its sink has cut off. */
void brim_verifier_read_cut(struct brim_verifier *verifier, int fd, const struct weir_stats *stats);

/* After reading: compares the stream with the producers' records. */
void brim_verifier_compare(struct brim_verifier *verifier, const struct brim_crowd *crowd,
                           const struct weir_stats *stats);

#endif
