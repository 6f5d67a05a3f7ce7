/*
 * Mode BLOCK: what a lane and the drain do with the session's gate (wait/gate.h).
 *
 *     emit: wr_block_take() --NULL, wr_block_is_blocked()--> leave the pin, wr_block_wait(),
 *     pin again, load the mask again, wr_block_resume() --true--> try again
 */
#ifndef WR_BUFFERS_BLOCK_H
#define WR_BUFFERS_BLOCK_H

#include "buffers/buffers.h"
#include "wait/gate.h"

/* A lane, and how it waits for room. */
struct wr_place {
    struct wr_lane lane;
    struct wr_waiter waiter;
    struct wr_unit *granted; /* WRITER: what its wait has brought, for the attempt that goes on: not
                              * yet credit, which may be revoked before it is used */
    bool is_blocked;         /* WRITER: the attempt goes on after wr_block_wait() */
    struct wr_segment *in_hand; /* WRITER: taken for a record of several, not yet published; linked
                                 * by `newer` */
    uint64_t records_before;    /* WRITER: the lane\'s `records_retired`, without that record */
    WR_ALIGNED_LINE struct wr_ptr credit; /* ANY(CREDIT): what is unused of the last grant */
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

/* Outside the pin, for a blocked attempt: sleeps until there is room or the attempt is lost. */
enum wr_waited wr_block_wait(struct wr_lane *lane);

/* Again inside a pin. Ends the wait: the lane has its grant, if the session still wants the event,
 * or the loss is counted. True if the attempt may go on. Only the pin, and in it the mask, keep the
 * lane after this. */
bool wr_block_resume(struct wr_lane *lane, enum wr_waited waited, bool is_wanted);

/* Segments that were taken for an event that is not written; linked by `newer`. Inside the pin. */
void wr_block_return(struct wr_lane *lane, struct wr_segment *first);
/* The lane's thread has left an event by a jump, from a wait perhaps. Inside its pin. True if the
 * loss is counted already. */
bool wr_block_reset(struct wr_lane *lane);

/* The lane's thread exits, or has exited: what it holds unused goes back. With a limit, in ns, for
 * the gate's lock, behind which it stays until the drain makes the same call without one. */
void wr_block_exit(struct wr_lane *lane, uint64_t limit_ns);

/* --- The drain. ------------------------------------------------------------------------------ */

/* Takes back what the lane holds unused; true if there was any. */
bool wr_block_revoke(struct wr_lane *lane);
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
static inline enum wr_waited wr_block_wait(struct wr_lane *lane)
{
    (void)lane;
    return WR_WAITED_ABORTED;
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
static inline void wr_block_exit(struct wr_lane *lane, uint64_t limit_ns)
{
    (void)lane;
    (void)limit_ns;
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
