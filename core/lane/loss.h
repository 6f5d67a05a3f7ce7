/*
 * The causes of loss: the one list, in the order of enum weir_loss. Hosts know the numbers, so a
 * new cause is the last of both. Weir/Loss events carry the names; statistics are indexed by enum
 * weir_loss.
 *
 * LANE: each lane counts them, in an array that is indexed by enum wr_lane_cause. The lane's own
 * thread does that, with two exceptions: signal handlers add to NESTED, and a stop counts ABORTED
 * while the thread is parked. OTHER: the drain counts SINK_FAILED, and the thread that recycles a
 * segment counts OVERWRITTEN.
 */
#ifndef WR_LANE_LOSS_H
#define WR_LANE_LOSS_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/result.h>
#include "base/compiler.h"

#define WR_LOSS_LIST(LANE, OTHER) \
    LANE(FULL)                    \
    LANE(NESTED)                  \
    LANE(TOO_LARGE)               \
    LANE(NO_SEGMENT)              \
    LANE(MISMATCH)                \
    LANE(ABORTED)                 \
    LANE(DEADLINE)                \
    OTHER(SINK_FAILED)            \
    OTHER(OVERWRITTEN)

#define WR_LOSS_NONE_(name)
#define WR_LOSS_LANE_(name) WR_LANE_##name,
enum wr_lane_cause { WR_LOSS_LIST(WR_LOSS_LANE_, WR_LOSS_NONE_) WR_LANE_CAUSES };

/* `cause`: one of enum weir_loss that lanes count. */
#define WR_LOSS_TO_LANE_(name) \
    case WEIR_LOSS_##name:     \
        return WR_LANE_##name;
static inline enum wr_lane_cause wr_lane_cause(unsigned cause)
{
    switch (cause) {
        WR_LOSS_LIST(WR_LOSS_TO_LANE_, WR_LOSS_NONE_)
    default:
        WR_CHECK(false);
        __builtin_unreachable(); /* while the numbers are the same, the switch costs nothing */
    }
}

#define WR_LOSS_OF_LANE_(name) [WR_LANE_##name] = WEIR_LOSS_##name,
static inline enum weir_loss wr_loss_of_lane(unsigned lane_cause)
{
    static const uint8_t causes[] = {WR_LOSS_LIST(WR_LOSS_OF_LANE_, WR_LOSS_NONE_)};
    return (enum weir_loss)causes[lane_cause];
}

#endif
