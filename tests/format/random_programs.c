/*
 * Random programs against the interface: events of random shapes and values, contexts, polls, in both
 * versions of the format. Each program's stream is read back, and must have what was emitted, value by
 * value, in order. On the library without threads, so that a program is determined by its seed.
 *
 *     format_random [PROGRAMS [SEED]]
 *
 * Definitions live as long as the process, so all programs draw from one set.
 */
#define _GNU_SOURCE
#include <fields.h>
#include <inttypes.h>
#include <reader.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/weir.h>

#define DEFINITIONS 150u
#define FIELDS_MAX  9u
#define EVENTS_MAX  40u
#define TEXT_BYTES  (1u << 20)

static uint64_t random_state, program_now;

static uint64_t draw(void) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

static uint32_t below(uint32_t bound)
{
    return (uint32_t)(draw() >> 33) % bound;
}

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nrepeat with: format_random 1 %" PRIu64 "\n", program_now);
    exit(1);
}

/* What was emitted, and what was read, as one text each. */
struct text {
    char at[TEXT_BYTES];
    size_t used;
};
static struct text emitted, found;

static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->used +=
        (size_t)vsnprintf(text->at + text->used, TEXT_BYTES - text->used, format, arguments);
    va_end(arguments);
    if (text->used >= TEXT_BYTES)
        fail("a program has more than %u bytes of text", TEXT_BYTES);
}

static void say_bytes(struct text *text, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        say(text, "%02x", ((const unsigned char *)bytes)[i]);
}

/* --- Definitions. ---------------------------------------------------------------------------- */

static const enum weir_type types[] = {
    WEIR_TYPE_bool,      WEIR_TYPE_i8,        WEIR_TYPE_u8,        WEIR_TYPE_bool8,
    WEIR_TYPE_i16,       WEIR_TYPE_u16,       WEIR_TYPE_i32,       WEIR_TYPE_u32,
    WEIR_TYPE_i64,       WEIR_TYPE_u64,       WEIR_TYPE_f32,       WEIR_TYPE_f64,
    WEIR_TYPE_guid,      WEIR_TYPE_str,       WEIR_TYPE_str16,     WEIR_TYPE_strn,
    WEIR_TYPE_array_i8,  WEIR_TYPE_array_u8,  WEIR_TYPE_array_i16, WEIR_TYPE_array_u16,
    WEIR_TYPE_array_i32, WEIR_TYPE_array_u32, WEIR_TYPE_array_i64, WEIR_TYPE_array_u64};

static struct definition {
    struct weir_event *event;
    bool has_stack;
    uint32_t field_count;
    enum weir_type fields[FIELDS_MAX];
} definitions[DEFINITIONS];

static void define(struct weir_provider *provider, uint32_t number)
{
    struct definition *definition = &definitions[number];
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_field fields[FIELDS_MAX];
    char name[16], names[FIELDS_MAX][16];
    snprintf(name, sizeof name, "Event%u", number);
    schema.name = name;
    schema.fields = fields;
    schema.event_id = (uint16_t)(1 + number);
    schema.version = (uint8_t)below(3);
    schema.opcode = below(4) ? 0 : (uint8_t)(10 + below(200));
    definition->has_stack = below(8) == 0;
    schema.level |= definition->has_stack ? WEIR_EVENT_STACK : 0;
    /* A third of them have numbers only. */
    uint32_t kinds = below(3) ? sizeof types / sizeof *types : 13;
    definition->field_count = schema.field_count = below(FIELDS_MAX + 1);
    for (uint32_t i = 0; i < schema.field_count; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        definition->fields[i] = types[below(kinds)];
        fields[i] = (struct weir_field){names[i], definition->fields[i]};
    }
    if (weir_event_define(provider, &schema, &definition->event, NULL) != WEIR_OK)
        fail("event %u cannot be defined", number);
}

/* --- Values. --------------------------------------------------------------------------------- */

#define VALUE_BYTES 600u
static unsigned char memory[FIELDS_MAX][VALUE_BYTES];

/* Mostly short, now and then longer than a payload in registers, or than a small record. */
static uint32_t length(void)
{
    return below(10) ? below(8) : below(80);
}

/* A text, and what a file has for it: ASCII, with a byte now and then that is not UTF-8. */
static uint32_t text_make(unsigned char *out, bool has_zeros, uint16_t *units)
{
    uint32_t count = length();
    for (uint32_t i = 0; i < count; i++) {
        bool is_bad = below(20) == 0, is_zero = has_zeros && below(20) == 0;
        out[i] = is_zero ? 0 : is_bad ? 0xFF : (unsigned char)('a' + below(26));
        units[i] = is_zero || is_bad ? 0xFFFD : out[i];
    }
    out[count] = 0;
    return count;
}

static void string_make(struct weir_value *value, unsigned char *at)
{
    uint16_t units[VALUE_BYTES / 2];
    value->pointer = at;
    if (value->type != WEIR_TYPE_str16) {
        value->count = text_make(at, value->type == WEIR_TYPE_strn, units);
        say_bytes(&emitted, units, 2 * (size_t)value->count);
        return;
    }
    uint32_t count = length();
    for (uint32_t i = 0; i < count; i++)
        units[i] = (uint16_t)(1 + below(0xD7FF));
    units[count] = 0;
    memcpy(at, units, 2 * (count + 1));
    say_bytes(&emitted, at, 2 * (size_t)count);
}

static uint32_t element_bytes(enum weir_type type)
{
    switch (type & 255) {
    case WEIR_TYPE_i8:
    case WEIR_TYPE_u8:
        return 1;
    case WEIR_TYPE_i16:
    case WEIR_TYPE_u16:
        return 2;
    case WEIR_TYPE_i32:
    case WEIR_TYPE_u32:
    case WEIR_TYPE_f32:
        return 4;
    case WEIR_TYPE_guid:
        return 16;
    default:
        return 8;
    }
}

static void array_make(struct weir_value *value, unsigned char *at)
{
    uint32_t bytes = element_bytes(value->type);
    value->count = length() % (VALUE_BYTES / 8);
    value->pointer = at;
    for (uint32_t i = 0; i < value->count * bytes; i++)
        at[i] = (unsigned char)draw();
    say(&emitted, "[%u]", value->count);
    say_bytes(&emitted, at, value->count * (size_t)bytes);
}

/* An integer that has room in `bytes`, as its low bytes. */
static void number_make(struct weir_value *value, uint32_t bytes)
{
    uint64_t number = draw() >> below(64);
    value->unsigned_value = number;
    say_bytes(&emitted, &number, bytes);
}

static void value_make(struct weir_value *value, enum weir_type type, unsigned char *at)
{
    float single = (float)(int32_t)draw();
    value->type = type;
    say(&emitted, " ");
    if (type & 256) {
        array_make(value, at);
    } else if (type == WEIR_TYPE_str || type == WEIR_TYPE_str16 || type == WEIR_TYPE_strn) {
        string_make(value, at);
    } else if (type == WEIR_TYPE_guid) {
        for (uint32_t i = 0; i < 16; i++)
            at[i] = (unsigned char)draw();
        value->pointer = at;
        say_bytes(&emitted, at, 16);
    } else if (type == WEIR_TYPE_bool || type == WEIR_TYPE_bool8) {
        value->boolean = below(2) != 0;
        uint32_t flag = value->boolean;
        say_bytes(&emitted, &flag, type == WEIR_TYPE_bool ? 4 : 1);
    } else if (type == WEIR_TYPE_f32) {
        value->float_value = (double)single;
        say_bytes(&emitted, &single, sizeof single);
    } else if (type == WEIR_TYPE_f64) {
        value->float_value = (double)single;
        say_bytes(&emitted, &value->float_value, sizeof value->float_value);
    } else {
        number_make(value, element_bytes(type));
    }
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

static void emit(uint32_t number)
{
    const struct definition *definition = &definitions[number];
    struct weir_value values[FIELDS_MAX];
    memset(values, 0, sizeof values);
    say(&emitted, "Event%u", number);
    for (uint32_t i = 0; i < definition->field_count; i++)
        value_make(&values[i], definition->fields[i], memory[i]);
    struct extras extras;
    bool has_context = extras_make(&extras, definition->has_stack);
    if (has_context)
        weir_context_push(&extras.context);
    bool is_written =
        weir_event_emit(definition->event, values, definition->field_count, sizeof *values);
    if (has_context)
        weir_context_pop();
    if (!is_written)
        fail("Event%u was not written", number);
}

/* Taken from the payload itself, so that each bit counts. */
static void found_field(const struct wt_event *event, uint32_t at, const struct wt_field *field)
{
    if (field->type == WT_TYPE_ARRAY) {
        uint16_t count;
        memcpy(&count, event->payload + at, sizeof count);
        say(&found, " [%u]", count);
        say_bytes(&found, event->payload + at + 2, count * (size_t)field->fields[0].min_size);
        return;
    }
    if (field->type == WT_TYPE_STRING) {
        uint32_t bytes = 0;
        while (event->payload[at + bytes] || event->payload[at + bytes + 1])
            bytes += 2;
        say(&found, " ");
        say_bytes(&found, event->payload + at, bytes);
        return;
    }
    say(&found, " ");
    say_bytes(&found, event->payload + at, field->min_size);
}

static uint32_t field_bytes(const struct wt_event *event, uint32_t at, const struct wt_field *field)
{
    uint32_t bytes = 0;
    uint16_t count;
    if (field->type == WT_TYPE_ARRAY) {
        memcpy(&count, event->payload + at, sizeof count);
        return 2 + count * field->fields[0].min_size;
    }
    if (field->type != WT_TYPE_STRING)
        return field->min_size;
    while (event->payload[at + bytes] || event->payload[at + bytes + 1])
        bytes += 2;
    return bytes + 2;
}

static uint64_t own_thread;

static void on_event(void *context, const struct wt_event *event)
{
    (void)context;
    uint32_t at = 0;
    if (strcmp(event->metadata->provider_name, "Random") != 0)
        return;
    if (!wt_fields_walk(event->metadata, event->payload, event->payload_size, NULL, NULL,
                        &(size_t){0}))
        fail("%s: its payload is too short", event->metadata->event_name);
    say(&found, "%s", event->metadata->event_name);
    for (uint32_t i = 0; i < event->metadata->field_count; i++) {
        found_field(event, at, &event->metadata->fields[i]);
        at += field_bytes(event, at, &event->metadata->fields[i]);
    }
    if (at != event->payload_size)
        fail("%s: %u bytes follow its fields", event->metadata->event_name,
             event->payload_size - at);
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

static void read_back(struct weir_session *session)
{
    const void *bytes;
    uint64_t count;
    if (weir_session_memory(session, &bytes, &count) != WEIR_OK)
        fail("the stream is not in memory");
    struct wt_memory_source memory_source = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory_source);
    const struct wt_handlers handlers = {.event = on_event, .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    if (wt_reader_create(&reader, &source, &options, &handlers, NULL) != WT_OK)
        fail("no memory");
    if (wt_reader_run(reader) != WT_END)
        fail("%s", wt_reader_error(reader)->text);
    if (wt_reader_totals(reader)->lost)
        fail("%" PRIu64 " events are lost", wt_reader_totals(reader)->lost);
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

static void run_program(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session;
    struct weir_error error;
    config.providers = "Random";
    config.memory_bytes_max = 4u << 20;
    config.budget_bytes = 1u << 20;
    config.segment_bytes = 4096u << below(4);
    config.flush_ms = 1;
    config.mode = below(4) ? WEIR_MODE_DROP : WEIR_MODE_OVERWRITE;
    config.format = below(2) ? WEIR_FORMAT_NETTRACE_4 : WEIR_FORMAT_NETTRACE_6;
    config.stack_bytes = below(2) ? 0 : 64u << 10;
    emitted.used = found.used = 0;
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail("%s", error.text);
    for (uint32_t i = below(EVENTS_MAX); i > 0; i--) {
        emit(below(DEFINITIONS));
        if (below(6) == 0 && weir_session_poll(session, &error) != WEIR_OK)
            fail("%s", error.text);
    }
    if (weir_session_stop(session, &error) != WEIR_OK)
        fail("%s", error.text);
    read_back(session);
    weir_session_destroy(session);
    compare();
}

int main(int argc, char **argv)
{
    uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct weir_provider *provider;
    struct weir_stack_hook hook = WEIR_STACK_HOOK_INIT;
    hook.capture = capture;
    random_state = 88172645463325252u;
    if (weir_stack_hook_set(&hook) != WEIR_OK ||
        weir_provider_create("Random", NULL, NULL, &provider, NULL) != WEIR_OK)
        fail("no memory");
    own_thread = (uint64_t)gettid();
    for (uint32_t i = 0; i < DEFINITIONS; i++)
        define(provider, i);
    for (uint64_t program = 0; program < programs; program++) {
        program_now = seed + program;
        random_state = (program_now + 1) * UINT64_C(0x9E3779B97F4A7C15);
        run_program();
    }
    printf("%" PRIu64 " programs from seed %" PRIu64 "\n", programs, seed);
    return 0;
}
