/*
 * A host that was compiled with the headers of 0.2. It includes none of ours: its structs are bytes
 * with the sizes and offsets of that version, and so is the declaration that WEIR_PROVIDER_DEFINE
 * made then. This file never changes; a library on which it fails has broken its hosts.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t bytes_of; /* structs are aligned to eight bytes */

int weir_provider_register(const void *declaration, void *callback, void *context, void **provider,
                           void *error);
int weir_provider_create(const char *name, void *callback, void *context, void **provider,
                         void *error);
int weir_event_define(void *provider, const void *schema, void **event, void *error);
bool weir_emit(const void *event, const void *payload);
bool weir_event_emit(const void *event, const void *values, uint32_t count, uint32_t value_bytes);
int weir_session_create(const void *config, void **session, void *error);
int weir_session_start(void *session, void *error);
int weir_session_stop(void *session, void *error);
int weir_session_stats(void *session, void *stats);
int weir_session_thread_stats(void *session, void *table);
int weir_session_memory(void *session, const void **bytes, uint64_t *count);
int weir_session_snapshot(void *session, const void *sink, uint64_t last_ns, void *error);
int weir_park_hooks_set(const void *hooks);
void weir_session_destroy(void *session);
uint32_t weir_version_number(void);
const char *weir_loss_name(int cause);

enum { OK = 0, BAD_ARGUMENT = 1 };
enum { TYPE_U32 = 10, TYPE_U64 = 12, TYPE_STR = 18 };
enum { LOSS_MISMATCH = 4, LOSS_COUNT = 9 };
enum { MODE_OVERWRITE = 2 };

#define EVENT_BYTES       24
#define FIELD_BYTES       16
#define SCHEMA_BYTES      48
#define DECLARATION_BYTES 48
#define VALUE_BYTES       16
#define SINK_BYTES        64
#define CONFIG_BYTES      208
#define STATS_BYTES       232
#define THREAD_BYTES      112
#define TABLE_BYTES       32
#define HOOKS_BYTES       32
#define GUARD             UINT64_C(0x5EA1ED5EA1ED5EA1)
#define WORDS(bytes)      ((bytes) / 8)

static int failures;

static void check(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "failed: %s\n", what);
    failures += !holds;
}

static void put(void *base, size_t offset, uint64_t value, size_t bytes)
{
    memcpy((char *)base + offset, &value, bytes);
}

static void put_pointer(void *base, size_t offset, const void *pointer)
{
    memcpy((char *)base + offset, &pointer, sizeof pointer);
}

static uint64_t get(const void *base, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)base + offset, bytes);
    return value;
}

/* --- A provider. ----------------------------------------------------------------------------- */

static bytes_of events[2][WORDS(EVENT_BYTES)];
static bytes_of schemas[2][WORDS(SCHEMA_BYTES)];
static bytes_of fields[2][WORDS(FIELD_BYTES)];
static bytes_of declaration[WORDS(DECLARATION_BYTES)];

static void field_make(void *field, const char *name, uint32_t type)
{
    put_pointer(field, 0, name);
    put(field, 8, type, 4);
}

static void schema_make(void *schema, const char *name, uint16_t id, const void *of, uint32_t count)
{
    put(schema, 0, SCHEMA_BYTES, 8);
    put_pointer(schema, 8, name);
    put_pointer(schema, 16, of);
    put(schema, 24, count, 4);
    put(schema, 28, FIELD_BYTES, 4);
    put(schema, 32, 1, 8); /* keywords */
    put(schema, 40, id, 2);
    put(schema, 43, 4, 1); /* level */
}

static void declare(void)
{
    field_make(fields[0], "Number", TYPE_U64);
    field_make(fields[1], "Text", TYPE_STR);
    schema_make(schemas[0], "First", 1, fields, 1);
    schema_make(schemas[1], "Second", 2, fields, 2);
    put(declaration, 0, DECLARATION_BYTES, 8);
    put(declaration, 8, 1, 4); /* version */
    put(declaration, 12, 2, 4);
    put(declaration, 16, EVENT_BYTES, 4);
    put(declaration, 20, SCHEMA_BYTES, 4);
    put_pointer(declaration, 24, "Host");
    put_pointer(declaration, 32, events);
    put_pointer(declaration, 40, schemas);
    check(weir_provider_register(declaration, NULL, NULL, NULL, NULL) == OK, "register");
}

static void *define(void)
{
    static bytes_of schema[WORDS(SCHEMA_BYTES)];
    void *provider, *event = NULL;
    schema_make(schema, "Later", 3, fields, 2);
    check(weir_provider_create("Later", NULL, NULL, &provider, NULL) == OK, "provider_create");
    check(weir_event_define(provider, schema, &event, NULL) == OK, "event_define");
    return event;
}

/* --- Sessions. ------------------------------------------------------------------------------- */

static void sink_make(void *sink)
{
    put(sink, 0, SINK_BYTES, 8);
    put(sink, 32, UINT32_MAX, 4); /* descriptor: -1 */
}

static void config_make(void *config, uint32_t mode)
{
    memset(config, 0, CONFIG_BYTES);
    put(config, 0, CONFIG_BYTES, 8);
    put_pointer(config, 8, "Host,Later");
    sink_make((char *)config + 16);
    put(config, 80, 64u << 20, 8); /* memory_bytes_max */
    put(config, 88, 1u << 20, 8);  /* budget_bytes */
    put(config, 96, 32768, 4);     /* segment_bytes */
    put(config, 100, 100, 4);      /* flush_ms */
    put(config, 104, 60000, 4);    /* stop_ms_max */
    put(config, 108, mode, 4);
}

static void *session_start(uint32_t mode)
{
    bytes_of config[WORDS(CONFIG_BYTES)];
    char error[256] = "";
    void *session = NULL;
    config_make(config, mode);
    put(config, 0, CONFIG_BYTES - 8, 8); /* there was no such version */
    check(weir_session_create(config, &session, error) == BAD_ARGUMENT &&
              strstr(error, "config.size"),
          "a smaller size that was never released");
    put(config, 0, CONFIG_BYTES, 8);
    bool is_started = weir_session_create(config, &session, error) == OK &&
                      weir_session_start(session, error) == OK;
    check(is_started, error);
    return is_started ? session : NULL;
}

/* 13 events: 10 of the first, one of the second, two of the one that was defined at run time. The
 * last has a value of the wrong type. */
static void emit_all(const void *later)
{
    struct {
        uint64_t number;
        const char *text;
    } payload = {7, "text"};
    bytes_of values[2][WORDS(VALUE_BYTES)] = {{0}};
    check(events[0][0] != 0 && events[1][0] != 0, "events are enabled in steps of 24 bytes");
    for (int i = 0; i < 10; i++)
        check(weir_emit(events[0], &payload), "emit");
    check(weir_emit(events[1], &payload), "emit with a string");
    put(values[0], 0, TYPE_U64, 4);
    put(values[0], 8, 8, 8);
    put(values[1], 0, TYPE_STR, 4);
    put_pointer(values[1], 8, "later");
    check(weir_event_emit(later, values, 2, VALUE_BYTES), "emit values");
    put(values[1], 0, TYPE_U32, 4);
    check(!weir_event_emit(later, values, 2, VALUE_BYTES), "a value of the wrong type");
}

static void check_counts(const void *counts, const char *what)
{
    uint64_t lost = 0;
    for (size_t cause = 0; cause < LOSS_COUNT; cause++)
        lost += get(counts, 16 + 8 * cause, 8);
    check(get(counts, 0, 8) == 13 && get(counts, 8, 8) == 12 && lost == 1 &&
              get(counts, 16 + 8 * LOSS_MISMATCH, 8) == 1,
          what);
}

static void check_threads(void *session)
{
    bytes_of table[WORDS(TABLE_BYTES)] = {TABLE_BYTES}, rows[2 * WORDS(THREAD_BYTES) + 1];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        rows[i] = GUARD;
    put(table, 8, THREAD_BYTES, 4);
    put(table, 12, LOSS_COUNT, 4);
    put_pointer(table, 16, rows);
    put(table, 24, 2, 4);
    check(weir_session_thread_stats(session, table) == OK && get(table, 28, 4) == 1,
          "thread_stats");
    check(rows[2] == 0, "no loss that this host does not know");
    check_counts(&rows[3], "figures of a thread");
    check(rows[WORDS(THREAD_BYTES)] == GUARD, "one thread is filled in, up to its size");
}

static void check_stats(void *session)
{
    bytes_of stats[WORDS(STATS_BYTES) + 1] = {STATS_BYTES, LOSS_COUNT};
    stats[WORDS(STATS_BYTES)] = GUARD;
    check(weir_session_stats(session, stats) == OK, "stats");
    check(get(stats, 0, 8) == STATS_BYTES && get(stats, 8, 4) == LOSS_COUNT, "sizes stay");
    check(get(stats, 16, 8) == 1u << 20, "budget_bytes");
    check(get(stats, 64, 8) == 1, "threads_seen");
    check(get(stats, 136, 8) == 0, "lost_other");
    check_counts(&stats[18], "figures of a session");
    check(stats[WORDS(STATS_BYTES)] == GUARD, "filled in up to its size");
}

static void run_drop(const void *later)
{
    void *session = session_start(0);
    const void *bytes = NULL;
    uint64_t count = 0;
    char error[256] = "";
    if (!session)
        return;
    emit_all(later);
    check_threads(session);
    check(weir_session_stop(session, error) == OK, error);
    check_stats(session);
    check(weir_session_memory(session, &bytes, &count) == OK && count > 200 &&
              memcmp(bytes, "Nettrace", 8) == 0,
          "the stream");
    weir_session_destroy(session);
}

/* --- A flight recorder, and hooks. ----------------------------------------------------------- */

static bool count_bytes(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    *(uint64_t *)context += count;
    return true;
}

static void run_overwrite(void)
{
    void *session = session_start(MODE_OVERWRITE);
    bytes_of sink[WORDS(SINK_BYTES)] = {0};
    bool (*write)(void *context, const void *bytes, size_t count) = count_bytes;
    uint64_t number = 7, written = 0;
    if (!session)
        return;
    check(weir_emit(events[0], &number), "emit to a recorder");
    sink_make(sink);
    memcpy(&sink[2], &write, sizeof write);
    put_pointer(sink, 24, &written);
    check(weir_session_snapshot(session, sink, 0, NULL) == OK && written > 100, "snapshot");
    check(weir_session_stop(session, NULL) == OK, "stop a recorder");
    weir_session_destroy(session);
}

static void hook(void *context)
{
    (void)context;
}

static void set_hooks(void)
{
    bytes_of hooks[WORDS(HOOKS_BYTES)] = {HOOKS_BYTES};
    void (*function)(void *context) = hook;
    memcpy(&hooks[1], &function, sizeof function);
    memcpy(&hooks[2], &function, sizeof function);
    check(weir_park_hooks_set(hooks) == OK, "hooks");
    check(weir_park_hooks_set(NULL) == OK, "no hooks");
}

int main(void)
{
    check(weir_version_number() >= 2000, "a version");
    check(strcmp(weir_loss_name(LOSS_MISMATCH), "MISMATCH") == 0, "causes keep their numbers");
    declare();
    void *later = define();
    run_drop(later);
    run_overwrite();
    set_hooks();
    puts(failures ? "an old host has failed" : "an old host works");
    return failures != 0;
}
