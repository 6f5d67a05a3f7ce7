/*
 * Emitters inside their pins: the barrier that makes pins visible is really issued, and an event
 * that leaves its pin after the end of the stream is counted as unwritten.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include "base/atomic.h"
#include "lane/thread.h"
#include "os/os.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* --- The barrier. The linker puts this in front of the library's system calls. --------------- */

static struct wr_u64 barriers_done;         /* by all threads */
static _Thread_local unsigned own_barriers; /* issued by this thread */

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result = __real_syscall(number, a, b, c, d, e, f);
    if (number == SYS_membarrier && a == MEMBARRIER_CMD_PRIVATE_EXPEDITED && result == 0) {
        wr_u64_add_relaxed(&barriers_done, 1); /* relaxed: a count */
        own_barriers++;
    }
    return result;
}

static void test_barrier_is_a_membarrier(void **state)
{
    (void)state;
    if (!wr_os_membarrier_register())
        skip();
    unsigned before = own_barriers;
    (void)wr_os_membarrier();
    assert_int_equal(own_barriers - before, 1);
}

/* A stop issues one barrier before the drain reads the rest, and one before lanes are freed. */
static void test_stop_has_two(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    if (!wr_thread_fast)
        skip();
    Unit_Plain();
    unsigned own = own_barriers;
    uint64_t all = wr_u64_load_relaxed(&barriers_done);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(own_barriers - own, 2);
    assert_true(wr_u64_load_relaxed(&barriers_done) - all > 2); /* the drain's, for its point */
    weir_session_destroy(session);
}

/* --- A thread that is held inside its pin, where it reads its event's payload. --------------- */

static void *page;
static struct wr_u32 is_held, may_go;

static void hold(int signal)
{
    (void)signal;
    wr_u32_store_release(&is_held, 1);
    while (!wr_u32_load_acquire(&may_go))
        pause_briefly();
    mprotect(page, 4096, PROT_READ);
}

static void *emit_and_be_held(void *written)
{
    *(bool *)written = weir_emit(&weir_events_Unit.Pair, page);
    return NULL;
}

/* The drain's one write after the rundown is the end of the stream. */
struct end {
    bool has_run_down; /* DRAIN */
    struct wr_u32 is_written;
};

static void run_down(void *context, struct weir_session *session)
{
    (void)session;
    ((struct end *)context)->has_run_down = true;
}

static bool note_end(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    struct end *end = context;
    if (end->has_run_down)
        wr_u32_store_release(&end->is_written, 1);
    return true;
}

static void wait_for(const struct wr_u32 *word)
{
    while (!wr_u32_load_acquire(word))
        pause_briefly();
}

/* The stop gives up on the thread. The event is in no file and does not count as written. */
static void test_event_behind_the_end(void **state)
{
    (void)state;
    bool is_written = false;
    struct end end = {0};
    struct sigaction action = {.sa_handler = hold}, before;
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = note_end;
    config.rundown = run_down;
    config.sink.context = config.rundown_context = &end;
    config.stop_ms_max = 20;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, &before);
    struct weir_session *session = unit_start(&config);
    pthread_t thread;
    Unit_Plain();
    assert_int_equal(pthread_create(&thread, NULL, emit_and_be_held, &is_written), 0);
    wait_for(&is_held);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    wait_for(&end.is_written);
    wr_u32_store_release(&may_go, 1);
    pthread_join(thread, NULL);
    sigaction(SIGSEGV, &before, NULL);
    assert_true(is_written);
    enum weir_result result;
    while ((result = weir_session_stop(session, NULL)) == WEIR_TIMEOUT)
        pause_briefly();
    assert_int_equal(result, WEIR_IO);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, 2);
    assert_int_equal(counts.written, 1);
    assert_int_equal(counts.lost[WEIR_LOSS_SINK_FAILED], 1);
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_is_a_membarrier),
        cmocka_unit_test(test_stop_has_two),
        cmocka_unit_test(test_event_behind_the_end),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
