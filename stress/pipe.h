/*
 * A sink that is a pipe, and at its other end a thread that decodes the stream as it comes, with
 * the reader of tools/. Nothing is stored, so that a run may be of any length.
 *
 * It is for sessions that must lose nothing. Each emitter is one thread's whole life, and counts
 * from 0: its events are all of one capture thread and follow each other one by one.
 */
#ifndef STRESS_PIPE_H
#define STRESS_PIPE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "emitter.h"

struct hs_pipe {
    /* To be set before hs_pipe_start(), or left at 0. */
    uint64_t stall_us;       /* the reader stands still for so long after a thread has parked, */
    uint64_t stall_at_event; /* before it takes this event */
    bool is_non_blocking;    /* as a host may hand it over: the library has to wait itself */

    int write_fd;
    struct weir_session *session;
    bool is_started;         /* ANY: publishes the session to the reader */
    struct weir_stats stats; /* at the stop */

    /* The reader's, to be looked at after hs_pipe_stop(). */
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

/* Stops the session, waits for the reader, and holds what it has seen against the emitters: every
 * attempt is there, once, whole and in order. */
void hs_pipe_stop(struct hs_pipe *pipe, const struct hs_emitter *emitters);

#endif
