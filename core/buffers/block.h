/*
 * Mode BLOCK: what a lane and the drain do with the session's gate (wait/gate.h).
 *
 *     emit: wr_block_take() --NULL, wr_block_is_blocked()--> leave the pin, wr_block_wait(),
 *     pin again, load the mask again, wr_block_resume() --true--> try again
 *
 * With hooks of the host (event/hooks.h), which may keep the thread for as long as they like:
 *
 *     leave the pin, before hook, wr_block_wait_outside() --GRANTED--> after hook, pin again: the
 *     lane is still there, wr_block_step_in() --true--> try again
 */
#ifndef WR_BUFFERS_BLOCK_H
#define WR_BUFFERS_BLOCK_H

#include "buffers/buffers.h"
#include "wait/gate.h"

/* A lane, and how it waits for room; in mode DROP, how it waits for its turn (buffers/turn.h). */
struct wr_place {
    struct wr_lane lane;
    struct wr_waiter waiter;
    struct wr_unit *granted; /* WRITER: what its wait has brought, for the attempt that goes on: not
                              * yet credit, which may be revoked before it is used */
    uint64_t waited_ns;      /* WRITER: of the attempt, in waits whose grants were taken back */
    bool is_blocked;         /* WRITER: the attempt goes on after wr_block_wait() */
    bool is_outside;         /* WRITER: granted, and in the host's after hook */
    struct wr_segment *in_hand; /* WRITER: taken for a record of several, not yet published; linked
                                 * by `newer` */
    uint64_t records_before;    /* WRITER: the lane's `records_retired`, without that record */
    /* BLOCK: ANY(CREDIT): what is unused of the last grant. DROP: ANY(TURN) */
    WR_ALIGNED_LINE struct wr_ptr credit;
    /* DROP. WRITER until it enrols, then DRAIN until it is served (ENROL, TURN) */
    uint32_t needed;           /* segments */
    struct wr_place *next;     /* the lane that enrolled before; then the queue */
    struct wr_place *previous; /* DRAIN: the queue */
    void *met;                 /* DRAIN: the unused grant that the last sweep met */
    bool is_queued;            /* DRAIN */
};

_Static_assert(sizeof(struct wr_place) <= 2048, "a lane's fixed cost stays below 4 KiB");

static inline struct wr_place *wr_place_of(struct wr_lane *lane)
{
    return WR_CONTAINER(lane, struct wr_place, lane);
}

static inline bool wr_block_is_blocked(struct wr_lane *lane)
{
    return wr_place_of(lane)->is_blocked;
}

#ifndef WEIR_SINGLE_THREADED

/* `buffers` has its arena. */
void wr_block_init(struct wr_buffers *buffers, const struct weir_session_config *config);
void wr_block_fini(struct wr_buffers *buffers);

static inline bool wr_block_has_parked(const struct wr_buffers *buffers)
{
    return buffers->blocks && wr_gate_has_parked(&buffers->gate);
}

/* --- The emitting thread. -------------------------------------------------------------------- */

/* Inside the pin: as wr_when_full_take(). */
struct wr_segment *wr_block_take(struct wr_lane *lane, uint32_t count);

/* Is there a segment for the lane at this moment? A hint. */
bool wr_block_has_room(struct wr_lane *lane);

/* Outside the pin, for a blocked attempt: sleeps until there is room or the attempt is lost. */
enum wr_waited wr_block_wait(struct wr_lane *lane);

/* Again inside a pin. Ends the wait: the lane has its grant, if the session still wants the event,
 * or the loss is counted. True if the attempt may go on. Only the pin, and in it the mask, keep the
 * lane after this. */
bool wr_block_resume(struct wr_lane *lane, enum wr_waited waited, bool is_wanted);

/* Between the host's hooks, instead of both: nothing keeps the session when it returns. Other than
 * GRANTED, the loss is counted. */
enum wr_waited wr_block_wait_outside(struct wr_lane *lane);
/* After the hook, GRANTED, inside a pin in which the thread has found its lane where it was: as
 * wr_block_resume(). What was granted may have been taken back; then the attempt asks again. */
bool wr_block_step_in(struct wr_lane *lane, bool is_wanted);

/* Segments that were taken for an event that is not written; linked by `newer`. Inside the pin. */
void wr_block_return(struct wr_lane *lane, struct wr_segment *first);
/* The lane's thread has left an event by a jump, from a wait perhaps. Inside its pin. True if the
 * loss is counted already. */
bool wr_block_reset(struct wr_lane *lane);

/* The lane's thread exits: what it holds unused goes back, unless the gate's lock cannot be had in
 * time. Inside its pin. */
void wr_block_exit(struct wr_lane *lane);

/* --- The drain. ------------------------------------------------------------------------------ */

/* Of a lane whose thread has exited: takes back what it could not give. False: somebody who granted
 * it something has not noticed yet that it has left; the lane must stay. */
bool wr_block_finish(struct wr_lane *lane);

/* Takes back what the lane holds unused; true if there was any. */
bool wr_block_revoke(struct wr_lane *lane);
/* And what threads have that stay in the host's hooks; true if there was any. */
bool wr_block_sweep_outside(struct wr_buffers *buffers);
/* The lane's thread has not moved for a while: another one may run in its place. */
void wr_block_rest(struct wr_lane *lane);
/* A segment that is read. It may be kept for a moment, until wr_block_hand_over(). */
void wr_block_give(struct wr_buffers *buffers, struct wr_segment *segment);
/* When there is nothing else to do. */
void wr_block_hand_over(struct wr_buffers *buffers);
/* Before anything that may block, and after. */
void wr_block_drain_leaves(struct wr_buffers *buffers);
void wr_block_drain_returns(struct wr_buffers *buffers);

/* False: not within `limit_ns`. */
bool wr_block_figures(struct wr_buffers *buffers, struct wr_gate_figures *figures,
                      uint64_t limit_ns);

/* --- The end. -------------------------------------------------------------------------------- */

/* Sends all parked threads away, and those that would park from here on. Their loss is counted
 * here. The masks are clear. False: not within `limit_ns`, and nobody was. */
bool wr_block_abort(struct wr_buffers *buffers, uint64_t limit_ns);
/* Waits until the last of them has left; false if the deadline (monotonic) passed. */
bool wr_block_wait_unparked(struct wr_buffers *buffers, uint64_t deadline_ns);

#else

/* One thread cannot wait for itself: the configuration refuses the mode. */
static inline void wr_block_init(struct wr_buffers *buffers,
                                 const struct weir_session_config *config)
{
    (void)buffers;
    (void)config;
}
static inline void wr_block_fini(struct wr_buffers *buffers)
{
    (void)buffers;
}
static inline bool wr_block_has_parked(const struct wr_buffers *buffers)
{
    (void)buffers;
    return false;
}
static inline struct wr_segment *wr_block_take(struct wr_lane *lane, uint32_t count)
{
    (void)lane;
    (void)count;
    return NULL;
}
static inline bool wr_block_has_room(struct wr_lane *lane)
{
    (void)lane;
    return false;
}
static inline enum wr_waited wr_block_wait(struct wr_lane *lane)
{
    (void)lane;
    return WR_WAITED_ABORTED;
}
static inline enum wr_waited wr_block_wait_outside(struct wr_lane *lane)
{
    return wr_block_wait(lane);
}
static inline bool wr_block_step_in(struct wr_lane *lane, bool is_wanted)
{
    (void)lane;
    (void)is_wanted;
    return false;
}
static inline bool wr_block_sweep_outside(struct wr_buffers *buffers)
{
    (void)buffers;
    return false;
}
static inline bool wr_block_resume(struct wr_lane *lane, enum wr_waited waited, bool is_wanted)
{
    (void)lane;
    (void)waited;
    (void)is_wanted;
    return false;
}
static inline void wr_block_return(struct wr_lane *lane, struct wr_segment *first)
{
    (void)lane;
    (void)first;
}
static inline bool wr_block_reset(struct wr_lane *lane)
{
    (void)lane;
    return false;
}
static inline void wr_block_exit(struct wr_lane *lane)
{
    (void)lane;
}
static inline bool wr_block_finish(struct wr_lane *lane)
{
    (void)lane;
    return true;
}
static inline bool wr_block_revoke(struct wr_lane *lane)
{
    (void)lane;
    return false;
}
static inline void wr_block_rest(struct wr_lane *lane)
{
    (void)lane;
}
static inline void wr_block_give(struct wr_buffers *buffers, struct wr_segment *segment)
{
    (void)buffers;
    (void)segment;
}
static inline void wr_block_hand_over(struct wr_buffers *buffers)
{
    (void)buffers;
}
static inline void wr_block_drain_leaves(struct wr_buffers *buffers)
{
    (void)buffers;
}
static inline void wr_block_drain_returns(struct wr_buffers *buffers)
{
    (void)buffers;
}
static inline bool wr_block_figures(struct wr_buffers *buffers, struct wr_gate_figures *figures,
                                    uint64_t limit_ns)
{
    (void)buffers;
    (void)figures;
    (void)limit_ns;
    return true;
}
static inline bool wr_block_abort(struct wr_buffers *buffers, uint64_t limit_ns)
{
    (void)buffers;
    (void)limit_ns;
    return true;
}
static inline bool wr_block_wait_unparked(struct wr_buffers *buffers, uint64_t deadline_ns)
{
    (void)buffers;
    (void)deadline_ns;
    return true;
}

#endif
#endif
