/*
 * Several copies of the library in one process: two plug-ins with static ones, the shared library, and,
 * if WITH_OWN is defined, this program's. The copy that was loaded first reads the environment and
 * serves tools; the others report that, and trace only what is emitted through them. Each case runs in a
 * separate process.
 */
#define _GNU_SOURCE
#include "child.h"
#include "stream.h"

#include <dlfcn.h>
#include <glob.h>
#include "plugin.h"

#define LATER(own, first) \
    own " has its own copy of Weir, loaded after that in " first " (" VERSION "): "
#define ENVIRONMENT                                                                       \
    "only that one reads the environment, and sessions of one copy get no events of the " \
    "other"
#define TEXT(number)  TEXT2(number)
#define TEXT2(number) #number
#define VERSION       TEXT(WEIR_VERSION_MAJOR) "." TEXT(WEIR_VERSION_MINOR) "." TEXT(WEIR_VERSION_PATCH)
#define BY_TARGET     "libunit_plugin_by_target.so"
#define BY_HAND       "libunit_plugin_by_hand.so"
#define EXECUTABLE    "the executable"

static const struct plugin *load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct plugin *plugin = handle ? dlsym(handle, "plugin") : NULL;
    if (!plugin)
        unit_must(false, dlerror());
    return plugin;
}

static void on_event(void *context, const struct wt_event *event)
{
    *(uint64_t *)context += strcmp(event->metadata->provider_name, "Weir") != 0;
}

/* The events in a file of the environment's session. Two writers would break its stream. */
static uint64_t events_in(const char *path)
{
    static unsigned char bytes[1u << 20];
    uint64_t events = 0;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    unit_read(bytes, count, (struct wt_handlers){.event = on_event}, &events);
    return events;
}

#ifdef WITH_OWN

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static void executable_and_plugin(void)
{
    setenv("WEIR_SESSION", "*;file=executable", 1);
    const struct plugin *plugin = load(PLUGIN_BY_HAND);
    MUST(plugin->join());
    MUST(unit_setup(NULL) == 0);
    MUST(!plugin->emit(1));
    MUST(WEIR_EMIT(Unit, Plain));
}

/* Although the plug-in's asks first. */
static void test_executable_first(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(executable_and_plugin);
    unit_complains(&ended, "weir: " LATER(BY_HAND, EXECUTABLE) ENVIRONMENT "\n");
    assert_int_equal(events_in("executable"), 1);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_executable_first)};

#else

static void alone(void)
{
    setenv("WEIR_SESSION", "*;file=alone", 1);
    const struct plugin *plugin = load(PLUGIN_BY_HAND);
    MUST(plugin->join());
    MUST(plugin->emit(1));
}

static void test_alone(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(alone);
    unit_succeeds(&ended);
    assert_int_equal(events_in("alone"), 1);
}

static void two_plugins(void)
{
    setenv("WEIR_SESSION", "*;file=two", 1);
    const struct plugin *first = load(PLUGIN_BY_TARGET), *second = load(PLUGIN_BY_HAND);
    MUST(second->join());
    MUST(!second->join()); /* says nothing more */
    MUST(first->join());
    MUST(!second->emit(1));
    MUST(first->emit(2));
}

static void test_older_plugin_first(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(two_plugins);
    unit_complains(&ended, "weir: " LATER(BY_HAND, BY_TARGET) ENVIRONMENT "\n");
    assert_int_equal(events_in("two"), 1);
}

static void later_copy_asks(void)
{
    struct weir_error error = {""};
    setenv("WEIR_SESSION", "*;file=asked", 1);
    const struct plugin *first = load(PLUGIN_BY_TARGET), *second = load(PLUGIN_BY_HAND);
    for (int i = 0; i < 2; i++) {
        MUST(second->configure(NULL, &error) == WEIR_EXISTS);
        MUST(strcmp(error.text, LATER(BY_HAND, BY_TARGET) ENVIRONMENT) == 0);
    }
    MUST(first->configure(NULL, NULL) == WEIR_OK);
    MUST(first->join() && second->join());
    MUST(second->configure("*;file=own", NULL) == WEIR_OK);
    MUST(first->emit(1) && second->emit(2));
}

/* The caller gets the message, and nothing goes to stderr. The copy may still start sessions. */
static void test_later_copy_asks(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(later_copy_asks);
    unit_succeeds(&ended);
    assert_int_equal(events_in("asked"), 1);
    assert_int_equal(events_in("own"), 1);
}

static size_t sockets(void)
{
    glob_t found = {0};
    glob("dotnet-diagnostic-*", 0, NULL, &found);
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

static void two_servers(void)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    struct weir_error error = {""};
    const struct plugin *first = load(PLUGIN_BY_TARGET), *second = load(PLUGIN_BY_HAND);
    MUST(second->serve(&config, &error) == WEIR_EXISTS);
    MUST(strcmp(error.text, LATER(BY_HAND, BY_TARGET) "only that one serves tools") == 0);
    MUST(sockets() == 0);
    MUST(first->serve(&config, NULL) == WEIR_OK);
    MUST(sockets() == 1);
    config.only_if_asked = true;
    MUST(second->serve(&config, NULL) == WEIR_OK); /* it was not asked for */
}

static void test_one_server(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(two_servers);
    unit_succeeds(&ended);
}

static void static_and_shared(void)
{
    load(PLUGIN_BY_TARGET);
    MUST(load(PLUGIN_SHARED)->join());
}

static void test_shared_library(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(static_and_shared);
    unit_complains(&ended, "weir: " LATER("libweir.so.0", BY_TARGET) ENVIRONMENT "\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_alone),           cmocka_unit_test(test_older_plugin_first),
    cmocka_unit_test(test_later_copy_asks), cmocka_unit_test(test_one_server),
    cmocka_unit_test(test_shared_library),
};

#endif

int main(void)
{
    return cmocka_run_group_tests(tests, unit_enter_directory, unit_leave_directory);
}
