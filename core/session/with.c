#include "session/with.h"

#include <string.h>
#include "lane/record.h"
#include "os/os.h"
#include "session/report.h"
#include "session/session.h"

/* As wr_with_put() in event/with.c writes it. Returns the payload. */
static const unsigned char *with_read(uint64_t flags, const unsigned char *at,
                                      struct wr_nettrace_with *with, const unsigned char **stack)
{
    if (flags & WR_RECORD_THREAD) {
        memcpy(&with->thread_id, at, 8);
        at += 8;
    }
    if (flags & WR_RECORD_ACTIVITY) {
        with->activity_id = at;
        at += 16;
    }
    if (flags & WR_RECORD_RELATED) {
        with->related_activity_id = at;
        at += 16;
    }
    if (flags & WR_RECORD_STACK) {
        *stack = at;
        at += WR_RECORD_STACK_HEAD_BYTES + wr_record_stack_bytes(wr_record_stack_form(at));
    }
    return at;
}

static WR_NOINLINE void widen(const unsigned char *low_halves, uint32_t form, unsigned char *out)
{
    uint64_t high = wr_record_narrow_high(form);
    uint32_t count = wr_record_stack_count(form);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t low;
        memcpy(&low, low_halves + 4 * i, sizeof low);
        uint64_t address = high | low;
        memcpy(out + 8 * i, &address, sizeof address);
    }
}

WR_NOINLINE void wr_with_stacks_write(struct wr_drain *drain, uint32_t first_id,
                                      const unsigned char *stack, uint32_t stride, uint32_t count)
{
    uint32_t form = wr_record_stack_form(stack), bytes = 8 * wr_record_stack_count(form);
    stack += WR_RECORD_STACK_HEAD_BYTES;
    if (form & WR_RECORD_STACK_NARROW) {
        for (uint32_t i = 0; i < count; i++)
            widen(stack + i * stride, form, drain->scratch + i * bytes);
        stack = drain->scratch;
        stride = bytes;
    }
    wr_nettrace_stacks(&drain->nettrace, first_id, stack, bytes, stride, count);
}

static uint32_t stack_write(struct wr_drain *drain, const unsigned char *stack)
{
    bool is_new;
    uint32_t bytes = wr_record_stack_bytes(wr_record_stack_form(stack));
    uint32_t id = wr_stacks_find(&drain->stacks, stack, bytes, &is_new);
    if (is_new)
        wr_with_stacks_write(drain, id, stack, 0, 1);
    return id;
}

/* V6: the index of a thread that an event is about. It has a row for that, whether it traces or not.
 * 0, so that the event is about the thread that wrote it, if there is no memory for one more. */
static uint64_t about_index(struct weir_session *session, uint64_t thread_id)
{
    struct wr_drain *drain = &session->drain;
    struct wr_about *about = wr_abouts_find(&drain->abouts, thread_id);
    if (!about)
        return 0;
    if (about->index == 0) {
        about->index = wr_buffers_capture_id();
        wr_nettrace_thread(&drain->nettrace, about->index, wr_os_process_id(), thread_id, "");
    }
    return about->index;
}

WR_COLD static void count_cut(struct weir_session *session)
{
    pthread_mutex_lock(&session->buffers.lock);
    session->drain.stacks_cut++;
    pthread_mutex_unlock(&session->buffers.lock);
}

void wr_with_write(struct weir_session *session, struct wr_lane *lane,
                   const struct wr_event_definition *definition, uint64_t flags,
                   const unsigned char *bytes, uint32_t byte_count, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    struct wr_nettrace_with with = {0};
    const unsigned char *stack = NULL;
    const unsigned char *payload = with_read(flags, bytes, &with, &stack);
    uint32_t payload_bytes = byte_count - (uint32_t)(payload - bytes);
    wr_report_describe(session, definition, ticks);
    if (with.thread_id && drain->nettrace.is_v6)
        with.thread_id = about_index(session, with.thread_id);
    if (stack)
        with.stack_id = stack_write(drain, stack);
    if (WR_UNLIKELY((flags & WR_RECORD_STACK_CUT) != 0))
        count_cut(session);
    wr_nettrace_block_begin(&drain->nettrace, lane->track.capture_id, lane->track.thread_id);
    if (definition->is_converted) {
        payload_bytes = wr_nettrace_payload(definition->steps, payload, drain->scratch);
        payload = drain->scratch;
    }
    wr_nettrace_event_with(&drain->nettrace, definition->index, ++lane->track.number, ticks,
                           payload, payload_bytes, &with);
    lane->track.shown = lane->track.number;
    lane->track
        .encoded++; /* last: a flush in wr_nettrace_event_with() sends only earlier records */
}
