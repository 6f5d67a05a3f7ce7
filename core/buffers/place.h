/* A lane as the buffer manager keeps it: with how it waits for room, or for its turn. */
#ifndef WR_BUFFERS_PLACE_H
#define WR_BUFFERS_PLACE_H

#include "buffers/buffers.h"
#include "wait/gate.h"

struct wr_place {
    struct wr_lane lane;
    struct wr_waiter waiter;
    struct wr_unit *granted; /* WRITER: what its wait has brought, for the attempt that goes on: not
                              * yet credit, which may be revoked before it is used */
    uint64_t waited_ns;      /* WRITER: of the attempt, in waits whose grants were taken back */
    bool is_parked;          /* WRITER: its attempt is at the gate, and counted there */
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

#endif
