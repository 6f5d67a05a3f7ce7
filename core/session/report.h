/*
 * What a stream contains besides the host's events: losses, and the metadata of events.
 */
#ifndef WR_SESSION_REPORT_H
#define WR_SESSION_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "event/event.h"
#include "lane/track.h"
#include "session/session.h"

/* Readers subtract numbers as signed 32-bit integers. stress_accounting_steps sets a low limit. */
#ifdef WR_POINT_STEP_MAX
#define WR_STEP_MAX ((uint64_t)(WR_POINT_STEP_MAX))
#else
#define WR_STEP_MAX ((UINT64_C(1) << 31) - (1 << 20))
#endif

/* --- Metadata. ------------------------------------------------------------------------------- */

/* True once for each metadata id: the caller writes the metadata now. */
static inline bool wr_report_is_first_use(struct wr_drain *drain, uint32_t metadata_id)
{
    unsigned char *byte = &drain->metadata_written[metadata_id / 8];
    unsigned char bit = (unsigned char)(1u << metadata_id % 8);
    bool is_first = !(*byte & bit);
    *byte |= bit;
    return is_first;
}

/* Writes the metadata of an event, and the names of its fields' values. */
void wr_report_definition(struct weir_session *session,
                          const struct wr_event_definition *definition, uint64_t ticks);

/* The same before its first record, outside a thread's block. */
static inline void wr_report_describe(struct weir_session *session,
                                      const struct wr_event_definition *definition, uint64_t ticks)
{
    if (wr_report_is_first_use(&session->drain, definition->index))
        wr_report_definition(session, definition, ticks);
}

/* Writes an event of the drain's own capture thread, whose block has begun. `payload`: readable up to
 * the next multiple of eight bytes. */
void wr_report_own_event(struct weir_session *session, uint32_t metadata_id, uint64_t ticks,
                         const void *payload, uint32_t payload_bytes);

/* Writes the text as zero-terminated UTF-16: at most two bytes for each byte of UTF-8, and two for the
 * zero. Returns where it ends. */
unsigned char *wr_report_put_string(unsigned char *out, const char *text);

/* Writes Weir/Session. */
void wr_report_session(struct weir_session *session, uint64_t ticks);

/* --- Losses. --------------------------------------------------------------------------------- */

/* Notes a loss of `count` events after the track's number, and advances the number. */
void wr_report_loss(struct weir_session *session, struct wr_track *track, enum weir_loss cause,
                    uint64_t count);
/* Notes those of the thread's losses that were not reported before. The counts are totals. */
void wr_report_lost(struct weir_session *session, struct wr_track *track,
                    const uint64_t lost[WR_LANE_CAUSES]);
void wr_report_nested(struct weir_session *session, struct wr_track *track, uint64_t nested);
/* Notes the losses before the first record of the lane's oldest segment. False if there are more
 * than one step of the number can report: then nothing is noted, and a point must do it. */
bool wr_report_gap(struct weir_session *session, struct wr_lane *lane, bool at_point);
/* Notes the loss of a gap mark, given its extension word. */
void wr_report_mark(struct weir_session *session, struct wr_lane *lane,
                    const unsigned char *extension);
/* Notes records of the lane that the stream does not have, as OVERWRITTEN. */
void wr_report_gone(struct weir_session *session, struct wr_lane *lane, uint64_t count);
/* Notes losses of the drain's own capture thread; those of threads without a lane. */
void wr_report_own_loss(struct weir_session *session, enum weir_loss cause, uint64_t count);
void wr_report_unattributed(struct weir_session *session);
/* Counts a record that gets another time than its stamp says. */
void wr_report_late(struct weir_session *session);
/* Writes the losses noted so far. */
void wr_report_write(struct weir_session *session, uint64_t ticks);

#endif
