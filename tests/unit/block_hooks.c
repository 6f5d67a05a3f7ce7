/*
 * The host's hooks around the waits of mode BLOCK and of control calls. "Full" means: the sink
 * blocks, and this thread has emitted in a no-block scope until an event was refused.
 */
#define _GNU_SOURCE
#include "unit.h"
#include "wait/strategies.h"

#include <errno.h>
#include <gate.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT    4096u
#define SEGMENTS   16u
#define ERRNO_MARK 123

static uint64_t get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void add(uint64_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL);
}

static bool await(const uint64_t *word, uint64_t value)
{
    for (int ms = 0; ms < 20000 && get(word) < value; ms++)
        usleep(1000);
    return get(word) >= value;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- The host. ------------------------------------------------------------------------------- */

static __thread uint64_t own_before, own_after; /* calls on this thread */
static uint64_t all_before, all_after;          /* ANY */
static uint64_t is_held;                        /* ANY: after does not return */
static uint64_t before_ns;                      /* ANY: how long `before` takes */
static __thread bool is_native;                 /* a thread without the host's lock */

static void before(void *context)
{
    assert_ptr_equal(context, &all_before);
    assert_int_equal(own_before, own_after);
    own_before++;
    add(&all_before);
    assert_false(WEIR_EMIT(Unit, Pair, 7, 8));
    for (uint64_t end_ns = now_ns() + get(&before_ns); now_ns() < end_ns;)
        usleep(1000);
    errno = EBADF;
}

static void after(void *context)
{
    assert_ptr_equal(context, &all_before);
    own_after++;
    assert_int_equal(own_before, own_after);
    add(&all_after);
    while (get(&is_held) && !is_native)
        usleep(500);
    assert_false(WEIR_EMIT(Unit, Pair, 7, 8));
    errno = EBADF;
}

static void hooks_set(void)
{
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    hooks.before = before;
    hooks.after = after;
    hooks.context = &all_before;
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    own_before = own_after = 0;
    set(&all_before, 0);
    set(&all_after, 0);
    set(&is_held, 0);
    set(&before_ns, 0);
}

static void hooks_remove(void)
{
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
    assert_int_equal(get(&all_before), get(&all_after));
}

/* --- A session whose sink blocks. ------------------------------------------------------------ */

static struct gate gate = GATE_INIT;

static bool write_through_gate(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    gate_pass(&gate, count);
    return true;
}

static struct weir_session_config gate_config(enum weir_wake wake)
{
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.wake = wake;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = (uint64_t)SEGMENTS * SEGMENT;
    config.grant_bytes = wake == WEIR_WAKE_RELAY ? SEGMENT : 0;
    config.memory_bytes_max = 0;
    config.sink.write = write_through_gate;
    config.flush_ms = 1;
    config.stop_ms_max = 20000;
    return config;
}

/* Returns with the gate closed and the counts of hook calls at 0. */
static struct weir_session *start_full(const struct weir_session_config *config)
{
    gate_close(&gate);
    struct weir_session *session = unit_start(config);
    uint64_t calls = get(&all_before);
    weir_no_block_begin();
    for (int quiet = 0; quiet < 20; quiet++, usleep(2000))
        for (; WEIR_EMIT(Unit, Pair, 0, 0); quiet = 0) {
        }
    weir_no_block_end();
    assert_int_equal(unit_stats(session).budget_bytes_used, config->budget_bytes);
    assert_int_equal(get(&all_before), calls); /* a no-block scope never waits */
    own_before = own_after = 0;
    set(&all_before, 0);
    set(&all_after, 0);
    return session;
}

static void wait_parked(struct weir_session *session, uint64_t threads)
{
    for (int ms = 0; ms < 20000 && unit_stats(session).parked_now != threads; ms++)
        usleep(1000);
    assert_int_equal(unit_stats(session).parked_now, threads);
}

/* One event, emitted by a new thread. */
struct one {
    pthread_t thread;
    bool is_written;
    enum weir_loss loss; /* unless it is written */
    uint64_t before, after;
    uint64_t took_ns;
};

static void *emit_one(void *argument)
{
    struct one *one = argument;
    uint64_t start_ns = now_ns();
    errno = ERRNO_MARK;
    one->is_written = WEIR_EMIT(Unit, Pair, 1, 2);
    assert_int_equal(errno, ERRNO_MARK);
    one->loss = weir_last_loss();
    one->took_ns = now_ns() - start_ns;
    one->before = own_before;
    one->after = own_after;
    return NULL;
}

static void ones_start(struct one *ones, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&ones[i].thread, NULL, emit_one, &ones[i]), 0);
}

static void ones_join(struct one *ones, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(ones[i].thread, NULL), 0);
}

/* --- Which hooks may be set, and when. ------------------------------------------------------- */

static void test_arguments(void **state)
{
    (void)state;
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    hooks.before = before;
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_BAD_ARGUMENT);
    hooks.before = NULL;
    hooks.after = after;
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_BAD_ARGUMENT);
    hooks.before = before;
    hooks.size--;
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_BAD_ARGUMENT);
    hooks.size++;
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
}

static uint64_t other_calls; /* ANY */

static void other_hook(void *context)
{
    (void)context;
    add(&other_calls);
}

static void test_set_during_a_wait(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_WAKE_FIFO);
    struct weir_park_hooks others = WEIR_PARK_HOOKS_INIT;
    struct one one = {.before = 0};
    others.before = others.after = other_hook;
    hooks_set();
    struct weir_session *session = start_full(&config);
    ones_start(&one, 1);
    wait_parked(session, 1);
    assert_true(await(&all_before, 1));
    assert_int_equal(weir_park_hooks_set(&others), WEIR_OK);
    gate_open(&gate);
    ones_join(&one, 1);
    assert_true(one.is_written);
    assert_int_equal(one.before, 1);
    assert_int_equal(one.after, 1);
    assert_int_equal(get(&other_calls), 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(get(&other_calls), 2);
    hooks_remove();
    weir_session_destroy(session);
}

/* --- Each way in which a wait ends. ---------------------------------------------------------- */

enum ending { GRANTED, DEADLINE, ABORTED, ENDINGS };

static void *stop(void *session)
{
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_true(own_before == 1 && own_after == 1);
    return NULL;
}

static void one_wait(enum weir_wake wake, enum ending ending)
{
    struct weir_session_config config = gate_config(wake);
    struct one one = {.before = 0};
    pthread_t stopper;
    hooks_set();
    config.max_block_ns = ending == DEADLINE ? 20000000 : 0;
    struct weir_session *session = start_full(&config);
    ones_start(&one, 1);
    if (ending != DEADLINE)
        wait_parked(session, 1);
    if (ending == GRANTED)
        gate_open(&gate);
    if (ending == ABORTED)
        assert_int_equal(pthread_create(&stopper, NULL, stop, session), 0);
    ones_join(&one, 1);
    if (ending != ABORTED) /* otherwise the event may be off before a hook emits */
        assert_int_equal(unit_counts(session).lost[WEIR_LOSS_NESTED], 2);
    gate_open(&gate);
    if (ending != ABORTED)
        assert_int_equal(pthread_create(&stopper, NULL, stop, session), 0);
    assert_int_equal(pthread_join(stopper, NULL), 0);
    assert_int_equal(one.is_written, ending == GRANTED);
    if (ending != GRANTED)
        assert_int_equal(one.loss, ending == DEADLINE ? WEIR_LOSS_DEADLINE : WEIR_LOSS_ABORTED);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_DEADLINE], ending == DEADLINE);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_ABORTED], ending == ABORTED);
    assert_true(one.before == 1 && one.after == 1);
    hooks_remove();
    weir_session_destroy(session);
}

static void test_each_end(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++)
        for (int ending = 0; ending < ENDINGS; ending++)
            one_wait((enum weir_wake)wake, (enum ending)ending);
}

static struct weir_park told;

/* on_park runs between the hooks, and so do the waits that it causes itself. */
static void on_park(void *context, const struct weir_park *park)
{
    (void)context;
    told = *park;
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    assert_int_equal(own_before, own_after + 1);
}

/* Four deadlines pass in the before hook; none of that time counts. */
static void test_hooks_take_no_time(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        struct one one = {.before = 0};
        config.max_block_ns = 30000000;
        config.on_park = on_park;
        hooks_set();
        struct weir_session *session = start_full(&config);
        set(&before_ns, 4 * config.max_block_ns);
        ones_start(&one, 1);
        ones_join(&one, 1);
        set(&before_ns, 0);
        assert_int_equal(one.loss, WEIR_LOSS_DEADLINE);
        assert_true(told.parked_ns >= config.max_block_ns);
        assert_true(one.took_ns >= 5 * config.max_block_ns);
        gate_open(&gate);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        hooks_remove();
        weir_session_destroy(session);
    }
}

/* --- Granted while in the after hook. -------------------------------------------------------- */

/* As many threads as segments; each has been granted one, and none uses it. */
static struct weir_session *start_held(const struct weir_session_config *config, struct one *ones)
{
    hooks_set();
    struct weir_session *session = start_full(config);
    set(&is_held, 1);
    ones_start(ones, SEGMENTS);
    wait_parked(session, SEGMENTS);
    gate_open(&gate);
    assert_true(await(&all_after, SEGMENTS));
    wait_parked(session, 0);
    return session;
}

static void test_grants_are_revoked(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        struct one ones[SEGMENTS] = {{.before = 0}};
        config.max_block_ns = UINT64_C(10000000000); /* instead of waiting for ever */
        struct weir_session *session = start_held(&config, ones);
        assert_int_equal(unit_stats(session).budget_bytes_used, config.budget_bytes);
        is_native = true;
        assert_true(WEIR_EMIT(Unit, Pair, 3, 4));
        is_native = false;
        assert_int_equal(own_before, 1); /* it waited for segments of the others */
        uint64_t parks = unit_stats(session).parks;
        set(&is_held, 0);
        ones_join(ones, SEGMENTS);
        for (uint32_t i = 0; i < SEGMENTS; i++)
            assert_true(ones[i].is_written && ones[i].before == ones[i].after);
        /* What was taken back is free, except this thread's one segment. */
        assert_true(unit_stats(session).parks <= parks + 1);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        struct weir_counts counts = unit_counts(session);
        assert_int_equal(counts.attempted, counts.written + counts.lost[WEIR_LOSS_FULL] +
                                               counts.lost[WEIR_LOSS_NESTED]);
        hooks_remove();
        weir_session_destroy(session);
    }
}

/* The stop returns and the session is freed while threads are in the hook. The slot's next session
 * is not affected. */
static void test_stop_does_not_wait_for_the_hook(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        struct one ones[SEGMENTS] = {{.before = 0}};
        struct weir_session *session = start_held(&config, ones);
        is_native = true;
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(unit_counts(session).lost[WEIR_LOSS_ABORTED], SEGMENTS);
        weir_session_destroy(session);
        session = unit_start(&config);
        is_native = false;
        set(&is_held, 0);
        ones_join(ones, SEGMENTS);
        for (uint32_t i = 0; i < SEGMENTS; i++)
            assert_true(!ones[i].is_written && ones[i].loss == WEIR_LOSS_ABORTED);
        struct weir_counts counts = unit_counts(session);
        assert_int_equal(counts.attempted, counts.lost[WEIR_LOSS_NESTED]);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        hooks_remove();
        weir_session_destroy(session);
    }
}

/* --- Control calls. -------------------------------------------------------------------------- */

/* The sink needs the lock that the calling thread releases in its hook. */
static bool write_after_hook(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return await(context, 1);
}

static void test_stop_and_destroy(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_WAKE_RELAY);
    config.sink.write = write_after_hook;
    config.sink.context = &all_before;
    for (int destroys = 0; destroys < 2; destroys++) {
        struct weir_session *session = unit_start(&config);
        hooks_set();
        if (!destroys) {
            assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
            assert_int_equal(own_before, 1);
            assert_int_equal(weir_session_stop(session, NULL), WEIR_OK); /* nothing to wait for */
        }
        weir_session_destroy(session);
        assert_int_equal(own_before, 1);
        assert_int_equal(own_after, 1);
        hooks_remove();
    }
}

static void test_snapshot(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_sink sink = WEIR_SINK_INIT;
    config.mode = WEIR_MODE_OVERWRITE;
    sink.write = write_after_hook;
    sink.context = &all_before;
    struct weir_session *session = unit_start(&config);
    hooks_set();
    assert_int_equal(weir_session_snapshot(session, &sink, 0, NULL), WEIR_OK);
    assert_int_equal(own_before, 1);
    assert_int_equal(own_after, 1);
    sink.write = NULL;
    assert_int_equal(weir_session_snapshot(session, &sink, 0, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(own_before, 1);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    hooks_remove();
    weir_session_destroy(session);
}

/* A start may or may not have to wait. */
static void test_start(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    hooks_set();
    for (int i = 0; i < 200 && own_before == 0; i++) {
        struct weir_session *session = unit_start(&config);
        uint64_t calls = own_before;
        assert_true(calls <= 1 && own_after == calls);
        weir_no_block_begin(); /* a scope calls no hooks */
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        weir_no_block_end();
        assert_int_equal(own_before, calls);
        weir_session_destroy(session);
    }
    assert_int_equal(own_before, 1);
    hooks_remove();
}

/* --- A child that is forked in a hook. ------------------------------------------------------- */

static int fork_in; /* 1: before, 2: after */
static __thread pid_t forked;
static __thread uint64_t fork_calls;

static void fork_before(void *context)
{
    (void)context;
    fork_calls++;
    if (fork_in == 1)
        forked = fork();
}

static void fork_after(void *context)
{
    (void)context;
    fork_calls += 100;
    if (fork_in == 2)
        forked = fork();
}

/* In the child the call returns, and calls its after hook. */
static void *emit_and_fork(void *argument)
{
    struct one *one = argument;
    forked = -1;
    fork_calls = 0;
    one->is_written = WEIR_EMIT(Unit, Pair, 1, 2);
    if (forked == 0)
        _exit(one->is_written || fork_calls != 101 || WEIR_EMIT(Unit, Pair, 1, 2) ? 1 : 0);
    int status = -1;
    assert_int_equal(waitpid(forked, &status, 0), forked);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(fork_calls, 101);
    return NULL;
}

static void test_fork_in_a_hook(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++)
        for (fork_in = 1; fork_in <= 2; fork_in++) {
            struct weir_session_config config = gate_config((enum weir_wake)wake);
            struct weir_park_hooks hooks = {sizeof hooks, fork_before, fork_after, NULL};
            struct one one = {.before = 0};
            struct weir_session *session = start_full(&config);
            assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
            assert_int_equal(pthread_create(&one.thread, NULL, emit_and_fork, &one), 0);
            wait_parked(session, 1);
            gate_open(&gate);
            ones_join(&one, 1);
            assert_true(one.is_written);
            assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
            assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
            weir_session_destroy(session);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_set_during_a_wait),
        cmocka_unit_test(test_each_end),
        cmocka_unit_test(test_hooks_take_no_time),
        cmocka_unit_test(test_grants_are_revoked),
        cmocka_unit_test(test_stop_does_not_wait_for_the_hook),
        cmocka_unit_test(test_stop_and_destroy),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_fork_in_a_hook),
    };
    return cmocka_run_group_tests_name("block_hooks", tests, unit_setup, NULL);
}
