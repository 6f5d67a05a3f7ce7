/* A plug-in that traces and is not linked with the library. It has all kinds of emitters. */
#define WEIR_PLUGIN
#include "apart.h"

#include <weir/trace.h>

#if APART_VERSION > 0
#define APART_TEXT(EVENT, P)                                                                \
    EVENT(P, Text, 8, APART_VERSION, WEIR_LEVEL_INFO, 0x1, (str, Value), (array_u8, Bytes), \
          (u64, Added))
#define EMIT_TEXT(number) WEIR_EMIT(Apart, Text, "text", bytes, sizeof bytes, number)
#else
#define APART_TEXT(EVENT, P) \
    EVENT(P, Text, 8, 0, WEIR_LEVEL_INFO, 0x1, (str, Value), (array_u8, Bytes))
#define EMIT_TEXT(number) WEIR_EMIT(Apart, Text, "text", bytes, sizeof bytes)
#endif
#define APART_EVENTS(EVENT, P)                                                                     \
    EVENT(P, Words0, 1, 0, WEIR_LEVEL_INFO, 0x1)                                                   \
    EVENT(P, Words1, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, A))                                         \
    EVENT(P, Words2, 3, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B))                               \
    EVENT(P, Words3, 4, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C))                     \
    EVENT(P, Words4, 5, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D))           \
    EVENT(P, Words5, 6, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D), (u64, E)) \
    EVENT(P, Large, 7, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D), (u64, E),  \
          (u64, F))                                                                                \
    APART_TEXT(EVENT, P)
WEIR_PLUGIN_DEFINE
WEIR_PROVIDER(Apart, APART_EVENTS)
WEIR_PROVIDER_DEFINE(Apart, APART_EVENTS)

static struct weir_provider *provider;
static struct weir_event *defined;
static struct weir_status seen;
static int calls;

static enum weir_result begin(const struct weir_functions *functions, size_t bytes_needed,
                              struct weir_error *error)
{
    return weir_plugin_init(functions, bytes_needed, error);
}

static void on_change(void *context, const struct weir_provider_change *change)
{
    (void)context;
    (void)change;
    seen = *weir_provider_status(provider);
    calls++;
}

static enum weir_result define(struct weir_error *error)
{
    static const struct weir_field fields[] = {{"A", WEIR_TYPE_u64}};
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    schema.name = "Defined";
    schema.event_id = 9;
    schema.fields = fields;
    schema.field_count = 1;
    enum weir_result result =
        weir_provider_register(&weir_provider_Apart, NULL, NULL, &provider, error);
    if (result == WEIR_OK)
        result = weir_event_define(provider, &schema, &defined, error);
    return result == WEIR_OK ? weir_provider_watch(provider, on_change, NULL, error) : result;
}

static bool emit(uint64_t number, uint64_t session_id)
{
    static const uint8_t bytes[] = {1, 2};
    const uint64_t n = number, stamp = weir_clock();
    const struct weir_value value = {.type = WEIR_TYPE_u64, .unsigned_value = n};
    weir_no_block_begin();
    bool is_written = WEIR_EMIT(Apart, Words0) & WEIR_EMIT(Apart, Words1, n) &
                      WEIR_EMIT(Apart, Words2, n, n + 1) &
                      WEIR_EMIT(Apart, Words3, n, n + 1, n + 2);
    is_written &= WEIR_EMIT(Apart, Words4, n, n + 1, n + 2, n + 3) &
                  WEIR_EMIT(Apart, Words5, n, n + 1, n + 2, n + 3, n + 4);
    is_written &= WEIR_EMIT(Apart, Large, n, n + 1, n + 2, n + 3, n + 4, n + 5) & EMIT_TEXT(n);
    is_written &= WEIR_EMIT_AT(stamp, Apart, Words0) & WEIR_EMIT_AT(stamp, Apart, Words1, n) &
                  WEIR_EMIT_AT(stamp, Apart, Words2, n, n + 1) &
                  WEIR_EMIT_AT(stamp, Apart, Words3, n, n + 1, n + 2) &
                  WEIR_EMIT_AT(stamp, Apart, Words4, n, n + 1, n + 2, n + 3) &
                  WEIR_EMIT_AT(stamp, Apart, Large, n, n + 1, n + 2, n + 3, n + 4, n + 5);
    is_written &= WEIR_EMIT_TO(session_id, Apart, Words1, n) &
                  weir_event_emit(defined, &value, 1, sizeof value) &
                  weir_event_emit_at(defined, stamp, &value, 1, sizeof value);
    weir_no_block_end();
    return is_written;
}

static bool has_last_loss(void)
{
    return weir_plugin.last_loss != NULL;
}

static enum weir_loss last_loss(void)
{
    return weir_event_emit(defined, NULL, 0, sizeof(struct weir_value)) ? WEIR_LOSS_COUNT
                                                                        : weir_last_loss();
}

static const struct weir_status *status(void)
{
    return weir_provider_status(provider);
}

__attribute__((destructor)) static void end(void)
{
    if (provider)
        weir_provider_destroy(provider);
}

extern const struct apart apart;
__attribute__((visibility("default"))) const struct apart apart = {
    .begin = begin,
    .define = define,
    .emit = emit,
    .has_last_loss = has_last_loss,
    .last_loss = last_loss,
    .status = status,
    .seen = &seen,
    .calls = &calls,
};
