/*
 * Random programs against the interface: events of random shapes and values, contexts, polls,
 * snapshots, and values that do not match, in the three versions of the format. Each stream is read
 * back, and must have what was emitted, value by value, in order, at its time, and what was lost. On
 * the library without threads, and with a clock of the program's own, so that the seed determines it.
 *
 *     format_random [PROGRAMS [SEED]]
 *
 * Definitions live as long as the process, so all programs draw from one set.
 */
#define _GNU_SOURCE
#include "random_events.h"
#include <fields.h>
#include <inttypes.h>
#include <reader.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "os/clock.h"

#define EVENTS_MAX 40u

static uint64_t program_now;

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nrepeat with: format_random 1 %" PRIu64 "\n", program_now);
    exit(1);
}

/* --- The clock. The linker puts these in the place of the library's and the system's. ---------- */

#define CLOCK_START (UINT64_C(1) << 50)
static uint64_t clock_now = CLOCK_START; /* nanoseconds */

void __wrap_wr_clock_init(void);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

void __wrap_wr_clock_init(void)
{
    wr_u32_store_relaxed(&wr_clock.kind, WR_CLOCK_SYSTEM); /* relaxed: no other thread */
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    clock_now += 100; /* no two readings are equal */
    now->tv_sec = (time_t)(clock_now / 1000000000u);
    now->tv_nsec = (long)(clock_now % 1000000000u);
    return 0;
}

/* Up to five hours. */
static void clock_pass(void)
{
    clock_now += below(4) ? draw() >> (20 + below(44)) : 0;
}

/* --- Contexts. ------------------------------------------------------------------------------- */

static uint64_t hook_stack[4];
static uint32_t hook_count;

static int32_t capture(void *context, uint64_t *addresses, int32_t max)
{
    (void)context;
    (void)max;
    memcpy(addresses, hook_stack, sizeof hook_stack);
    return (int32_t)hook_count;
}

struct extras {
    struct weir_context context;
    struct weir_guid activity, related;
    uint64_t stack[6];
};

static void guid_make(struct weir_guid *guid, const struct weir_guid **wanted)
{
    memset(guid, 0, sizeof *guid);
    guid->bytes[0] = (unsigned char)(1 + below(4)); /* so that some come again */
    *wanted = guid;
}

/* A context for the event, in half of the cases; and what the file is to have of it. */
static bool extras_make(struct extras *extras, bool has_hook)
{
    bool is_used = below(2) != 0;
    *extras = (struct extras){.context = WEIR_CONTEXT_INIT};
    hook_count = 1 + below(4);
    for (uint32_t i = 0; i < 4; i++)
        hook_stack[i] = below(5);
    if (is_used && below(2))
        guid_make(&extras->activity, &extras->context.activity_id);
    if (is_used && below(3) == 0)
        guid_make(&extras->related, &extras->context.related_activity_id);
    if (is_used && below(3) == 0)
        extras->context.thread_id = 5000000 + below(1000000); /* above those of the system */
    if (is_used && below(2)) {
        extras->context.stack = extras->stack;
        extras->context.stack_count = 1 + below(6);
        for (uint32_t i = 0; i < 6; i++)
            extras->stack[i] = below(4);
    }
    const uint64_t *stack = extras->context.stack ? extras->stack : hook_stack;
    uint32_t count = extras->context.stack ? extras->context.stack_count
                     : has_hook            ? hook_count
                                           : 0;
    say(&emitted, " activity ");
    say_bytes(&emitted, extras->activity.bytes, 16);
    say(&emitted, " related ");
    say_bytes(&emitted, extras->related.bytes, 16);
    say(&emitted, " thread %" PRIu64 " stack ", extras->context.thread_id);
    say_bytes(&emitted, stack, 8 * (size_t)count);
    say(&emitted, "\n");
    return is_used;
}

/* --- Programs. ------------------------------------------------------------------------------- */

static bool is_met[DEFINITIONS]; /* in this program's stream */
static uint64_t mismatches;

static struct span {
    uint64_t before, after;
} spans[EVENTS_MAX]; /* of the clock, around each event */
static uint32_t written_count, read_count;

static void emit(uint32_t number)
{
    const struct definition *definition = &definitions[number];
    struct weir_value values[FIELDS_MAX + 1] = {{.type = WEIR_TYPE_u8}};
    size_t used = emitted.used;
    bool is_wrong = below(30) == 0; /* one value too many */
    say(&emitted, "Event%u id %u version %u opcode %u", number, number, definition->version,
        definition->opcode);
    values_make(values, definition);
    struct extras extras;
    bool has_context = extras_make(&extras, definition->has_stack);
    if (has_context)
        weir_context_push(&extras.context);
    uint64_t before = clock_now;
    bool is_written = weir_event_emit(definition->event, values, definition->field_count + is_wrong,
                                      sizeof *values);
    if (has_context)
        weir_context_pop();
    if (is_written == is_wrong)
        fail("Event%u was%s written", number, is_written ? "" : " not");
    is_met[number] |= is_written;
    if (is_written)
        spans[written_count++] = (struct span){before, clock_now};
    else
        emitted.used = used;
    mismatches += is_wrong;
}

/* --- What is read of them. ------------------------------------------------------------------- */

/* Taken from the payload itself, so that each bit counts. Returns where the field ends. */
static uint32_t found_field(const struct wt_event *event, uint32_t at, const struct wt_field *field)
{
    uint32_t bytes = field->min_size, end = 0;
    if (field->type == WT_TYPE_OBJECT) {
        for (uint32_t i = 0; i < field->field_count; i++)
            at = found_field(event, at, &field->fields[i]);
        return at;
    }
    say(&found, " ");
    if (field->type == WT_TYPE_ARRAY) {
        uint16_t count;
        memcpy(&count, event->payload + at, sizeof count);
        say(&found, "[%u]", count);
        at += 2;
        bytes = count * field->fields[0].min_size;
    } else if (field->type == WT_TYPE_STRING) {
        for (bytes = 0; event->payload[at + bytes] || event->payload[at + bytes + 1];)
            bytes += 2;
        end = 2;
    }
    say_bytes(&found, event->payload + at, bytes);
    return at + bytes + end;
}

static void found_payload(const struct wt_event *event)
{
    uint32_t at = 0;
    if (!wt_fields_walk(event->metadata, event->payload, event->payload_size, NULL, NULL,
                        &(size_t){0}))
        fail("%s: its payload is too short", event->metadata->event_name);
    for (uint32_t i = 0; i < event->metadata->field_count; i++)
        at = found_field(event, at, &event->metadata->fields[i]);
    if (at == event->payload_size)
        return;
    say(&found, " raw ");
    say_bytes(&found, event->payload + at, event->payload_size - at);
}

static uint64_t own_thread;

static void on_event(void *context, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    (void)context;
    if (strcmp(metadata->provider_name, "Random") != 0)
        return;
    const struct span *span = &spans[read_count < written_count ? read_count++ : 0];
    if ((uint64_t)event->time <= span->before || (uint64_t)event->time > span->after)
        fail("%s: at %" PRId64 ", which is not between %" PRIu64 " and %" PRIu64,
             metadata->event_name, event->time, span->before, span->after);
    say(&found, "%s id %" PRId32 " version %" PRId32 " opcode %u", metadata->event_name,
        metadata->event_id, metadata->version, metadata->opcode);
    found_payload(event);
    say(&found, " activity ");
    say_bytes(&found, event->activity_id, 16);
    say(&found, " related ");
    say_bytes(&found, event->related_activity_id, 16);
    say(&found, " thread %" PRIu64 " stack ",
        event->thread_id == own_thread ? 0 : event->thread_id);
    say_bytes(&found, event->stack, event->stack_size);
    say(&found, "\n");
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    fail("%s", violation->text);
}

enum form { V4, V5, V6, FORMS };
static uint64_t streams_of[FORMS], events;

/* A stream of version 5 is one of version 4 with a tag. */
static void check_totals(const struct wt_reader *reader, bool is_6)
{
    const struct wt_totals *totals = wt_reader_totals(reader);
    uint64_t tags = 0;
    for (uint32_t i = 0; i < DEFINITIONS && !is_6; i++)
        tags += is_met[i] && needs_tag(&definitions[i]);
    if (wt_reader_trace(reader)->major != (is_6 ? 6 : 4) || totals->v5_tags != tags)
        fail("version %" PRIu32 " with %" PRIu64 " tags, not %" PRIu64,
             wt_reader_trace(reader)->major, totals->v5_tags, tags);
    if (totals->lost != mismatches)
        fail("%" PRIu64 " events are lost, not %" PRIu64, totals->lost, mismatches);
    streams_of[is_6 ? V6 : tags ? V5 : V4]++;
    events += totals->events;
}

static void read_back(const void *bytes, size_t count, bool is_6)
{
    found.used = read_count = 0;
    struct wt_memory_source memory_source = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory_source);
    const struct wt_handlers handlers = {.event = on_event, .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    if (wt_reader_create(&reader, &source, &options, &handlers, NULL) != WT_OK)
        fail("no memory");
    if (wt_reader_run(reader) != WT_END)
        fail("%s", wt_reader_error(reader)->text);
    check_totals(reader, is_6);
    wt_reader_destroy(reader);
}

/* Line by line, so that a failure shows the first event that differs. */
static void compare(void)
{
    emitted.at[emitted.used] = found.at[found.used] = 0;
    for (const char *a = emitted.at, *b = found.at; *a || *b;) {
        size_t length_a = strcspn(a, "\n"), length_b = strcspn(b, "\n");
        if (length_a != length_b || memcmp(a, b, length_a) != 0)
            fail("emitted: %.*s\nfound:   %.*s", (int)length_a, a, (int)length_b, b);
        a += length_a + 1;
        b += length_b + 1;
    }
}

static void check_memory(struct weir_session *session, bool is_6)
{
    const void *bytes;
    uint64_t count;
    if (weir_session_memory(session, &bytes, &count) != WEIR_OK)
        fail("the stream is not in memory");
    read_back(bytes, (size_t)count, is_6);
    compare();
}

static struct {
    unsigned char bytes[4u << 20];
    size_t count;
} snapshot;

static bool take_bytes(void *context, const void *bytes, size_t count)
{
    (void)context;
    if (count > sizeof snapshot.bytes - snapshot.count)
        return false;
    memcpy(snapshot.bytes + snapshot.count, bytes, count);
    snapshot.count += count;
    return true;
}

/* It has all that there was so far, and its own ids. */
static void check_snapshot(struct weir_session *session, bool is_6)
{
    struct weir_sink sink = WEIR_SINK_INIT;
    struct weir_error error;
    sink.write = take_bytes;
    snapshot.count = 0;
    if (weir_session_snapshot(session, &sink, 0, &error) != WEIR_OK)
        fail("%s", error.text);
    read_back(snapshot.bytes, snapshot.count, is_6);
    compare();
}

/* For a stream of version 4, one that needs no tag. */
static uint32_t definition_draw(enum form form)
{
    uint32_t number = below(DEFINITIONS);
    while (form == V4 && needs_tag(&definitions[number]))
        number = below(DEFINITIONS);
    return number;
}

static struct weir_session_config config_draw(enum form form)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "Random";
    config.memory_bytes_max = 4u << 20;
    config.budget_bytes = 1u << 20;
    config.segment_bytes = 4096u << below(4);
    config.flush_ms = 1;
    config.mode = below(4) ? WEIR_MODE_DROP : WEIR_MODE_OVERWRITE;
    config.format = form == V6 ? WEIR_FORMAT_NETTRACE_6 : WEIR_FORMAT_NETTRACE_4;
    config.stack_bytes = below(2) ? 0 : 64u << 10;
    return config;
}

static void run_program(void)
{
    enum form form = below(FORMS);
    struct weir_session_config config = config_draw(form);
    struct weir_session *session;
    struct weir_error error;
    emitted.used = mismatches = written_count = 0;
    memset(is_met, 0, sizeof is_met);
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail("%s", error.text);
    for (uint32_t i = below(EVENTS_MAX); i > 0; i--) {
        emit(definition_draw(form));
        clock_pass();
        if (below(6) == 0 && weir_session_poll(session, &error) != WEIR_OK)
            fail("%s", error.text);
        if (config.mode == WEIR_MODE_OVERWRITE && below(20) == 0)
            check_snapshot(session, form == V6);
    }
    if (weir_session_stop(session, &error) != WEIR_OK)
        fail("%s", error.text);
    check_memory(session, form == V6);
    weir_session_destroy(session);
}

int main(int argc, char **argv)
{
    uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct weir_provider *provider;
    struct weir_stack_hook hook = WEIR_STACK_HOOK_INIT;
    hook.capture = capture;
    random_start(88172645463325252u);
    if (weir_stack_hook_set(&hook) != WEIR_OK ||
        weir_provider_create("Random", NULL, NULL, &provider, NULL) != WEIR_OK)
        fail("no memory");
    own_thread = (uint64_t)gettid();
    for (uint32_t i = 0; i < DEFINITIONS; i++)
        definition_make(provider, i);
    for (uint64_t program = 0; program < programs; program++) {
        program_now = seed + program;
        random_start((program_now + 1) * UINT64_C(0x9E3779B97F4A7C15));
        clock_now = CLOCK_START;
        run_program();
    }
    printf("%" PRIu64 " programs from seed %" PRIu64 ": %" PRIu64 " streams of V4, %" PRIu64
           " of V5, %" PRIu64 " of V6, %" PRIu64 " events\n",
           programs, seed, streams_of[V4], streams_of[V5], streams_of[V6], events);
    return 0;
}
