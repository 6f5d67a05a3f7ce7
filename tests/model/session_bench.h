/*
 * Shared by the models of a whole session in mode BLOCK or DROP: the product's emitters, drain and
 * stop, over a few segments of one record each.
 */
#ifndef MODEL_SESSION_BENCH_H
#define MODEL_SESSION_BENCH_H

#include "product.h"
#include "product_session.h"

#define EMITTERS_MAX 3

enum { DRAIN_THREAD = 2 }; /* unless the drain is the first thread */

struct session_bench {
    struct weir_session *session;
    struct weir_event *event;
    struct wr_thread *thread[EMITTERS_MAX];
    struct wr_place *place[EMITTERS_MAX];
    uint32_t written[EMITTERS_MAX]; /* as reported to the emitter */
    uint32_t lost[EMITTERS_MAX];
    uint32_t nested[EMITTERS_MAX]; /* lost as nested, if the event was on */
    uint32_t emitters, segments, segment_bytes;
    uint32_t hooked[EMITTERS_MAX]; /* hooks that the thread has called */
    void *hooked_by[EMITTERS_MAX]; /* their context */
    struct wr_u32 *told;           /* set once the first emitter has emitted */
    uint32_t states; /* that the source of rundown has emitted, and that the stream has */
    uint32_t states_read;
    bool has_stopped;
    bool has_clock; /* one moving clock for all */
};

extern struct session_bench session_bench;

/* Call in setup(). Segments of one record. `fast`: plain pins and a membarrier; otherwise seq_cst
 * pins. The drain has written its first point, and the event is on. `grant` is in segments. */
void session_prepare(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments,
                     uint32_t grant);

/* The same in mode DROP, with segments of three records. `have_lanes`: the emitters are attached
 * and introduced. */
void session_prepare_drop(bool fast, uint32_t emitters, uint32_t segments, bool have_lanes);
/* Mode DROP with segments of one record and a budget of exactly these segments. */
void session_prepare_brim(bool fast, uint32_t emitters, uint32_t segments);
/* Like session_prepare(), with one moving clock for all and grants of one segment. */
void session_prepare_clock(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments);
/* Makes the clock step back further than it will ever advance, or leap by as much. */
void session_step_back(void);
void session_leap(void);
/* From here on the event has an array. Called after the session is prepared. */
void session_variable(void);
/* Emits three events, the last of which need the drain, and stops. */
void session_emit_all_and_stop(void);

/* Call in setup(). Like session_prepare_drop() with one emitter and plain pins, but the session has
 * started after membarrier failed; its thread was on the fast path before. */
void session_prepare_late(uint32_t segments, bool have_lanes);

/* Call in setup(). The stop serves the threads that wait. */
void session_lingers(void);

/* Call in setup(). Makes the thread emit. */
void session_emit_before(uint32_t thread);

/* Call in setup(). Sets hooks that count their calls. */
void session_hooks(void);

void session_emit(void);
/* The same from a handler, which may have interrupted an emit. */
void session_emit_nested(void);
/* The first emitter signals that it has emitted; the second then stops the session. */
void session_emit_and_tell(void);
void session_emit_and_stop(void);
/* DROP: emits. If it is refused, waits for its turn and emits again, which must succeed. Then the
 * first emitter signals the second, which stops the session. */
void session_emit_in_turn_and_tell(void);
void session_emit_in_turn_and_stop(void);
void session_thread_exit(void);
void session_drain(void);
/* Stops the session, then frees everything that belongs to it. */
void session_stop(void);
/* The same without a drain thread: the stopper drains. */
void session_stop_alone(void);
/* The same, but first stops with a deadline in the past: an emitter may still be inside its pin
 * when the stream ends. */
void session_stop_late(void);
/* The same, but first tries twice without waiting. */
void session_stop_in_tries(void);

/* Reads once what is there, then stops like session_stop_alone(). */
void session_drain_and_stop_alone(void);

/* Stops in tries until it is done. After each, waits until no other thread can go on, reads and
 * sweeps. */
void session_stop_serving(void);
/* The same, but first reads once what is there. */
void session_drain_and_stop_serving(void);

/* Sets other hooks. The second function first waits between the current hooks or those about to be
 * set. */
void session_set_hooks(void);
void session_wait_and_set_hooks(void);

/* Call in finish(). What was written has been read; what was not written was counted once. */
void session_check(void);
/* The same, and the stop has ended no wait. */
void session_check_served(void);
/* The same without a stop: only the counts. */
void session_check_counts(void);
/* Like session_check_counts(); records that were not read do not count as written. */
void session_check_read(void);

/* Like session_check(); and the drain has not waited for its timer. */
void session_check_in_time(void);

/* Membarrier fails: the second emitter stops once the first one has emitted. Nothing is freed, and
 * the slot stays taken. */
void session_emit_and_stop_lost(void);
/* Call in finish(). What was written lies in a lane or was read; what was not written was counted
 * once. The host was told of the failure. */
void session_check_lost(void);

/* Call in setup(). Prepares the slot's next session. */
void session_prepare_next(void);
/* Stops this session, frees its lanes, and starts the next one. */
void session_change(void);

/* Call in setup(). The session has a rundown at its start: of STATES events, of which the box holds
 * one. With a drain thread and a bell, or without. */
void session_prepare_rundown(bool has_drain);
/* The same, without; the stop has begun before the rundown does. */
void session_prepare_rundown_stuck(void);
/* Starts that rundown, then signals that the start is over. */
void session_rundown(void);
/* The same, and then stops the session. */
void session_rundown_and_stop(void);
/* A drain that takes once what is offered, and is then stopped. */
void session_take_and_end(void);
/* One that is stuck in its sink, and does not take anything before the start is over. */
void session_end_late(void);
/* Stops the session, and frees it once its start is over. */
void session_stop_and_wait(void);
/* Call in finish(). Each event is in the stream once, in order, or was counted as aborted. */
void session_check_rundown(void);
/* The same, and the drain, the second thread, has not waited for its timer. */
void session_check_rundown_in_time(void);

/* The end of weir_session_start(), with a drain whose sink fails meanwhile. */
void session_start_late(void);
void session_fail(void);
/* Call in finish(). The event is off. */
void session_check_off(void);

#endif
