/*
 * What the models of a whole session share, of mode BLOCK or DROP: emitters, the drain and a stop,
 * all of them the product's, over a few segments of one record each.
 */
#ifndef MODEL_SESSION_BENCH_H
#define MODEL_SESSION_BENCH_H

#include "product.h"
#include "product_session.h"

#define EMITTERS_MAX 3

enum { DRAIN_THREAD = 2 }; /* where it is not the first one */

struct session_bench {
    struct weir_session *session;
    struct weir_event *event;
    struct wr_thread *thread[EMITTERS_MAX];
    struct wr_place *place[EMITTERS_MAX];
    uint32_t written[EMITTERS_MAX]; /* as the emitter was told */
    uint32_t lost[EMITTERS_MAX];
    uint32_t nested[EMITTERS_MAX]; /* lost so, if the event was on */
    uint32_t emitters, segments, segment_bytes;
    uint32_t hooked[EMITTERS_MAX]; /* hooks that the thread has called */
    void *hooked_by[EMITTERS_MAX]; /* their context */
    struct wr_u32 *told;           /* the first emitter has emitted */
    bool has_stopped;
    bool has_clock; /* one for all, which moves */
};

extern struct session_bench session_bench;

/* In setup(). Segments of one record. `fast`: plain pins and a membarrier; else seq_cst pins. The
 * drain's first point is written, and the event is on. `grant`: segments at a time. */
void session_prepare(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments,
                     uint32_t grant);

/* The same in mode DROP, with segments of three records. `have_lanes`: the emitters are attached
 * and introduced. */
void session_prepare_drop(bool fast, uint32_t emitters, uint32_t segments, bool have_lanes);
/* Mode DROP with segments of one record, and no more of them than there are. */
void session_prepare_brim(bool fast, uint32_t emitters, uint32_t segments);
/* As session_prepare(), with a clock for all that moves, and grants of one segment. */
void session_prepare_clock(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments);
/* It steps back by more than it will ever go on, or leaps by as much. */
void session_step_back(void);
void session_leap(void);
/* Three events, of which the last ones need the drain, and a stop. */
void session_emit_all_and_stop(void);

/* The same, and the session has started after membarrier had failed, with threads that have been on
 * the fast path before. */
void session_prepare_late(uint32_t segments, bool have_lanes);

/* In setup(): the thread has emitted. */
void session_emit_before(uint32_t thread);

/* In setup(): the host has hooks, which count their calls. */
void session_hooks(void);

void session_emit(void);
/* The same by a handler that may have interrupted one. */
void session_emit_nested(void);
/* One emitter tells the other that it has emitted; that one stops the session then. */
void session_emit_and_tell(void);
void session_emit_and_stop(void);
/* DROP: emits; if it is refused, it waits for its turn and emits again, which must succeed. Then
 * the one tells the other, who stops the session. */
void session_emit_in_turn_and_tell(void);
void session_emit_in_turn_and_stop(void);
void session_thread_exit(void);
void session_drain(void);
/* Stops, then frees all that belongs to the session. */
void session_stop(void);
/* The same without a drain thread: the stopper drains. */
void session_stop_alone(void);
/* The same, at first by a deadline that has passed: an emitter may still be inside its pin when the
 * stream ends. */
void session_stop_late(void);

/* Before that, reads what is there, once. */
void session_drain_and_stop_alone(void);

/* Sets other hooks; after a wait between those that are set or are about to be. */
void session_set_hooks(void);
void session_wait_and_set_hooks(void);

/* finish(): what was written is read, what was not is counted once. */
void session_check(void);
/* The same without a stop. */
void session_check_counts(void);
/* The same, and what was not read does not count as written. */
void session_check_read(void);

/* The same, and the drain has not waited for its timer. */
void session_check_in_time(void);

/* Membarrier fails: an emitter that has been told that the other one has emitted stops. Nothing is
 * freed, and the slot is kept. */
void session_emit_and_stop_lost(void);
/* finish(): what was written stands in a lane or was read; what was not is counted once, and the
 * host was told. */
void session_check_lost(void);

/* In setup(): a session for the slot, after this one. */
void session_prepare_next(void);
/* Stops this one, frees its lanes, and starts that one. */
void session_change(void);

/* The end of weir_session_start(), and a drain whose sink fails meanwhile. */
void session_start_late(void);
void session_fail(void);
/* finish(): the event is off. */
void session_check_off(void);

#endif
