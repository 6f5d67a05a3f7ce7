/*
 * The buffer manager of a session: its arena of segments, which is its budget, and its lanes.
 *
 * The budget is structural: the arena is cut into segments once, and a record can only be in one of
 * them. There is no counter that could drift.
 */
#ifndef WR_BUFFERS_BUFFERS_H
#define WR_BUFFERS_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <weir/session.h>
#include "base/atomic.h"
#include "buffers/free_list.h"
#include "buffers/overwrite.h"
#include "lane/lane.h"
#include "lane/thread.h"
#include "wait/bell.h"
#include "wait/gate.h"

struct wr_place;
struct wr_span;

/* DROP: the lanes that wait for their turn: see buffers/turn.h. */
struct wr_turns {
    WR_ALIGNED_LINE struct wr_ptr enrolled; /* ANY(ENROL): not yet in the queue, newest first */
    struct wr_u32 waiting;                  /* ANY: lanes that wait; a hint */
    WR_ALIGNED_LINE struct wr_place *first, *last; /* DRAIN: the queue, oldest first */
    struct wr_segment *gathered;                   /* DRAIN: for its head, linked by `newer` */
    uint32_t gathered_count;                       /* DRAIN */
};

struct wr_buffers {
    /* CONST after init */
    unsigned char *arena;
    uint64_t arena_bytes;
    uint32_t segment_bytes;
    uint32_t segment_count;
    uint32_t wake_at; /* retired segments that wake the drain */
    uint32_t slot;
    bool has_plain_pins; /* its emitters may come by the fast path: revoking and freeing what is
                            theirs needs membarrier; set with the slot */
    bool blocks;         /* mode BLOCK: segments come from the gate, not from the free list */
    uint64_t max_block_ns;
    void (*on_park)(void *context, const struct weir_park *park);
    void *on_park_context;

    struct wr_free_list free_list; /* ANY(RECYCLE) */
    struct wr_u32 carved;          /* ANY: segments that have been in use, from the first on */
    WR_ALIGNED_LINE struct wr_ptr ready; /* ANY(READY): lanes with news, newest first */
    struct wr_u32 retired;               /* ANY: since the drain last looked; a hint for waking */
    struct wr_u32 lanes_now;             /* ANY: that are attached; a hint */
    struct wr_u32 is_starved; /* ANY: a thread found no segment, in BLOCK in a no-block scope; a
                               * hint for the drain */
    struct wr_bell bell;
    struct wr_overwrite overwrite;
    struct wr_turns turns;

    struct wr_gate gate;      /* BLOCK */
    struct wr_unit *returned; /* DRAIN: segments that are read, not yet handed over */
    uint32_t returned_count;  /* DRAIN */

    pthread_mutex_t lock;
    struct wr_lane *lanes;       /* LOCK: all attached lanes */
    struct wr_lane *free_lanes;  /* LOCK */
    void *slabs;                 /* LOCK: pages that hold lanes */
    uint64_t slab_bytes;         /* LOCK */
    uint64_t lanes_attached;     /* LOCK: ever */
    struct weir_counts released; /* LOCK: of lanes that are gone */
};

/* Losses that no lane can carry, by session slot; never freed, so that a signal handler on a thread
 * without a record may add. The drain folds in what is new since it started. */
struct wr_unattributed {
    struct wr_u64 nested;
    struct wr_u64 no_segment;
};
extern struct wr_unattributed wr_unattributed[WR_SESSIONS_MAX];

/* The buffers of the session in each slot; set before the slot's bit is in any event's mask,
 * cleared after QUIESCE. */
extern struct wr_ptr wr_buffers_by_slot[WR_SESSIONS_MAX];

/* Slots whose sessions may park an emitting thread. As wr_buffers_by_slot. */
extern struct wr_u64 wr_buffers_blocking_slots;
static inline uint64_t wr_buffers_blocking(void)
{
    /* relaxed: edge ENABLE publishes the bit with the mask that names the slot */
    return wr_u64_load_relaxed(&wr_buffers_blocking_slots);
}

/* `buffers` is zeroed. False if the arena cannot be mapped. */
bool wr_buffers_init(struct wr_buffers *buffers, const struct weir_session_config *config);
void wr_buffers_fini(struct wr_buffers *buffers);
/* Sets the hook that retires the lanes of exiting threads. Once per process. */
void wr_buffers_init_process(void);

/* A number that names a capture thread in a stream; never the same twice in a process. */
uint64_t wr_buffers_capture_id(void);

/* --- Writer's side, inside the thread's pin. ------------------------------------------------- */

/* The thread's lane in the session of `slot`, made at first use; NULL if there is no memory. */
struct wr_lane *wr_buffers_lane(struct wr_thread *thread, uint32_t slot);

/* Room for a record of `bytes`, which fits into a segment, in a fresh one if need be. NULL: the
 * loss is counted, or the attempt is blocked (buffers/block.h). */
struct wr_segment *wr_buffers_room(struct wr_lane *lane, uint32_t bytes, uint64_t *commit);

/* Does a record of `bytes` not fit into a segment, so that it goes the way of lane_span.h? */
static inline bool wr_buffers_must_span(const struct wr_buffers *buffers, uint32_t bytes)
{
    return bytes > buffers->segment_bytes - WR_SEGMENT_HEADER_BYTES;
}

/* Segments for a record of `bytes` that spans several, linked by `newer`; the lane has none open.
 * NULL: the loss is counted, TOO_LARGE if they would be more than half of the session's; or the
 * attempt is blocked. */
struct wr_segment *wr_buffers_span_room(struct wr_lane *lane, uint32_t bytes);
/* Publishes the record whose parts are filled, and opens the last of its segments. */
void wr_buffers_span_open(struct wr_lane *lane, const struct wr_span *span);

/* Counts a loss that is not for want of room, and marks its place in the current segment; where the
 * mark has no room the segment is closed, and the next one's header says where the gap is. */
void wr_buffers_lose(struct wr_lane *lane, enum weir_loss cause);

/* More threads than half of the segments? */
static inline bool wr_buffers_is_crowd(const struct wr_buffers *buffers)
{
    /* relaxed: a hint */
    return wr_u32_load_relaxed(&buffers->lanes_now) > buffers->segment_count / 2;
}

/* OVERWRITE: a thread that found none looks for a segment again after so many lost events: in a
 * crowd sooner, where it may be lent one. */
#define WR_SKIPS          255u
#define WR_SKIPS_IN_CROWD 15u

/* OVERWRITE: may the lane lose its event without a look for a segment? For so many events after one
 * look that found none (wr_when_full_drop), as long as there is nothing and the drain knows it. */
static inline bool wr_buffers_skip(struct wr_lane *lane)
{
    const struct wr_buffers *buffers = lane->buffers;
    /* relaxed: a hint */
    if (lane->skips == 0 || !wr_u32_load_relaxed(&buffers->is_starved) ||
        !wr_overwrite_is_dry(&buffers->overwrite, lane))
        return false;
    lane->skips--;
    return true;
}

/* Puts the lane on the ready list unless it is there. Also the drain, for a segment it revoked. */
void wr_buffers_announce(struct wr_lane *lane);

/* Gives back a segment that was lent for one record. */
void wr_buffers_return(struct wr_lane *lane);

/* Gives up the current segment, so that the next record goes to a new one. */
void wr_buffers_retire(struct wr_lane *lane);
/* Would the lane get another segment at this moment? A hint. */
bool wr_buffers_has_room(struct wr_lane *lane);

/* --- Drain's side. --------------------------------------------------------------------------- */

/* The lanes that have news since the last call, linked by ready_next. */
struct wr_lane *wr_buffers_take_ready(struct wr_buffers *buffers);
/* To be called before a ready lane is looked at: from here on it may be queued again. */
void wr_buffers_accept_ready(struct wr_lane *lane);
void wr_buffers_give(struct wr_buffers *buffers, struct wr_segment *segment);
/* A finished lane goes back, out of the list at `*link`; its counts are added to `released`. The
 * lock is held. */
void wr_buffers_release_lane_locked(struct wr_buffers *buffers, struct wr_lane **link);

void wr_counts_add(struct weir_counts *sum, const struct weir_counts *more);
/* Written and lost of one lane. The lock is held. */
void wr_lane_counts_locked(struct wr_lane *lane, struct weir_counts *counts);
/* Segments that hold, or may hold, records. The lock is held. */
uint32_t wr_lane_segments_locked(struct wr_lane *lane);

#endif
