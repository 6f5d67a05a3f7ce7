/*
 * Why events are lost: the one list. Weir/Loss events carry the names; statistics are indexed by
 * enum weir_loss. The first WR_LANE_CAUSES but NESTED are counted by the lane's own thread;
 * NESTED is added by signal handlers; SINK_FAILED is counted by the drain, OVERWRITTEN by
 * whoever takes the segment.
 */
#ifndef WR_BUFFERS_LOSS_H
#define WR_BUFFERS_LOSS_H

#include <weir/session.h>
#include "lane/segment.h"

#define WR_LOSS_LIST(X) \
    X(FULL)             \
    X(NESTED)           \
    X(TOO_LARGE)        \
    X(NO_SEGMENT)       \
    X(MISMATCH)         \
    X(ABORTED)          \
    X(DEADLINE)         \
    X(SINK_FAILED)      \
    X(OVERWRITTEN)

_Static_assert(WEIR_LOSS_SINK_FAILED == WR_LANE_CAUSES, "a lane counts the causes before it");

#endif
