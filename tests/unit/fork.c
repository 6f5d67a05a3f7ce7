/* A forked child: its events are off, inherited sessions are untouched, and it may trace by
 * itself. */
#define _GNU_SOURCE
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static void expect_child_ok(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is_refused(enum weir_result result, struct weir_error *error)
{
    bool is_text = strcmp(error->text, "no session, or a session of the parent process") == 0;
    error->text[0] = 0;
    return result == WEIR_BAD_STATE && is_text;
}

/* Each call with the parent's session fails, and says why. */
static bool are_calls_refused(struct weir_session *inherited)
{
    const struct weir_enable wanted = {.provider = "Unit"};
    struct weir_sink sink = WEIR_SINK_INIT;
    struct weir_stats stats = WEIR_STATS_INIT;
    struct weir_thread_table threads = WEIR_THREAD_TABLE_INIT;
    struct weir_error error = {""};
    return is_refused(weir_session_start(inherited, &error), &error) &&
           is_refused(weir_session_stop(inherited, &error), &error) &&
           is_refused(weir_session_update(inherited, &wanted, 1, sizeof wanted, &error), &error) &&
           is_refused(weir_session_snapshot(inherited, &sink, 0, &error), &error) &&
           weir_session_stats(inherited, &stats) == WEIR_BAD_STATE &&
           weir_session_thread_stats(inherited, &threads) == WEIR_BAD_STATE &&
           weir_session_stop_id(weir_session_id(inherited), NULL) == WEIR_NOT_FOUND;
}

static int child_checks(struct weir_session *inherited, const struct weir_status *status)
{
    if (weir_event_is_enabled(&weir_events_Unit.Pair) || WEIR_EMIT(Unit, Pair, 1, 2) ||
        Unit_Pair(1, 2) || status->keywords || status->level)
        return 1;
    if (!are_calls_refused(inherited) || weir_session_destroy(inherited) != WEIR_OK)
        return 2;
    struct weir_session_config config = unit_config();
    struct weir_session *own;
    if (weir_session_create(&config, &own, NULL) != WEIR_OK ||
        weir_session_start(own, NULL) != WEIR_OK)
        return 3;
    for (int i = 0; i < 1000; i++)
        if (!WEIR_EMIT(Unit, Pair, 3, 4))
            return 4;
    if (weir_session_stop(own, NULL) != WEIR_OK || unit_counts(own).written != 1000)
        return 5;
    weir_session_destroy(own);
    return 0;
}

static void test_child(void **state)
{
    (void)state;
    unit_skip_under_qemu("a forked child of a process with threads cannot start one");
    struct weir_session_config config = unit_config();
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Forked", NULL, NULL, &provider, NULL), WEIR_OK);
    config.providers = "Unit,Forked";
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_true(weir_status_wants(weir_provider_status(provider), WEIR_LEVEL_INFO, 1));
    pid_t child = fork();
    if (child == 0)
        _exit(child_checks(session, weir_provider_status(provider)));
    expect_child_ok(child);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 2);
    weir_session_destroy(session);
    weir_provider_destroy(provider);
}

static int calls;
static bool is_installed;

static void install(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    calls++;
    is_installed = enabled;
}

/* What the callback installed in the parent is still there, and nothing removes it. A new session
 * of the child calls it as in a new process. */
static int child_callbacks(void)
{
    if (calls != 1 || !is_installed || weir_event_is_enabled(&weir_events_Unit.Pair))
        return 1;
    struct weir_session_config config = unit_config();
    config.providers = "Unit,Installer";
    struct weir_session *own = unit_start(&config);
    if (calls != 2 || !is_installed)
        return 2;
    weir_session_destroy(own);
    return calls == 3 && !is_installed ? 0 : 3;
}

static void test_callback_in_a_child(void **state)
{
    (void)state;
    unit_skip_under_qemu("a forked child of a process with threads cannot start one");
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Installer", install, NULL, &provider, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Unit,Installer";
    struct weir_session *session = unit_start(&config);
    pid_t child = fork();
    if (child == 0)
        _exit(child_callbacks());
    expect_child_ok(child);
    assert_int_equal(calls, 1);
    weir_session_destroy(session);
    assert_int_equal(calls, 2);
    weir_provider_destroy(provider);
}

/* In the child: no copy of the pipe's end is left open. The child lives until the parent closes its
 * end of `hold`. */
static int child_lets_go(struct weir_session *inherited, int pipe_end, const int hold[2])
{
    char none;
    close(pipe_end);
    close(hold[1]);
    weir_session_destroy(inherited);
    weir_session_destroy(inherited); /* again: must not close a number that is another file's */
    return read(hold[0], &none, 1) == 0 ? 0 : 1;
}

static bool reads_to_the_end(int fd)
{
    char bytes[4096];
    ssize_t count = 1;
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    while (count > 0 && poll(&readable, 1, 20000) == 1)
        count = read(fd, bytes, sizeof bytes);
    return count == 0;
}

/* The child also has the session's duplicate of the descriptor, which only the child can close. */
static void test_child_closes_its_copy(void **state)
{
    (void)state;
    int ends[2], hold[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(hold), 0);
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.descriptor = ends[1];
    struct weir_session *session = unit_start(&config);
    pid_t child = fork();
    if (child == 0)
        _exit(child_lets_go(session, ends[1], hold));
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    close(ends[1]);
    assert_true(reads_to_the_end(ends[0]));
    close(ends[0]);
    close(hold[1]);
    expect_child_ok(child);
    close(hold[0]);
}

struct emitter {
    uint64_t emitted, written;
    uint32_t is_done;
};

static void *emit_until_done(void *argument)
{
    struct emitter *emitter = argument;
    while (!__atomic_load_n(&emitter->is_done, __ATOMIC_RELAXED)) {
        bool is_enabled = weir_event_is_enabled(&weir_events_Unit.Pair);
        bool is_written = is_enabled && Unit_Pair(emitter->emitted, 0);
        emitter->emitted += is_enabled;
        emitter->written += is_written;
    }
    return NULL;
}

/* Children of a process that traces at full speed leave by exit() and _exit(); the parent loses no
 * count. */
static void test_fork_under_load(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    struct weir_session *session = unit_start(&config);
    struct emitter emitters[2] = {{0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_until_done, &emitters[i]), 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(WEIR_EMIT(Unit, Pair, 1, 2) ? 1 : 0);
        expect_child_ok(child);
    }
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&emitters[i].is_done, 1, __ATOMIC_RELAXED);
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, emitters[0].emitted + emitters[1].emitted);
    assert_int_equal(counts.written, emitters[0].written + emitters[1].written);
    weir_session_destroy(session);
}

static bool is_over;

static void *ask_for_the_date(void *unused)
{
    time_t second = 1;
    struct tm utc;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        gmtime_r(&second, &utc);
    return unused;
}

static int child_traces(void)
{
    struct weir_session_config config = unit_config();
    alarm(60);
    struct weir_session *own = unit_start(&config);
    return weir_session_stop(own, NULL) == WEIR_OK ? 0 : 1;
}

/* In glibc the lock of the calendar stays locked in a child if another thread of the parent holds it. */
static void test_fork_with_the_calendar_locked(void **state)
{
    (void)state;
    unit_skip_under_qemu("a forked child of a process with threads cannot start one");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_the_date, NULL), 0);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(child_traces());
        expect_child_ok(child);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

/* A host's handler that runs between the library's and the fork. In it a signal arrives, whose
 * handler forks as well. */
static int nested_child_status = -1;
static bool is_armed;

/* Such a child continues without a trace. */
static int child_of_handler(void)
{
    struct weir_session_config config = unit_config();
    struct weir_session *own = NULL;
    struct weir_error error = {""};
    bool is_written = WEIR_EMIT(Unit, Pair, 1, 2);
    if (is_written || weir_session_create(&config, &own, NULL) != WEIR_OK ||
        weir_session_start(own, &error) != WEIR_BAD_STATE)
        return 1;
    return strcmp(error.text, "this process was forked while its thread was inside the library");
}

static void fork_in_handler(int number)
{
    (void)number;
    pid_t child = fork();
    if (child == 0)
        _exit(child_of_handler());
    waitpid(child, &nested_child_status, 0);
}

static void before_fork_of_host(void)
{
    if (is_armed) {
        is_armed = false;
        raise(SIGUSR1);
    }
}

static void test_fork_within_a_fork(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    signal(SIGUSR1, fork_in_handler);
    is_armed = true;
    pid_t child = fork();
    if (child == 0)
        _exit(WEIR_EMIT(Unit, Pair, 1, 2) ? 1 : 0);
    expect_child_ok(child);
    assert_int_equal(nested_child_status, 0);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2)); /* outside again */
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("AfterFork", NULL, NULL, &provider, NULL), WEIR_OK);
    weir_provider_destroy(provider); /* no lock is held */
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 2);
    weir_session_destroy(session);
}

int main(void)
{
    /* Registered before the library's handler, so it runs after that one and before the fork. */
    pthread_atfork(before_fork_of_host, NULL, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_child),
                                       cmocka_unit_test(test_callback_in_a_child),
                                       cmocka_unit_test(test_child_closes_its_copy),
                                       cmocka_unit_test(test_fork_under_load),
                                       cmocka_unit_test(test_fork_with_the_calendar_locked),
                                       cmocka_unit_test(test_fork_within_a_fork)};
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
