/* Threads that are suspended inside the library, as by a debugger or a freezer: what other threads
 * can still do, and how long they wait. */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "buffers/modes.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* A page that is unreadable until `go_on` is posted. A thread that emits a string from it stops in
 * the middle of its event, inside its pin. */
static char *page;
static sem_t is_inside, go_on;

static void on_fault(int signal)
{
    (void)signal;
    sem_post(&is_inside);
    while (sem_wait(&go_on) != 0) {
    }
    mprotect(page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE);
}

static void *emit_from_page(void *argument)
{
    (void)argument;
    return (void *)(uintptr_t)Unit_Text(page);
}

static pthread_t thread_inside(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_fault}; /* cmocka installs its own for each test */
    sigaction(SIGSEGV, &action, NULL);
    mprotect(page, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    assert_int_equal(pthread_create(&thread, NULL, emit_from_page, NULL), 0);
    while (sem_wait(&is_inside) != 0) {
    }
    return thread;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* A stop that waits two seconds for a pin sleeps a millisecond at a time. */
static void test_a_long_wait_sleeps(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.stop_ms_max = 4000; /* half of it is for pins */
    struct weir_session *session = unit_start(&config);
    pthread_t thread = thread_inside();
    long before = switches();
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    assert_in_range(switches() - before, 10, 3000);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_IO); /* its event came after the end */
    weir_session_destroy(session);
}

/* With a cancellation pending, each call still completes. */
static void *control(void *result)
{
    struct weir_session_config config = unit_config();
    struct weir_session *session = NULL;
    config.memory_bytes_max = 0;
    config.sink.file = "cancel.nettrace"; /* opening it is a cancellation point */
    pthread_cancel(pthread_self());
    enum weir_result *results = result;
    results[0] = weir_session_create(&config, &session, NULL);
    results[1] = weir_session_start(session, NULL);
    WEIR_EMIT(Unit, Pair, 1, 2);
    results[2] = weir_session_stop(session, NULL);
    weir_session_destroy(session);
    results[3] = WEIR_OK;
    pthread_testcancel();
    results[3] = WEIR_TIMEOUT;
    return NULL;
}

static void test_cancel_is_pending(void **state)
{
    (void)state;
    enum weir_result results[4] = {WEIR_BUSY, WEIR_BUSY, WEIR_BUSY, WEIR_BUSY};
    pthread_t thread;
    void *end;
    assert_int_equal(pthread_create(&thread, NULL, control, results), 0);
    pthread_join(thread, &end);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    for (int i = 0; i < 4; i++)
        assert_int_equal(results[i], WEIR_OK);
    assert_false(weir_event_is_enabled(&weir_events_Unit.Pair));
    assert_int_equal(unlink("cancel.nettrace"), 0);
}

/* A callback that ends by a jump: the provider is called again, and can be destroyed. */
static jmp_buf out;
static int calls;

static void jump(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)enabled;
    (void)level;
    (void)keywords;
    if (calls++ == 0)
        longjmp(out, 1);
}

static void test_jump_out_of_a_callback(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *volatile session = NULL;
    struct weir_session *created;
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Jumps", jump, NULL, &provider, NULL), WEIR_OK);
    config.providers = "Jumps";
    assert_int_equal(weir_session_create(&config, &created, NULL), WEIR_OK);
    session = created;
    if (setjmp(out) == 0)
        assert_int_equal(weir_session_start(session, NULL), WEIR_OK); /* it jumps */
    weir_thread_reset();
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(calls, 2);
    weir_session_destroy(session);
    weir_provider_destroy(provider);
}

/* A jump out of a fault in a string: the event is lost in the session that wants it, and only there. */
static sigjmp_buf out_of_string;

static void jump_out_of_string(int signal)
{
    (void)signal;
    siglongjmp(out_of_string, 1);
}

static void test_jump_out_of_a_string(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.providers = "Unit:0x1:5";
    struct weir_session *pairs = unit_start(&config);
    config.providers = "Unit:0x2:5";
    struct weir_session *texts = unit_start(&config);
    struct sigaction action = {.sa_handler = jump_out_of_string};
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_true(WEIR_EMIT(Unit, Text, "before"));
    sigaction(SIGSEGV, &action, NULL);
    mprotect(page, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    if (sigsetjmp(out_of_string, 1) == 0)
        assert_false(WEIR_EMIT(Unit, Text, page));
    weir_thread_reset();
    mprotect(page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE);
    assert_true(WEIR_EMIT(Unit, Text, "after"));
    assert_int_equal(weir_session_stop(pairs, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(texts, NULL), WEIR_OK);
    assert_int_equal(unit_counts(pairs).attempted, 1);
    assert_int_equal(unit_counts(texts).written, 2);
    assert_int_equal(unit_counts(texts).lost[WEIR_LOSS_NESTED], 1);
    weir_session_destroy(pairs);
    weir_session_destroy(texts);
}

/* Calls that block signals while they change segments restore the caller's mask. */
static void check_mask(const sigset_t *before)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int i = 1; i < 32; i++)
        assert_int_equal(sigismember(&now, i), sigismember(before, i));
}

static void test_signals_are_let_in(void **state)
{
    (void)state;
    static char large[10000];
    sigset_t before;
    memset(large, 'x', sizeof large - 1);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    for (int mode = 0; mode < WR_MODE_COUNT; mode++) {
        struct weir_session_config config = unit_config();
        config.mode = (enum weir_mode)mode;
        config.block_signals = true;
        config.budget_bytes = 64u << 10;
        config.segment_bytes = 4096;
        struct weir_session *session = unit_start(&config);
        check_mask(&before);
        for (int i = 0; i < 4000; i++) {
            i % 100 ? WEIR_EMIT(Unit, Pair, 1, 2) : WEIR_EMIT(Unit, Text, large);
            check_mask(&before);
        }
        unit_counts(session);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        weir_session_destroy(session);
        check_mask(&before);
    }
}

/* A wait that ends by a jump out of one of the hooks around it. */
static pthread_mutex_t sink = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_full;
static jmp_buf out_of_hook;
static bool jumps_before;

static bool stand_still(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    pthread_mutex_lock(&sink);
    pthread_mutex_unlock(&sink);
    return true;
}

static void hook_before(void *context)
{
    (void)context;
    sem_post(&is_full);
    if (jumps_before)
        longjmp(out_of_hook, 1);
}

static void hook_after(void *context)
{
    (void)context;
    longjmp(out_of_hook, 1);
}

static void *emit_until_jump(void *argument)
{
    uint64_t *volatile attempted = argument;
    if (setjmp(out_of_hook) == 0)
        for (;;) {
            ++*attempted;
            WEIR_EMIT(Unit, Pair, 1, 2);
        }
    if (weir_park_hooks_set(NULL) != WEIR_OK)
        abort();
    weir_thread_reset();
    /* Late for as long as the drain, which was granting room to the wait, does not run. */
    do
        ++*attempted;
    while (!WEIR_EMIT(Unit, Pair, 1, 2) && weir_last_loss() == WEIR_LOSS_DEADLINE);
    return NULL;
}

static void check_jump_out_of_hook(void)
{
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.memory_bytes_max = 0;
    config.sink.write = stand_still;
    config.budget_bytes = 64u << 10;
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    const struct weir_park_hooks hooks = {
        .size = sizeof hooks, .before = hook_before, .after = hook_after};
    pthread_t thread;
    uint64_t attempted = 0;
    pthread_mutex_lock(&sink);
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    assert_int_equal(pthread_create(&thread, NULL, emit_until_jump, &attempted), 0);
    while (sem_wait(&is_full) != 0) {
    }
    pthread_mutex_unlock(&sink);
    pthread_join(thread, NULL);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, attempted);
    assert_int_equal(counts.lost[WEIR_LOSS_NESTED], 1);
    assert_int_equal(counts.written, attempted - 1 - counts.lost[WEIR_LOSS_DEADLINE]);
    struct weir_stats stats = unit_stats(session);
    assert_int_equal(stats.budget_bytes_used, 0);
    assert_int_equal(stats.parked_now, 0);
    weir_session_destroy(session);
}

static void test_jump_out_of_a_hook(void **state)
{
    (void)state;
    sem_init(&is_full, 0, 0);
    jumps_before = true;
    check_jump_out_of_hook();
    jumps_before = false;
    check_jump_out_of_hook();
}

static int setup(void **state)
{
    page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sem_init(&is_inside, 0, 0);
    sem_init(&go_on, 0, 0);
    return page == MAP_FAILED ? -1 : unit_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_wait_sleeps),   cmocka_unit_test(test_cancel_is_pending),
        cmocka_unit_test(test_jump_out_of_a_string), cmocka_unit_test(test_jump_out_of_a_callback),
        cmocka_unit_test(test_jump_out_of_a_hook),   cmocka_unit_test(test_signals_are_let_in),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
