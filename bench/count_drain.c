/*
 * weir-count-drain: counts what depends on the time or on when the drain looks: the drain, the
 * reader, an emitter that overwrites, and the bytes of an event.
 *
 * It uses the single-threaded library with a fixed clock: weir_session_poll() does the drain
 * thread's work, on this thread, exactly when this program calls it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "count.h"
#include "count_fixed.h"
#include "kernel.h"
#include "reader.h"

#define BUDGET_BYTES     (UINT64_C(64) << 20)
#define SMALL_BYTES      (UINT64_C(1) << 20)
#define SEGMENT_BYTES    32768u
#define WARM_EVENTS      2000u
#define SECONDS_OF_FLUSH 60
#define PAYLOAD_BYTES    32u
#define HEADER_BYTES_MIN 2 /* flags, time */

/* Events that the drain encodes. */
struct kind {
    const char *name;
    bench_kernel kernel;
    uint32_t payload_bytes;
    uint8_t format;
};

static const struct kind kinds[] = {
    {"payload:8", bench_emit_8, 8, WEIR_FORMAT_NETTRACE_4},
    {"payload:32", bench_emit_32, 32, WEIR_FORMAT_NETTRACE_4},
    {"payload:128", bench_emit_128, 128, WEIR_FORMAT_NETTRACE_4},
    {"text:32", count_emit_text, 32, WEIR_FORMAT_NETTRACE_4},
    {"raw:32", count_emit_raw, 32, WEIR_FORMAT_NETTRACE_4},
    {"structs:32", count_emit_nodes, 32, WEIR_FORMAT_NETTRACE_4},
    {"payload:32/format:6", bench_emit_32, 32, WEIR_FORMAT_NETTRACE_6},
    {"payload:32/with:activity", bench_emit_32_activity, 32, WEIR_FORMAT_NETTRACE_4},
    {"payload:32/with:stack", bench_emit_32_stack, 32, WEIR_FORMAT_NETTRACE_4},
};

/* A session, and the loop that fills it. */
struct stream {
    struct weir_session *session;
    bench_kernel kernel;
};

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    *(uint64_t *)context += count;
    return true;
}

static struct weir_session_config config_of(enum weir_mode mode)
{
    struct weir_session_config config = weir_session_config_init();
    config.providers = "WeirBench,WeirCount";
    config.mode = mode;
    return config;
}

/* --- The drain. ------------------------------------------------------------------------------ */

static bool fill(void *context, uint64_t events)
{
    struct stream *stream = context;
    /* The next poll is a timed one, which leaves nothing behind. */
    count_clock_pass(SECONDS_OF_FLUSH * UINT64_C(1000000000));
    return stream->kernel(events) == events;
}

static bool poll_once(void *context, uint64_t events)
{
    struct stream *stream = context;
    (void)events;
    return weir_session_poll(stream->session, NULL) == WEIR_OK;
}

static uint64_t bytes_sent(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    return weir_session_stats(session, &stats) == WEIR_OK ? stats.bytes_sent : 0;
}

static void count_drain(const char *name, uint64_t events, const struct kind *kind,
                        const struct weir_session_config *config)
{
    struct stream stream = {count_session(*config, BUDGET_BYTES, SEGMENT_BYTES), kind->kernel};
    if (!fill(&stream, WARM_EVENTS) || !poll_once(&stream, WARM_EVENTS))
        count_fail(name, "the drain did not write");
    count_twice(name, events, fill, poll_once, &stream);
    uint64_t bytes_min = (WARM_EVENTS + 3 * events) * (kind->payload_bytes + HEADER_BYTES_MIN);
    if (bytes_sent(stream.session) < bytes_min)
        count_fail(name, "the drain did not write everything");
    if (weir_session_stop(stream.session, NULL) != WEIR_OK)
        count_fail(name, "the stream is not whole");
    weir_session_destroy(stream.session);
}

/* Into a function that discards. */
static void count_encode(const struct kind *kind, uint64_t events)
{
    char name[64];
    snprintf(name, sizeof(name), "drain/encode/%s", kind->name);
    uint64_t bytes = 0;
    struct weir_session_config config = config_of(WEIR_MODE_DROP);
    config.sink.write = discard;
    config.sink.context = &bytes;
    config.format = kind->format;
    config.stack_bytes = SMALL_BYTES;
    count_drain(name, events, kind, &config);
}

/* Into a descriptor: counts the system calls too. */
static void count_write(const char *name, uint64_t events)
{
    const struct kind kind = {.kernel = bench_emit_32, .payload_bytes = PAYLOAD_BYTES};
    struct weir_session_config config = config_of(WEIR_MODE_DROP);
    config.sink.descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (config.sink.descriptor < 0)
        count_fail(name, "there is no /dev/null");
    count_drain(name, events, &kind, &config);
    close(config.sink.descriptor);
}

/* --- The brim. ------------------------------------------------------------------------------- */

static bool overwrite(void *context, uint64_t events)
{
    (void)context;
    return bench_emit_32(events) == events;
}

/* The budget is full before anything is counted, and the drain does not look. */
static void count_overwrite(const char *name, uint64_t events)
{
    uint64_t bytes = 0;
    struct weir_session_config config = config_of(WEIR_MODE_OVERWRITE);
    config.sink.write = discard;
    config.sink.context = &bytes;
    struct weir_session *session = count_session(config, SMALL_BYTES, SEGMENT_BYTES);
    bench_emit_32(SMALL_BYTES / PAYLOAD_BYTES);
    count_twice(name, events, NULL, overwrite, NULL);
    if (weir_session_stop(session, NULL) != WEIR_OK)
        count_fail(name, "the stream is not whole");
    weir_session_destroy(session);
}

/* --- Bytes, and the reader. ------------------------------------------------------------------ */

/* How many events fit into a budget that nothing drains. */
static uint64_t events_in(uint64_t budget_bytes)
{
    uint64_t bytes = 0, events = 0;
    struct weir_session_config config = config_of(WEIR_MODE_DROP);
    config.sink.write = discard;
    config.sink.context = &bytes;
    struct weir_session *session = count_session(config, budget_bytes, SEGMENT_BYTES);
    while (bench_emit_32(1))
        events++;
    weir_session_destroy(session);
    return events;
}

/* The stream of a session. */
struct recording {
    uint8_t *bytes;
    uint64_t size;
};

/* A whole session with that many events; the caller frees the bytes. */
static struct recording recorded(uint64_t events)
{
    const void *bytes;
    struct recording recording = {0};
    struct weir_session_config config = config_of(WEIR_MODE_DROP);
    config.memory_bytes_max = BUDGET_BYTES;
    struct weir_session *session = count_session(config, BUDGET_BYTES, SEGMENT_BYTES);
    if (bench_emit_32(events) != events || weir_session_stop(session, NULL) != WEIR_OK ||
        weir_session_memory(session, &bytes, &recording.size) != WEIR_OK)
        count_fail("stream", "it is not whole");
    recording.bytes = malloc(recording.size);
    if (!recording.bytes)
        count_fail("stream", "no memory");
    memcpy(recording.bytes, bytes, recording.size);
    weir_session_destroy(session);
    return recording;
}

static void on_event(void *context, const struct wt_event *event)
{
    *(uint64_t *)context += event->payload_size;
}

static bool record(void *context, uint64_t events)
{
    struct recording *recording = context;
    free(recording->bytes);
    *recording = recorded(events);
    return true;
}

static bool read_all(void *context, uint64_t events)
{
    const struct recording *recording = context;
    struct wt_memory_source memory = {.bytes = recording->bytes, .size = recording->size};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_handlers handlers = {.event = on_event};
    struct wt_reader *reader;
    uint64_t payload_bytes = 0;
    if (wt_reader_create(&reader, &source, NULL, &handlers, &payload_bytes) != WT_OK)
        return false;
    bool is_whole = wt_reader_run(reader) == WT_END && wt_reader_totals(reader)->events >= events &&
                    payload_bytes >= events * PAYLOAD_BYTES;
    wt_reader_destroy(reader);
    return is_whole;
}

static void tell_bytes(uint64_t events)
{
    struct recording one = recorded(events), two = recorded(2 * events);
    free(one.bytes);
    free(two.bytes);
    uint64_t lane = events_in(2 * SMALL_BYTES) - events_in(SMALL_BYTES);
    printf("bytes/lane/payload:32 %.6f\n", (double)SMALL_BYTES / (double)lane);
    printf("bytes/file/payload:32 %.6f\n", (double)(two.size - one.size) / (double)events);
}

int main(int argc, char **argv)
{
    uint64_t events = count_begin(argc, argv);
    if (!bench_events_register() || !count_events_register())
        count_fail("providers", "they cannot be registered");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        count_encode(&kinds[i], events);
    count_write("drain/write/payload:32", events);
    count_overwrite("emit/overwrite/payload:32", events);
    struct recording recording = {0};
    count_twice("reader/read/payload:32", events, record, read_all, &recording);
    free(recording.bytes);
    tell_bytes(events);
    return 0;
}
