/*
 * A plug-in that was compiled with the headers of 0.4 and is not linked with the library. It includes
 * none of ours: the table of functions and all structs are bytes with the sizes and offsets of that
 * version. This file never changes; a library on which it fails has broken its plug-ins.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t bytes_of; /* structs are aligned to eight bytes */

/* Words of the table. */
enum {
    PROVIDER_REGISTER = 2,
    PROVIDER_CREATE = 3,
    PROVIDER_WATCH = 4,
    PROVIDER_STATUS = 5,
    PROVIDER_DESTROY = 6,
    EVENT_DEFINE = 7,
    EMIT = 8,
    EMIT_AT = 9,
    SESSION_EMIT = 10,
    EVENT_EMIT = 11,
    EVENT_EMIT_AT = 12,
    EMIT_WORDS = 13,    /* 0 to 5 words */
    EMIT_WORDS_AT = 19, /* 0 to 4 */
    CLOCK = 24,
    NO_BLOCK_BEGIN = 25,
    NO_BLOCK_END = 26,
    THREAD_RESET = 27,
    LAST_LOSS = 28,
    TABLE_WORDS = 29
};
enum { OK = 0, EXISTS = 5, TYPE_U32 = 10, TYPE_U64 = 12, LOSS_MISMATCH = 4 };

#define EVENT_BYTES       24
#define FIELD_BYTES       16
#define SCHEMA_BYTES      48
#define DECLARATION_BYTES 48
#define VALUE_BYTES       16
#define WORDS(bytes)      ((bytes) / 8)
#define FIELDS            5

typedef uint64_t word;
/* The functions that take an event and words: all words are passed in registers. */
typedef bool (*emit_words)(const void *event, word a, word b, word c, word d, word e);

static const void *table;
static void *declared, *created; /* providers */
static int failures, changes;

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

/* Stores the table's function in a pointer. */
static void find(void *function, size_t at)
{
    memcpy(function, (const char *)table + 8 * at, sizeof(void *));
}

/* --- Providers. ------------------------------------------------------------------------------ */

static bytes_of event_declared[WORDS(EVENT_BYTES)];
static bytes_of fields[FIELDS][WORDS(FIELD_BYTES)];

static void schema_make(void *schema, const char *name, uint16_t id, uint8_t version,
                        uint32_t count)
{
    static const char *const names[FIELDS] = {"A", "B", "C", "D", "E"};
    memset(schema, 0, SCHEMA_BYTES);
    for (int i = 0; i < FIELDS; i++) {
        put_pointer(fields[i], 0, names[i]);
        put(fields[i], 8, TYPE_U64, 4);
    }
    put(schema, 0, SCHEMA_BYTES, 8);
    put_pointer(schema, 8, name);
    put_pointer(schema, 16, fields);
    put(schema, 24, count, 4);
    put(schema, 28, FIELD_BYTES, 4);
    put(schema, 32, 1, 8); /* keywords */
    put(schema, 40, id, 2);
    put(schema, 42, version, 1);
    put(schema, 43, 4, 1); /* level */
}

static void declare(void)
{
    static bytes_of schema[WORDS(SCHEMA_BYTES)], declaration[WORDS(DECLARATION_BYTES)];
    int (*provider_register)(const void *declaration, void *callback, void *context,
                             void **provider, void *error);
    char error[256] = "";
    schema_make(schema, "Declared", 1, 0, 1);
    put(declaration, 0, DECLARATION_BYTES, 8);
    put(declaration, 8, 2, 4); /* version */
    put(declaration, 12, 1, 4);
    put(declaration, 16, EVENT_BYTES, 4);
    put(declaration, 20, SCHEMA_BYTES, 4);
    put_pointer(declaration, 24, "PluginDeclared");
    put_pointer(declaration, 32, event_declared);
    put_pointer(declaration, 40, schema);
    find(&provider_register, PROVIDER_REGISTER);
    check(provider_register(declaration, NULL, NULL, &declared, error) == OK, error);
}

static void on_change(void *context, const void *change)
{
    check(context == &changes && get(change, 0, 8) >= 48, "a change");
    check(get(change, 16, 8) == 1 && get(change, 24, 8) == 0 && get(change, 32, 8) == 1,
          "keywords and arguments");
    check(get(change, 40, 4) == 0 && get(change, 44, 1) == 4 && get(change, 45, 1) == 4 &&
              get(change, 46, 1) == 1,
          "enabled at level 4");
    changes++;
}

static void create(void)
{
    int (*provider_create)(const char *name, void *callback, void *context, void **provider,
                           void *error);
    int (*provider_watch)(void *provider, void (*watcher)(void *context, const void *change),
                          void *context, void *error);
    const void *(*provider_status)(const void *provider);
    find(&provider_create, PROVIDER_CREATE);
    find(&provider_watch, PROVIDER_WATCH);
    find(&provider_status, PROVIDER_STATUS);
    check(provider_create("Plugin", NULL, NULL, &created, NULL) == OK, "provider_create");
    check(provider_watch(created, on_change, &changes, NULL) == OK && changes == 1, "watch");
    const void *status = provider_status(created);
    check(get(status, 0, 8) == 4 && get(status, 8, 8) == 1, "the status: level, keywords");
}

static void *define(uint8_t version, uint32_t field_count)
{
    bytes_of schema[WORDS(SCHEMA_BYTES)];
    void *event = NULL;
    int (*event_define)(void *provider, const void *schema, void **event, void *error);
    find(&event_define, EVENT_DEFINE);
    schema_make(schema, "Created", 1, version, field_count);
    check(event_define(created, schema, &event, NULL) == OK, "event_define");
    check(event_define(created, schema, &event, NULL) == EXISTS, "the same event");
    return event;
}

__attribute__((destructor)) static void leave(void)
{
    void (*provider_destroy)(void *provider);
    if (!table)
        return;
    find(&provider_destroy, PROVIDER_DESTROY);
    provider_destroy(declared);
    provider_destroy(created);
}

/* --- Events. --------------------------------------------------------------------------------- */

static void emit_in_words(void *const events[], word stamp)
{
    for (word count = 0; count <= FIELDS; count++) {
        emit_words emit;
        find(&emit, EMIT_WORDS + count);
        check(get(events[count], 0, 8) != 0, "the first word of an event says that it is enabled");
        check(emit(events[count], 1, 2, 3, 4, 5), "emit in words");
        if (count == FIELDS)
            break;
        find(&emit, EMIT_WORDS_AT + count);
        check(emit(events[count], stamp, 1, 2, 3, 4), "emit in words at a time");
    }
}

static void emit_in_memory(const void *event, word stamp, word session_id)
{
    const word payload[2] = {1, 2};
    bool (*emit)(const void *event, const void *payload);
    bool (*emit_at)(const void *event, word stamp, const void *payload);
    bool (*session_emit)(word session_id, const void *event, const void *payload);
    find(&emit, EMIT);
    find(&emit_at, EMIT_AT);
    find(&session_emit, SESSION_EMIT);
    check(emit(event, payload), "emit");
    check(emit(event_declared, payload), "emit a declared event");
    check(emit_at(event, stamp, payload), "emit at a time");
    check(session_emit(session_id, event, payload), "emit to a session");
}

static void emit_values(const void *event, word stamp)
{
    bytes_of values[2][WORDS(VALUE_BYTES)] = {{0}};
    bool (*emit)(const void *event, const void *values, uint32_t count, uint32_t value_bytes);
    bool (*emit_at)(const void *event, word stamp, const void *values, uint32_t count,
                    uint32_t value_bytes);
    int (*last_loss)(void);
    find(&emit, EVENT_EMIT);
    find(&emit_at, EVENT_EMIT_AT);
    find(&last_loss, LAST_LOSS);
    put(values[0], 0, TYPE_U64, 4);
    put(values[1], 0, TYPE_U64, 4);
    check(emit(event, values, 2, VALUE_BYTES), "emit values");
    check(emit_at(event, stamp, values, 2, VALUE_BYTES), "emit values at a time");
    put(values[1], 0, TYPE_U32, 4);
    check(!emit(event, values, 2, VALUE_BYTES) && last_loss() == LOSS_MISMATCH, "a wrong type");
}

/* Emits 18 events: 11 in words, four in memory, two of values, and one that is lost. Returns how many
 * checks have failed. */
int plugin_run(const void *functions, uint64_t session_id);
__attribute__((visibility("default"))) int plugin_run(const void *functions, uint64_t session_id)
{
    void *events[FIELDS + 1];
    word (*now)(void);
    void (*enter)(void), (*exit)(void), (*reset)(void);
    check(get(functions, 0, 8) >= 8 * TABLE_WORDS, "the table's size");
    check(get(functions, 8, 4) >= 4000, "the library's version");
    table = functions;
    declare();
    create();
    for (uint8_t i = 0; i <= FIELDS; i++)
        events[i] = define(i, i); /* six versions of one event */
    find(&now, CLOCK);
    find(&enter, NO_BLOCK_BEGIN);
    find(&exit, NO_BLOCK_END);
    find(&reset, THREAD_RESET);
    word stamp = now();
    enter();
    emit_in_words(events, stamp);
    emit_in_memory(events[2], stamp, session_id);
    emit_values(events[2], stamp);
    exit();
    reset();
    return failures;
}
