/* The names of threads in a stream: who gives them, when, and in which modes. */
#define _GNU_SOURCE
#include "stream.h"

#include <fields.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "failing.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define THREADS 8u
#define NAMES   4u

/* --- What a stream says of threads, by the first field of their Unit/Pair events. ------------- */

struct named {
    uint64_t capture, tag;
    uint32_t count;
    char names[NAMES][128];
};

struct found {
    struct named threads[THREADS + 1]; /* and the drain's own */
    uint32_t count;
};

static struct named *thread_of(struct found *found, uint64_t capture)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (found->threads[i].capture == capture)
            return &found->threads[i];
    assert_true(found->count <= THREADS);
    found->threads[found->count].capture = capture;
    return &found->threads[found->count++];
}

static void on_event(void *context, const struct wt_event *event)
{
    struct named *thread = thread_of(context, event->capture_thread);
    struct wt_value capture, name;
    if (strcmp(event->metadata->provider_name, "Unit") == 0) {
        memcpy(&thread->tag, event->payload, 8);
        assert_true(thread->count > 0); /* its name precedes its events */
    }
    if (strcmp(event->metadata->event_name, "ThreadName") != 0)
        return;
    assert_true(wt_field_get(event->metadata, 0, event->payload, event->payload_size, &capture) &&
                wt_field_get(event->metadata, 2, event->payload, event->payload_size, &name));
    struct named *of = thread_of(context, capture.as.u);
    assert_true(of->count < NAMES);
    wt_utf16_to_utf8(name.bytes, name.size, of->names[of->count++], sizeof of->names[0]);
}

static const struct wt_handlers handlers = {.event = on_event};

static struct found names_at_stop(struct weir_session *session)
{
    struct found found = {0};
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    unit_read_memory(session, handlers, &found);
    weir_session_destroy(session);
    return found;
}

static struct found names_in_snapshot(struct weir_session *session)
{
    struct found found = {0};
    unit_read_snapshot(session, handlers, &found);
    return found;
}

/* The names that the stream has of the thread with this tag are these, up to NULL. */
static void expect(struct found *found, uint64_t tag, const char *first, const char *second)
{
    const struct named *thread = found->threads;
    while (thread < found->threads + found->count && thread->tag != tag)
        thread++;
    assert_true(thread < found->threads + found->count);
    assert_string_equal(thread->names[0], first);
    assert_int_equal(thread->count, second ? 2 : 1);
    if (second)
        assert_string_equal(thread->names[1], second);
}

/* --- Threads. -------------------------------------------------------------------------------- */

struct job {
    uint64_t tag;
    const char *own, *given, *later; /* the system's name; the host's before its event, and after */
};

static void name_own(const char *name)
{
    assert_int_equal(pthread_setname_np(pthread_self(), name), 0);
}

static void *work(void *argument)
{
    const struct job *job = argument;
    if (job->own)
        name_own(job->own);
    if (job->given)
        assert_int_equal(weir_thread_name_set(job->given), WEIR_OK);
    assert_true(WEIR_EMIT(Unit, Pair, job->tag, 0));
    if (job->later)
        name_own(job->later);
    return NULL;
}

/* Runs the job on a thread that is gone when this returns. */
static void run(struct job job)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, &job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#define LATE_MS 10000u /* the drain looks when threads are gone */
#define SOON_MS 5u

static struct weir_session *start(enum weir_mode mode, uint32_t flush_ms)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.flush_ms = flush_ms;
    return unit_start(&config);
}

#define FORTY_FOUR "123456789 123456789 123456789 123456789 123 "

static void run_all(void)
{
    run((struct job){.tag = 1, .given = "Grüße, 世界 🦊"});
    run((struct job){.tag = 2, .given = FORTY_FOUR "abcd"});
    run((struct job){.tag = 3, .given = FORTY_FOUR "ab\u00e9"});
    run((struct job){.tag = 4, .given = FORTY_FOUR "🦊"});
    run((struct job){.tag = 5, .given = "a\xff\x80z"});
    run((struct job){.tag = 6, .own = "of the system"});
    run((struct job){.tag = 7, .own = "not shown", .given = "of the host", .later = "nor this"});
}

static void expect_all(struct found *found)
{
    expect(found, 1, "Grüße, 世界 🦊", NULL);
    expect(found, 2, FORTY_FOUR "abc", NULL);
    expect(found, 3, FORTY_FOUR "ab", NULL);
    expect(found, 4, FORTY_FOUR, NULL);
    expect(found, 5, "a\ufffd\ufffdz", NULL);
    expect(found, 6, "of the system", NULL);
    expect(found, 7, "of the host", NULL);
}

static void test_threads_that_are_gone(void **state)
{
    (void)state;
    for (int mode = WEIR_MODE_DROP; mode <= WEIR_MODE_OVERWRITE; mode++) {
        struct weir_session *session = start((enum weir_mode)mode, LATE_MS);
        run_all();
        if (mode == WEIR_MODE_OVERWRITE)
            for (int i = 0; i < 2; i++) {
                struct found found = names_in_snapshot(session);
                expect_all(&found);
            }
        struct found found = names_at_stop(session);
        expect_all(&found);
    }
}

/* A thread that renames itself when it has emitted, and goes. */
static void test_last_words(void **state)
{
    (void)state;
    struct weir_session *session = start(WEIR_MODE_DROP, LATE_MS);
    run((struct job){.tag = 1, .own = "first", .later = "last"});
    struct found found = names_at_stop(session);
    expect(&found, 1, "last", NULL);
}

/* --- Names that change. ---------------------------------------------------------------------- */

struct stage {
    sem_t reached, go;
};

static void stage_wait(struct stage *stage)
{
    sem_post(&stage->reached);
    sem_wait(&stage->go);
}

static void *rename_by_host(void *argument)
{
    assert_int_equal(weir_thread_name_set("first"), WEIR_OK);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
    stage_wait(argument);
    assert_int_equal(weir_thread_name_set("second"), WEIR_OK);
    stage_wait(argument);
    return NULL;
}

static void *rename_by_system(void *argument)
{
    name_own("first");
    assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
    stage_wait(argument);
    name_own("second");
    stage_wait(argument);
    return NULL;
}

/* Stops the session, and in mode OVERWRITE also takes a snapshot, while the thread is there. */
static void check_rename(void *(*body)(void *stage), enum weir_mode mode)
{
    struct stage stage;
    pthread_t thread;
    sem_init(&stage.reached, 0, 0);
    sem_init(&stage.go, 0, 0);
    struct weir_session *session = start(mode, SOON_MS);
    assert_int_equal(pthread_create(&thread, NULL, body, &stage), 0);
    sem_wait(&stage.reached);
    struct found found = {0};
    if (mode == WEIR_MODE_OVERWRITE) {
        found = names_in_snapshot(session);
        expect(&found, 1, "first", NULL);
    } else {
        while (unit_stats(session).sequence_points < 3) /* begin, introduction, look */
            usleep(1000);
    }
    sem_post(&stage.go);
    sem_wait(&stage.reached);
    found = names_at_stop(session);
    if (mode == WEIR_MODE_OVERWRITE)
        expect(&found, 1, "second", NULL);
    else
        expect(&found, 1, "first", "second");
    sem_post(&stage.go);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sem_destroy(&stage.reached);
    sem_destroy(&stage.go);
}

static void test_renamed_by_the_host(void **state)
{
    (void)state;
    for (int mode = WEIR_MODE_DROP; mode <= WEIR_MODE_OVERWRITE; mode++)
        check_rename(rename_by_host, (enum weir_mode)mode);
}

static void test_renamed_in_the_system(void **state)
{
    (void)state;
    for (int mode = WEIR_MODE_DROP; mode <= WEIR_MODE_OVERWRITE; mode++)
        check_rename(rename_by_system, (enum weir_mode)mode);
}

/* More threads than the drain asks for in one look. */
#define CROWD       100u
#define WAIT_MS_MAX 60000

static struct crowd {
    uint64_t named, is_over; /* atomic */
    pthread_barrier_t begun, introduced;
} crowd;

static bool count_names(void *context, const void *bytes, size_t count)
{
    static const char name[] = "s\0e\0c\0o\0n\0d\0";
    (void)context;
    for (const char *at = bytes, *end = at + count; (size_t)(end - at) >= sizeof name; at++)
        if (memcmp(at, name, sizeof name) == 0)
            __atomic_fetch_add(&crowd.named, 1, __ATOMIC_RELAXED);
    return true;
}

static void *rename_and_go_on(void *unused)
{
    (void)unused;
    name_own("first");
    assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
    pthread_barrier_wait(&crowd.begun);
    pthread_barrier_wait(&crowd.introduced);
    name_own("second");
    for (; !__atomic_load_n(&crowd.is_over, __ATOMIC_RELAXED); usleep(5000))
        WEIR_EMIT(Unit, Plain);
    return NULL;
}

static void test_crowd_renamed_in_the_system(void **state)
{
    (void)state;
    pthread_t threads[CROWD];
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = count_names;
    config.flush_ms = SOON_MS;
    config.budget_bytes = 16u << 20;
    struct weir_session *session = unit_start(&config);
    pthread_barrier_init(&crowd.begun, NULL, CROWD + 1);
    pthread_barrier_init(&crowd.introduced, NULL, CROWD + 1);
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, rename_and_go_on, NULL), 0);
    pthread_barrier_wait(&crowd.begun);
    uint64_t points = unit_stats(session).sequence_points + 3;
    for (; unit_stats(session).sequence_points < points; usleep(1000))
        WEIR_EMIT(Unit, Plain);
    pthread_barrier_wait(&crowd.introduced);
    for (int ms = 0; ms < WAIT_MS_MAX && __atomic_load_n(&crowd.named, __ATOMIC_RELAXED) < CROWD;
         ms++)
        usleep(1000);
    uint64_t named = __atomic_load_n(&crowd.named, __ATOMIC_RELAXED);
    __atomic_store_n(&crowd.is_over, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    assert_int_equal(named, CROWD); /* while they ran: each thread leaves its name when it ends */
}

/* Without files, and so without /proc, a thread still has the name that it had for its first event. */
static void test_without_files(void **state)
{
    (void)state;
    struct rlimit files, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int mode = WEIR_MODE_DROP; mode <= WEIR_MODE_OVERWRITE; mode++) {
        name_own("first");
        struct weir_session *session = start((enum weir_mode)mode, LATE_MS);
        assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
        name_own("not seen");
        struct found found = names_at_stop(session);
        expect(&found, 1, "first", NULL);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/* A sink that looks for a name. */
struct finder {
    struct unit_bytes bytes;
    uint32_t is_found; /* ANY */
};

static bool find(void *context, const void *bytes, size_t count)
{
    static const uint16_t name[] = {'s', 'e', 'c', 'o', 'n', 'd'};
    struct finder *finder = context;
    bool is_kept = unit_append(&finder->bytes, bytes, count);
    if (memmem(finder->bytes.at, finder->bytes.count, name, sizeof name))
        __atomic_store_n(&finder->is_found, 1, __ATOMIC_RELEASE);
    return is_kept;
}

/* While a thread goes on emitting, its new name does not wait for the stop: at most a second. */
static void test_renamed_while_it_emits(void **state)
{
    (void)state;
    static struct finder finder;
    struct weir_session_config config = unit_config();
    config.flush_ms = SOON_MS;
    config.memory_bytes_max = 0;
    config.sink.write = find;
    config.sink.context = &finder;
    struct weir_session *session = unit_start(&config);
    name_own("first");
    assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
    while (unit_stats(session).sequence_points < 3)
        usleep(1000);
    name_own("second");
    while (!__atomic_load_n(&finder.is_found, __ATOMIC_ACQUIRE)) {
        assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
        usleep(5000);
    }
    name_own("first");
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    struct found found = {0};
    unit_read(finder.bytes.at, finder.bytes.count, handlers, &found);
    assert_int_equal(found.count, 2);
    const struct named *thread = &found.threads[found.threads[0].tag == 1 ? 0 : 1];
    assert_int_equal(thread->count, 3);
    assert_string_equal(thread->names[2], "first");
}

/* --- Threads before, between and after sessions. --------------------------------------------- */

static void test_named_before_any_session(void **state)
{
    (void)state;
    assert_int_equal(weir_thread_name_set("given early"), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        struct weir_session *session = start(WEIR_MODE_DROP, LATE_MS);
        assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
        struct found found = names_at_stop(session);
        expect(&found, 1, "given early", NULL);
    }
    for (int i = 0; i < 2; i++) {
        name_own("of the system");
        assert_int_equal(weir_thread_name_set(i == 0 ? NULL : ""), WEIR_OK);
        struct weir_session *session = start(WEIR_MODE_DROP, LATE_MS);
        assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
        struct found found = names_at_stop(session);
        expect(&found, 1, "of the system", NULL);
    }
}

/* The record of a thread that is gone does not pass its name on. */
static void test_record_with_another_thread(void **state)
{
    (void)state;
    struct weir_session *session = start(WEIR_MODE_DROP, LATE_MS);
    run((struct job){.tag = 1, .given = "former"});
    (void)names_at_stop(session);
    session = start(WEIR_MODE_DROP, LATE_MS);
    for (uint64_t tag = 1; tag <= 4; tag++)
        run((struct job){.tag = tag, .own = "later"});
    struct found found = names_at_stop(session);
    for (uint64_t tag = 1; tag <= 4; tag++)
        expect(&found, tag, "later", NULL);
}

static void in_child(void)
{
    struct weir_session *session = start(WEIR_MODE_DROP, LATE_MS);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
    struct found found = names_at_stop(session);
    expect(&found, 1, "forks", NULL);
}

static void test_child(void **state)
{
    (void)state;
    int status = -1;
    assert_int_equal(weir_thread_name_set("forks"), WEIR_OK);
    unit_await_end_of_threads();
    pid_t child = fork();
    if (child == 0) {
        in_child(); /* a failed assertion leaves by another way, with another code */
        _exit(7);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(weir_thread_name_set(NULL), WEIR_OK);
}

/* --- Calls that fail. ------------------------------------------------------------------------ */

/* The first test: no thread of the process has a record yet, so the first one needs a page. */
static void test_without_memory(void **state)
{
    (void)state;
    failing_begin(0, FAILING_CALLER);
    assert_int_equal(weir_thread_name_set("not kept"), WEIR_NO_MEMORY);
    assert_int_equal(failing_end(), 1);
    name_own("kept");
    struct weir_session *session = start(WEIR_MODE_DROP, LATE_MS);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 0));
    struct found found = names_at_stop(session);
    expect(&found, 1, "kept", NULL);
}

static enum weir_result in_callback;

static bool name_the_drain(void *context, const void *bytes, size_t count)
{
    in_callback = weir_thread_name_set("drain");
    return unit_discard(context, bytes, count);
}

static void test_in_a_callback_of_the_drain(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = name_the_drain;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(in_callback, WEIR_BAD_STATE);
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_threads_that_are_gone),
        cmocka_unit_test(test_last_words),
        cmocka_unit_test(test_renamed_by_the_host),
        cmocka_unit_test(test_renamed_in_the_system),
        cmocka_unit_test(test_crowd_renamed_in_the_system),
        cmocka_unit_test(test_without_files),
        cmocka_unit_test(test_renamed_while_it_emits),
        cmocka_unit_test(test_named_before_any_session),
        cmocka_unit_test(test_record_with_another_thread),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_in_a_callback_of_the_drain),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
