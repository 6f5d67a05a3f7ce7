/* Mode OVERWRITE and weir_session_snapshot(): any order of calls has a defined result; the contents
 * of a file. */
#define _GNU_SOURCE
#include "stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static struct weir_session_config recorder_config(void)
{
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_OVERWRITE;
    return config;
}

/* --- A stream in memory, and what the reader finds in it. ------------------------------------ */

struct found {
    uint64_t events, losses, lost, points;
    uint64_t first, last; /* the first field of Unit/Pair */
};

static void on_event(void *context, const struct wt_event *event)
{
    struct found *found = context;
    if (strcmp(event->metadata->provider_name, "Unit") != 0) {
        found->losses++;
        return;
    }
    if (event->metadata->event_id == 2) {
        memcpy(&found->last, event->payload, 8);
        if (found->events == 0)
            found->first = found->last;
    }
    found->events++;
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    ((struct found *)context)->lost += gap->count;
}

static void on_point(void *context, const struct wt_point *point)
{
    (void)point;
    ((struct found *)context)->points++;
}

static struct found read_stream(const void *bytes, size_t count)
{
    struct found found = {0};
    const struct wt_handlers handlers = {.event = on_event, .gap = on_gap, .point = on_point};
    unit_read(bytes, count, handlers, &found);
    assert_true(found.points >= 2);
    return found;
}

static struct found take(struct weir_session *session, uint64_t last_ns)
{
    static struct unit_bytes bytes;
    struct weir_error error = {""};
    struct weir_sink sink = WEIR_SINK_INIT;
    bytes.count = 0;
    sink.write = unit_append;
    sink.context = &bytes;
    if (weir_session_snapshot(session, &sink, last_ns, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return read_stream(bytes.at, bytes.count);
}

/* --- What is kept. --------------------------------------------------------------------------- */

static void test_empty(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    struct weir_session *session = unit_start(&config);
    struct found found = take(session, 0);
    assert_int_equal(found.events + found.losses + found.lost, 0);
    found = take(session, 1);
    assert_int_equal(found.events + found.losses + found.lost, 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
}

/* Everything fits. A snapshot removes nothing, and nothing goes to the session's own sink. */
static void test_all_is_kept(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(WEIR_EMIT(Unit, Pair, i, i));
    for (int round = 0; round < 3; round++) {
        struct found found = take(session, 0);
        assert_int_equal(found.events, 1000);
        assert_int_equal(found.lost, 0);
        assert_int_equal(found.last, 999);
    }
    struct weir_stats stats = unit_stats(session);
    assert_int_equal(stats.bytes_sent, 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    assert_int_equal(read_stream(bytes, count).events, 1000);
    assert_int_equal(unit_counts(session).written, 1000);
    weir_session_destroy(session);
}

static void test_newest_are_kept(void **state)
{
    (void)state;
    enum { EVENTS = 100000 };
    struct weir_session_config config = recorder_config();
    config.budget_bytes = 256u << 10;
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < EVENTS; i++)
        assert_true(WEIR_EMIT(Unit, Pair, i, i));
    struct weir_counts counts = unit_counts(session);
    struct found found = take(session, 0);
    assert_int_equal(found.last, EVENTS - 1);
    assert_int_equal(found.first, EVENTS - found.events);
    assert_int_equal(found.lost, EVENTS - found.events);
    /* At least seven of the eight segments. */
    assert_true(found.events * 24 > (config.budget_bytes - config.segment_bytes) * 9 / 10);
    assert_int_equal(counts.written, found.events);
    assert_int_equal(counts.attempted, EVENTS);
    assert_int_equal(counts.lost[WEIR_LOSS_OVERWRITTEN], found.lost);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, found.events);
    weir_session_destroy(session);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns false if the later events were older than half of the gap when the snapshot ended: then
 * nothing is known. */
static bool last_ns_of(uint64_t gap_ns)
{
    static char large[70000];
    memset(large, 'x', sizeof large - 1);
    struct weir_session_config config = recorder_config();
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < 100; i++) {
        WEIR_EMIT(Unit, Pair, i, i);
        if (i % 10 == 0)
            assert_false(WEIR_EMIT(Unit, Text, large));
    }
    usleep((useconds_t)(gap_ns / 1000));
    uint64_t later_ns = now_ns();
    for (uint64_t i = 100; i < 130; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    struct found found = take(session, gap_ns / 2);
    bool is_known = now_ns() - later_ns < gap_ns / 2;
    if (is_known) {
        assert_int_equal(found.events, 30);
        assert_int_equal(found.first, 100);
        assert_int_equal(found.lost, 110);
    }
    found = take(session, 3600000000000);
    assert_int_equal(found.events, 130);
    assert_int_equal(found.lost, 10);
    found = take(session, UINT64_MAX);
    assert_int_equal(found.events, 130);
    usleep(20000);
    found = take(session, 1000000);
    assert_int_equal(found.events, 0);
    assert_int_equal(found.lost, 140);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    return is_known;
}

/* Older events are left out and reported as lost, and so are marks among them. */
static void test_last_ns(void **state)
{
    (void)state;
    uint64_t gap_ns = 100000000;
    while (!last_ns_of(gap_ns)) /* on a busy machine */
        gap_ns *= 2;
}

static void *emit_three(void *unused)
{
    for (uint64_t i = 0; i < 3; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    return unused;
}

/* The events of a thread that is gone are kept until they are overwritten. Then its losses are
 * reported as the library's own. */
static void test_thread_that_is_gone(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    config.budget_bytes = 65536;
    config.flush_ms = 1;
    struct weir_session *session = unit_start(&config);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, emit_three, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(take(session, 0).events, 3);
    for (uint64_t i = 0; i < 10000; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    struct weir_thread_table table = WEIR_THREAD_TABLE_INIT;
    for (int ms = 0; ms < 20000 && table.thread_count != 1; ms++) {
        usleep(1000);
        assert_int_equal(weir_session_thread_stats(session, &table), WEIR_OK);
    }
    assert_int_equal(table.thread_count, 1);
    struct found found = take(session, 0);
    assert_int_equal(found.events + found.lost, 10003);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).attempted, 10003);
    weir_session_destroy(session);
}

/* Idle threads hold all segments; a thread that needs one gets one. */
static pthread_barrier_t held;

static void *emit_and_wait(void *unused)
{
    WEIR_EMIT(Unit, Plain);
    pthread_barrier_wait(&held);
    pthread_barrier_wait(&held);
    return unused;
}

static void test_idle_holders(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    config.budget_bytes = 65536;
    config.flush_ms = 60000; /* the drain's timer must not help */
    struct weir_session *session = unit_start(&config);
    pthread_t threads[2];
    pthread_barrier_init(&held, NULL, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_and_wait, NULL), 0);
    pthread_barrier_wait(&held);
    bool is_written = false;
    for (int i = 0; i < 20000 && !is_written; i++) {
        is_written = WEIR_EMIT(Unit, Plain);
        usleep(1000);
    }
    assert_true(is_written);
    pthread_barrier_wait(&held);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&held);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
}

/* --- Refusals. ------------------------------------------------------------------------------- */

static void refused(struct weir_session *session, const struct weir_sink *sink,
                    enum weir_result expected, const char *text)
{
    struct weir_error error = {""};
    assert_int_equal(weir_session_snapshot(session, sink, 0, &error), expected);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
    assert_int_equal(weir_session_snapshot(session, sink, 0, NULL), expected);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    struct weir_session *session = unit_start(&config);
    struct weir_sink sink = WEIR_SINK_INIT;
    refused(NULL, &sink, WEIR_BAD_STATE, "no session");
    refused(session, NULL, WEIR_BAD_ARGUMENT, "sink");
    refused(session, &sink, WEIR_BAD_ARGUMENT, "0 sinks");
    sink.write = unit_discard;
    sink.descriptor = 1;
    refused(session, &sink, WEIR_BAD_ARGUMENT, "2 sinks");
    sink = weir_sink_init();
    sink.file = "";
    refused(session, &sink, WEIR_BAD_ARGUMENT, "empty path");
    sink.file = "/no/such/directory/file.nettrace";
    refused(session, &sink, WEIR_IO, "/no/such/directory");
    sink.file = NULL;
    sink.descriptor = 1 << 20; /* beyond any descriptor limit of a test process */
    refused(session, &sink, WEIR_BAD_ARGUMENT, "descriptor");
    sink.size = 8;
    refused(session, &sink, WEIR_BAD_ARGUMENT, "sink.size");
    take(session, 0); /* the refusals have changed nothing */
    weir_session_destroy(session);
}

static void test_wrong_session(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_discard;
    struct weir_session *session = unit_start(&config);
    refused(session, &sink, WEIR_BAD_STATE, "OVERWRITE");
    weir_session_destroy(session);
    config = recorder_config();
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    refused(session, &sink, WEIR_BAD_STATE, "is not running");
    assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    refused(session, &sink, WEIR_BAD_STATE, "is not running");
    weir_session_destroy(session);
}

static void test_block_fields_are_refused(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    config.max_block_ns = 1;
    assert_int_equal(weir_session_create(&config, &session, &error), WEIR_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "BLOCK"));
}

/* --- Sinks. ---------------------------------------------------------------------------------- */

struct slow_sink {
    pthread_mutex_t gate;
    int entered;
};

static bool slow(void *context, const void *bytes, size_t count)
{
    struct slow_sink *sink = context;
    (void)bytes;
    (void)count;
    __atomic_store_n(&sink->entered, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&sink->gate);
    pthread_mutex_unlock(&sink->gate);
    return true;
}

struct call {
    struct weir_session *session;
    struct weir_sink sink;
    enum weir_result result;
};

static void *call_snapshot(void *argument)
{
    struct call *call = argument;
    call->result = weir_session_snapshot(call->session, &call->sink, 0, NULL);
    return NULL;
}

/* A second snapshot is refused while one is written. All full segments are held meanwhile, so the
 * rest of the budget fills up and events are dropped. Afterwards the newest are kept again. */
static void test_busy(void **state)
{
    (void)state;
    struct slow_sink slow_sink = {.gate = PTHREAD_MUTEX_INITIALIZER};
    struct weir_session_config config = recorder_config();
    config.budget_bytes = 65536;
    struct call call = {.session = unit_start(&config), .sink = WEIR_SINK_INIT};
    call.sink.write = slow;
    call.sink.context = &slow_sink;
    for (uint64_t i = 0; i < 10000; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    pthread_t thread;
    pthread_mutex_lock(&slow_sink.gate);
    assert_int_equal(pthread_create(&thread, NULL, call_snapshot, &call), 0);
    while (!__atomic_load_n(&slow_sink.entered, __ATOMIC_ACQUIRE))
        usleep(1000);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_discard;
    refused(call.session, &sink, WEIR_BUSY, "another snapshot");
    uint64_t written = 0;
    for (uint64_t i = 0; i < 10000; i++)
        written += WEIR_EMIT(Unit, Pair, i, i);
    assert_true(written < 10000);
    struct weir_counts counts = unit_counts(call.session);
    assert_int_equal(counts.lost[WEIR_LOSS_FULL], 10000 - written);
    assert_int_equal(counts.attempted, 20000);
    pthread_mutex_unlock(&slow_sink.gate);
    pthread_join(thread, NULL);
    assert_int_equal(call.result, WEIR_OK);
    for (uint64_t i = 0; i < 10000; i++)
        assert_true(WEIR_EMIT(Unit, Pair, i, i));
    struct found found = take(call.session, 0);
    assert_int_equal(found.last, 9999);
    assert_int_equal(found.events + found.lost, 30000);
    assert_int_equal(weir_session_stop(call.session, NULL), WEIR_OK);
    weir_session_destroy(call.session);
}

/* A stop waits for a snapshot in progress, but not beyond its deadline. */
static void test_stop_during_a_snapshot(void **state)
{
    (void)state;
    struct slow_sink slow_sink = {.gate = PTHREAD_MUTEX_INITIALIZER};
    struct weir_session_config config = recorder_config();
    config.stop_ms_max = 50;
    struct call call = {.session = unit_start(&config), .sink = WEIR_SINK_INIT};
    call.sink.write = slow;
    call.sink.context = &slow_sink;
    WEIR_EMIT(Unit, Plain);
    pthread_t thread;
    pthread_mutex_lock(&slow_sink.gate);
    assert_int_equal(pthread_create(&thread, NULL, call_snapshot, &call), 0);
    while (!__atomic_load_n(&slow_sink.entered, __ATOMIC_ACQUIRE))
        usleep(1000);
    assert_int_equal(weir_session_stop(call.session, NULL), WEIR_TIMEOUT);
    pthread_mutex_unlock(&slow_sink.gate);
    pthread_join(thread, NULL);
    assert_int_equal(call.result, WEIR_OK);
    while (weir_session_stop(call.session, NULL) == WEIR_TIMEOUT) {
    }
    assert_int_equal(weir_session_stop(call.session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(call.session).written, 1);
    weir_session_destroy(call.session);
}

static bool refuse(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return false;
}

static void test_sink_that_fails(void **state)
{
    (void)state;
    struct weir_session_config config = recorder_config();
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < 20000; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = refuse;
    refused(session, &sink, WEIR_IO, "returned false");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    sink = weir_sink_init();
    sink.descriptor = ends[1];
    refused(session, &sink, WEIR_IO, "Broken pipe");
    assert_int_equal(fcntl(ends[1], F_GETFD) >= 0, 1); /* still open, and the caller's */
    close(ends[1]);
    assert_int_equal(take(session, 0).events, 20000);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 20000);
    weir_session_destroy(session);
}

/* An existing file stays until the snapshot is complete; nothing is left beside it. */
static void test_file(void **state)
{
    (void)state;
    char directory[] = "/tmp/weir-unit-XXXXXX", path[64], begin[9] = "";
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/t.nettrace", directory);
    struct weir_session_config config = recorder_config();
    struct weir_session *session = unit_start(&config);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.file = path;
    for (int round = 0; round < 2; round++) {
        WEIR_EMIT(Unit, Plain);
        assert_int_equal(weir_session_snapshot(session, &sink, 0, NULL), WEIR_OK);
    }
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(begin, 1, 8, file), 8);
    assert_string_equal(begin, "Nettrace");
    fclose(file);
    weir_session_destroy(session);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* The process changes its directory while the file still has its temporary name. */
struct leaver {
    char part[128];
    const char *to;
    bool is_over; /* ANY */
    bool has_left_in_time;
};

static void *leave_directory(void *argument)
{
    struct leaver *leaver = argument;
    while (access(leaver->part, F_OK) != 0)
        if (__atomic_load_n(&leaver->is_over, __ATOMIC_ACQUIRE))
            return NULL;
    leaver->has_left_in_time = chdir(leaver->to) == 0 && access(leaver->part, F_OK) == 0;
    return NULL;
}

static void test_relative_file(void **state)
{
    (void)state;
    char directory[] = "/tmp/weir-unit-XXXXXX", path[64];
    int before = open(".", O_PATH | O_CLOEXEC);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/rel.nettrace", directory);
    struct weir_session_config config = recorder_config();
    config.budget_bytes = 32u << 20; /* takes a while to write */
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < 2000000; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.file = "rel.nettrace";
    struct leaver leaver = {.to = "/"};
    snprintf(leaver.part, sizeof leaver.part, "%s.%d-0.part", path, (int)getpid());
    for (int round = 0; round < 200 && !leaver.has_left_in_time; round++) {
        pthread_t thread;
        leaver.is_over = false;
        unlink(path);
        assert_int_equal(chdir(directory), 0);
        assert_int_equal(pthread_create(&thread, NULL, leave_directory, &leaver), 0);
        assert_int_equal(weir_session_snapshot(session, &sink, 0, NULL), WEIR_OK);
        __atomic_store_n(&leaver.is_over, true, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        assert_int_equal(access(path, F_OK), 0);
    }
    assert_true(leaver.has_left_in_time);
    assert_int_equal(fchdir(before), 0);
    close(before);
    weir_session_destroy(session);
    unlink(path);
    assert_int_equal(rmdir(directory), 0); /* nothing else is left there */
}

/* --- Callbacks. ------------------------------------------------------------------------------ */

struct rundown {
    enum weir_result result;
};

static void rundown(void *context, struct weir_session *session)
{
    struct rundown *seen = context;
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_discard;
    seen->result = weir_session_snapshot(session, &sink, 0, NULL);
    Unit_Pair(7, 7);
}

/* The rundown is only in the last stream, after what was kept. */
static void test_rundown(void **state)
{
    (void)state;
    struct rundown seen = {WEIR_OK};
    struct weir_session_config config = recorder_config();
    config.rundown = rundown;
    config.rundown_context = &seen;
    struct weir_session *session = unit_start(&config);
    WEIR_EMIT(Unit, Pair, 1, 1);
    assert_int_equal(take(session, 0).events, 1);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(seen.result, WEIR_BAD_STATE);
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    struct found found = read_stream(bytes, count);
    assert_int_equal(found.events, 2);
    assert_int_equal(found.last, 7);
    assert_int_equal(unit_counts(session).written, 2);
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_all_is_kept),
        cmocka_unit_test(test_newest_are_kept),
        cmocka_unit_test(test_last_ns),
        cmocka_unit_test(test_thread_that_is_gone),
        cmocka_unit_test(test_idle_holders),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_wrong_session),
        cmocka_unit_test(test_block_fields_are_refused),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_stop_during_a_snapshot),
        cmocka_unit_test(test_sink_that_fails),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_relative_file),
        cmocka_unit_test(test_rundown),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
