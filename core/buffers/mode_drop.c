#include "buffers/mode_drop.h"

#include "buffers/chain.h"
#include "lane/lane_change.h"
#include "os/os.h"

static bool is_waiting(const void *word)
{
    return ((uintptr_t)word & 1u) != 0;
}

static bool is_asked(const void *word)
{
    return ((uintptr_t)word & WR_TURN_ASKED) != 0;
}

/* The word of a lane that waits, with a request to yield that differs from the last one. */
static void *asked(const void *word)
{
    return (void *)(((uintptr_t)word | WR_TURN_ASKED) + WR_TURN_SWEEP);
}

/* --- Segments. ------------------------------------------------------------------------------- */

/* A segment that was used before, whose pages are resident; otherwise a fresh one. */
static struct wr_segment *free_take(struct wr_buffers *buffers)
{
    struct wr_segment *segment = wr_free_list_take(&buffers->free_list);
    /* relaxed: the addition decides which thread gets which segment */
    if (segment || wr_u32_load_relaxed(&buffers->carved) >= buffers->segment_count)
        return segment;
    /* The word passes the end by at most one for each thread, so it cannot wrap. */
    return wr_buffers_carve(buffers, wr_u32_add_acq_rel(&buffers->carved, 1));
}

static struct wr_segment *list_push(struct wr_segment *first, struct wr_segment *segment)
{
    segment->newer = first;
    wr_data_written(&segment->newer, sizeof segment->newer);
    return segment;
}

/* Frees the first `count` segments of a list, or all of it; returns the rest. */
static struct wr_segment *free_give(struct wr_buffers *buffers, struct wr_segment *first,
                                    uint32_t count)
{
    for (; first && count > 0; count--) {
        struct wr_segment *next = first->newer; /* read before the segment may be taken again */
        wr_data_read(&first->newer, sizeof first->newer);
        wr_free_list_give(&buffers->free_list, first);
        first = next;
    }
    return first;
}

static struct wr_segment *free_take_several(struct wr_buffers *buffers, uint32_t count)
{
    struct wr_segment *first = NULL;
    for (; count > 0; count--) {
        struct wr_segment *segment = free_take(buffers);
        if (!segment) {
            free_give(buffers, first, UINT32_MAX);
            return NULL;
        }
        first = list_push(first, segment);
    }
    return first;
}

/* --- Writer's side. -------------------------------------------------------------------------- */

/* A hint: a thread that finds no lane waiting may be served before one that enrols at that moment.
 */
WR_COLD static bool has_waiting(const struct wr_buffers *buffers)
{
    return wr_u32_load_relaxed(&buffers->turns.waiting) != 0; /* relaxed: a hint */
}

/* Frees the first `count` segments of a grant, which are unused, and wakes the drain if a lane
 * waits for them. Returns the others. */
static struct wr_segment *give_back(struct wr_buffers *buffers, struct wr_segment *first,
                                    uint32_t count)
{
    if (count == 0)
        return first;
    first = free_give(buffers, first, count);
    if (has_waiting(buffers))
        wr_bell_ring(&buffers->bell);
    return first;
}

/* If so, threads that do not run have the segments. */
static bool many_wait(const struct wr_buffers *buffers, uint32_t waiting)
{
    return waiting > buffers->segment_count / 2;
}

/* The lane has lost an event because `count` segments were not available. Only the first lane that
 * waits rings the drain, which then looks on its own until all are served. */
static void enrol(struct wr_place *place, uint32_t count)
{
    struct wr_buffers *buffers = place->lane.buffers;
    struct wr_turns *turns = &buffers->turns;
    place->needed = count;
    place->refusals = 0;
    /* Count the lane before it can be served: serving it counts it down. */
    uint32_t others = wr_u32_add_acq_rel(&turns->waiting, 1);
    place->yields = many_wait(buffers, others) ? 1 + WR_TURN_YIELDS : 1;
    void *word = count == 1 ? WR_TURN_WAITING : WR_TURN_WAITING_SEVERAL;
    if (buffers->yields)
        word = asked(word);
    place->asked = word;
    /* relaxed: the push publishes it */
    wr_ptr_store_relaxed(&place->credit, word);
    void *newest = wr_ptr_load_relaxed(&turns->enrolled); /* relaxed: the push decides */
    do {
        place->next = newest;
        /* edge ENROL.release: what the lane needs, and that it waits */
    } while (!wr_ptr_cas_release(&turns->enrolled, &newest, place));
    if (others == 0)
        wr_bell_ring(&buffers->bell);
}

/* Has the thread been refused often since it was asked? A sweep's request takes the place of an older
 * one. */
static bool is_flat_out(struct wr_place *place, void *word)
{
    if (word != place->asked) {
        place->asked = word;
        place->refusals = 0;
        place->yields = WR_TURN_YIELDS;
    }
    return ++place->refusals >= WR_TURN_FLAT_OUT;
}

/* The thread has been asked to yield. */
static void hear(struct wr_place *place, void *word)
{
    if (!is_flat_out(place, word))
        return;
    wr_self.is_refused = true;
    if (--place->yields > 0)
        return;
    place->asked = NULL; /* the next request may have the same word as this one */
    void *heard = (void *)((uintptr_t)word & (WR_TURN_ASKED - 1));
    /* relaxed: no other data goes with it. If it fails, the lane has been served, or swept. */
    wr_ptr_cas_relaxed(&place->credit, &word, heard);
}

/* The lane's thread owns what it takes out of the word: a later grant or take-back fails. */
static void *word_take(struct wr_place *place)
{
    /* edge TURN.acquire: the segments of a grant, and the lane's links */
    return wr_ptr_exchange_acq_rel(&place->credit, NULL);
}

/* May a lane take free segments? Not while another lane waits. A lane that waits itself may take
 * fewer than it enrolled for. */
static bool may_take(const struct wr_place *place, uint32_t count, bool waits)
{
    /* relaxed: a hint */
    uint32_t waiting = wr_u32_load_relaxed(&place->lane.buffers->turns.waiting);
    return waits ? waiting == 1 && count < place->needed : waiting == 0;
}

/* Called for a lane that does not wait. */
WR_COLD static bool has_room(struct wr_lane *lane)
{
    const struct wr_buffers *buffers = lane->buffers;
    /* relaxed, twice: hints */
    return !has_waiting(buffers) &&
           (wr_u32_load_relaxed(&buffers->carved) < buffers->segment_count ||
            wr_u32_load_relaxed(&buffers->free_list.count) > 0);
}

/* The lane's grant, if it is enough for this record. Returns unneeded segments: all of them if the
 * refused record needed fewer than this one. */
static struct wr_segment *granted(struct wr_place *place, uint32_t count)
{
    struct wr_buffers *buffers = place->lane.buffers;
    struct wr_segment *first = word_take(place);
    if (!first)
        return NULL; /* the drain took it back */
    uint32_t unused = place->needed < count ? place->needed : place->needed - count;
    return give_back(buffers, first, unused);
}

WR_COLD static enum wr_room take(struct wr_lane *lane, uint32_t count, struct wr_segment **segments)
{
    struct wr_place *place = wr_place_of(lane);
    /* edge TURN.acquire: if the drain took a grant back, it is done with the lane's links */
    void *word = wr_ptr_load_acquire(&place->credit);
    bool waits = is_waiting(word);
    struct wr_segment *first = word && !waits ? granted(place, count) : NULL;
    if (!first && may_take(place, count, waits))
        first = free_take_several(lane->buffers, count);
    *segments = first;
    if (first)
        return WR_ROOM;
    if (!waits)
        enrol(place, count);
    else if (is_asked(word))
        hear(place, word);
    wr_buffers_lose_for_room(lane);
    return WR_ROOM_LOST;
}

WR_COLD static bool reset(struct wr_lane *lane)
{
    struct wr_segment *in_hand = wr_chain_take_in_hand(lane);
    if (in_hand)
        give_back(lane->buffers, in_hand, UINT32_MAX);
    return false;
}

/* The lane may stay in the drain's queue: the drain removes a lane that no longer waits. */
WR_COLD static void exit_lane(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    struct wr_place *place = wr_place_of(lane);
    wr_chain_retire(lane);
    void *word = word_take(place);
    if (is_waiting(word))
        wr_u32_add_acq_rel(&buffers->turns.waiting, UINT32_MAX);
    else if (word)
        give_back(buffers, word, place->needed);
}

/* --- The queue. Only the drain. -------------------------------------------------------------- */

static void queue_append(struct wr_turns *turns, struct wr_place *place)
{
    place->next = NULL;
    place->previous = turns->last;
    *(turns->last ? &turns->last->next : &turns->first) = place;
    turns->last = place;
    place->is_queued = true;
}

static void queue_remove(struct wr_turns *turns, struct wr_place *place)
{
    *(place->previous ? &place->previous->next : &turns->first) = place->next;
    *(place->next ? &place->next->previous : &turns->last) = place->previous;
    place->is_queued = false;
}

/* Appends the lanes that have enrolled, in the order of their pushes. */
static void queue_extend(struct wr_turns *turns)
{
    if (!wr_ptr_load_relaxed(&turns->enrolled)) /* relaxed: a lane missed now is found next time */
        return;
    /* edge ENROL.acquire */
    struct wr_place *place = wr_ptr_exchange_acq_rel(&turns->enrolled, NULL), *older = NULL;
    while (place) {
        struct wr_place *next = place->next;
        place->next = older;
        older = place;
        place = next;
    }
    while (older) {
        place = older;
        older = place->next;
        queue_append(turns, place);
    }
}

/* The first lane whose thread has not exited. */
static struct wr_place *queue_head(struct wr_turns *turns)
{
    struct wr_place *place;
    /* relaxed: if a lane exits just now, its grant fails, and the lane is dropped then */
    while ((place = turns->first) && !is_waiting(wr_ptr_load_relaxed(&place->credit)))
        queue_remove(turns, place);
    return place;
}

/* --- Drain's side. --------------------------------------------------------------------------- */

/* Gathers up to `count` segments; true if there are enough. If not, keeps those it has for the next
 * try. */
static bool gather(struct wr_buffers *buffers, uint32_t count)
{
    struct wr_turns *turns = &buffers->turns;
    while (turns->gathered_count < count) {
        struct wr_segment *segment = free_take(buffers);
        if (!segment)
            return false;
        turns->gathered = list_push(turns->gathered, segment);
        turns->gathered_count++;
    }
    return true;
}

/* Takes `count` of the gathered segments. */
static struct wr_segment *gathered_take(struct wr_turns *turns, uint32_t count)
{
    struct wr_segment *first = NULL;
    turns->gathered_count -= count;
    for (; count > 0; count--) {
        struct wr_segment *segment = turns->gathered;
        turns->gathered = segment->newer;
        first = list_push(first, segment);
    }
    return first;
}

/* False if the lane's thread has exited. */
static bool word_grant(struct wr_place *place, struct wr_segment *first)
{
    void *word = wr_ptr_load_relaxed(&place->credit); /* relaxed: the exchange decides */
    while (is_waiting(word)) /* again if it has just heard that it should yield */
        /* edge TURN.release: the segments, and the lane's links */
        if (wr_ptr_cas_release(&place->credit, &word, first))
            return true;
    return false;
}

/* Serves the head of the queue. The lane leaves the queue first: once served, its thread may enrol
 * again, which writes the same links. */
static void grant(struct wr_turns *turns, struct wr_place *place)
{
    uint32_t count = place->needed;
    struct wr_segment *first = gathered_take(turns, count);
    queue_remove(turns, place);
    place->met = NULL;
    if (word_grant(place, first)) {
        wr_u32_add_acq_rel(&turns->waiting, UINT32_MAX);
        turns->has_granted = true;
        return;
    }
    turns->gathered_count += count;
    while (first) {
        struct wr_segment *next = first->newer;
        turns->gathered = list_push(turns->gathered, first);
        first = next;
    }
}

/* Grants free segments to the lanes that wait, in order. */
WR_COLD static void serve(struct wr_buffers *buffers)
{
    struct wr_turns *turns = &buffers->turns;
    struct wr_place *head;
    queue_extend(turns);
    while ((head = queue_head(turns)) && gather(buffers, head->needed))
        grant(turns, head);
    if (!head && turns->gathered) {
        free_give(buffers, turns->gathered, turns->gathered_count);
        turns->gathered = NULL;
        turns->gathered_count = 0;
    }
}

static void ask(struct wr_place *place, void *word)
{
    /* relaxed: no other data goes with it. If it fails, the thread has exited, or just heard. */
    if (place->lane.buffers->yields)
        wr_ptr_cas_relaxed(&place->credit, &word, asked(word));
}

/* Asks a thread that waits to yield. Takes back an unused grant that the last sweep also found. */
WR_COLD static void sweep(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    /* relaxed: only the drain, which is this thread, stores grants */
    void *word = wr_ptr_load_relaxed(&place->credit);
    bool is_old = word && word == place->met;
    place->met = is_waiting(word) ? NULL : word;
    if (is_waiting(word))
        ask(place, word);
    /* edge TURN.release: the lane's links, which its thread writes when it enrols again. If this
     * succeeds the drain owns the segments; if it fails the thread has taken them. */
    if (is_old && wr_ptr_cas_release(&place->credit, &word, NULL))
        free_give(lane->buffers, word, UINT32_MAX);
}

/* Removes the lane from the queue. */
WR_COLD static bool finish(struct wr_lane *lane)
{
    struct wr_turns *turns = &lane->buffers->turns;
    queue_extend(turns);
    if (wr_place_of(lane)->is_queued)
        queue_remove(turns, wr_place_of(lane));
    return true;
}

WR_COLD static void give(struct wr_buffers *buffers, struct wr_segment *segment)
{
    wr_free_list_give(&buffers->free_list, segment);
    serve(buffers); /* at once: the drain may be about to block in the sink */
}

/* The drain looks on its own until all lanes that wait are served. First it lets the threads run that it
 * has just served: if it slept at once, they would have to wake it, which takes longer than to write a
 * segment. */
WR_COLD static enum wr_attention attend(struct wr_buffers *buffers)
{
    struct wr_turns *turns = &buffers->turns;
    serve(buffers);
    if (buffers->yields && (turns->has_granted || has_waiting(buffers)))
        wr_os_yield();
    turns->has_granted = false;
    return has_waiting(buffers) ? WR_ATTENTION_STUCK : WR_ATTENTION_NONE;
}

WR_COLD static bool is_short(struct wr_buffers *buffers)
{
    return has_waiting(buffers);
}

/* Nothing to do: sweep() takes grants back, lane by lane. */
WR_COLD static bool take_back(struct wr_buffers *buffers)
{
    (void)buffers;
    return false;
}

WR_COLD static void rest(struct wr_lane *lane)
{
    (void)lane;
}

/* --- The table. ------------------------------------------------------------------------------ */

WR_COLD static void init(struct wr_buffers *buffers, const struct weir_session_config *config)
{
    (void)config;
    wr_free_list_init(&buffers->free_list);
}

/* Segments that hold, or may hold, records. */
static uint32_t segments_of(struct wr_lane *lane)
{
    uint32_t count = 0;
    for (struct wr_segment *segment = lane->oldest; segment; segment = segment->newer)
        count++;
    /* edge CHAIN.acquire */
    for (struct wr_segment *segment = wr_ptr_load_acquire(&lane->opened); segment;
         segment = segment->older)
        count++;
    return count;
}

WR_COLD static bool figures(struct wr_buffers *buffers, struct weir_stats *stats, uint64_t limit_ns)
{
    uint64_t signals, segments = 0;
    if (!wr_buffers_lock(buffers, limit_ns, &signals))
        return false;
    for (struct wr_lane *lane = buffers->lanes; lane; lane = lane->next)
        segments += segments_of(lane);
    wr_buffers_unlock(buffers, signals);
    stats->budget_bytes_used = segments * buffers->segment_bytes;
    return true;
}

const struct wr_mode wr_mode_drop = {.init = init,
                                     .fini = wr_mode_no_need,
                                     .room = wr_chain_room,
                                     .span_room = wr_chain_span_room,
                                     .span_open = wr_chain_span_open,
                                     .take = take,
                                     .retire = wr_chain_retire,
                                     .has_room = has_room,
                                     .reset = reset,
                                     .exit = exit_lane,
                                     .give = give,
                                     .is_needed = has_waiting,
                                     .serve = serve,
                                     .take_back = take_back,
                                     .is_short = is_short,
                                     .sweep = sweep,
                                     .rest = rest,
                                     .before_sink = serve,
                                     .after_sink = wr_mode_no_need,
                                     .attend = attend,
                                     .finish = finish,
                                     .attempts = wr_chain_attempts,
                                     .send_away = wr_mode_nobody_waits,
                                     .wait_away = wr_mode_nobody_waits,
                                     .counts = wr_chain_counts,
                                     .figures = figures};
