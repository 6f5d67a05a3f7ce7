/*
 * The single list of causes of loss. Weir/Loss events carry the names; statistics are indexed by
 * enum weir_loss. A lane counts the first WR_LANE_CAUSES. Its own thread counts them, with two
 * exceptions: signal handlers add to NESTED, and a stop counts ABORTED while the thread is parked.
 * The drain counts SINK_FAILED, and the thread that recycles a segment counts OVERWRITTEN.
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
