/* A lane as the buffer manager allocates it: with its state of waiting for room or for a turn. */
#ifndef WR_BUFFERS_PLACE_H
#define WR_BUFFERS_PLACE_H

#include "buffers/buffers.h"
#include "wait/gate.h"

struct wr_place {
    struct wr_lane lane;
    struct wr_waiter waiter;
    struct wr_unit *granted;    /* WRITER: the grant of its last wait, reserved for the attempt that
                                 * resumes; not in `credit`, where the drain could revoke it */
    uint64_t waited_ns;         /* WRITER: how long this attempt was parked so far, between hooks */
    struct wr_segment *in_hand; /* WRITER: taken for a record that spans them, not yet published;
                                 * linked by `newer` */
    uint64_t records_before;    /* WRITER: `records_retired` of the lane before that record */
    /* BLOCK: ANY(CREDIT): the unused rest of the last grant. DROP: ANY(TURN) */
    WR_ALIGNED_LINE struct wr_ptr credit;
    /* DROP. WRITER until it enrols, then DRAIN until it is served (ENROL, TURN) */
    uint32_t needed;           /* segments */
    uint32_t yields;           /* WRITER: until it is no longer asked */
    struct wr_place *next;     /* the lane that enrolled before this one; later, the queue */
    struct wr_place *previous; /* DRAIN: the queue */
    void *met;                 /* DRAIN: the unused grant that the last sweep found */
    void *asked;               /* WRITER: the word in which it last saw a request to yield */
    uint32_t refusals;         /* WRITER: since it saw that */
    bool is_queued;            /* DRAIN */
    /* Of a wait, like the words above `credit`; here because there is room. */
    bool is_parked;  /* WRITER: its attempt waits at the gate and is counted in `parked` */
    bool is_outside; /* WRITER: granted, and in the host's after hook */
};

_Static_assert(sizeof(struct wr_place) <= 2048, "a lane's fixed cost stays below 4 KiB");
_Static_assert(offsetof(struct wr_place, lane) == 0, "so that WR_LANE_NONE is a lane");

static inline struct wr_place *wr_place_of(struct wr_lane *lane)
{
    return WR_CONTAINER(lane, struct wr_place, lane);
}

#endif
