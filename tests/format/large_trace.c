/*
 * Traces of any size, and what is in parts of them, for test_window_large.py.
 *
 *     format_large write FILE BYTES FORMAT     three threads emit until the file has BYTES
 *     format_large slices FILE NS              reads all of it, as from a pipe
 *     format_large part FILE FROM_NS TO_NS     reads a window of it
 *
 * The last two print events and digest, of each slice of NS, or of the window with the bytes that were
 * read. A digest is the sum of those of the events, so that of a window is the sum of its slices'.
 */
#define _GNU_SOURCE
#include <fields.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <reader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/weir.h>

#define THREADS       3
#define STACKS        1000u
#define FRAMES        8u
#define EVENTS_A_LOOK 10000u

#define LARGE_EVENTS(EVENT, P)                                                            \
    EVENT(P, Step, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number), (u32, Thread))              \
    EVENT(P, Note, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number), (str, Text), (f64, Weight)) \
    EVENT(P, Call, 3, 0, WEIR_LEVEL_INFO | WEIR_EVENT_STACK, 0x1, (u64, Number))
WEIR_PROVIDER(Large, LARGE_EVENTS)
WEIR_PROVIDER_DEFINE(Large, LARGE_EVENTS)

static void fail(const char *what)
{
    fprintf(stderr, "format_large: %s\n", what);
    exit(1);
}

/* --- Writing. -------------------------------------------------------------------------------- */

static const char *path;
static uint64_t bytes_wanted;
static __thread uint64_t number;

static int32_t capture(void *context, uint64_t *addresses, int32_t max)
{
    (void)context;
    (void)max;
    for (uint32_t i = 0; i < FRAMES; i++)
        addresses[i] = (number * 7919 % STACKS + 1) << i;
    return FRAMES;
}

static bool is_large_enough(void)
{
    struct stat status;
    return stat(path, &status) == 0 && (uint64_t)status.st_size >= bytes_wanted;
}

static void emit_some(uint32_t thread)
{
    char text[64];
    for (uint32_t i = 0; i < EVENTS_A_LOOK; i++, number++) {
        bool is_written = WEIR_EMIT(Large, Step, number, thread);
        if (i % 8 == 0) {
            snprintf(text, sizeof text, "thread %" PRIu32 " at %" PRIu64, thread, number);
            is_written &= WEIR_EMIT(Large, Note, number, text, (double)number / 3);
        }
        if (i % 4 == 0)
            is_written &= WEIR_EMIT(Large, Call, number);
        if (!is_written)
            fail("an event is lost");
    }
}

static void *run_thread(void *argument)
{
    uint32_t thread = (uint32_t)(uintptr_t)argument;
    while (!is_large_enough())
        emit_some(thread);
    return NULL;
}

static void write_trace(const char *format)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_stack_hook hook = WEIR_STACK_HOOK_INIT;
    struct weir_session *session;
    struct weir_error error = {""};
    pthread_t threads[THREADS];
    hook.capture = capture;
    config.providers = "Large";
    config.sink.file = path;
    config.mode = WEIR_MODE_BLOCK;
    config.stop_ms_max = 600000;
    config.format = strcmp(format, "6") == 0 ? WEIR_FORMAT_NETTRACE_6 : WEIR_FORMAT_NETTRACE_4;
    if (weir_stack_hook_set(&hook) != WEIR_OK ||
        weir_provider_register(&weir_provider_Large, NULL, NULL, NULL, &error) != WEIR_OK ||
        weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail(error.text);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)i) != 0)
            fail("no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (weir_session_stop(session, &error) != WEIR_OK)
        fail(error.text);
    weir_session_destroy(session);
}

/* --- Reading. -------------------------------------------------------------------------------- */

static struct reading {
    struct wt_reader *reader;
    uint64_t slice_ns;      /* 0: one slice, without an end */
    int64_t from_ns, to_ns; /* of the window */
    int64_t begin, end;     /* of the last event's slice, in ticks */
    uint64_t slice;         /* that one */
    uint64_t slice_count;   /* up to the last one that has an event */
    struct slice {
        uint64_t events, digest;
    } slices[1u << 20];
} reading;

static uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 29;
}

static uint64_t mix_bytes(uint64_t digest, const uint8_t *bytes, uint32_t count)
{
    uint64_t word = 0;
    for (; count >= 8; bytes += 8, count -= 8) {
        memcpy(&word, bytes, sizeof word);
        digest = mix(digest, word);
    }
    word = 0;
    memcpy(&word, bytes, count);
    return mix(mix(digest, word), count);
}

static uint64_t digest_of(const struct wt_event *event)
{
    uint64_t digest = mix((uint64_t)event->time, (uint32_t)event->metadata->event_id);
    digest = mix(mix(digest, event->capture_thread), event->thread_id);
    digest = mix(digest, event->number);
    digest = mix_bytes(digest, event->payload, event->payload_size);
    return event->stack ? mix_bytes(digest, event->stack, event->stack_size) : digest;
}

static void slice_set(const struct wt_trace_info *info, uint64_t slice)
{
    reading.slice = slice;
    reading.begin = wt_ns_to_ticks(info, (int64_t)(slice * reading.slice_ns));
    reading.end = wt_ns_to_ticks(info, (int64_t)((slice + 1) * reading.slice_ns));
}

/* The same borders as those of a window. */
static void slice_find(int64_t time)
{
    const struct wt_trace_info *info = wt_reader_trace(reading.reader);
    if (reading.slice_ns == 0 || (time >= reading.begin && time < reading.end))
        return;
    int64_t ns = wt_time_relative_ns(info, time);
    slice_set(info, ns > 0 ? (uint64_t)ns / reading.slice_ns : 0);
    while (time < reading.begin && reading.slice > 0)
        slice_set(info, reading.slice - 1);
    while (time >= reading.end)
        slice_set(info, reading.slice + 1);
    if (reading.slice >= sizeof reading.slices / sizeof *reading.slices)
        fail("too many slices");
}

static void on_event(void *context, const struct wt_event *event)
{
    (void)context;
    slice_find(event->time);
    reading.slices[reading.slice].events++;
    reading.slices[reading.slice].digest += digest_of(event);
    if (reading.slice_count <= reading.slice)
        reading.slice_count = reading.slice + 1;
}

static void on_trace(void *context, const struct wt_trace_info *info)
{
    (void)context;
    if (reading.slice_ns == 0 &&
        wt_reader_set_window(reading.reader, wt_ns_to_ticks(info, reading.from_ns),
                             wt_ns_to_ticks(info, reading.to_ns)) != WT_OK)
        fail("no window");
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    fail(violation->text);
}

static void read_trace(void)
{
    static const struct wt_handlers handlers = {
        .event = on_event, .trace = on_trace, .violation = on_violation};
    struct wt_fd_source file = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    struct wt_source source = wt_source_fd(&file);
    if (file.fd < 0)
        fail("the file cannot be opened");
    if (reading.slice_ns)
        source.read_at = NULL;
    if (wt_reader_create(&reading.reader, &source, NULL, &handlers, NULL) != WT_OK)
        fail("no memory");
    if (wt_reader_run(reading.reader) != WT_END)
        fail(wt_reader_error(reading.reader)->text);
    if (wt_reader_totals(reading.reader)->lost)
        fail("events are missing");
    for (uint64_t i = 0; i < reading.slice_count; i++)
        printf("%" PRIu64 " %" PRIu64 "\n", reading.slices[i].events, reading.slices[i].digest);
    if (reading.slice_ns == 0)
        printf("%" PRIu64 "\n", wt_reader_totals(reading.reader)->bytes_read);
    wt_reader_destroy(reading.reader);
    close(file.fd);
}

int main(int argc, char **argv)
{
    path = argc > 2 ? argv[2] : "";
    if (argc == 5 && strcmp(argv[1], "write") == 0) {
        bytes_wanted = strtoull(argv[3], NULL, 10);
        write_trace(argv[4]);
    } else if (argc == 4 && strcmp(argv[1], "slices") == 0) {
        reading.slice_ns = strtoull(argv[3], NULL, 10);
        read_trace();
    } else if (argc == 5 && strcmp(argv[1], "part") == 0) {
        reading.from_ns = strtoll(argv[3], NULL, 10);
        reading.to_ns = strtoll(argv[4], NULL, 10);
        read_trace();
    } else {
        fail("see the top of large_trace.c");
    }
    return 0;
}
