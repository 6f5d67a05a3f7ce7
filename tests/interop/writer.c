/*
 * Writes the traces of the interop tests, with what TraceEvent should find in them:
 *
 *     fields    every field type, with values at the edges
 *     versions  two versions of one event
 *     contexts  stacks and activities, and events about another thread
 *     loss      a budget too small for its threads, so that events are lost
 *     threads   threads one after the other
 *     starved   the same while the sink stands still: most of them never get a segment
 *     snapshot  of a flight recorder whose threads have all written more than it keeps, and of
 * which some are gone
 *
 * Each in V4 (V5 where it needs that) and in V6, as NAME-v6.
 *
 * usage: interop_writer DIRECTORY
 */
#define _GNU_SOURCE
#include <gate.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/weir.h>

#define INTEROP_COLORS(VALUE) VALUE(Red, 1) VALUE(Green, 300)
WEIR_ENUM(Color, INTEROP_COLORS)
#define INTEROP_EVENTS(EVENT, P)                                                                  \
    EVENT(P, Numbers, 1, 3, WEIR_LEVEL_INFO, 0x1, (bool, Yes), (bool, No), (i8, I8), (u8, U8),    \
          (i16, I16), (u16, U16), (i32, I32), (u32, U32), (i64, I64), (u64, U64), (f32, F32),     \
          (f64, F64), (guid, Guid))                                                               \
    EVENT(P, Texts, 2, 0, WEIR_LEVEL_WARNING, 0x2, (str, Ascii), (u32, Between), (str, Wide),     \
          (str, Broken), (str16, Units), (str, Empty), (strn, Part), (bool8, Is),                 \
          (enum(u16, Color), Color))                                                              \
    EVENT(P, Arrays, 3, 0, WEIR_LEVEL_INFO, 0x4, (array_u8, Bytes), (array_i8, I8),               \
          (array_i16, I16), (array_u16, U16), (array_i32, I32), (array_u32, U32),                 \
          (array_i64, I64), (array_u64, U64), (array_i32, Nothing), (str, Last))                  \
    EVENT(P, Plain, 4, 0, WEIR_LEVEL_ALWAYS, 0)                                                   \
    EVENT(P, Counter, 5, 0, WEIR_LEVEL_INFO, 0x8, (u64, A), (u64, B), (u64, C), (u64, D))         \
    EVENT(P, Nodes, 6, 0, WEIR_LEVEL_INFO, 0x4, (opcode, 10), (u32, Index), (str, Kind),          \
          (raw, Values))                                                                          \
    EVENT(P, Bytes, 7, 0, WEIR_LEVEL_INFO, 0x4, (raw, Values))                                    \
    EVENT(P, Hidden, 8, 0, WEIR_LEVEL_INFO | WEIR_EVENT_UNDESCRIBED, 0x4, (u32, Index))           \
    EVENT(P, Zero, 0, 0, WEIR_LEVEL_INFO, 0x4, (u32, Index))                                      \
    EVENT(P, Object, 9, 0, WEIR_LEVEL_INFO, 0x4, (u8, Before), (struct(Node), Node), (u8, After)) \
    EVENT(P, Structs, 10, 0, WEIR_LEVEL_INFO, 0x4, (array_struct(Node), List), (u8, After))
#define INTEROP_NODE(FIELD) FIELD(u64, Address) FIELD(i16, Size)
WEIR_STRUCT(Node, INTEROP_NODE)
WEIR_PROVIDER(Interop, INTEROP_EVENTS)
WEIR_PROVIDER_DEFINE(Interop, INTEROP_EVENTS)

static const char *directory;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "interop_writer: %s: %s\n", what, why);
    exit(1);
}

static uint8_t format = WEIR_FORMAT_NETTRACE_4; /* of the files that are written */

static char *path_of(char *path, size_t capacity, const char *name, const char *suffix)
{
    const char *version = format == WEIR_FORMAT_NETTRACE_6 ? "-v6" : "";
    int length = snprintf(path, capacity, "%s/%s%s.%s", directory, name, version, suffix);
    if (length < 0 || (size_t)length >= capacity)
        fail(directory, "the path is too long");
    return path;
}

/* Writes a file; stands still while the gate is closed. */
static struct gate gate = GATE_INIT;
static FILE *trace;

static bool write_through_gate(void *file, const void *bytes, size_t count)
{
    gate_pass(&gate, count);
    return fwrite(bytes, 1, count, file) == count && fflush(file) == 0;
}

static struct weir_session *session_begin(const char *name, const char *providers,
                                          uint64_t budget_bytes)
{
    char path[4096];
    struct weir_error error;
    struct weir_session *session;
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.format = format;
    config.providers = providers;
    config.sink.write = write_through_gate;
    trace = fopen(path_of(path, sizeof path, name, "nettrace"), "wb");
    if (!trace)
        fail(path, "cannot be written");
    config.sink.context = trace;
    config.budget_bytes = budget_bytes;
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail(name, error.text);
    return session;
}

/* Ends the session and starts its expectation: the counts of events that the harness emitted. */
static FILE *session_end(struct weir_session *session, const char *name)
{
    char path[4096];
    enum weir_result result = weir_session_stop(session, NULL);
    if (result != WEIR_OK || (trace && fclose(trace) != 0))
        fail(name, weir_result_text(result));
    trace = NULL;
    weir_session_destroy(session);
    FILE *file = fopen(path_of(path, sizeof path, name, "expect.json"), "w");
    if (!file)
        fail(path, "cannot be written");
    return file;
}

/* --- Fields. --------------------------------------------------------------------------------- */

static const struct weir_guid guid = {{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99,
                                       0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF}};

static void emit_fields(void)
{
    static const uint16_t units[] = {'u', 0x20AC, 0xD83D, 0xDE00, 0};
    static const uint8_t bytes[] = {0, 1, 254, 255};
    static const int8_t i8[] = {INT8_MIN, -1, INT8_MAX};
    static const int16_t i16[] = {INT16_MIN, INT16_MAX};
    static const uint16_t u16[] = {0, UINT16_MAX};
    static const int32_t i32[] = {INT32_MIN, 0, INT32_MAX};
    static const uint32_t u32[] = {1, UINT32_MAX};
    static const int64_t i64[] = {INT64_MIN, INT64_MAX};
    static const uint64_t u64[] = {UINT64_MAX};
    static const struct weir_struct_Node nodes[] = {{256, -1}, {512, 2}};
    Interop_Numbers(true, false, INT8_MIN, UINT8_MAX, INT16_MIN, UINT16_MAX, INT32_MIN, UINT32_MAX,
                    INT64_MIN, UINT64_MAX, 0.1f, -0.0, &guid);
    Interop_Texts("plain", 7, "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80", "a\xFF\xC3(b", units, NULL,
                  "part\0ition", 6, true, 300);
    Interop_Arrays(bytes, 4, i8, 3, i16, 2, u16, 2, i32, 3, u32, 2, i64, 2, u64, 1, NULL, 0, "end");
    Interop_Plain();
    Interop_Nodes(7, "a node", bytes, sizeof bytes);
    Interop_Bytes(bytes, sizeof bytes);
    Interop_Hidden(7);
    Interop_Zero(7);
    Interop_Object(1, nodes, 2);
    Interop_Structs(nodes, 2, 9);
}

/* The same through the API for events that are defined at run time. */
static void emit_dynamic(void)
{
    static const struct weir_field fields[] = {{"Number", WEIR_TYPE_i32},
                                               {"Text", WEIR_TYPE_str},
                                               {"Single", WEIR_TYPE_f32},
                                               {"List", WEIR_TYPE_array_u16}};
    static const struct weir_schema schema = {.size = sizeof(struct weir_schema),
                                              .field_bytes = sizeof(struct weir_field),
                                              .name = "Dynamic",
                                              .event_id = 9,
                                              .level = WEIR_LEVEL_INFO,
                                              .fields = fields,
                                              .field_count = 4};
    static const uint16_t list[] = {3, 4};
    struct weir_provider *provider;
    struct weir_event *event = NULL;
    struct weir_error error;
    if (weir_provider_create("InteropDynamic", NULL, NULL, &provider, &error) != WEIR_OK ||
        weir_event_define(provider, &schema, &event, &error) != WEIR_OK)
        fail("dynamic", error.text);
    const struct weir_value values[] = {{.type = WEIR_TYPE_i32, .signed_value = -5},
                                        {.type = WEIR_TYPE_str, .pointer = "text"},
                                        {.type = WEIR_TYPE_f32, .float_value = 1.5},
                                        {.type = WEIR_TYPE_array_u16, .count = 2, .pointer = list}};
    weir_event_emit(event, values, 4, sizeof values[0]);
    weir_provider_destroy(provider);
}

static void write_fields(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.format = format;
    struct weir_session *session;
    struct weir_error error;
    char path[4096];
    config.providers = "Interop,InteropDynamic:0x1:4";
    config.unknown_providers_allowed = true;
    config.sink.file = path_of(path, sizeof path, "fields", "nettrace");
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail("fields", error.text);
    emit_fields();
    emit_dynamic();
    FILE *file = session_end(session, "fields");
    fprintf(file,
            "{\n \"ignore\": [\"Weir/4\"],\n \"events\": {\"Interop/1\": 1, \"Interop/2\": 1, "
            "\"Interop/3\": 1, \"Interop/4\": 1, \"Interop/6\": 1, \"Interop/7\": 1, "
            "\"Interop/8\": 1, \"Interop/0\": 1, \"Interop/9\": 1, \"Interop/10\": 1, "
            "\"InteropDynamic/9\": 1, \"Weir/5\": 4},\n"
            " \"events_lost\": 0,\n \"rising\": true,\n \"fields\": {\n"
            "  \"Interop/1\": {\"Yes\": true, \"No\": false, \"I8\": -128, \"U8\": 255, \"I16\": "
            "-32768, \"U16\": 65535,\n"
            "   \"I32\": -2147483648, \"U32\": 4294967295, \"I64\": \"-9223372036854775808\", "
            "\"U64\": \"18446744073709551615\",\n"
            "   \"F32\": 0.1, \"F64\": -0.0, \"Guid\": \"00112233-4455-6677-8899-aabbccddeeff\"},\n"
            "  \"Interop/2\": {\"Ascii\": \"plain\", \"Between\": 7, \"Wide\": \"gr\\u00fc\\u00df "
            "\\ud83d\\ude00\",\n"
            "   \"Broken\": \"a\\ufffd\\ufffd(b\", \"Units\": \"u\\u20ac\\ud83d\\ude00\", "
            "\"Empty\": \"\", \"Part\": \"part\\ufffdi\", \"Is\": 1, \"Color\": 300},\n"
            "  \"Interop/3\": {\"Bytes\": \"0001feff\", \"I8\": [-128, -1, 127], \"I16\": [-32768, "
            "32767], \"U16\": [0, 65535],\n"
            "   \"I32\": [-2147483648, 0, 2147483647], \"U32\": [1, 4294967295],\n"
            "   \"I64\": [\"-9223372036854775808\", \"9223372036854775807\"], \"U64\": "
            "[\"18446744073709551615\"],\n"
            "   \"Nothing\": [], \"Last\": \"end\"},\n"
            "  \"Interop/6\": {\"Index\": 7, \"Kind\": \"a node\"},\n"
            "  \"Interop/0\": {\"Index\": 7},\n"
            "  \"Interop/9\": {\"Before\": 1, \"Node\": {\"Address\": \"256\", \"Size\": -1}, "
            "\"After\": 2},\n"
            "  \"Interop/10\": {\"List\": [{\"Address\": \"256\", \"Size\": -1}, "
            "{\"Address\": \"512\", \"Size\": 2}], \"After\": 9},\n"
            "  \"InteropDynamic/9\": {\"Number\": -5, \"Text\": \"text\", \"Single\": 1.5, "
            "\"List\": [3, 4]}\n }\n}\n");
    fclose(file);
}

/* --- Versions. ------------------------------------------------------------------------------- */

static void emit_versions(struct weir_provider *provider)
{
    static const struct weir_field fields[] = {
        {"Number", WEIR_TYPE_u32}, {"Text", WEIR_TYPE_str}, {"Added", WEIR_TYPE_u64}};
    struct weir_value values[] = {{.type = WEIR_TYPE_u32},
                                  {.type = WEIR_TYPE_str, .pointer = "text"},
                                  {.type = WEIR_TYPE_u64, .unsigned_value = 7}};
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_event *versions[2];
    struct weir_error error;
    schema.name = "Grown";
    schema.event_id = 1;
    schema.fields = fields;
    for (uint8_t version = 0; version < 2; version++) {
        schema.version = version;
        schema.field_count = 2u + version;
        if (weir_event_define(provider, &schema, &versions[version], &error) != WEIR_OK)
            fail("versions", error.text);
    }
    for (uint32_t i = 0; i < 4; i++) {
        values[0].unsigned_value = i;
        weir_event_emit(versions[i % 2], values, 2 + i % 2, sizeof values[0]);
    }
}

/* TraceEvent keeps one list of fields for a provider and an id: the last one that it has read when it
 * first delivers such an event. A field that an event's version does not have is null. The sink
 * stands still, so that all events are in one look of the drain, between two sequence points, and
 * TraceEvent has read both versions when it delivers the first event. */
static void write_versions(void)
{
    struct weir_provider *provider;
    struct weir_error error;
    if (weir_provider_create("InteropVersions", NULL, NULL, &provider, &error) != WEIR_OK)
        fail("versions", error.text);
    gate_close(&gate);
    struct weir_session *session = session_begin("versions", "InteropVersions", 1 << 20);
    if (!gate_wait(&gate, 60))
        fail("versions", "the drain does not arrive in the sink");
    emit_versions(provider);
    gate_open(&gate);
    FILE *file = session_end(session, "versions");
    fprintf(file, "{\n \"ignore\": [\"Weir/4\"],\n \"events\": {\"InteropVersions/1\": 4},\n "
                  "\"events_lost\": 0,\n"
                  " \"fields\": {\"InteropVersions/1\": [\n");
    for (int i = 0; i < 4; i++)
        fprintf(file, "  {\"Number\": %d, \"Text\": \"text\", \"Added\": %s}%s\n", i,
                i % 2 ? "7" : "null", i < 3 ? "," : "]");
    fprintf(file, " }\n}\n");
    fclose(file);
    weir_provider_destroy(provider);
}

/* --- Loss. ----------------------------------------------------------------------------------- */

struct producer {
    uint64_t events;
    uint64_t written; /* by the return values of emit */
    uint64_t thread_id;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    producer->thread_id = (uint64_t)syscall(SYS_gettid);
    for (uint64_t i = 0; i < producer->events; i++)
        producer->written += Interop_Counter(i, i * 3, i ^ 0x5555, producer->thread_id);
    return NULL;
}

/* The sink stands still while the threads from `stalled_from` up to `stalled_to` run. */
static void run_producers(struct producer *producers, int count, int at_once, int stalled_from,
                          int stalled_to)
{
    pthread_t threads[64];
    for (int first = 0; first < count; first += at_once) {
        if (first == stalled_from && stalled_from < stalled_to)
            gate_close(&gate);
        if (first == stalled_to && stalled_from < stalled_to)
            gate_open(&gate);
        for (int i = first; i < first + at_once; i++)
            if (pthread_create(&threads[i], NULL, produce, &producers[i]))
                fail("thread", "cannot be started");
        for (int i = first; i < first + at_once; i++)
            pthread_join(threads[i], NULL);
    }
}

/* The library decides how many Loss and ThreadName events it writes, so the expectation ignores them. It counts
 * losses as attempts minus written events. */
static void write_lossy(const char *name, uint64_t budget_bytes, int count, int at_once,
                        uint64_t events, int stalled_from, int stalled_to)
{
    struct producer producers[64] = {{0}};
    struct weir_session *session = session_begin(name, "Interop", budget_bytes);
    for (int i = 0; i < count; i++)
        producers[i].events = events;
    run_producers(producers, count, at_once, stalled_from, stalled_to);
    uint64_t written = 0, lost = 0;
    FILE *file = session_end(session, name);
    fprintf(file,
            "{\n \"rising\": true,\n \"ignore\": [\"Weir/1\", \"Weir/4\"],\n \"threads\": {\n");
    for (int i = 0; i < count; i++) {
        written += producers[i].written;
        lost += producers[i].events - producers[i].written;
        if (producers[i].written)
            fprintf(file, "  \"%" PRIu64 "\": {\"Interop/5\": %" PRIu64 "},\n",
                    producers[i].thread_id, producers[i].written);
    }
    fprintf(file,
            "  \"0\": {}\n },\n \"events\": {\"Interop/5\": %" PRIu64
            "},\n \"events_lost\": %" PRIu64 "\n}\n",
            written, lost);
    fclose(file);
}

/* --- Snapshot. ------------------------------------------------------------------------------- */

static bool write_file(void *file, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, file) == count;
}

/* Everything that is not kept is lost; the session knows how much, because no thread emits at this
 * moment. */
static void write_snapshot(void)
{
    char path[4096];
    struct weir_error error;
    struct weir_session *session;
    struct producer producers[8] = {{0}};
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.format = format;
    struct weir_sink sink = WEIR_SINK_INIT;
    struct weir_stats stats = WEIR_STATS_INIT;
    uint64_t attempted = 0;
    config.providers = "Interop";
    config.mode = WEIR_MODE_OVERWRITE;
    config.sink.write = write_file;
    config.sink.context = tmpfile();
    config.budget_bytes = 1 << 20;
    if (!config.sink.context || weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail("snapshot", error.text);
    for (int i = 0; i < 8; i++) {
        producers[i].events = 100000;
        attempted += producers[i].events;
    }
    run_producers(producers, 8, 2, 0, 0);
    sink.file = path_of(path, sizeof path, "snapshot", "nettrace");
    if (weir_session_snapshot(session, &sink, 0, &error) != WEIR_OK)
        fail("snapshot", error.text);
    if (weir_session_stats(session, &stats) != WEIR_OK)
        fail("snapshot", "no statistics");
    FILE *file = session_end(session, "snapshot");
    fprintf(file,
            "{\n \"rising\": true,\n \"ignore\": [\"Weir/1\", \"Weir/4\"],\n \"events\": "
            "{\"Interop/5\": "
            "%" PRIu64 "},\n \"events_lost\": %" PRIu64 "\n}\n",
            stats.counts.written, attempted - stats.counts.written);
    fclose(file);
    fclose(config.sink.context);
}

/* --- Contexts. ------------------------------------------------------------------------------- */

#define OTHER_THREAD 5000000 /* above those of the system */

static void emit_with_context(void)
{
    static const struct weir_guid related = {{0x11}};
    static const uint64_t stack[] = {0x7f00001000, 0x7f00002000, 0x7f00003000};
    struct weir_context context = WEIR_CONTEXT_INIT;
    context.activity_id = &guid;
    context.related_activity_id = &related;
    context.thread_id = OTHER_THREAD;
    context.stack = stack;
    context.stack_count = 3;
    for (uint64_t i = 0; i < 1000; i++) {
        WEIR_EMIT_WITH(&context, Interop, Counter, i, i, i, i);
        WEIR_EMIT(Interop, Plain);
    }
}

static void write_contexts(void)
{
    struct weir_session *session = session_begin("contexts", "Interop", 1 << 20);
    emit_with_context();
    FILE *file = session_end(session, "contexts");
    fprintf(file,
            "{\n \"ignore\": [\"Weir/4\"],\n \"events\": {\"Interop/5\": 1000, \"Interop/4\": "
            "1000},\n"
            " \"events_lost\": 0,\n \"rising\": true,\n"
            " \"threads\": {\"%d\": {\"Interop/5\": 1000}, \"%ld\": {\"Interop/4\": 1000}},\n"
            " \"contexts\": {\n"
            "  \"Interop/5\": {\"stack\": [%ld, %ld, %ld],\n"
            "   \"activity\": \"00112233-4455-6677-8899-aabbccddeeff\",\n"
            "   \"related_activity\": \"00000011-0000-0000-0000-000000000000\"},\n"
            "  \"Interop/4\": {\"stack\": [],\n"
            "   \"activity\": \"00000000-0000-0000-0000-000000000000\",\n"
            "   \"related_activity\": \"00000000-0000-0000-0000-000000000000\"}\n }\n}\n",
            OTHER_THREAD, syscall(SYS_gettid), 0x7f00001000, 0x7f00002000, 0x7f00003000);
    fclose(file);
}

static void write_all(void)
{
    write_fields();
    write_versions();
    write_contexts();
    write_lossy("loss", 1 << 20, 4, 4, 500000, 0, 0);
    write_lossy("threads", 1 << 20, 50, 1, 20000, 0, 0);
    write_lossy("starved", 1 << 20, 50, 1, 20000, 5, 45);
    write_snapshot();
}

int main(int argc, char **argv)
{
    struct weir_error error;
    if (argc != 2) {
        fprintf(stderr, "usage: interop_writer DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    if (weir_provider_register(&weir_provider_Interop, NULL, NULL, NULL, &error) != WEIR_OK)
        fail("provider", error.text);
    write_all();
    format = WEIR_FORMAT_NETTRACE_6;
    write_all();
    return 0;
}
