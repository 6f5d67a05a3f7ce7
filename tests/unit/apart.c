/*
 * Plug-ins that are not linked with the library, but have a table of its functions from their host:
 * what they emit in each way, what they know of the sessions, and that they can be unloaded while
 * their events are wanted and have not been drained.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <dlfcn.h>
#include <gate.h>
#include <inttypes.h>
#include <reader.h>
#include <fields.h>
#include <stdio.h>
#include <stdlib.h>
#include "apart.h"

#define ROUNDS 50u

static const struct apart *load(const char *path, void **handle)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct apart *plugin = *handle ? dlsym(*handle, "apart") : NULL;
    if (!plugin)
        fail_msg("%s: %s", path, dlerror());
    return plugin;
}

/* Loads a plug-in and has it define its events. */
static const struct apart *begun(const char *path, void **handle)
{
    struct weir_error error = {""};
    const struct apart *plugin = load(path, handle);
    if (plugin->begin(weir_functions_get(), WEIR_FUNCTIONS_UP_TO(last_loss), &error) != WEIR_OK ||
        plugin->define(&error) != WEIR_OK)
        fail_msg("%s", error.text);
    return plugin;
}

static void unload(const char *path, void *handle)
{
    assert_int_equal(dlclose(handle), 0);
    assert_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

/* --- What a stream holds, as text. ----------------------------------------------------------- */

struct text {
    char at[1u << 19];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->at + text->length, sizeof text->at - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
    assert_true(text->length < sizeof text->at);
}

static void on_value(void *context, const char *name, const struct wt_value *value)
{
    say(context, " %s=", name);
    if (value->kind == WT_VALUE_UNSIGNED)
        say(context, "%" PRIu64, value->as.u);
    for (uint32_t i = 0; value->kind == WT_VALUE_STRING && i < value->size; i += 2)
        say(context, "%c", value->bytes[i]);
    for (uint32_t i = 0; value->kind == WT_VALUE_BYTES && i < value->size; i++)
        say(context, "%02x", value->bytes[i]);
}

static void on_event(void *context, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {.value = on_value};
    size_t used;
    if (strcmp(event->metadata->event_name, "ThreadName") == 0)
        return;
    say(context, "%s/%s %d", event->metadata->provider_name, event->metadata->event_name,
        (int)event->metadata->version);
    assert_true(wt_fields_walk(event->metadata, event->payload, event->payload_size, &visitor,
                               context, &used));
    assert_int_equal(used, event->payload_size);
    say(context, "\n");
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    say(context, "%s\n", violation->text);
}

static void say_stream(struct text *text, const struct unit_bytes *stream)
{
    struct wt_memory_source memory = {.bytes = stream->at, .size = stream->count};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_handlers handlers = {.event = on_event, .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    assert_int_equal(wt_reader_create(&reader, &source, &options, &handlers, text), WT_OK);
    assert_int_equal(wt_reader_run(reader), WT_END);
    assert_int_equal(wt_reader_totals(reader)->lost, 0);
    wt_reader_destroy(reader);
}

static void say_words(struct text *text, const char *name, uint64_t number, unsigned words)
{
    say(text, "Apart/%s 0", name);
    for (unsigned i = 0; i < words; i++)
        say(text, " %c=%" PRIu64, 'A' + (int)i, number + i);
    say(text, "\n");
}

/* What one call of a plug-in's `emit` writes. */
static void say_round(struct text *text, uint64_t number, int version)
{
    static const char *const names[] = {"Words0", "Words1", "Words2", "Words3", "Words4", "Words5"};
    for (unsigned words = 0; words <= 5; words++)
        say_words(text, names[words], number, words);
    say_words(text, "Large", number, 6);
    say(text, "Apart/Text %d Value=text Bytes=0102", version);
    if (version > 0)
        say(text, " Added=%" PRIu64, number);
    say(text, "\n");
    for (unsigned words = 0; words <= 4; words++)
        say_words(text, names[words], number, words);
    say_words(text, "Large", number, 6);
    say_words(text, "Words1", number, 1);
    say_words(text, "Defined", number, 1);
    say_words(text, "Defined", number, 1);
}

/* --- Sessions whose drain stands still. ------------------------------------------------------ */

static struct gate gate = GATE_INIT;
static struct unit_bytes stream;

static bool append_through_gate(void *context, const void *bytes, size_t count)
{
    gate_pass(&gate, count);
    return unit_append(context, bytes, count);
}

static struct weir_session *start_held(const char *providers)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = providers;
    config.unknown_providers_allowed = true;
    config.budget_bytes = 4u << 20;
    config.sink.write = append_through_gate;
    config.sink.context = &stream;
    stream.count = 0;
    gate_close(&gate);
    struct weir_session *session = unit_start(&config);
    assert_true(gate_wait(&gate, 60));
    return session;
}

/* The plug-ins' destructors destroy their providers. They come back in another version, and in the
 * first one again. */
static void test_unloaded_while_enabled(void **state)
{
    (void)state;
    static struct text found, expected;
    static const char *const paths[] = {APART_MODULE, APART_MODULE_1, APART_MODULE};
    struct weir_session *session = start_held("Apart");
    for (int i = 0; i < 3; i++) {
        void *handle;
        const struct apart *plugin = begun(paths[i], &handle);
        for (uint64_t number = 0; number < ROUNDS; number++) {
            assert_true(plugin->emit(number, weir_session_id(session)));
            say_round(&expected, number, i == 1);
        }
        unload(paths[i], handle);
    }
    gate_open(&gate);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_destroy(session), WEIR_OK);
    say_stream(&found, &stream);
    assert_string_equal(found.at, expected.at);
}

/* --- What it knows of the sessions. ---------------------------------------------------------- */

static void test_status(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.providers = "Apart:0x5:4";
    config.unknown_providers_allowed = true;
    struct weir_session *first = unit_start(&config);
    void *handle;
    const struct apart *plugin = begun(APART_MODULE, &handle);
    const struct weir_status *status = plugin->status();
    assert_int_equal(*plugin->calls, 1);
    assert_int_equal(plugin->seen->level, 4);
    assert_int_equal(plugin->seen->keywords, 5);
    assert_true(weir_status_wants(status, WEIR_LEVEL_INFO, 0x1));
    config.providers = "Apart:0x2:5";
    struct weir_session *second = unit_start(&config);
    assert_int_equal(*plugin->calls, 2);
    assert_int_equal(plugin->seen->level, 5);
    assert_int_equal(plugin->seen->keywords, 7);
    weir_session_destroy(first);
    weir_session_destroy(second);
    assert_int_equal(*plugin->calls, 4);
    assert_int_equal(plugin->seen->level, 0);
    assert_int_equal(plugin->seen->keywords, 0);
    assert_false(plugin->emit(0, 0));
    unload(APART_MODULE, handle);
}

/* --- Tables of other versions. --------------------------------------------------------------- */

static void test_table_of_an_older_library(void **state)
{
    (void)state;
    struct weir_error error = {""};
    struct weir_functions older = *weir_functions_get();
    size_t all = WEIR_FUNCTIONS_UP_TO(last_loss), fewer = WEIR_FUNCTIONS_UP_TO(thread_reset);
    void *handle;
    const struct apart *plugin = load(APART_MODULE, &handle);
    assert_int_equal(plugin->begin(NULL, all, NULL), WEIR_BAD_ARGUMENT);
    older.size = fewer;
    assert_int_equal(plugin->begin(&older, all, &error), WEIR_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "older"));
    assert_int_equal(plugin->begin(&older, fewer, &error), WEIR_OK);
    assert_false(plugin->has_last_loss());
    assert_int_equal(plugin->define(&error), WEIR_OK);
    unload(APART_MODULE, handle);
}

static void test_table_of_a_newer_library(void **state)
{
    (void)state;
    struct weir_error error = {""};
    struct {
        struct weir_functions functions;
        void (*of_later)(void);
    } newer = {*weir_functions_get(), abort};
    newer.functions.size = sizeof newer;
    void *handle;
    const struct apart *plugin = load(APART_MODULE, &handle);
    assert_int_equal(plugin->begin(&newer.functions, WEIR_FUNCTIONS_UP_TO(last_loss), &error),
                     WEIR_OK);
    assert_int_equal(plugin->define(&error), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Apart";
    struct weir_session *session = unit_start(&config);
    assert_true(plugin->emit(0, weir_session_id(session)));
    assert_int_equal(plugin->last_loss(), WEIR_LOSS_MISMATCH);
    weir_session_destroy(session);
    unload(APART_MODULE, handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unloaded_while_enabled),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_table_of_an_older_library),
        cmocka_unit_test(test_table_of_a_newer_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
