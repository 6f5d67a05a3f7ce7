/*
 * Mode DROP: refused threads get segments in the order of their refusals, and never wait for them.
 *
 * A lane that finds no segment loses its event and enrols, once. The drain serves the lanes in the
 * order in which they enrolled: a segment that comes back goes to the first of them, which finds it
 * at its next event. While a lane waits, no other lane takes from the free list. The two sides meet
 * in one word, `place.credit`:
 *
 *     NULL ──writer enrols──> WAITING ──drain grants──> segments
 *       ^                        │                         │
 *       └───── writer exits ─────┴── writer uses, exits; drain takes back
 *
 * All steps but the first are read-modify-writes (edge TURN), so exactly one side owns the
 * segments. The second sweep that finds the same unused grant takes it back for the next lane; the
 * thread enrols again at its next event. While a lane waits, a sweep also takes back segments that
 * were held since the last sweep (wr_drain_sweep).
 *
 * A lane that needs several segments, for a record that spans them, is served when the drain has
 * gathered them all. The lanes behind it wait meanwhile; otherwise it would never get them. Its own
 * smaller records may take free segments as long as no other lane waits.
 *
 * A thread that emits flat out while it waits keeps a processor from the drain and from threads that
 * have been granted segments. So it is asked to yield, by ASKED beside WAITING: when it enrols, for one
 * yield, and WR_TURN_YIELDS more if the other lanes that wait outnumber half of the segments; and by
 * each sweep, for WR_TURN_YIELDS. It does so only once it has been refused WR_TURN_FLAT_OUT times since
 * it enrolled and since the last sweep. A thread that emits a little and sleeps would lose its processor
 * to other programs for time slices, and meanwhile its grants to other threads. The drain yields, too,
 * before it sleeps, while lanes wait or if it has just served some.
 *
 * Lanes enrol on a separate list, not on the ready list, so that the drain can serve them at any
 * time, above all before it enters a sink that may block.
 */
#ifndef WR_BUFFERS_MODE_DROP_H
#define WR_BUFFERS_MODE_DROP_H

#include "buffers/place.h"

/* The lane waits for one segment, or for several. Odd values, which no segment's address can be. */
#define WR_TURN_WAITING         ((void *)(uintptr_t)1)
#define WR_TURN_WAITING_SEVERAL ((void *)(uintptr_t)3)
/* Beside one of these: the thread should yield. Each request adds WR_TURN_SWEEP as well, so that the
 * thread can tell it from the one before it. */
#define WR_TURN_ASKED ((uintptr_t)4)
#define WR_TURN_SWEEP ((uintptr_t)8)
/* Refusals between two sweeps, which are a millisecond apart unless the sink blocks: a thread that is
 * refused less often sleeps, or does other work than tracing. With 64, threads that emit flat out
 * deliver up to a quarter less. */
#define WR_TURN_FLAT_OUT 16u
/* With one, on a busy machine, a drain beside 32 threads at times got no more than its fair share of a
 * processor, and delivered a tenth. 16 are no better. */
#define WR_TURN_YIELDS 4u

/* Does the lane wait for one segment, and is not asked to yield? Then none is available to it, and it
 * has nothing to do. Never true in other modes. */
static inline bool wr_turn_is_waiting(struct wr_lane *lane)
{
    /* relaxed: a grant that is missed now is found at the next event */
    return wr_ptr_load_relaxed(&wr_place_of(lane)->credit) == WR_TURN_WAITING;
}

#endif
