/*
 * What a stream reports as events of the drain's own capture thread: losses, the names of values, and
 * what a server's session begins with.
 */
#include "session/report.h"

#include <string.h>
#include "buffers/buffers.h"
#include "buffers/modes.h"
#include "lane/loss.h"
#include "lane/record.h"
#include "session/session.h"

/* --- The drain's own events. ----------------------------------------------------------------- */

WR_COLD void wr_report_own_event(struct weir_session *session, uint32_t metadata_id, uint64_t ticks,
                                 const void *payload, uint32_t payload_bytes)
{
    struct wr_drain *drain = &session->drain;
    drain->self.ticks = wr_max_u64(wr_max_u64(ticks, drain->self.ticks), drain->point_ticks);
    wr_nettrace_event(&drain->nettrace, metadata_id, ++drain->self.number, drain->self.ticks,
                      payload, payload_bytes);
    drain->self.shown = drain->self.number;
    drain->has_news = true;
}

/* Weir/Loss: `Count` events of a thread are missing after the event with number `After`. */
static const struct weir_field loss_fields[] = {{"CaptureThread", WEIR_TYPE_u64},
                                                {"After", WEIR_TYPE_u32},
                                                {"Cause", WEIR_TYPE_str},
                                                {"Count", WEIR_TYPE_u64}};
static const struct weir_schema loss_schema = {.name = "Loss",
                                               .event_id = 1,
                                               .level = WEIR_LEVEL_WARNING,
                                               .fields = loss_fields,
                                               .field_count = 4};

WR_COLD unsigned char *wr_report_put_string(unsigned char *out, const char *text)
{
    out += wr_utf16_from_utf8((const unsigned char *)text, (uint32_t)strlen(text), out);
    memset(out, 0, 2);
    return out + 2;
}

static uint32_t loss_payload(const struct wr_told_loss *loss, uint32_t number_base,
                             unsigned char *out)
{
    uint32_t after = (uint32_t)loss->after - number_base;
    memcpy(out, &loss->capture_id, 8);
    memcpy(out + 8, &after, 4);
    unsigned char *end = wr_report_put_string(out + 12, weir_loss_name(loss->cause));
    memcpy(end, &loss->count, 8);
    return (uint32_t)(end + 8 - out);
}

WR_COLD void wr_report_write(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    unsigned char payload[128];
    if (drain->loss_count == 0)
        return;
    if (wr_report_is_first_use(drain, WR_LOSS_METADATA_ID))
        wr_nettrace_metadata(&drain->nettrace, WR_LOSS_METADATA_ID, "Weir", &loss_schema, false,
                             ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    for (uint32_t i = 0; i < drain->loss_count; i++) {
        uint32_t bytes = loss_payload(&drain->losses[i], drain->nettrace.number_base, payload);
        wr_report_own_event(session, WR_LOSS_METADATA_ID, ticks, payload, bytes);
    }
    drain->loss_count = 0;
}

/* Weir/Session: what a tool that asked for the session has got. */
static const struct weir_field session_fields[] = {
    {"Mode", WEIR_TYPE_str}, {"BudgetBytes", WEIR_TYPE_u64}, {"RequestedBytes", WEIR_TYPE_u64}};
static const struct weir_schema session_schema = {.name = "Session",
                                                  .event_id = 3,
                                                  .level = WEIR_LEVEL_INFO,
                                                  .fields = session_fields,
                                                  .field_count = 3};

static const char *mode_word(enum weir_mode mode)
{
#define WORD(name, table, word) [WEIR_MODE_##name] = word,
    static const char *const words[] = {WR_MODES(WORD)};
#undef WORD
    return words[mode];
}

WR_COLD void wr_report_session(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    const uint64_t budgets[] = {session->buffers.arena_bytes, session->requested_bytes};
    unsigned char payload[64];
    unsigned char *end = wr_report_put_string(payload, mode_word(session->config.mode));
    memcpy(end, budgets, sizeof budgets);
    wr_nettrace_metadata(&drain->nettrace, WR_SESSION_METADATA_ID, "Weir", &session_schema, false,
                         ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    wr_report_own_event(session, WR_SESSION_METADATA_ID, ticks, payload,
                        (uint32_t)(end + sizeof budgets - payload));
}

/* Weir/Enum: names for the values of a field, "number=name;number=name". */
static const struct weir_field enum_fields[] = {
    {"Provider", WEIR_TYPE_str}, {"EventId", WEIR_TYPE_u32}, {"Version", WEIR_TYPE_u32},
    {"Field", WEIR_TYPE_str},    {"Enum", WEIR_TYPE_str},    {"Values", WEIR_TYPE_str}};
static const struct weir_schema enum_schema = {.name = "Enum",
                                               .event_id = 5,
                                               .level = WEIR_LEVEL_INFO,
                                               .fields = enum_fields,
                                               .field_count = 6};

static void enum_write(struct weir_session *session, const struct wr_enum_event *event,
                       uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    if (wr_report_is_first_use(drain, WR_ENUM_METADATA_ID))
        wr_nettrace_metadata(&drain->nettrace, WR_ENUM_METADATA_ID, "Weir", &enum_schema, false,
                             ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    wr_report_own_event(session, WR_ENUM_METADATA_ID, ticks, event->payload, event->payload_bytes);
}

WR_COLD void wr_report_definition(struct weir_session *session,
                                  const struct wr_event_definition *definition, uint64_t ticks)
{
    struct weir_schema described = definition->schema;
    described.field_count = definition->described_count;
    wr_nettrace_metadata(&session->drain.nettrace, definition->index, definition->provider_name,
                         &described, definition->has_arrays, ticks);
    for (uint32_t i = 0; definition->enums && i < definition->schema.field_count; i++)
        if (definition->enums[i])
            enum_write(session, definition->enums[i], ticks);
}

WR_COLD void wr_report_late(struct weir_session *session)
{
    pthread_mutex_lock(&session->buffers.lock);
    session->drain.late_records++;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* Loss events precede the next point. If the list is full between points, they get the time of the
 * last point. */
WR_COLD void wr_report_loss(struct weir_session *session, struct wr_track *track,
                            enum weir_loss cause, uint64_t count)
{
    struct wr_drain *drain = &session->drain;
    if (count == 0)
        return;
    if (drain->loss_count == WR_TOLD_LOSSES_MAX)
        wr_report_write(session, drain->point_ticks);
    drain->losses[drain->loss_count++] =
        (struct wr_told_loss){track->capture_id, track->number, count, cause};
    track->number += count;
}

WR_COLD void wr_report_own_loss(struct weir_session *session, enum weir_loss cause, uint64_t count)
{
    struct wr_drain *drain = &session->drain;
    wr_report_loss(session, &drain->self, cause, count);
    pthread_mutex_lock(&session->buffers.lock);
    drain->own.lost[cause] += count;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* --- What a lane has lost. ------------------------------------------------------------------- */

/* `lost` is a total: losses that were reported before are not reported again. */
static void report_up_to(struct weir_session *session, struct wr_track *track, unsigned cause,
                         uint64_t lost)
{
    uint64_t *told = &track->lost_told[cause];
    if (lost <= *told)
        return;
    wr_report_loss(session, track, wr_loss_of_lane(cause), lost - *told);
    *told = lost;
}

WR_COLD void wr_report_lost(struct weir_session *session, struct wr_track *track,
                            const uint64_t lost[WR_LANE_CAUSES])
{
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        report_up_to(session, track, cause, lost[cause]);
}

WR_COLD void wr_report_nested(struct weir_session *session, struct wr_track *track, uint64_t nested)
{
    if (nested <= track->nested_told)
        return;
    wr_report_loss(session, track, WEIR_LOSS_NESTED, nested - track->nested_told);
    track->nested_told = nested;
}

WR_COLD void wr_report_gone(struct weir_session *session, struct wr_lane *lane, uint64_t count)
{
    if (count == 0)
        return;
    wr_report_loss(session, &lane->track, WEIR_LOSS_OVERWRITTEN, count);
    pthread_mutex_lock(&session->buffers.lock);
    lane->records_read += count;
    pthread_mutex_unlock(&session->buffers.lock);
}

WR_COLD bool wr_report_gap(struct weir_session *session, struct wr_lane *lane, bool at_point)
{
    const struct wr_segment *segment = lane->oldest;
    uint64_t gone = session->drain.way->gone_before(lane), gap = gone;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        if (segment->lost_before[cause] > lane->track.lost_told[cause])
            gap += segment->lost_before[cause] - lane->track.lost_told[cause];
    if (gap >= WR_STEP_MAX && !at_point)
        return false;
    wr_report_gone(session, lane, gone);
    wr_report_lost(session, &lane->track, segment->lost_before);
    /* The writer's count of attempts must equal the drain's. A thread with an open segment never
     * loses an event as FULL; other losses may be reported before their mark is visible. */
    WR_CHECK(segment->first_number == 1 + lane->records_read + wr_segment_lost_before(segment));
    WR_CHECK(segment->lost_before[WR_LANE_FULL] == lane->track.lost_told[WR_LANE_FULL]);
    return true;
}

WR_COLD void wr_report_mark(struct weir_session *session, struct wr_lane *lane,
                            const unsigned char *extension)
{
    uint64_t word;
    memcpy(&word, extension, sizeof word);
    unsigned cause = (unsigned)(word >> WR_GAP_CAUSE_SHIFT);
    uint64_t lost = word & ((UINT64_C(1) << WR_GAP_CAUSE_SHIFT) - 1);
    report_up_to(session, &lane->track, wr_lane_cause(cause), lost);
}

WR_COLD void wr_report_unattributed(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct wr_unattributed *unattributed = &wr_unattributed[session->slot];
    uint64_t nested = wr_u64_load_acquire(&unattributed->nested);
    uint64_t no_segment = wr_u64_load_acquire(&unattributed->no_segment);
    if (nested != drain->self.nested_told)
        wr_report_own_loss(session, WEIR_LOSS_NESTED, nested - drain->self.nested_told);
    if (no_segment != drain->self.lost_told[WR_LANE_NO_SEGMENT])
        wr_report_own_loss(session, WEIR_LOSS_NO_SEGMENT,
                           no_segment - drain->self.lost_told[WR_LANE_NO_SEGMENT]);
    drain->self.nested_told = nested;
    drain->self.lost_told[WR_LANE_NO_SEGMENT] = no_segment;
}
