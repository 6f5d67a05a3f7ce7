/* Reads streams back, for the unit tests: with the reader, which shares no code with the writer. */
#ifndef TESTS_UNIT_STREAM_H
#define TESTS_UNIT_STREAM_H

#include "unit.h"

#include <reader.h>

static inline void unit_on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    fail_msg("%s", violation->text);
}

/* Reads a whole stream. The test fails if it breaks off, or breaks a rule of the format. */
static inline void unit_read(const void *bytes, uint64_t count, struct wt_handlers handlers,
                             void *context)
{
    struct wt_memory_source memory = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    handlers.violation = unit_on_violation;
    assert_int_equal(wt_reader_create(&reader, &source, &options, &handlers, context), WT_OK);
    if (wt_reader_run(reader) != WT_END)
        fail_msg("%s", wt_reader_error(reader)->text);
    wt_reader_destroy(reader);
}

/* Reads the stream of a stopped session with a memory sink. */
static inline void unit_read_memory(struct weir_session *session, struct wt_handlers handlers,
                                    void *context)
{
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    unit_read(bytes, count, handlers, context);
}

static inline void unit_read_snapshot(struct weir_session *session, struct wt_handlers handlers,
                                      void *context)
{
    static struct unit_bytes bytes;
    struct weir_sink sink = WEIR_SINK_INIT;
    bytes.count = 0;
    sink.write = unit_append;
    sink.context = &bytes;
    assert_int_equal(weir_session_snapshot(session, &sink, 0, NULL), WEIR_OK);
    unit_read(bytes.at, bytes.count, handlers, context);
}

#endif
