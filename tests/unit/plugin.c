/*
 * Plug-ins that trace: one links the static library through its CMake target, one was linked with
 * libweir.a by hand, and one links the shared library. They are unloaded while a thread that has
 * emitted is alive. They also trace alongside this program, which has another static copy of the
 * library and exports whatever it can.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <reader.h>
#include "plugin.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static const struct plugin *plugin_load(const char *path, void **handle)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct plugin *plugin = *handle ? dlsym(*handle, "plugin") : NULL;
    if (!plugin)
        fprintf(stderr, "%s: %s\n", path, dlerror());
    return plugin;
}

static bool is_nodelete(void *handle)
{
    struct link_map *map;
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1)
            return (entry->d_un.d_val & DF_1_NODELETE) != 0;
    return false;
}

static void test_link_option(void **state)
{
    (void)state;
    void *handle;
    assert_non_null(plugin_load(PLUGIN_BY_TARGET, &handle));
    assert_true(is_nodelete(handle));
    assert_non_null(plugin_load(PLUGIN_BY_HAND, &handle));
    assert_false(is_nodelete(handle));
    assert_null(dlsym(handle, "weir_emit"));
    assert_null(dlsym(RTLD_DEFAULT, "weir_emit"));
    assert_non_null(dlsym(handle, "plugin"));
    assert_null(dlsym(handle, "weir_provider_Plugin"));
    assert_null(dlsym(RTLD_DEFAULT, "weir_provider_Unit"));
}

/* --- Unloaded. ------------------------------------------------------------------------------- */

#define EVENTS        4000u
#define PAYLOAD_BYTES (EVENTS * 32) /* twice the capacity of a pipe */

enum when {
    RUNNING,
    STOPPED,
    DESTROYED,
    NAMED, /* there is no session, but a thread has a name */
};

struct emitter {
    bool (*emit)(uint64_t number);
    enum weir_result (*name)(const char *thread);
    uint32_t emitted;
    sem_t has_emitted, may_end;
};

static void *emit_and_stay(void *argument)
{
    struct emitter *emitter = argument;
    for (uint32_t i = 0; i < EVENTS; i++)
        emitter->emitted += emitter->emit(i);
    sem_post(&emitter->has_emitted);
    sem_wait(&emitter->may_end);
    return NULL;
}

static void *name_and_stay(void *argument)
{
    struct emitter *emitter = argument;
    emitter->emitted = emitter->name("named") == WEIR_OK;
    sem_post(&emitter->has_emitted);
    sem_wait(&emitter->may_end);
    return NULL;
}

static uint64_t read_up_to(int fd, uint64_t bytes)
{
    char chunk[4096];
    uint64_t total = 0;
    ssize_t count;
    while (total < bytes && (count = read(fd, chunk, sizeof chunk)) > 0)
        total += (uint64_t)count;
    return total;
}

/* Left allocated when the plug-in is unloaded; a leak checker still finds it here. */
static struct weir_session *volatile left;

/* Starts a session in the plug-in and ends it as far as `when` says. */
static bool trace_until(const struct plugin *plugin, int fd, struct emitter *emitter,
                        pthread_t *thread, enum when when)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "Plugin";
    config.sink.descriptor = fd;
    emitter->emit = plugin->emit;
    left = plugin->start(&config);
    if (!left || pthread_create(thread, NULL, emit_and_stay, emitter) != 0)
        return false;
    sem_wait(&emitter->has_emitted);
    if (emitter->emitted != EVENTS || (when != RUNNING && !plugin->stop()))
        return false;
    if (when == DESTROYED)
        plugin->destroy();
    return true;
}

static bool name_one(const struct plugin *plugin, struct emitter *emitter, pthread_t *thread)
{
    emitter->name = plugin->name;
    if (pthread_create(thread, NULL, name_and_stay, emitter) != 0)
        return false;
    sem_wait(&emitter->has_emitted);
    return emitter->emitted == 1;
}

/* Runs in a child. If the session runs, its drain is blocked on a full pipe when the plug-in is
 * unloaded, so the rest of the stream is written by code that nothing refers to any longer. If the
 * plug-in links the shared library, only that library stays loaded, and the plug-in must unregister
 * its provider. */
static int unload(const char *path, bool is_shared, enum when when)
{
    struct emitter emitter = {.emitted = 0};
    int ends[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    void *handle;
    pthread_t thread;
    const struct plugin *plugin = plugin_load(path, &handle);
    if (!plugin || pipe(ends) != 0 || sem_init(&emitter.has_emitted, 0, 0) != 0 ||
        sem_init(&emitter.may_end, 0, 0) != 0)
        return 1;
    if (when == NAMED
            ? !name_one(plugin, &emitter, &thread)
            : !trace_until(plugin, when == RUNNING ? ends[1] : null, &emitter, &thread, when))
        return 2;
    if (is_shared)
        plugin->leave();
    if (dlclose(handle) != 0)
        return 3;
    if (when == RUNNING && read_up_to(ends[0], PAYLOAD_BYTES) < PAYLOAD_BYTES)
        return 4;
    sem_post(&emitter.may_end);
    pthread_join(thread, NULL);
    bool is_loaded = dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL;
    return is_loaded == is_shared ? 5 : 0;
}

static void expect_child_ok(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void unload_in_child(const char *path, bool is_shared, enum when when)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* replaces cmocka's handler */
        exit(unload(path, is_shared, when));
    }
    expect_child_ok(child);
}

static void unload_each(enum when when)
{
    unload_in_child(PLUGIN_BY_TARGET, false, when);
    unload_in_child(PLUGIN_BY_HAND, false, when);
    unload_in_child(PLUGIN_SHARED, true, when);
}

static void test_unload_running(void **state)
{
    (void)state;
    unload_each(RUNNING);
}

static void test_unload_stopped(void **state)
{
    (void)state;
    unload_each(STOPPED);
}

static void test_unload_destroyed(void **state)
{
    (void)state;
    unload_each(DESTROYED);
}

static void test_unload_named(void **state)
{
    (void)state;
    unload_each(NAMED);
}

/* --- Side by side. --------------------------------------------------------------------------- */

struct found {
    uint64_t own, others, points, broken;
    const char *provider;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct found *found = context;
    if (strcmp(event->metadata->provider_name, found->provider) == 0)
        found->own++;
    else if (strcmp(event->metadata->event_name, "ThreadName") != 0)
        found->others++;
}

static void on_point(void *context, const struct wt_point *point)
{
    (void)point;
    ((struct found *)context)->points++;
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    print_error("%s\n", violation->text);
    ((struct found *)context)->broken++;
}

static void expect_stream(int fd, const char *provider, uint64_t events)
{
    struct found found = {.provider = provider};
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    struct wt_fd_source file = {.fd = fd};
    struct wt_source source = wt_source_fd(&file);
    struct wt_handlers handlers = {.event = on_event, .point = on_point, .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    assert_int_equal(wt_reader_create(&reader, &source, &options, &handlers, &found), WT_OK);
    assert_int_equal(wt_reader_run(reader), WT_END);
    wt_reader_destroy(reader);
    assert_int_equal(found.broken, 0);
    assert_int_equal(found.own, events);
    assert_int_equal(found.others, 0);
    assert_true(found.points >= 2);
}

/* Emits alternately through both copies. */
static void *emit_in_both(void *argument)
{
    const struct plugin *plugin = argument;
    bool is_written = true;
    for (uint32_t i = 0; i < EVENTS; i++) {
        is_written &= WEIR_EMIT(Unit, Pair, i, i);
        is_written &= plugin->emit(i);
    }
    return is_written ? argument : NULL;
}

/* Both sessions want both providers, so a copy that saw the other's session would write both. */
static void test_side_by_side(void **state)
{
    (void)state;
    void *handle, *written;
    const struct plugin *plugin = plugin_load(PLUGIN_BY_HAND, &handle);
    assert_non_null(plugin);
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "Unit,Plugin";
    config.unknown_providers_allowed = true;
    int own_fd = config.sink.descriptor = memfd_create("own", MFD_CLOEXEC);
    struct weir_session *session = unit_start(&config);
    int plugin_fd = config.sink.descriptor = memfd_create("plugin", MFD_CLOEXEC);
    assert_non_null(plugin->start(&config));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_in_both, (void *)plugin), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &written), 0);
        assert_non_null(written);
    }
    pid_t child = fork(); /* both copies have fork handlers */
    if (child == 0)
        _exit(WEIR_EMIT(Unit, Pair, 0, 0) || plugin->emit(0));
    expect_child_ok(child);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_true(plugin->stop());
    expect_stream(own_fd, "Unit", 2 * EVENTS);
    expect_stream(plugin_fd, "Plugin", 2 * EVENTS);
    plugin->destroy();
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: before this process has threads, or a plug-in that its children would find
         * loaded. */
        cmocka_unit_test(test_unload_running),   cmocka_unit_test(test_unload_stopped),
        cmocka_unit_test(test_unload_destroyed), cmocka_unit_test(test_unload_named),
        cmocka_unit_test(test_link_option),      cmocka_unit_test(test_side_by_side),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
