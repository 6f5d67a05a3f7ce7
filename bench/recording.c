#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"
#include "session.h"
#include "sessions.h"

#define EVENT_BYTES_MAX (1024u + 64u) /* in the stream */
#define BYTES_BESIDE    (1u << 20)

/* A copy, because the session's memory is freed with it. */
static void *copy_of(struct weir_session *session, size_t *count)
{
    const void *bytes = NULL;
    uint64_t stream_bytes = 0;
    void *copy = NULL;
    if (weir_session_memory(session, &bytes, &stream_bytes) == WEIR_OK)
        copy = malloc(stream_bytes);
    if (copy)
        memcpy(copy, bytes, stream_bytes);
    *count = stream_bytes;
    return copy;
}

struct bench_recording bench_record(bench_kernel kernel, uint32_t threads, uint64_t events_each)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.mode = WEIR_MODE_BLOCK;
    config.memory_bytes_max = threads * events_each * EVENT_BYTES_MAX + BYTES_BESIDE;
    struct bench_crowd crowd = {.kernel = kernel, .threads = threads, .events = events_each};
    struct bench_recording recording = {.events = threads * events_each};
    struct weir_session *session = bench_session_start(&config);
    struct weir_stats stats;
    bench_crowd_run(&crowd);
    struct bench_emitted emitted = {recording.events, crowd.written};
    bool is_whole =
        bench_session_stop(session, emitted, &stats) && crowd.written == recording.events;
    if (is_whole)
        recording.bytes = copy_of(session, &recording.count);
    weir_session_destroy(session);
    if (recording.bytes)
        return recording;
    fprintf(stderr, "weir-bench: no stream to read: %s\n",
            is_whole ? "no memory" : "the trace is not whole");
    exit(1);
}
