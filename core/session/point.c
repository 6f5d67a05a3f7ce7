/*
 * Sequence points: where the stream says how many events each thread has attempted, so that a
 * reader can tell what is lost, and where it may cut the stream.
 *
 * What existing readers demand, and we obey: a number never steps back; a thread is introduced by a
 * point with number 1 and its events are numbered from 2, because a reader takes a thread that it
 * meets with number n to have lost nothing before n; a step below 2^31, because they subtract
 * signed.
 *
 * A point at T is true only if no emitter is still inside a pin with a stamp older than T. The
 * order is: clock, barrier, pins. An emitter whose pin is odd at the barrier is waited for, up to 1
 * ms or until half the budget is full; a record that is published later than that is stamped with
 * the point's time and counted as late.
 */
#include "session/session.h"

#include <string.h>
#include "buffers/block.h"
#include "buffers/loss.h"
#include "lane/lane_read.h"
#include "os/clock.h"
#include "os/os.h"

#define SETTLE_NS_MAX   1000000u
#define POINT_BYTES_MAX (4u << 20) /* of stream between points: what a reader must hold */
/* Readers subtract numbers as signed 32-bit integers. stress_accounting_steps has it low. */
#ifdef WR_POINT_STEP_MAX
#define STEP_MAX ((uint64_t)(WR_POINT_STEP_MAX))
#else
#define STEP_MAX ((UINT64_C(1) << 31) - (1 << 20))
#endif

const char *weir_loss_name(enum weir_loss cause)
{
#define NAME(name) #name,
    static const char *const names[] = {WR_LOSS_LIST(NAME)};
#undef NAME
    return (unsigned)cause < sizeof names / sizeof names[0] ? names[cause] : NULL;
}

/* --- The drain's own events. ----------------------------------------------------------------- */

void wr_point_own_event(struct weir_session *session, uint32_t metadata_id, uint64_t ticks,
                        const void *payload, uint32_t payload_bytes)
{
    struct wr_drain *drain = &session->drain;
    drain->own_ticks = wr_max_u64(wr_max_u64(ticks, drain->own_ticks), drain->point_ticks);
    wr_nettrace_event(&drain->nettrace, metadata_id, ++drain->own_number, drain->own_ticks, payload,
                      payload_bytes);
    drain->own_shown = drain->own_number;
    drain->has_news = true;
}

/* Weir/Loss: events of a thread are missing after that number. */
static const struct weir_field loss_fields[] = {{"CaptureThread", WEIR_TYPE_u64},
                                                {"After", WEIR_TYPE_u32},
                                                {"Cause", WEIR_TYPE_str},
                                                {"Count", WEIR_TYPE_u64}};
static const struct weir_schema loss_schema = {.name = "Loss",
                                               .event_id = 1,
                                               .level = WEIR_LEVEL_WARNING,
                                               .fields = loss_fields,
                                               .field_count = 4};

static uint32_t loss_payload(const struct wr_told_loss *loss, unsigned char *out)
{
    unsigned char *start = out;
    uint32_t after = (uint32_t)loss->after;
    const char *name = weir_loss_name(loss->cause);
    memcpy(out, &loss->capture_id, 8);
    memcpy(out + 8, &after, 4);
    out += 12;
    out += wr_utf16_from_utf8((const unsigned char *)name, (uint32_t)strlen(name), out);
    memset(out, 0, 2);
    memcpy(out + 2, &loss->count, 8);
    return (uint32_t)(out + 10 - start);
}

static void losses_write(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    unsigned char payload[128];
    if (drain->loss_count == 0)
        return;
    if (wr_drain_first_use(drain, WR_LOSS_METADATA_ID))
        wr_nettrace_metadata(&drain->nettrace, WR_LOSS_METADATA_ID, "Weir", &loss_schema, false,
                             ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->capture_id, drain->thread_id);
    for (uint32_t i = 0; i < drain->loss_count; i++) {
        uint32_t bytes = loss_payload(&drain->losses[i], payload);
        wr_point_own_event(session, WR_LOSS_METADATA_ID, ticks, payload, bytes);
    }
    drain->loss_count = 0;
}

/* Loss events carry the time before the next point. Between points that is the last horizon's. */
void wr_point_tell(struct weir_session *session, uint64_t capture_id, uint64_t *number,
                   enum weir_loss cause, uint64_t count)
{
    struct wr_drain *drain = &session->drain;
    if (count == 0)
        return;
    if (drain->loss_count == WR_TOLD_LOSSES_MAX)
        losses_write(session, drain->point_ticks);
    drain->losses[drain->loss_count++] = (struct wr_told_loss){capture_id, *number, count, cause};
    *number += count;
}

void wr_point_tell_own_loss(struct weir_session *session, enum weir_loss cause, uint64_t count)
{
    struct wr_drain *drain = &session->drain;
    wr_point_tell(session, drain->capture_id, &drain->own_number, cause, count);
    pthread_mutex_lock(&session->buffers.lock);
    drain->own.lost[cause] += count;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* --- What a lane has lost. ------------------------------------------------------------------- */

static void lane_tell(struct weir_session *session, struct wr_lane *lane, enum weir_loss cause,
                      uint64_t *told, uint64_t lost)
{
    if (lost <= *told)
        return;
    wr_point_tell(session, lane->capture_id, &lane->last_number, cause, lost - *told);
    *told = lost;
}

static inline uint64_t lost_told(const struct wr_lane *lane)
{
    uint64_t told = 0;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        told += lane->lost_told[cause];
    return told;
}

static inline uint64_t lost_before(const struct wr_segment *segment)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lost += segment->lost_before[cause];
    return lost;
}

/* Records before the segment that are not in the stream: overwritten, or older than was asked for.
 */
static uint64_t gone_before(const struct wr_lane *lane, const struct wr_segment *segment)
{
    if (!lane->buffers->overwrite.is_on)
        return 0;
    return segment->first_number - 1 - lost_before(segment) - lane->records_read;
}

static void lane_tell_gone(struct weir_session *session, struct wr_lane *lane, uint64_t count)
{
    if (count == 0)
        return;
    wr_point_tell(session, lane->capture_id, &lane->last_number, WEIR_LOSS_OVERWRITTEN, count);
    pthread_mutex_lock(&session->buffers.lock);
    lane->records_read += count;
    pthread_mutex_unlock(&session->buffers.lock);
}

bool wr_point_tell_gap(struct weir_session *session, struct wr_lane *lane, bool at_point)
{
    const struct wr_segment *segment = lane->oldest;
    uint64_t gone = gone_before(lane, segment), gap = gone;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        if (segment->lost_before[cause] > lane->lost_told[cause])
            gap += segment->lost_before[cause] - lane->lost_told[cause];
    if (gap >= STEP_MAX && !at_point)
        return false;
    lane_tell_gone(session, lane, gone);
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lane_tell(session, lane, (enum weir_loss)cause, &lane->lost_told[cause],
                  segment->lost_before[cause]);
    /* The writer's count of attempts is ours. A thread that has a segment open loses nothing for
     * want of room; what it loses otherwise may have been told before the mark was there to be
     * read. */
    WR_CHECK(segment->first_number == 1 + lane->records_read + lost_before(segment));
    WR_CHECK(segment->lost_before[WEIR_LOSS_FULL] == lane->lost_told[WEIR_LOSS_FULL]);
    return true;
}

void wr_point_tell_mark(struct weir_session *session, struct wr_lane *lane,
                        const unsigned char *extension)
{
    uint64_t word;
    memcpy(&word, extension, sizeof word);
    unsigned cause = (unsigned)(word >> WR_GAP_CAUSE_SHIFT);
    uint64_t lost = word & ((UINT64_C(1) << WR_GAP_CAUSE_SHIFT) - 1);
    lane_tell(session, lane, (enum weir_loss)cause, &lane->lost_told[cause], lost);
}

/* Returns the records of a recorder's lane; 0 in other modes, where nothing is overwritten. */
static uint64_t attempts_load(struct wr_lane *lane, uint64_t lost[WR_LANE_CAUSES])
{
    if (lane->buffers->overwrite.is_on)
        return wr_overwrite_attempts(lane, lost);
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lost[cause] = wr_u64_load_acquire(&lane->lost[cause]); /* edge LOST.acquire */
    return 0;
}

/* Tells all losses so far, if the lane has no unread record that some of them may follow. The
 * losses are loaded before the look for records: a record that precedes a loss we saw is then seen
 * too. */
static void lane_tell_all(struct weir_session *session, struct wr_lane *lane, uint64_t limit)
{
    uint64_t lost[WR_LANE_CAUSES];
    /* edge EXIT.acquire, before the losses: they are its last then. The thread may still be putting
     * the lane on the ready list, inside a pin. */
    bool has_exited =
        wr_u32_load_acquire(&lane->exited) && !wr_pin_is_inside(wr_pin_load(lane->thread));
    uint64_t records = attempts_load(lane, lost);
    lane_tell(session, lane, WEIR_LOSS_NESTED, &lane->nested_told,
              wr_u64_load_acquire(&lane->nested));
    bool has_more = wr_drain_lane(session, lane, limit);
    if (lane->oldest && lane->read_count == 0 && (has_more || lane->buffers->overwrite.is_on))
        wr_point_tell_gap(session, lane, true);
    if (has_more)
        return;
    if (!lane->oldest && records > lane->records_read)
        lane_tell_gone(session, lane, records - lane->records_read);
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lane_tell(session, lane, (enum weir_loss)cause, &lane->lost_told[cause], lost[cause]);
    /* A recorder's lane goes when its last record is overwritten. */
    lane->is_finished =
        has_exited && !lane->oldest && !lane->buffers->overwrite.is_on && wr_block_finish(lane);
    session->drain.has_finished |= lane->is_finished;
}

static void tell_unattributed(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct wr_unattributed *unattributed = &wr_unattributed[session->slot];
    uint64_t nested = wr_u64_load_acquire(&unattributed->nested);
    uint64_t no_segment = wr_u64_load_acquire(&unattributed->no_segment);
    if (nested != drain->nested_told)
        wr_point_tell_own_loss(session, WEIR_LOSS_NESTED, nested - drain->nested_told);
    if (no_segment != drain->no_segment_told)
        wr_point_tell_own_loss(session, WEIR_LOSS_NO_SEGMENT, no_segment - drain->no_segment_told);
    drain->nested_told = nested;
    drain->no_segment_told = no_segment;
}

bool wr_point_has_losses(struct weir_session *session)
{
    const struct wr_drain *drain = &session->drain;
    pthread_mutex_lock(&session->buffers.lock);
    bool has_losses = drain->loss_count != 0;
    for (struct wr_lane *lane = session->buffers.lanes; lane && !has_losses; lane = lane->next) {
        uint64_t lost = wr_u64_load_acquire(&lane->nested);
        for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
            lost += wr_u64_load_acquire(&lane->lost[cause]); /* edge LOST.acquire */
        has_losses =
            lost > lane->nested_told + lost_told(lane) || wr_u32_load_acquire(&lane->exited) != 0;
    }
    pthread_mutex_unlock(&session->buffers.lock);
    return has_losses;
}

/* --- The point. ------------------------------------------------------------------------------ */

static void rows_write(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    wr_nettrace_point(&drain->nettrace, ticks, drain->rows, drain->row_count);
    drain->row_count = 0;
}

/* A number that is far from the last one that a reader has met, `*listed` in a point or `shown` on
 * an event, is approached in steps that it can subtract. */
static void row_add(struct weir_session *session, uint64_t ticks, uint64_t capture_id,
                    uint64_t *listed, uint64_t shown, uint64_t number)
{
    struct wr_drain *drain = &session->drain;
    while (*listed != number) {
        uint64_t met = wr_max_u64(*listed, shown);
        *listed = met && number - met > STEP_MAX ? met + STEP_MAX : number;
        drain->rows[drain->row_count++] = (struct wr_nettrace_thread_number){capture_id, *listed};
        if (drain->row_count == WR_NETTRACE_POINT_ROWS || *listed != number)
            rows_write(session, ticks);
    }
}

bool wr_point_is_due(const struct weir_session *session)
{
    const struct wr_drain *drain = &session->drain;
    return drain->nettrace.offset + drain->nettrace.length - drain->point_offset >= POINT_BYTES_MAX;
}

void wr_point_write(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    uint64_t attached;
    struct wr_lane *first = wr_drain_lanes(session, &attached);
    for (struct wr_lane *lane = first; lane; lane = lane->next)
        if (lane->listed_number)
            lane_tell_all(session, lane, ticks);
    if (drain->own_listed) /* a thread's losses follow its introduction */
        tell_unattributed(session);
    losses_write(session, ticks ? ticks - 1 : 0);
    for (struct wr_lane *lane = first; lane; lane = lane->next)
        row_add(session, ticks, lane->capture_id, &lane->listed_number, lane->shown_number,
                lane->last_number);
    row_add(session, ticks, drain->capture_id, &drain->own_listed, drain->own_shown,
            drain->own_number);
    rows_write(session, ticks);
    drain->point_ticks = ticks;
    drain->point_offset = drain->nettrace.offset + drain->nettrace.length;
    drain->lanes_introduced = attached;
    drain->has_news = false;
    pthread_mutex_lock(&session->buffers.lock);
    drain->points++;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* --- Emitters that are inside. --------------------------------------------------------------- */

static bool pin_is_as_noted(const struct wr_lane *lane)
{
    return wr_pin_is_inside(lane->noted_pin) && wr_pin_load(lane->thread) == lane->noted_pin;
}

static bool half_is_full(const struct weir_session *session)
{
    /* relaxed: a hint */
    return wr_u32_load_relaxed(&session->buffers.retired) >= session->buffers.segment_count / 2;
}

void wr_point_settle(struct weir_session *session)
{
    uint64_t attached;
    struct wr_lane *first = wr_drain_lanes(session, &attached);
    /* After the clock was read, before the pins are. Without it they say nothing worth a wait. */
    if (!wr_threads_barrier(session->buffers.has_plain_pins))
        return;
    bool any = false;
    for (struct wr_lane *lane = first; lane; lane = lane->next) {
        lane->noted_pin = wr_pin_load(lane->thread);
        any |= wr_pin_is_inside(lane->noted_pin);
    }
    uint64_t deadline_ns = any ? wr_os_monotonic_ns() + SETTLE_NS_MAX : 0;
    for (struct wr_lane *lane = first; any && lane; lane = lane->next) {
        for (uint64_t pause_ns = 1000; pin_is_as_noted(lane); pause_ns *= 2) {
            uint64_t now = wr_os_monotonic_ns();
            if (now >= deadline_ns || half_is_full(session))
                return;
            if (pause_ns > deadline_ns - now)
                pause_ns = deadline_ns - now;
            wr_os_sleep_ns(pause_ns);
        }
    }
}
