/*
 * What a stream says of one thread. A lane has a track, and so has the drain's own capture thread.
 */
#ifndef WR_LANE_TRACK_H
#define WR_LANE_TRACK_H

#include <stdint.h>
#include "lane/segment.h"

struct wr_track {
    /* CONST */
    uint64_t capture_id;
    uint64_t thread_id; /* of the system */
    /* DRAIN */
    uint64_t number; /* on the wire: of the last record or reported loss; starts at 1 */
    uint64_t shown;  /* on the wire: of the last record, 0 before the first */
    uint64_t listed; /* on the wire: in the last sequence point; 0: never listed */
    uint64_t ticks;  /* of the last record, in the stream; time never steps back */
    uint64_t lost_told[WR_LANE_CAUSES]; /* losses that are reported */
    uint64_t nested_told;
    uint64_t encoded;   /* records handed to the encoder */
    uint64_t delivered; /* of them, those that the sink took or refused */
};

/* A stream begins, which introduces the thread with number 1. Losses are left as they are. */
static inline void wr_track_begin(struct wr_track *track)
{
    track->number = 1;
    track->shown = track->listed = track->ticks = 0;
    track->encoded = track->delivered = 0;
}

#endif
