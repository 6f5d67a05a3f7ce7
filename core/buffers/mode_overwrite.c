#include "buffers/mode_overwrite.h"

#include "buffers/place.h"
#include "lane/lane_span.h"
#include "lane/lane_read.h"
#include "lane/lane_change.h"
#include "os/clock.h"
#include "os/os.h"

/* The drain is woken when this many lanes of exited threads have become empty: a few pages. */
#define EMPTIED_WAKE 64u
/* The reserve is kept for this many turns after a lane found no segment; turns take 5 ms then. */
#define SCARCE_TURNS 16u
/* A lane that got no segment for this long may borrow one: 10 ms if ticks are nanoseconds, a few ms
 * if they are a counter's. */
#define DUE_TICKS UINT64_C(10000000)

/* --- Life. ----------------------------------------------------------------------------------- */

WR_COLD static void init(struct wr_buffers *buffers, const struct weir_session_config *config)
{
    (void)config;
    struct wr_overwrite *overwrite = &buffers->overwrite;
    overwrite->turn = 1;
    overwrite->reserve = buffers->segment_count < 8 ? 1 : 2;
    pthread_mutex_init(&overwrite->lock, NULL);
}

WR_COLD static void fini(struct wr_buffers *buffers)
{
    pthread_mutex_destroy(&buffers->overwrite.lock);
}

/* --- Lists. ---------------------------------------------------------------------------------- */

static void list_append(struct wr_segment_list *list, struct wr_segment *segment)
{
    segment->full_next = NULL;
    if (list->last)
        list->last->full_next = segment;
    else
        list->first = segment;
    list->last = segment;
    list->count++;
}

static void list_join(struct wr_segment_list *list, struct wr_segment_list more)
{
    if (!more.first)
        return;
    if (list->last)
        list->last->full_next = more.first;
    else
        list->first = more.first;
    list->last = more.last;
    list->count += more.count;
}

static struct wr_segment *list_take(struct wr_segment_list *list)
{
    struct wr_segment *segment = list->first;
    if (!segment)
        return NULL;
    list->first = segment->full_next;
    if (!list->first)
        list->last = NULL;
    list->count--;
    return segment;
}

/* Has any lane found no segment recently? */
static bool is_scarce(const struct wr_overwrite *overwrite)
{
    return overwrite->scarce_turn && overwrite->turn - overwrite->scarce_turn < SCARCE_TURNS;
}

/* Segments that no thread writes to and no snapshot holds. */
static uint32_t free_of(const struct wr_buffers *buffers)
{
    return buffers->segment_count - buffers->overwrite.carved + buffers->overwrite.full.count;
}

/* How many of them are reserved for lending: see may_borrow(). */
static uint32_t reserve_of(const struct wr_overwrite *overwrite)
{
    return is_scarce(overwrite) || overwrite->full.count == 0 ? overwrite->reserve : 0;
}

static void spare_set(struct wr_buffers *buffers)
{
    uint32_t count = free_of(buffers), reserve = reserve_of(&buffers->overwrite);
    /* relaxed: a hint; a thread that acts on it takes the lock */
    wr_u32_store_relaxed(&buffers->overwrite.spare, count > reserve ? count - reserve : 0);
}

/* --- The lock. ------------------------------------------------------------------------------- */

static bool is_sound(const struct wr_segment_list *list)
{
    bool is_empty = list->count == 0;
    return !list->first == is_empty && !list->last == is_empty &&
           (is_empty || !list->last->full_next);
}

/* The invariants that hold whenever the lock is free. */
static void check_locked(const struct wr_buffers *buffers)
{
    const struct wr_overwrite *overwrite = &buffers->overwrite;
    /* Each carved segment is in exactly one place. */
    WR_CHECK(overwrite->carved ==
             overwrite->out + overwrite->full.count + overwrite->late.count + overwrite->held);
    WR_CHECK(overwrite->carved <= buffers->segment_count);
    WR_CHECK(is_sound(&overwrite->full) && is_sound(&overwrite->late));
    /* Held segments were opened before the hold; those that may be recycled meanwhile, after it. */
    WR_CHECK(overwrite->is_held || overwrite->held + overwrite->late.count == 0);
    WR_CHECK(overwrite->hold_opening <= overwrite->openings);
    WR_CHECK(!overwrite->late.last || overwrite->late.last->opening <= overwrite->hold_opening);
    WR_CHECK(!overwrite->is_held || !overwrite->full.first ||
             overwrite->full.first->opening > overwrite->hold_opening);
    (void)overwrite; /* unused if checks are compiled out */
}

static void lock(struct wr_buffers *buffers)
{
    pthread_mutex_lock(&buffers->overwrite.lock);
}

static void unlock(struct wr_buffers *buffers)
{
    check_locked(buffers);
    pthread_mutex_unlock(&buffers->overwrite.lock);
}

/* --- Writer's side. -------------------------------------------------------------------------- */

/* Files a segment that its lane no longer writes to. Edge RETIRE.release, by the lock: everything
 * that its thread wrote to it, above all the count of its records. */
static void put_locked(struct wr_overwrite *overwrite, struct wr_segment *segment)
{
    bool is_held = overwrite->is_held && segment->opening <= overwrite->hold_opening;
    list_append(is_held ? &overwrite->late : &overwrite->full, segment);
    overwrite->out--;
    spare_set(segment->lane->buffers);
    segment->lane->segments_full++;
}

static void retire_locked(struct wr_overwrite *overwrite, struct wr_lane *lane)
{
    struct wr_segment *segment = wr_lane_retire(lane);
    lane->records_left = lane->records_retired;
    if (segment)
        put_locked(overwrite, segment);
}

/* The lane opens its first segment since the hold: record where the snapshot ends for it. */
static void cut_locked(const struct wr_overwrite *overwrite, struct wr_lane *lane)
{
    if (lane->cut_epoch == overwrite->epoch)
        return;
    lane->cut_epoch = overwrite->epoch;
    lane->cut_records = lane->records_left;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        /* relaxed: only this thread stores it */
        lane->cut_lost[cause] = wr_u64_load_relaxed(&lane->lost[cause]);
}

static void overwrite_locked(struct wr_buffers *buffers, struct wr_segment *segment)
{
    struct wr_lane *lane = segment->lane;
    /* relaxed: edge RETIRE.acquire made the final value visible */
    lane->overwritten += wr_commit_count(wr_u64_load_relaxed(&segment->commit));
    lane->segments_full--;
    /* relaxed: a hint; the drain checks again */
    if (lane->segments_full == 0 && wr_u32_load_relaxed(&lane->exited) &&
        ++buffers->overwrite.emptied % EMPTIED_WAKE == 0)
        wr_bell_ring(&buffers->bell);
}

static bool is_hungry(const struct wr_overwrite *overwrite, const struct wr_lane *lane)
{
    return lane->hungry_turn == overwrite->turn;
}

static struct wr_segment *recycle_locked(struct wr_buffers *buffers)
{
    /* edges RETIRE.acquire and HOLD.acquire, by the lock: its former thread and the snapshot are
     * done with it */
    struct wr_segment *segment = list_take(&buffers->overwrite.full);
    if (segment)
        overwrite_locked(buffers, segment);
    return segment;
}

/* A segment that was never used; if there is none, the oldest. */
static struct wr_segment *next_locked(struct wr_buffers *buffers)
{
    struct wr_overwrite *overwrite = &buffers->overwrite;
    struct wr_segment *segment = wr_buffers_carve(buffers, overwrite->carved);
    if (segment)
        overwrite->carved++;
    else
        segment = recycle_locked(buffers);
    overwrite->out += segment != NULL;
    return segment;
}

/* A lane that had a segment until now leaves the last ones to lanes that found none. Otherwise,
 * with fewer segments than running threads, it would take its own segment again forever. */
static bool may_take(const struct wr_buffers *buffers, const struct wr_lane *lane)
{
    const struct wr_overwrite *overwrite = &buffers->overwrite;
    uint32_t left = reserve_of(overwrite) + (is_hungry(overwrite, lane) ? 0 : overwrite->hungry);
    return free_of(buffers) > left;
}

/* A lane that got no segment for a few ms may borrow one from the reserve, for one record. A thread
 * that is preempted inside its pin keeps its segment until it runs again; with many more threads
 * than segments, such threads soon hold all of them. A thread holds a borrowed segment so briefly
 * that it is hardly ever preempted with it. */
static bool may_borrow(const struct wr_lane *lane)
{
    return wr_clock_ticks() - lane->fed_ticks >= DUE_TICKS;
}

static void feed_locked(struct wr_overwrite *overwrite, struct wr_lane *lane, bool is_fed)
{
    if (is_fed) {
        lane->fed_ticks = wr_clock_ticks();
        wr_u32_store_relaxed(&lane->is_due, 0); /* relaxed: a hint, read by this thread */
    }
    if (is_fed == !is_hungry(overwrite, lane))
        return;
    overwrite->hungry += is_fed ? UINT32_MAX : 1;
    lane->hungry_turn = is_fed ? 0 : overwrite->turn;
    if (!is_fed)
        overwrite->scarce_turn = overwrite->turn;
}

static struct wr_segment *take_locked(struct wr_buffers *buffers, const struct wr_lane *lane,
                                      bool *is_borrowed)
{
    bool is_whole = may_take(buffers, lane);
    if (buffers->overwrite.is_closed || (!is_whole && !may_borrow(lane)))
        return NULL;
    *is_borrowed = !is_whole;
    return next_locked(buffers);
}

static struct wr_segment *open_locked(struct wr_buffers *buffers, struct wr_lane *lane)
{
    struct wr_overwrite *overwrite = &buffers->overwrite;
    bool is_borrowed = false;
    struct wr_segment *segment = take_locked(buffers, lane, &is_borrowed);
    lane->is_borrowed = segment && is_borrowed;
    feed_locked(overwrite, lane, segment != NULL);
    spare_set(buffers);
    if (!segment)
        return NULL;
    cut_locked(overwrite, lane);
    segment->lane = lane;
    segment->opening = ++overwrite->openings;
    wr_lane_head_empty(lane, segment, wr_buffers_base_ticks());
    wr_lane_begin(lane, segment, buffers->segment_bytes);
    return segment;
}

/* For a writer. False if the lock is not available: then the current segment, if any, takes no more
 * records, and the next event that gets the lock leaves it. */
static bool lock_or_seal(struct wr_lane *lane)
{
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    if (wr_self_lock(&overwrite->lock, &overwrite->lock_is_stuck))
        return true;
    wr_u32_store_relaxed(&lane->end, 0); /* relaxed: read by this thread */
    return false;
}

/* The lock was not available. The drain cannot help, so it is not woken. */
static enum wr_room lose_stuck(struct wr_lane *lane)
{
    wr_buffers_count_lost(lane, lane->held_before ? WEIR_LOSS_FULL : WEIR_LOSS_NO_SEGMENT);
    return WR_ROOM_LOST;
}

/* No segment was available. Asks the drain to look for segments of idle threads, and lets the lane
 * lose its next events cheaply: see wr_buffers_skip(). */
static enum wr_room lose_full(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    wr_buffers_starve(buffers);
    lane->skips = wr_buffers_is_crowd(buffers) ? WR_SKIPS_IN_CROWD : WR_SKIPS;
    wr_buffers_lose_for_room(lane);
    return WR_ROOM_LOST;
}

/* Puts back the segments, all empty, of a record that could not be published. */
static void put_back_locked(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    while (WR_UNLIKELY(place->in_hand)) {
        struct wr_segment *segment = place->in_hand;
        place->in_hand = segment->newer;
        segment->lane = lane;
        segment->opening = ++overwrite->openings;
        wr_lane_head_empty(lane, segment, wr_clock_ticks());
        put_locked(overwrite, segment);
    }
}

static bool leave_current(struct wr_lane *lane)
{
    if (!lock_or_seal(lane))
        return false;
    put_back_locked(lane);
    retire_locked(&lane->buffers->overwrite, lane);
    return true;
}

WR_COLD static enum wr_room room(struct wr_lane *lane, struct wr_segment **segment,
                                 uint64_t *commit)
{
    struct wr_buffers *buffers = lane->buffers;
    *segment = NULL;
    if (!leave_current(lane))
        return lose_stuck(lane);
    *segment = open_locked(buffers, lane);
    unlock(buffers);
    if (!*segment)
        return lose_full(lane);
    /* Do not check `end` again: see wr_chain_room(). */
    *commit = WR_SEGMENT_HEADER_BYTES;
    return WR_ROOM;
}

/* All or none, and none from the reserve: a record that spans several segments must not starve
 * other lanes. */
static struct wr_segment *take_several_locked(struct wr_buffers *buffers, struct wr_lane *lane,
                                              uint32_t count)
{
    bool is_enough = free_of(buffers) >= count + reserve_of(&buffers->overwrite) &&
                     !buffers->overwrite.is_closed;
    struct wr_segment *first = NULL;
    for (; is_enough && count > 0; count--) {
        struct wr_segment *segment = next_locked(buffers);
        segment->newer = first;
        wr_data_written(&segment->newer, sizeof segment->newer);
        first = segment;
    }
    feed_locked(&buffers->overwrite, lane, first != NULL);
    spare_set(buffers);
    return first;
}

WR_COLD static enum wr_room span_room(struct wr_lane *lane, uint32_t count,
                                      struct wr_segment **first)
{
    struct wr_buffers *buffers = lane->buffers;
    *first = NULL;
    if (!leave_current(lane))
        return lose_stuck(lane);
    *first = take_several_locked(buffers, lane, count);
    unlock(buffers);
    return *first ? WR_ROOM : lose_full(lane);
}

WR_COLD static bool span_open(struct wr_lane *lane, const struct wr_span *span)
{
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    if (!lock_or_seal(lane)) {
        lane->records_retired--; /* this record was counted in advance: see wr_span_begin() */
        lose_stuck(lane);
        return false; /* the segments stay in hand */
    }
    wr_place_of(lane)->in_hand = NULL;
    cut_locked(overwrite, lane); /* before `records_left` includes this record */
    lane->records_left = lane->records_retired;
    for (struct wr_segment *segment = span->oldest; segment; segment = segment->newer) {
        segment->lane = lane;
        segment->opening = ++overwrite->openings;
        if (segment != span->newest)
            put_locked(overwrite, segment);
    }
    wr_lane_begin(lane, span->newest, lane->buffers->segment_bytes);
    unlock(lane->buffers);
    return true;
}

/* Leaves the segment now or, if the lock is not available, at the lane's next event. */
WR_COLD static void retire(struct wr_lane *lane)
{
    if (leave_current(lane))
        unlock(lane->buffers);
}

WR_COLD static bool has_room(struct wr_lane *lane)
{
    return wr_u32_load_relaxed(&lane->buffers->overwrite.spare) > 0; /* relaxed: a hint */
}

/* Segments in hand go back when the lane gets the lock, now or at its next event. */
WR_COLD static bool reset(struct wr_lane *lane)
{
    if (lane->is_borrowed || wr_place_of(lane)->in_hand)
        retire(lane);
    lane->is_borrowed = 0;
    return false;
}

/* --- Snapshots. ------------------------------------------------------------------------------ */

WR_COLD struct wr_segment_list wr_overwrite_hold(struct wr_buffers *buffers)
{
    struct wr_overwrite *overwrite = &buffers->overwrite;
    lock(buffers);
    struct wr_segment_list held = overwrite->full; /* edge RETIRE.acquire, by the lock */
    overwrite->held = held.count;
    overwrite->full = (struct wr_segment_list){NULL, NULL, 0};
    spare_set(buffers);
    overwrite->epoch++;
    overwrite->hold_opening = overwrite->openings;
    overwrite->is_held = true;
    unlock(buffers);
    return held;
}

static struct wr_segment *current_locked(const struct wr_lane *lane)
{
    /* relaxed: it changes only under the lock */
    void *current = wr_ptr_load_relaxed(&lane->current);
    return wr_lane_is_revoked(current) ? NULL : current;
}

WR_COLD struct wr_segment *wr_overwrite_current(struct wr_lane *lane)
{
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    lock(lane->buffers);
    struct wr_segment *segment = current_locked(lane);
    if (segment && segment->opening > overwrite->hold_opening)
        segment = NULL;
    unlock(lane->buffers);
    return segment;
}

WR_COLD struct wr_segment_list wr_overwrite_late(struct wr_buffers *buffers)
{
    lock(buffers);
    struct wr_segment_list late = buffers->overwrite.late; /* edge RETIRE.acquire, by the lock */
    unlock(buffers);
    return late;
}

WR_COLD void wr_overwrite_release(struct wr_buffers *buffers, struct wr_segment_list held)
{
    struct wr_overwrite *overwrite = &buffers->overwrite;
    lock(buffers);
    /* edge HOLD.release, by the lock: the snapshot has read them. They go in front: all of them
     * were opened before the segments that are full now. */
    list_join(&held, overwrite->late);
    list_join(&held, overwrite->full);
    overwrite->late = (struct wr_segment_list){NULL, NULL, 0};
    overwrite->full = held;
    overwrite->held = 0;
    spare_set(buffers);
    overwrite->is_held = false;
    unlock(buffers);
}

WR_COLD void wr_overwrite_close(struct wr_buffers *buffers)
{
    lock(buffers);
    buffers->overwrite.is_closed = true;
    unlock(buffers);
}

/* Excludes attempts since the lane opened its first segment after the hold: the snapshot does not
 * read those. */
WR_COLD static uint64_t attempts(struct wr_lane *lane, uint64_t lost[WR_LANE_CAUSES])
{
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    lock(lane->buffers);
    bool is_cut = lane->cut_epoch == overwrite->epoch;
    /* relaxed: it changes only under the lock */
    void *current = wr_ptr_load_relaxed(&lane->current);
    uint64_t records = is_cut ? lane->cut_records : lane->records_left;
    if (!is_cut && wr_lane_is_revoked(current))
        records += wr_lane_revoked_count(current);
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        /* edge LOST.acquire */
        lost[cause] = is_cut ? lane->cut_lost[cause] : wr_u64_load_acquire(&lane->lost[cause]);
    unlock(lane->buffers);
    return records;
}

/* --- The drain's visits. --------------------------------------------------------------------- */

WR_COLD struct wr_segment_view wr_overwrite_visit(struct wr_lane *lane)
{
    struct wr_segment_view view = {NULL, 0, 0};
    lock(lane->buffers);
    struct wr_segment *segment = current_locked(lane);
    if (segment)
        /* relaxed: compared with a later value to see progress; nothing is read through it */
        view = (struct wr_segment_view){segment, segment->opening,
                                        wr_u64_load_relaxed(&segment->commit)};
    else
        wr_u32_store_relaxed(&lane->is_due, 1); /* relaxed: a hint */
    unlock(lane->buffers);
    return view;
}

/* Revokes under the lock, and only if the segment was not opened again: the lane may have left it,
 * got the same one back with a new `end`, and be writing to it. */
WR_COLD bool wr_overwrite_revoke(struct wr_lane *lane, struct wr_segment *segment, uint64_t opening)
{
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    lock(lane->buffers);
    lane->oldest = lane->newest = segment; /* wr_lane_revoke_finish() expects this */
    bool is_taken = segment->opening == opening && wr_lane_revoke_finish(lane);
    lane->oldest = lane->newest = NULL;
    if (is_taken) {
        put_locked(overwrite, segment);
        /* relaxed: a hint; do not wait for the next turn, which may be late */
        wr_u32_store_relaxed(&lane->is_due, 1);
    }
    unlock(lane->buffers);
    return is_taken;
}

WR_COLD uint64_t wr_overwrite_oldest(struct wr_buffers *buffers)
{
    lock(buffers);
    const struct wr_segment *segment = buffers->overwrite.full.first;
    uint64_t opening = segment ? segment->opening : 0;
    unlock(buffers);
    return opening;
}

WR_COLD uint64_t wr_overwrite_openings(struct wr_buffers *buffers)
{
    lock(buffers);
    uint64_t openings = buffers->overwrite.openings;
    unlock(buffers);
    return openings;
}

WR_COLD void wr_overwrite_turn(struct wr_buffers *buffers)
{
    struct wr_overwrite *overwrite = &buffers->overwrite;
    lock(buffers);
    overwrite->turn += overwrite->turn == UINT32_MAX ? 2 : 1; /* 0 means no turn */
    overwrite->hungry = 0;
    spare_set(buffers);
    unlock(buffers);
}

WR_COLD bool wr_overwrite_is_empty(struct wr_lane *lane)
{
    lock(lane->buffers);
    put_back_locked(lane); /* segments that its thread could not give back */
    bool is_empty = lane->segments_full == 0 && !current_locked(lane);
    unlock(lane->buffers);
    return is_empty;
}

/* --- Figures. -------------------------------------------------------------------------------- */

WR_COLD static bool counts(struct wr_lane *lane, uint64_t *kept, uint64_t *overwritten,
                           uint64_t limit_ns)
{
    struct wr_overwrite *overwrite = &lane->buffers->overwrite;
    if (!wr_os_mutex_lock_for(&overwrite->lock, limit_ns))
        return false;
    const struct wr_segment *segment = current_locked(lane);
    /* relaxed: it changes only under the lock */
    void *current = wr_ptr_load_relaxed(&lane->current);
    *overwritten = lane->overwritten;
    *kept = lane->records_left - lane->overwritten;
    if (segment)
        /* relaxed: only the count in the word is used */
        *kept += wr_commit_count(wr_u64_load_relaxed(&segment->commit));
    else if (wr_lane_is_revoked(current))
        *kept += wr_lane_revoked_count(current);
    unlock(lane->buffers);
    return true;
}

/* Not a sum over lanes, which would count a segment twice that moves from one lane to another
 * meanwhile. */
WR_COLD static bool figures(struct wr_buffers *buffers, struct weir_stats *stats, uint64_t limit_ns)
{
    uint64_t signals = wr_os_signals_block();
    bool is_done = wr_os_mutex_lock_for(&buffers->overwrite.lock, limit_ns);
    if (is_done) {
        stats->budget_bytes_used = (uint64_t)buffers->overwrite.carved * buffers->segment_bytes;
        unlock(buffers);
    }
    wr_os_signals_restore(signals);
    return is_done;
}

/* --- The table. ------------------------------------------------------------------------------ */

/* Nothing to do: segments read for a snapshot are held until wr_overwrite_release(). */
WR_COLD static void give(struct wr_buffers *buffers, struct wr_segment *segment)
{
    (void)buffers;
    (void)segment;
}

WR_COLD static enum wr_attention attend(struct wr_buffers *buffers)
{
    (void)buffers;
    return WR_ATTENTION_NONE;
}

/* A recorder's lane is released when its last record is overwritten: see wr_overwrite_is_empty().
 */
WR_COLD static bool finish(struct wr_lane *lane)
{
    (void)lane;
    return false;
}

const struct wr_mode wr_mode_overwrite = {.keeps = true,
                                          .init = init,
                                          .fini = fini,
                                          .room = room,
                                          .span_room = span_room,
                                          .span_open = span_open,
                                          .retire = retire,
                                          .has_room = has_room,
                                          .reset = reset,
                                          .exit = retire,
                                          .give = give,
                                          .after_sink = wr_mode_no_need,
                                          .attend = attend,
                                          .finish = finish,
                                          .attempts = attempts,
                                          .send_away = wr_mode_nobody_waits,
                                          .wait_away = wr_mode_nobody_waits,
                                          .counts = counts,
                                          .figures = figures};
