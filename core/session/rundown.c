/*
 * Rundown: at the end of a session, the host's callback runs on the drain thread and emits whatever
 * a reader needs to make sense of the events. Each event is encoded at once, on the drain's own
 * capture thread. So any volume fits, no thread parks, and no event is lost for want of room.
 */
#include "session/rundown.h"

#include "session/given.h"
#include "session/point.h"
#include "session/report.h"
#include "session/session.h"
#include "session/step.h"

static bool lose(struct weir_session *session, enum weir_loss cause)
{
    wr_report_own_loss(session, cause, 1);
    wr_self.last_loss = cause;
    return false;
}

static bool encode(struct weir_session *session, const struct weir_event *event,
                   const void *payload, const struct wr_stamp *stamp)
{
    struct wr_drain *drain = &session->drain;
    const struct wr_event_definition *definition = wr_definition_of(event);
    if (!definition || !wr_interest_wants(session->interest, definition))
        return false;
    if (payload == &wr_payload_mismatch)
        return lose(session, WEIR_LOSS_MISMATCH);
    struct wr_payload_size size;
    wr_payload_measure(definition, payload, &size);
    if (size.bytes > WR_PAYLOAD_BYTES_MAX)
        return lose(session, WEIR_LOSS_TOO_LARGE);
    unsigned char *record = drain->scratch, *converted = drain->scratch + WR_PAYLOAD_BYTES_MAX + 1;
    wr_payload_write(definition, payload, &size, record);
    uint32_t file_bytes = (uint32_t)size.bytes;
    if (definition->has_strings)
        file_bytes = wr_nettrace_payload(definition->steps, record, converted);
    uint64_t ticks = stamp->is_given ? wr_given_now(session, &drain->self, stamp->ticks)
                                     : wr_step_ticks_now(session);
    wr_report_describe(session, definition, ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    wr_report_own_event(session, definition->index, ticks,
                        definition->has_strings ? converted : record, file_bytes);
    drain->self.encoded++;
    if (wr_point_is_due(session))
        wr_point_write(session, drain->self.ticks + 1);
    return true;
}

/* What the sink's function emits meanwhile is not part of the rundown: it is counted as nested. */
static bool capture(void *context, const struct weir_event *event, const void *payload,
                    const struct wr_stamp *stamp)
{
    wr_self.capture = NULL;
    bool is_written = encode(context, event, payload, stamp);
    wr_self.capture = capture;
    return is_written;
}

void wr_rundown_run(struct weir_session *session)
{
    if (!session->config.rundown)
        return;
    wr_self.capture_context = session;
    wr_self.capture_id = session->id;
    wr_self.capture = capture;
    session->config.rundown(session->config.rundown_context, session);
    wr_self.capture = NULL;
}
