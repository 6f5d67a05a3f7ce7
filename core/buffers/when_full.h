/*
 * At the brim: how a lane gets a segment, and what happens if there is none. The one place that
 * decides by the session's mode.
 */
#ifndef WR_BUFFERS_WHEN_FULL_H
#define WR_BUFFERS_WHEN_FULL_H

#include "buffers/block.h"
#include "buffers/buffers.h"

/* `count` segments of the caller's own, all or none, linked by `newer`. Inside its pin; the lane
 * has none open, and `count` is at most half of the session's, so that the request can be met once
 * the drain has read the others. NULL: the loss is counted, or the attempt is blocked
 * (wr_block_is_blocked) and nothing is counted yet. */
struct wr_segment *wr_when_full_take(struct wr_lane *lane, uint32_t count);

/* Segments that were taken for an event that is not written; linked by `newer`. Not in mode
 * OVERWRITE. */
void wr_when_full_return(struct wr_lane *lane, struct wr_segment *first);

/* DRAIN: a segment that is read. */
void wr_when_full_give(struct wr_buffers *buffers, struct wr_segment *segment);

/* Counts the loss of an event that found no room. */
void wr_when_full_lose(struct wr_lane *lane);

/* The same in OVERWRITE, or of an event that may not wait in BLOCK: the drain looks for segments
 * that nobody uses. */
void wr_when_full_drop(struct wr_lane *lane);

#endif
