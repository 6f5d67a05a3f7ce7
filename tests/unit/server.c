/* The server's life, with a tool that is a plain socket. What holds once in a process is tested in
 * a child. */
#define _GNU_SOURCE
#include "stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "client.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static char directory[] = "/tmp/weir-server-XXXXXX";
static struct unit_bytes stream;

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory) || chdir(directory) != 0 || setenv("TMPDIR", directory, 1) != 0)
        return -1;
    return unit_setup(NULL);
}

/* No socket may be left there. */
static int group_teardown(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(directory) : -1;
}

static struct weir_server_config config_base(void)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    config.budget_bytes_max = 1u << 20;
    config.stop_ms_max = 2000;
    return config;
}

static struct weir_server_info info_now(void)
{
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    if (weir_server_status(&info) != WEIR_OK)
        abort();
    return info;
}

/* Returns the default port's path. */
static const char *start_with(const struct weir_server_config *config)
{
    static char path[112];
    struct weir_error error = {""};
    if (weir_server_start(config, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    memcpy(path, info_now().path, sizeof path);
    return path;
}

static const char *start(void)
{
    struct weir_server_config config = config_base();
    return start_with(&config);
}

static void stop(void)
{
    struct weir_error error = {""};
    if (weir_server_stop(&error) != WEIR_OK)
        fail_msg("%s", error.text);
}

/* For children: a failed assertion of cmocka's would run the other tests there. */
static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "child: %s\n", what);
    _exit(1);
}
#define MUST(condition) must(condition, #condition)

/* Runs `body` in a child, which then exits. */
static void in_child(void (*body)(void))
{
    int status;
    unit_await_end_of_threads();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        body();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* --- Start and stop. ------------------------------------------------------------------------- */

static void test_start_and_stop(void **state)
{
    (void)state;
    static const struct weir_server_info none = {.size = sizeof none};
    struct weir_server_config config = config_base();
    struct weir_error error = {""};
    for (int i = 0; i < 2; i++) {
        struct stat status;
        const char *path = start();
        assert_ptr_equal(strstr(path, directory), path);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode, S_IFSOCK | 0600);
        assert_int_equal(weir_server_start(&config, &error), WEIR_EXISTS);
        assert_string_equal(error.text, "this process has a server");
        struct weir_server_info info = info_now();
        assert_true(info.is_running && !info.is_suspended && info.ports == 1);
        assert_int_equal(info.connections + info.sessions, 0);
        assert_int_equal(client_ask(path, CLIENT_INFO_2, NULL, 0), CLIENT_OK);
        stop();
        assert_int_equal(client_connect(path), -1);
        assert_int_equal(access(path, F_OK), -1);
        info = info_now();
        assert_memory_equal(&info, &none, sizeof none);
        stop();
    }
}

struct thread_result {
    enum weir_result start, stop;
};

static void *start_and_stop(void *result)
{
    struct weir_server_config config = config_base();
    *(struct thread_result *)result =
        (struct thread_result){weir_server_start(&config, NULL), weir_server_stop(NULL)};
    return NULL;
}

/* A new thread may have the number of a thread of an earlier server. */
static void test_stop_at_once_in_a_new_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        struct thread_result result;
        assert_int_equal(pthread_create(&thread, NULL, start_and_stop, &result), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(result.start, WEIR_OK);
        assert_int_equal(result.stop, WEIR_OK);
    }
}

static void *call_all(void *unused)
{
    (void)unused;
    struct weir_server_config config = config_base();
    for (int i = 0; i < 100; i++) {
        enum weir_result result = weir_server_start(&config, NULL);
        MUST(result == WEIR_OK || result == WEIR_EXISTS);
        MUST(weir_server_wait_for_resume(NULL) == WEIR_OK);
        MUST(info_now().sessions == 0);
        result = weir_server_stop(NULL);
        MUST(result == WEIR_OK || result == WEIR_BAD_STATE);
    }
    return NULL;
}

static void test_calls_of_several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_all, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    stop();
    assert_false(info_now().is_running);
}

static void refused(const struct weir_server_config *config, const char *name)
{
    struct weir_error error = {""};
    assert_int_equal(weir_server_start(config, &error), WEIR_BAD_ARGUMENT);
    if (!strstr(error.text, name))
        fail_msg("%s: %s", name, error.text);
    assert_false(info_now().is_running);
}

static void test_config_that_is_wrong(void **state)
{
    (void)state;
    static char long_text[4097];
    struct weir_server_config config;
    memset(long_text, 'x', 4096);
#define REFUSED(field, value) \
    (config = config_base(), config.field = (value), refused(&config, #field))
    REFUSED(size, 8);
    REFUSED(size, sizeof config + 8);
    REFUSED(ports, ",listen");
    REFUSED(command_line, long_text);
    REFUSED(entrypoint, long_text);
    REFUSED(version, long_text);
    REFUSED(version, "1.0");
    REFUSED(default_providers, long_text);
    REFUSED(default_providers, "Unit:level");
    REFUSED(budget_bytes_max, (1u << 20) - 1);
    REFUSED(budget_bytes_max, (UINT64_C(64) << 30) + 1);
    REFUSED(sessions_max, 0);
    REFUSED(sessions_max, 65);
    REFUSED(connections_max, 0);
    REFUSED(connections_max, 1025);
    REFUSED(request_ms_max, 0);
    REFUSED(request_ms_max, 600001);
    REFUSED(block_ms_max, 600001);
    REFUSED(stop_ms_max, 0);
    REFUSED(stop_ms_max, 600001);
    config = config_base();
    config.reserved[4] = 1;
    refused(&config, "reserved");
    struct weir_server_info info = {.size = 8};
    assert_int_equal(weir_server_start(NULL, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_server_status(NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_server_status(&info), WEIR_BAD_ARGUMENT);
    start();
    stop();
}

/* --- What nobody else learns of. ------------------------------------------------------------- */

static struct {
    uint32_t calls; /* ANY */
    enum weir_result result, stop;
    char text[256];
} reported;

static uint32_t reports(void)
{
    return __atomic_load_n(&reported.calls, __ATOMIC_ACQUIRE);
}

static void on_error(void *context, enum weir_result result, const char *text)
{
    (void)context;
    reported.result = result;
    reported.stop = weir_server_stop(NULL);
    snprintf(reported.text, sizeof reported.text, "%s", text);
    __atomic_fetch_add(&reported.calls, 1, __ATOMIC_RELEASE);
}

static struct weir_server_config config_reporting(const char *ports)
{
    struct weir_server_config config = config_base();
    config.ports = ports;
    config.on_error = on_error;
    memset(&reported, 0, sizeof reported);
    return config;
}

/* Where a file or another server is, it stays; the other ports are served. */
static void test_ports_that_cannot_be_opened(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "taken"};
    int taken = socket(AF_UNIX, SOCK_STREAM, 0), file = open("file", O_CREAT | O_WRONLY, 0600);
    assert_int_equal(bind(taken, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(taken, 1), 0);
    struct weir_server_config config = config_reporting(
        "none/x,listen,nosuspend;file,listen,nosuspend;taken,listen,nosuspend;fine,listen");
    start_with(&config);
    assert_int_equal(reports(), 3);
    assert_int_equal(reported.result, WEIR_IO);
    assert_int_equal(reported.stop, WEIR_BAD_STATE);
    assert_string_equal(reported.text, "cannot listen at taken: Address already in use");
    assert_int_equal(info_now().ports, 2);
    assert_int_equal(client_ask("fine", CLIENT_INFO_2, NULL, 0), CLIENT_OK);
    stop();
    close(taken); /* nobody listens any more, nor is about to: the socket is stale */
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, "taken", long_ago, 0), 0);
    config.ports = "taken,listen,nosuspend";
    start_with(&config);
    assert_int_equal(client_ask("taken", CLIENT_INFO_2, NULL, 0), CLIENT_OK);
    stop();
    assert_int_equal(reports(), 3);
    assert_int_equal(access("taken", F_OK), -1);
    assert_int_equal(unlink("file"), 0);
    close(file);
}

static void test_no_default_port(void **state)
{
    (void)state;
    struct weir_server_config config = config_reporting(NULL);
    config.no_default_port = true;
    start_with(&config);
    assert_false(info_now().is_running); /* nothing to serve */
    config.ports = "only,listen,nosuspend";
    assert_string_equal(start_with(&config), "");
    assert_int_equal(info_now().ports, 1);
    assert_int_equal(client_ask("only", CLIENT_INFO_2, NULL, 0), CLIENT_OK);
    stop();
    assert_int_equal(reports(), 0);
}

/* poll() refuses more descriptors than a process may open. */
static void descriptors_limited(void)
{
    struct weir_server_config config = config_base();
    struct rlimit limit;
    config.connections_max = 1024;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 64;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    MUST(client_ask(start_with(&config), CLIENT_INFO_2, NULL, 0) == CLIENT_OK);
}

static void test_few_descriptors(void **state)
{
    (void)state;
    in_child(descriptors_limited);
}

/* --- Sessions. ------------------------------------------------------------------------------- */

/* Returns the connection and the session's id, when its events are on. */
static int trace(const char *path, bool is_block, uint64_t *id)
{
    int fd = client_connect(path);
    assert_true(client_collect(fd, "Unit", is_block));
    assert_int_equal(client_reply(fd, id), CLIENT_OK);
    assert_true(CLIENT_AWAIT(weir_event_is_enabled(&weir_events_Unit.Plain)));
    return fd;
}

static void on_event(void *context, const struct wt_event *event)
{
    *(uint64_t *)context += strcmp(event->metadata->provider_name, "Unit") == 0;
}

/* Reads the rest of a stream, which has an end; how many events of Unit are in it. */
static uint64_t events_in_rest(int fd)
{
    uint64_t events = 0;
    stream.count = client_read(fd, stream.at, sizeof stream.at);
    close(fd);
    unit_read(stream.at, stream.count, (struct wt_handlers){.event = on_event}, &events);
    return events;
}

static void emit(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assert_true(WEIR_EMIT(Unit, Pair, i, i));
}

static void stop_by_tool(const char *path, uint64_t id)
{
    assert_int_equal(client_stop(path, id), CLIENT_OK);
}

static void stop_by_server(const char *path, uint64_t id)
{
    (void)path;
    (void)id;
    stop();
}

/* The host knows the session by another id. */
static void stop_by_host(const char *path, uint64_t id)
{
    struct weir_session_info session;
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = &session;
    table.sessions_max = 1;
    assert_int_equal(weir_session_list(&table), WEIR_OK);
    assert_int_equal(table.session_count, 1);
    assert_int_equal(weir_session_stop_id(session.session_id, NULL), WEIR_OK);
    assert_true(CLIENT_AWAIT(info_now().sessions == 0));
    assert_int_equal(client_stop(path, id), CLIENT_OK); /* it is over */
}

static void test_sessions(void **state)
{
    (void)state;
    static void (*const stops[])(const char *, uint64_t) = {stop_by_tool, stop_by_host,
                                                            stop_by_server};
    uint64_t last_id = 0;
    for (uint32_t i = 0; i < 6; i++) {
        uint64_t id = 0;
        const char *path = start();
        int fd = trace(path, i % 2, &id);
        assert_true(id > last_id);
        last_id = id;
        assert_int_equal(info_now().sessions, 1);
        assert_int_equal(info_now().connections, 1);
        emit(100);
        stops[i / 2](path, id);
        assert_int_equal(events_in_rest(fd), 100);
        assert_false(weir_event_is_enabled(&weir_events_Unit.Plain));
        stop();
    }
}

static enum weir_result stopped_in_callback = WEIR_OK;

static void stop_in_callback(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    if (enabled)
        stopped_in_callback = weir_server_stop(NULL);
}

static enum weir_result stopped_in_rundown = WEIR_OK;

static void stop_in_rundown(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    (void)rundown;
    stopped_in_rundown = weir_server_stop(NULL);
}

static void test_stop_in_a_callback(void **state)
{
    (void)state;
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Stops", stop_in_callback, NULL, &provider, NULL),
                     WEIR_OK);
    assert_int_equal(weir_rundown_register(provider, stop_in_rundown, NULL, NULL), WEIR_OK);
    uint64_t id = 0;
    const char *path = start();
    int fd = client_connect(path);
    assert_true(client_collect(fd, "Stops", false));
    assert_int_equal(client_reply(fd, &id), CLIENT_OK);
    stop_by_tool(path, id);
    (void)events_in_rest(fd);
    assert_int_equal(stopped_in_callback, WEIR_BAD_STATE);
    assert_int_equal(stopped_in_rundown, WEIR_BAD_STATE);
    assert_true(info_now().is_running);
    weir_provider_destroy(provider);
    stop();
}

static sem_t blocked;

static void block(void)
{
    while (sem_wait(&blocked) != 0) {
    }
}

static void block_in_callback(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    if (enabled)
        block();
}

static void block_in_rundown(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    (void)rundown;
    block();
}

/* A stop goes on when the host does. */
static void stop_is_late(weir_provider_callback callback, weir_rundown_source source,
                         uint32_t expected)
{
    struct weir_provider *provider;
    struct weir_error error = {""};
    struct weir_server_config config = config_reporting(NULL);
    config.stop_ms_max = 50;
    const char *path = start_with(&config);
    assert_int_equal(sem_init(&blocked, 0, 0), 0);
    assert_int_equal(weir_provider_create("Blocks", callback, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_rundown_register(provider, source, NULL, NULL), WEIR_OK);
    int fd = client_connect(path);
    assert_true(client_collect(fd, "Blocks", false));
    assert_true(CLIENT_AWAIT(info_now().sessions == 1));
    assert_int_equal(weir_server_stop(&error), WEIR_TIMEOUT);
    assert_non_null(strstr(error.text, "stop again"));
    assert_true(CLIENT_AWAIT(info_now().ports == 0)); /* the poller may not have run yet */
    assert_int_equal(client_connect(path), -1);
    assert_true(info_now().is_running && info_now().sessions == 1);
    assert_int_equal(weir_server_start(&config, NULL), WEIR_EXISTS);
    assert_true(CLIENT_AWAIT(reports() == expected));
    sem_post(&blocked);
    assert_true(CLIENT_AWAIT(weir_server_stop(NULL) == WEIR_OK));
    assert_false(info_now().is_running);
    assert_int_equal(reports(), expected);
    close(fd);
    weir_provider_destroy(provider);
}

static void no_rundown(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    (void)rundown;
}

static void test_host_that_blocks(void **state)
{
    (void)state;
    stop_is_late(block_in_callback, no_rundown, 0);
    stop_is_late(NULL, block_in_rundown, 1); /* the session cannot be ended */
    assert_int_equal(reported.result, WEIR_TIMEOUT);
}

/* --- Suspended hosts. ------------------------------------------------------------------------ */

static void *wait_for_resume(void *result)
{
    *(enum weir_result *)result = weir_server_wait_for_resume(NULL);
    return NULL;
}

static uint32_t parks[2]; /* begun, ended */

static void on_before(void *context)
{
    (void)context;
    parks[0]++;
}

static void on_after(void *context)
{
    (void)context;
    parks[1]++;
}

/* Waits between the host's hooks, until each port is resumed. */
static void suspended(void)
{
    struct weir_server_config config = config_base();
    struct weir_error error = {""};
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    hooks.before = on_before;
    hooks.after = on_after;
    MUST(weir_park_hooks_set(&hooks) == WEIR_OK);
    setenv("DOTNET_DefaultDiagnosticPortSuspend", "1", 1);
    config.suspend_ms_max = 50;
    config.ports = "other,listen";
    const char *path = start_with(&config);
    MUST(info_now().is_suspended);
    MUST(weir_server_wait_for_resume(&error) == WEIR_TIMEOUT);
    MUST(parks[0] > 0 && parks[1] == parks[0]);
    MUST(strstr(error.text, path));
    MUST(client_ask(path, CLIENT_RESUME, NULL, 0) == CLIENT_OK);
    MUST(client_ask(path, CLIENT_RESUME, NULL, 0) == CLIENT_OK);
    MUST(info_now().is_suspended); /* through the other port */
    MUST(client_ask("other", CLIENT_RESUME, NULL, 0) == CLIENT_OK);
    MUST(!info_now().is_suspended && weir_server_wait_for_resume(&error) == WEIR_OK);
    MUST(weir_server_stop(NULL) == WEIR_OK);
    start_with(&config); /* a process is suspended once */
    MUST(!info_now().is_suspended && info_now().ports == 2);
    MUST(weir_server_stop(NULL) == WEIR_OK);
}

static void stopped_while_suspended(void)
{
    struct weir_server_config config = config_base();
    enum weir_result result = WEIR_BAD_STATE;
    pthread_t thread;
    config.ports = "other,listen";
    start_with(&config);
    MUST(pthread_create(&thread, NULL, wait_for_resume, &result) == 0);
    client_sleep_ms(20);
    MUST(weir_server_stop(NULL) == WEIR_OK);
    MUST(pthread_join(thread, NULL) == 0 && result == WEIR_OK);
}

static void suspended_by_none(void)
{
    struct weir_server_config config = config_reporting("none/x,listen;other,listen,nosuspend");
    start_with(&config);
    MUST(reports() == 1 && reported.result == WEIR_IO);
    MUST(!info_now().is_suspended && weir_server_wait_for_resume(NULL) == WEIR_OK);
}

static void test_suspend(void **state)
{
    (void)state;
    in_child(suspended);
    in_child(stopped_while_suspended);
    in_child(suspended_by_none);
}

/* --- Processes. ------------------------------------------------------------------------------ */

static char parent_path[112];

/* Has no server; its own one has another path. At its exit that is removed, and nothing else. */
static void forked(void)
{
    MUST(!info_now().is_running && !info_now().path[0]);
    MUST(weir_server_stop(NULL) == WEIR_OK);
    MUST(weir_server_wait_for_resume(NULL) == WEIR_OK);
    MUST(client_ask(parent_path, CLIENT_INFO_2, NULL, 0) == CLIENT_OK);
    const char *path = start();
    MUST(path[0] && strcmp(path, parent_path) != 0);
    int fd = client_connect(path);
    MUST(client_collect(fd, "Unit", false) && client_reply(fd, NULL) == CLIENT_OK);
    close(fd);
}

static void test_fork(void **state)
{
    (void)state;
    unit_skip_under_qemu("a forked child of a process with threads cannot start one");
    uint64_t id = 0;
    strcpy(parent_path, start());
    int fd = trace(parent_path, false, &id);
    in_child(forked);
    assert_int_equal(client_ask(parent_path, CLIENT_INFO_2, NULL, 0), CLIENT_OK);
    emit(10);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork(); /* keeps no tool waiting */
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], ends, 1) == 0 ? 0 : 1);
    }
    stop();
    assert_int_equal(events_in_rest(fd), 10);
    close(ends[1]);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static int ends_of_exit[2];

/* The tool is another process: it reads what the exit writes. */
static void exits(void)
{
    const char *path = start();
    int fd = client_connect(path);
    MUST(client_collect(fd, "Unit", false));
    MUST(client_reply(fd, NULL) == CLIENT_OK);
    MUST(CLIENT_AWAIT(weir_event_is_enabled(&weir_events_Unit.Plain)));
    if (fork() == 0) {
        stream.count = client_read(fd, stream.at, sizeof stream.at);
        _exit(write(ends_of_exit[1], stream.at, stream.count) == (ssize_t)stream.count ? 0 : 1);
    }
    close(fd);
    for (uint64_t i = 0; i < 10; i++)
        MUST(WEIR_EMIT(Unit, Pair, i, i));
}

/* The group's end sees whether a socket is left. */
static void test_exit(void **state)
{
    (void)state;
    assert_int_equal(pipe(ends_of_exit), 0);
    in_child(exits);
    close(ends_of_exit[1]);
    assert_int_equal(events_in_rest(ends_of_exit[0]), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suspend), /* before this process has had a server */
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_start_and_stop),
        cmocka_unit_test(test_stop_at_once_in_a_new_thread),
        cmocka_unit_test(test_calls_of_several_threads),
        cmocka_unit_test(test_config_that_is_wrong),
        cmocka_unit_test(test_ports_that_cannot_be_opened),
        cmocka_unit_test(test_no_default_port),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_stop_in_a_callback),
        cmocka_unit_test(test_host_that_blocks),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests_name("server", tests, group_setup, group_teardown);
}
