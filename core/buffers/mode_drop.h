/*
 * Mode DROP: a thread that was refused has its turn in the order of refusals, and does not wait for
 * it.
 *
 * A lane that finds no segment loses its event and enrols, once. The drain serves the lanes in the
 * order in which they enrolled: a segment that comes back goes to the first of them, which finds it
 * at its next event. While a lane waits nobody else takes from the free list. The two sides meet in
 * one word, `place.credit`:
 *
 *     NULL ──writer enrols──> WAITING ──drain grants──> segments
 *       ^                        │                         │
 *       └───── writer exits ─────┴── writer uses, exits; drain takes back
 *
 * All but the first step are read-modify-writes (edge TURN), so one side has the segments. At the
 * second sweep that meets an unused grant the drain takes it back for the next lane; the thread
 * enrols again at its next event. A sweep also takes back segments that were held since the last
 * one while a lane waits (wr_drain_sweep).
 *
 * A lane that needs several segments, for a record that spans them, is served when the drain has
 * gathered them all. The lanes behind it wait meanwhile; otherwise it would never get them. Its own
 * smaller records may take what is free as long as no other lane waits.
 *
 * Lanes enrol on a list of their own and not on the ready list, so that the drain can take them
 * at any time, above all before a sink that may block.
 */
#ifndef WR_BUFFERS_MODE_DROP_H
#define WR_BUFFERS_MODE_DROP_H

#include "buffers/place.h"

/* Odd, so that it is no segment: the lane waits for one, or for several. */
#define WR_TURN_WAITING         ((void *)(uintptr_t)1)
#define WR_TURN_WAITING_SEVERAL ((void *)(uintptr_t)3)

/* Has the lane enrolled for one segment, and not been served yet? Then there is none for it now. In
 * other modes never. */
static inline bool wr_turn_is_waiting(struct wr_lane *lane)
{
    /* relaxed: a grant that is missed now is met at the next event */
    return wr_ptr_load_relaxed(&wr_place_of(lane)->credit) == WR_TURN_WAITING;
}

#endif
