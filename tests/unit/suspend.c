/* Threads that are suspended inside the library, as a debugger or a freezer does it: what others
 * may still do, and for how long they wait. */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* A page that cannot be read until `go_on` is posted: a thread that emits a string from it stands
 * in the middle of its event, inside its pin. */
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
    struct sigaction action = {.sa_handler = on_fault}; /* cmocka has its own in each test */
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

/* A stop that waits for a pin of two seconds sleeps a millisecond at a time. */
static void test_a_long_wait_sleeps(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.stop_ms_max = 4000; /* half of it for pins */
    struct weir_session *session = unit_start(&config);
    pthread_t thread = thread_inside();
    long before = switches();
    assert_int_equal(weir_session_stop(session), WEIR_TIMEOUT);
    assert_in_range(switches() - before, 10, 3000);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_int_equal(weir_session_stop(session), WEIR_IO); /* its event came after the end */
    weir_session_destroy(session);
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
        cmocka_unit_test(test_a_long_wait_sleeps),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
