/*
 * Shared by DROP and BLOCK: a segment that its thread has left stays on the lane's chain (edge
 * CHAIN) until the drain has read it. Operations of struct wr_mode; for core/buffers/ only.
 */
#ifndef WR_BUFFERS_CHAIN_H
#define WR_BUFFERS_CHAIN_H

#include "buffers/mode.h"

enum wr_room wr_chain_room(struct wr_lane *lane, struct wr_segment **segment, uint64_t *commit);
enum wr_room wr_chain_span_room(struct wr_lane *lane, uint32_t count, struct wr_segment **first);
bool wr_chain_span_open(struct wr_lane *lane, const struct wr_span *span);
void wr_chain_retire(struct wr_lane *lane);
/* After a jump: takes the segments in hand, which the caller then owns; NULL if there are none. */
struct wr_segment *wr_chain_take_in_hand(struct wr_lane *lane);
uint64_t wr_chain_attempts(struct wr_lane *lane, uint64_t lost[WR_LANE_CAUSES]);
bool wr_chain_counts(struct wr_lane *lane, uint64_t *records, uint64_t *overwritten,
                     uint64_t limit_ns);

#endif
