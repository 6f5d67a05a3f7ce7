/*
 * A sink that is a pipe, with a thread at its other end that decodes the stream as it arrives,
 * using the reader of tools/. Nothing is stored, so a run may have any length.
 *
 * For sessions that must lose nothing. Each emitter lives as long as one thread and counts from 0:
 * all its events are from one capture thread and have consecutive numbers.
 */
#ifndef STRESS_PIPE_H
#define STRESS_PIPE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "emitter.h"

struct hs_pipe {
    /* Set before hs_pipe_start(), or left at 0. */
    uint64_t stall_us;       /* the reader stands still until a thread has been parked this long, */
    uint64_t stall_at_event; /* before it takes this event */
    bool is_non_blocking; /* a host may pass such a descriptor: the library must do the waiting */

    int write_fd;
    struct weir_session *session;
    bool is_started;         /* ANY: publishes the session to the reader */
    struct weir_stats stats; /* at the stop */

    /* The reader's; read after hs_pipe_stop(). */
    int read_fd;
    uint32_t count;
    uint64_t *next;     /* per emitter: its next counter */
    uint64_t *captures; /* per emitter */
    uint64_t events, bytes, losses;
    int64_t point_time;
    pthread_t thread;
};

/* Creates and starts a session that writes into the pipe, for emitters 0 to count - 1. The rest of
 * `pipe` is zero. False if a check failed. */
bool hs_pipe_start(struct hs_pipe *pipe, struct weir_session_config config, uint32_t count);

/* Stops the session, waits for the reader, and verifies against the emitters that every attempt
 * arrived once, whole and in order. */
void hs_pipe_stop(struct hs_pipe *pipe, const struct hs_emitter *emitters);

#endif
