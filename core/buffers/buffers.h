/*
 * The buffer manager of a session: its arena of segments, which is its budget, and its lanes.
 *
 * The budget is structural: the arena is cut into segments once, and records exist only in them. No
 * counter can drift.
 */
#ifndef WR_BUFFERS_BUFFERS_H
#define WR_BUFFERS_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <weir/session.h>
#include "base/atomic.h"
#include "buffers/free_list.h"
#include "buffers/mode.h"
#include "buffers/mode_overwrite.h"
#include "lane/lane_span.h"
#include "lane/thread.h"
#include "os/clock.h"
#include "os/os.h"
#include "wait/bell.h"
#include "wait/gate.h"

struct wr_place;

/* DROP: the lanes that wait for their turn. See buffers/mode_drop.h. */
struct wr_turns {
    WR_ALIGNED_LINE struct wr_ptr enrolled; /* ANY(ENROL): not yet in the queue, newest first */
    struct wr_u32 waiting;                  /* ANY: lanes that wait; a hint */
    WR_ALIGNED_LINE struct wr_place *first, *last; /* DRAIN: the queue, oldest first */
    struct wr_segment *gathered;                   /* DRAIN: for its head, linked by `newer` */
    uint32_t gathered_count;                       /* DRAIN */
    bool has_granted;                              /* DRAIN: since it last offered its processor */
};

struct wr_buffers {
    /* CONST after init */
    const struct wr_mode *mode;
    unsigned char *arena;
    uint64_t arena_bytes;
    uint32_t segment_bytes;
    uint32_t segment_count;
    uint32_t wake_at; /* retired segments that wake the drain, if no thread holds one */
    uint32_t slot;
    bool has_plain_pins; /* emitters may use the fast path, so revoking a segment or freeing a lane
                            needs membarrier; set with the slot */
    bool blocks_signals; /* emitting threads block signals while they change segments */
    bool yields;         /* DROP: threads that are refused often, and the drain, offer processors */
    bool has_stacks;     /* the session wants the stacks of its events */
    uint64_t max_block_ns;
    void (*on_park)(void *context, const struct weir_park *park);
    void *on_park_context;

    struct wr_free_list free_list; /* DROP: ANY(RECYCLE) */
    struct wr_u32 carved;          /* DROP: ANY: segments used so far, from the arena's start; may
                                    * exceed segment_count by one per thread */
    WR_ALIGNED_LINE struct wr_ptr ready; /* ANY(READY): lanes with news, newest first */
    struct wr_u32 retired;    /* ANY: retired segments since the drain's last look; a hint */
    struct wr_u32 lanes_now;  /* ANY: attached lanes; a hint */
    struct wr_u32 is_starved; /* ANY: a thread found no segment (in BLOCK, in a no-block scope); a
                               * hint for the drain */
    struct wr_bell bell;
    struct wr_overwrite overwrite;
    struct wr_turns turns;

    struct wr_gate gate;      /* BLOCK */
    struct wr_unit *returned; /* DRAIN: segments that are read but not yet given to the gate */
    uint32_t returned_count;  /* DRAIN */

    pthread_mutex_t lock;
    struct wr_ptr arrived;    /* ANY(ARRIVE): attached lanes not yet in `lanes`, newest first */
    struct wr_lane *lanes;    /* LOCK: all other attached lanes */
    struct wr_ptr free_lanes; /* ANY(LANE): given by any thread, taken under `take_lock` */
    pthread_mutex_t take_lock;
    struct wr_u32 take_is_stuck; /* ANY: a hint, see wr_self_lock() */
    struct wr_ptr slabs;         /* ANY: pages that hold lanes; read when the session is over */
    struct wr_u64 slab_bytes;    /* ANY: a figure */
    uint64_t lanes_attached;     /* LOCK: lanes that have ever been in `lanes` */
    struct weir_counts released; /* LOCK: the counts of released lanes */
};

/* Losses that belong to no lane, by session slot. Never freed, so that a signal handler on a thread
 * without a record may add to them. The drain reports what was added since it started. */
struct wr_unattributed {
    struct wr_u64 nested;
    struct wr_u64 no_segment;
};
extern struct wr_unattributed wr_unattributed[WR_SESSIONS_MAX];

/* The buffers of the session in each slot. Set before the slot's bit is in any event's mask, and
 * cleared after QUIESCE. */
extern struct wr_ptr wr_buffers_by_slot[WR_SESSIONS_MAX];

/* Slots whose sessions may park an emitting thread. Set and cleared with wr_buffers_by_slot. */
extern struct wr_u64 wr_buffers_blocking_slots;
static inline uint64_t wr_buffers_blocking(void)
{
    /* relaxed: edge ENABLE publishes the bit with the mask that names the slot */
    return wr_u64_load_relaxed(&wr_buffers_blocking_slots);
}

/* The caller has zeroed `buffers`. False if the arena cannot be mapped. */
bool wr_buffers_init(struct wr_buffers *buffers, const struct weir_session_config *config);
void wr_buffers_fini(struct wr_buffers *buffers);
/* Sets the hook that retires the lanes of exiting threads. Once per process. */
void wr_buffers_init_process(void);

/* A number that identifies a capture thread in a stream; unique in the process. */
uint64_t wr_buffers_capture_id(void);

/* The segment at `index`, which was never used; NULL if `index` is past the end of the arena. */
static inline struct wr_segment *wr_buffers_carve(const struct wr_buffers *buffers, uint32_t index)
{
    if (index >= buffers->segment_count)
        return NULL;
    return (void *)(buffers->arena + (uint64_t)index * buffers->segment_bytes);
}

/* The session's lock, for threads that neither emit nor are the drain. Their signals are blocked
 * while they hold it, so that no handler suspends them inside it. Waits at most `limit_ns`
 * (UINT64_MAX: no limit); false if the lock was not acquired. */
bool wr_buffers_lock(struct wr_buffers *buffers, uint64_t limit_ns, uint64_t *signals);
void wr_buffers_unlock(struct wr_buffers *buffers, uint64_t signals);
/* Moves the lanes that have arrived into the list. Every reader that must not miss a lane calls
 * this first. */
void wr_buffers_welcome_locked(struct wr_buffers *buffers);

/* --- Writer's side, inside the thread's pin. -------------------------------------------------
 *
 * The holder of a lock may not be running, because a handler, a debugger or a freezer has suspended
 * it; these functions wait for a lock no longer than wr_self_lock() does. With `block_signals`,
 * signals are blocked while a lock is held or a segment is moved to or from the lane: a handler
 * that suspends its thread, or jumps out of it, finds no lock held and the lane with its segment or
 * without. This costs two system calls each time.
 */

/* Returns what wr_buffers_signals_restore() needs. */
static inline uint64_t wr_buffers_signals_block(const struct wr_buffers *buffers)
{
    return WR_UNLIKELY(buffers->blocks_signals) ? wr_os_signals_block() : 0;
}

static inline void wr_buffers_signals_restore(const struct wr_buffers *buffers, uint64_t signals)
{
    if (WR_UNLIKELY(buffers->blocks_signals))
        wr_os_signals_restore(signals);
}

/* The thread's lane in the session of `slot`, attached at first use; NULL if there is no memory. If
 * the lock of the free lanes is not available, a fresh lane is made. */
struct wr_lane *wr_buffers_lane(struct wr_thread *thread, uint32_t slot);

/* Is a record of `bytes` larger than a segment, so that it must span several (lane_span.h)? */
static inline bool wr_buffers_must_span(const struct wr_buffers *buffers, uint32_t bytes)
{
    return bytes > buffers->segment_bytes - WR_SEGMENT_HEADER_BYTES;
}

/* Does a record of `bytes` need more than half of the segments? */
static inline bool wr_buffers_is_too_large(const struct wr_buffers *buffers, uint32_t bytes)
{
    return wr_buffers_must_span(buffers, bytes) &&
           wr_span_segments(bytes, buffers->segment_bytes) > buffers->segment_count / 2;
}

/* Room for a record of `bytes`, which must fit into a segment; opens a fresh one if necessary. On
 * ROOM, `segment` and `commit` say where to write. */
enum wr_room wr_buffers_room_slow(struct wr_lane *lane, struct wr_segment **segment,
                                  uint64_t *commit);
static inline enum wr_room wr_buffers_room(struct wr_lane *lane, uint32_t bytes,
                                           struct wr_segment **segment, uint64_t *commit)
{
    *segment = wr_lane_room(lane, bytes, commit);
    if (*segment)
        return WR_ROOM;
    WR_CHECK(!wr_buffers_must_span(lane->buffers, bytes));
    return wr_buffers_room_slow(lane, segment, commit);
}

/* The base of a segment that is opened now, for an event that may have its stamp already. */
static inline uint64_t wr_buffers_base_ticks(void)
{
    uint64_t now = wr_clock_ticks(), most = wr_self.base_most;
    return most && most < now ? most : now;
}

/* Segments for a record of `bytes` that spans several, linked by `newer`. On ROOM the lane has no
 * segment open. Lost as TOO_LARGE if the record needs more than half of the session's segments. */
enum wr_room wr_buffers_span_room(struct wr_lane *lane, uint32_t bytes, struct wr_segment **first);
/* Publishes a record whose parts are all written, and opens the last of its segments. False if the
 * record is lost; the loss is counted. */
bool wr_buffers_span_open(struct wr_lane *lane, const struct wr_span *span);

/* Counts the loss of this thread's event, which is then no longer pending in this session. */
static inline void wr_buffers_count_lost(struct wr_lane *lane, enum weir_loss cause)
{
    wr_lane_lose(lane, cause);
    wr_compiler_barrier(); /* a jump between the two counts the event twice, not never */
    wr_self.pending &= ~(UINT64_C(1) << lane->buffers->slot);
}

/* Counts a loss that has another cause than lack of room, and marks its place in the current
 * segment. If the mark does not fit, the segment is retired, and the header of the next one records
 * the gap. */
void wr_buffers_lose(struct wr_lane *lane, enum weir_loss cause);

/* Counts the loss of an event that found no room. Such a loss needs no mark. */
void wr_buffers_lose_for_room(struct wr_lane *lane);
/* Asks the drain, once, to look for segments that idle threads hold. */
void wr_buffers_starve(struct wr_buffers *buffers);

/* The segments that threads may hold as their current ones, at most: they are full only when their
 * threads take others. A parked thread has left its own. A hint. */
static inline uint32_t wr_buffers_held(const struct wr_buffers *buffers)
{
    uint32_t lanes = wr_u32_load_relaxed(&buffers->lanes_now); /* relaxed: a hint */
    uint64_t holders = lanes - wr_min_u64(lanes, wr_gate_parked(&buffers->gate));
    return (uint32_t)wr_min_u64(holders, buffers->segment_count);
}

/* Are there more threads than half of the segments? A hint. */
static inline bool wr_buffers_is_crowd(const struct wr_buffers *buffers)
{
    return wr_buffers_held(buffers) > buffers->segment_count / 2;
}

/* Could threads that emit nothing keep more than a sixteenth of the budget? A hint. */
static inline bool wr_buffers_is_idle_dear(const struct wr_buffers *buffers)
{
    return wr_buffers_held(buffers) > buffers->segment_count / 16;
}

/* OVERWRITE: the number of events that a thread loses after it found no segment, before it looks
 * again. Fewer in a crowd, where it may be lent one. */
#define WR_SKIPS          255u
#define WR_SKIPS_IN_CROWD 15u

/* OVERWRITE: may the lane lose its event without looking for a segment? True for the next `skips`
 * events after a look that found none (mode_overwrite.c), as long as no segment is available and
 * the drain has been asked for one. */
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

/* Puts the lane on the ready list unless it is already on it. The drain calls it too, for a segment
 * that it revoked. */
void wr_buffers_announce(struct wr_lane *lane);

/* Gives back a segment that was lent for one record. */
void wr_buffers_return(struct wr_lane *lane);

/* The lane's thread has jumped out of an event: gives back the segments that it held for it.
 * Signals are blocked. True if the event's loss is already counted. */
bool wr_buffers_reset(struct wr_lane *lane);

/* Gives up the current segment, so that the next record goes to a new one. */
void wr_buffers_retire(struct wr_lane *lane);
/* Would the lane get another segment now? A hint. */
bool wr_buffers_has_room(struct wr_lane *lane);

/* --- Drain's side. --------------------------------------------------------------------------- */

/* The lanes with news since the last call, linked by ready_next. */
struct wr_lane *wr_buffers_take_ready(struct wr_buffers *buffers);
/* Must be called before the drain looks at a ready lane. From here on the lane may be queued again.
 */
void wr_buffers_accept_ready(struct wr_lane *lane);
/* The list of lanes, and the number of lanes ever attached. Only the drain removes lanes, and new
 * ones are added at the front, so the drain may follow `next` without the lock. */
struct wr_lane *wr_buffers_lanes(struct wr_buffers *buffers, uint64_t *attached);
/* Unlinks the finished lane at `*link`, adds its counts to `released`, and frees it for another
 * thread. The caller holds the lock. */
void wr_buffers_release_lane_locked(struct wr_buffers *buffers, struct wr_lane **link);

void wr_counts_add(struct weir_counts *sum, const struct weir_counts *more);
/* The records written and lost in one lane. The caller holds the lock. False if the mode's own lock
 * was not available within `limit_ns`. */
bool wr_lane_counts_locked(struct wr_lane *lane, struct weir_counts *counts, uint64_t limit_ns);

#endif
