/*
 * BLOCK sessions, and calls around them, when memory, threads or thread ids run out, or when ids
 * are reused.
 *
 * Each allocation fails in turn, each in a separate child, which then makes every call. What cannot
 * be created is refused with a result, what cannot be recorded is counted, nothing crashes, and no
 * thread waits for ever.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <reader.h>
#include "buffers/modes.h"
#include "failing.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* --- Everything that a process can do. ------------------------------------------------------- */

enum verdict {
    FINE,        /* everything was created, nothing lost */
    REFUSED,     /* something was not created */
    LOST,        /* something was not recorded, but counted */
    NOT_COUNTED, /* wrong */
    WAS_NOT_MET, /* there are fewer allocations */
    WRONG,
    WRONG_AFTER, /* what was refused is still refused later */
};

static void *emit_some(void *argument)
{
    uint64_t *refused = argument;
    static uint8_t bytes[10000];
    for (int i = 0; i < 5000; i++)
        *refused += !WEIR_EMIT(Unit, Pair, 1, 2);
    *refused += !WEIR_EMIT(Unit, Bytes, bytes, sizeof bytes);
    return NULL;
}

static enum verdict session_use(struct weir_session *session)
{
    uint64_t refused = 0;
    pthread_t thread;
    bool is_helped = pthread_create(&thread, NULL, emit_some, &refused) == 0;
    if (is_helped)
        pthread_join(thread, NULL);
    emit_some(&refused);
    enum weir_result result = weir_session_stop(session, NULL);
    struct weir_stats stats = WEIR_STATS_INIT;
    if (weir_session_stats(session, &stats) != WEIR_OK)
        return NOT_COUNTED;
    const struct weir_counts *counts = &stats.counts;
    uint64_t lost = counts->lost[WEIR_LOSS_SINK_FAILED] + counts->lost[WEIR_LOSS_NO_SEGMENT] +
                    counts->lost[WEIR_LOSS_ABORTED];
    weir_session_destroy(session);
    if (result == WEIR_OK && refused == 0 && lost == 0)
        return counts->written == (is_helped ? 10002 : 5001) ? FINE : NOT_COUNTED;
    if (counts->attempted != counts->written + lost)
        return NOT_COUNTED;
    return result == WEIR_IO || lost > 0 ? LOST : NOT_COUNTED;
}

static enum verdict everything(enum weir_wake wake)
{
    struct weir_provider *provider = NULL;
    struct weir_session *session = NULL;
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.wake = wake;
    config.segment_bytes = 4096;
    config.budget_bytes = 65536;
    if (weir_provider_register(&weir_provider_Unit, NULL, NULL, &provider, NULL) != WEIR_OK)
        return REFUSED;
    if (weir_session_create(&config, &session, NULL) != WEIR_OK) {
        weir_provider_destroy(provider);
        return REFUSED;
    }
    enum verdict verdict = REFUSED;
    if (weir_session_start(session, NULL) == WEIR_OK)
        verdict = session_use(session);
    else
        weir_session_destroy(session);
    weir_provider_destroy(provider);
    return verdict;
}

/* Keeps a crash from continuing in cmocka. */
static void child_begin(void)
{
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    alarm(60);
}

/* The process is fresh: it has not called the library yet. After a failure everything must work. */
static void child_run(uint64_t which, enum weir_wake wake)
{
    child_begin();
    failing_begin(which, FAILING_ALL);
    enum verdict verdict = everything(wake);
    bool was_met = failing_end() > which;
    if (verdict == NOT_COUNTED || (verdict != FINE && !was_met))
        _exit(WRONG);
    if (everything(wake) != FINE)
        _exit(WRONG_AFTER);
    _exit(was_met ? (int)verdict : WAS_NOT_MET);
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    uint64_t seen[3] = {0}, wrong = 0;
    int status = 0;
    for (uint64_t which = 0; status != WAS_NOT_MET && which < 1000; which++) {
        pid_t child = fork();
        if (child == 0)
            child_run(which, (enum weir_wake)(which % 3));
        assert_int_equal(waitpid(child, &status, 0), child);
        bool is_wrong = !WIFEXITED(status) || WEXITSTATUS(status) > WAS_NOT_MET;
        if (is_wrong)
            print_error("allocation %d fails: %s %d\n", (int)which,
                        WIFEXITED(status) ? "status" : "signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        status = is_wrong ? 0 : WEXITSTATUS(status);
        wrong += is_wrong;
        if (!is_wrong && status < WAS_NOT_MET)
            seen[status]++;
    }
    print_message("%d refused, %d lost, %d without harm\n", (int)seen[REFUSED], (int)seen[LOST],
                  (int)seen[FINE]);
    assert_int_equal(wrong, 0);
    assert_int_equal(status, WAS_NOT_MET);
    assert_true(seen[REFUSED] > 3 && seen[LOST] > 0);
}

/* --- A budget that the system refuses. ------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(UNDER_TSAN)
#define IS_SANITIZED true /* needs the whole address space */
#else
#define IS_SANITIZED false
#endif

static void budget_child(void)
{
    struct rlimit limit = {UINT64_C(1) << 30, UINT64_C(1) << 30};
    struct weir_session_config config = unit_config();
    struct weir_error error = {""};
    struct weir_session *session = NULL;
    child_begin();
    unit_setup(NULL);
    config.mode = WEIR_MODE_BLOCK;
    config.budget_bytes = UINT64_C(32) << 30;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(1);
    if (weir_session_create(&config, &session, &error) != WEIR_NO_MEMORY || session)
        _exit(2);
    if (!strstr(error.text, "34359738368"))
        _exit(3);
    config.budget_bytes = 65536;
    if (weir_session_create(&config, &session, &error) != WEIR_OK)
        _exit(4);
    weir_session_destroy(session);
    _exit(0);
}

/* A session's mappings are unmapped with it. Thread records stay and are reused. */
static void test_destroy_unmaps_all(void **state)
{
    (void)state;
    int64_t before = 0;
    for (unsigned i = 0; i < 2 * WR_MODE_COUNT; i++) {
        struct weir_session_config config = unit_config();
        uint64_t refused = 0;
        pthread_t thread;
        config.mode = (enum weir_mode)(i % WR_MODE_COUNT);
        struct weir_session *session = unit_start(&config);
        assert_int_equal(pthread_create(&thread, NULL, emit_some, &refused), 0);
        pthread_join(thread, NULL);
        emit_some(&refused);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        weir_session_destroy(session);
        if (i == WR_MODE_COUNT - 1)
            before = failing_held().mapped_bytes;
    }
    assert_int_equal(failing_held().mapped_bytes, before);
}

static void test_budget_larger_than_memory(void **state)
{
    (void)state;
    int status;
    if (IS_SANITIZED)
        skip();
    unit_skip_under_qemu("RLIMIT_AS is ignored");
    pid_t child = fork();
    if (child == 0)
        budget_child();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- A thread id that is reused. ------------------------------------------------------------- */

struct life {
    pid_t wanted; /* 0: any */
    pid_t id;
    uint64_t events;
};

static void *live(void *argument)
{
    struct life *life = argument;
    life->id = gettid();
    for (uint64_t i = 0; i < life->events && (!life->wanted || life->id == life->wanted); i++)
        assert_true(WEIR_EMIT(Unit, Pair, (uint64_t)life->id, i));
    return NULL;
}

static void life_run(struct life *life)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, live, life), 0);
    pthread_join(thread, NULL);
}

struct capture {
    uint64_t id, events, lost;
};

struct captures {
    uint64_t thread_id;
    struct capture rows[8];
    uint32_t count;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct captures *captures = context;
    uint32_t i = 0;
    if (event->thread_id != captures->thread_id)
        return;
    while (i < captures->count && captures->rows[i].id != event->capture_thread)
        i++;
    assert_true(i < 8);
    captures->rows[i].id = event->capture_thread;
    captures->rows[i].events++;
    captures->rows[i].lost = event->thread->lost;
    captures->count = i == captures->count ? i + 1 : captures->count;
    assert_int_equal(event->sequence, captures->rows[i].events + 1); /* each thread counts from 2 */
}

static void read_captures(struct weir_session *session, struct captures *captures)
{
    const void *bytes;
    uint64_t count;
    struct wt_reader *reader;
    struct wt_handlers handlers = {.event = on_event};
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    struct wt_memory_source memory = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory);
    assert_int_equal(wt_reader_create(&reader, &source, NULL, &handlers, captures), WT_OK);
    assert_int_equal(wt_reader_run(reader), WT_END);
    wt_reader_destroy(reader);
}

/* The system reuses the ids of threads that are gone. Events of two such threads must not be
 * attributed to one thread: the gaps in its numbers would be meaningless. */
static void test_thread_id_that_comes_again(void **state)
{
    (void)state;
    unit_skip_under_qemu("too slow to use up all ids");
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    struct weir_session *session = unit_start(&config);
    struct life first = {.events = 3}, again = {.events = 5};
    life_run(&first);
    again.wanted = first.id;
    time_t start = time(NULL);
    while (again.id != first.id && time(NULL) - start < 20)
        life_run(&again);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct captures captures = {.thread_id = (uint64_t)first.id};
    read_captures(session, &captures);
    weir_session_destroy(session);
    if (again.id != first.id)
        skip(); /* too many ids exist for one to be reused soon */
    assert_int_equal(captures.count, 2);
    assert_int_equal(captures.rows[0].events, 3);
    assert_int_equal(captures.rows[1].events, 5);
    assert_int_equal(captures.rows[0].lost + captures.rows[1].lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_fails), /* first: its children are fresh */
        cmocka_unit_test(test_budget_larger_than_memory),
        cmocka_unit_test_setup_teardown(test_thread_id_that_comes_again, unit_setup, NULL),
        cmocka_unit_test(test_destroy_unmaps_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
