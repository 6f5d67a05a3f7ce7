/*
 * A process that ends while producers are parked in a session whose sink stands still must not
 * hang, however it ends. For each way, this program starts itself as a new process.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "child.h"
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define PRODUCERS 8u
#define MS_MAX    20000

enum way {
    WAY_EXIT,         /* exit(), nothing is stopped */
    WAY_ATEXIT_STOP,  /* a handler of atexit() stops the session, up to its deadline */
    WAY_ATEXIT_OPEN,  /* the same, and the sink resumes meanwhile: the stream becomes whole */
    WAY_LEAVE,        /* _exit() */
    WAY_EXEC,         /* exec() replaces the program */
    WAY_SIGNAL,       /* exit() in a signal handler that interrupts a parked thread */
    WAY_OTHER_THREAD, /* exit() on a thread that does not produce, while main is parked */
    WAYS,
};

static uint64_t way_to_go = WAYS, wake_to_use;
static struct hs_trace trace;
static struct hs_sink_gate gate;
static struct hs_emitter *emitters;

/* --- In the process that ends. --------------------------------------------------------------- */

static void *emit_for_ever(void *argument)
{
    for (;;)
        hs_emit(argument, HS_FIXED);
    return NULL;
}

static void fail_unless(bool holds)
{
    if (!holds)
        _exit(3);
}

static void stop_at_exit(void)
{
    uint64_t start_ns = hs_now_ns();
    if (way_to_go == WAY_ATEXIT_OPEN)
        hs_gate_open(&gate);
    enum weir_result result = weir_session_stop(trace.session, NULL);
    fail_unless(result == (way_to_go == WAY_ATEXIT_OPEN ? WEIR_OK : WEIR_TIMEOUT));
    fail_unless(hs_now_ns() - start_ns < UINT64_C(10000000000));
    uint64_t aborted = hs_stats(trace.session).counts.lost[WEIR_LOSS_ABORTED];
    fail_unless(way_to_go == WAY_ATEXIT_OPEN ? aborted <= PRODUCERS : aborted == PRODUCERS);
    unlink(gate.path);
}

static void exit_in_handler(int number)
{
    (void)number;
    exit(0);
}

static void *exit_soon(void *argument)
{
    (void)argument;
    hs_wait_parked(trace.session, PRODUCERS);
    exit(0);
}

/* Main itself parks, and another thread ends the process. */
static void park_main(void)
{
    pthread_t handle;
    hs_thread_start(&handle, exit_soon, NULL);
    emit_for_ever(&emitters[0]);
}

static void go(pthread_t producer)
{
    if (way_to_go == WAY_LEAVE)
        _exit(0);
    if (way_to_go == WAY_EXEC) {
        execlp("true", "true", (char *)NULL);
        _exit(4);
    }
    if (way_to_go == WAY_SIGNAL) {
        signal(SIGUSR1, exit_in_handler);
        pthread_kill(producer, SIGUSR1);
        for (;;)
            pause();
    }
    exit(0);
}

static void process_end(void)
{
    struct weir_session_config config =
        hs_block_config((enum weir_wake)wake_to_use, 64u << 10, 4096);
    pthread_t handles[PRODUCERS];
    uint32_t first = way_to_go == WAY_OTHER_THREAD ? 1 : 0;
    emitters = hs_emitters_new(PRODUCERS, 10000000);
    hs_gate_init(&gate, NULL);
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    config.stop_ms_max = way_to_go == WAY_ATEXIT_STOP ? 300 : 10000;
    fail_unless(hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL));
    hs_gate_close(&gate);
    if (way_to_go == WAY_ATEXIT_STOP || way_to_go == WAY_ATEXIT_OPEN)
        atexit(stop_at_exit);
    else
        unlink(gate.path);
    for (uint32_t i = first; i < PRODUCERS; i++)
        hs_thread_start(&handles[i], emit_for_ever, &emitters[i]);
    if (way_to_go == WAY_OTHER_THREAD)
        park_main();
    fail_unless(hs_gate_wait(&gate));
    fail_unless(hs_wait_parked(trace.session, PRODUCERS));
    go(handles[0]);
}

/* --- In the parent. -------------------------------------------------------------------------- */

static void way_run(uint64_t way, uint64_t wake)
{
    char way_text[24], wake_text[24];
    snprintf(way_text, sizeof way_text, "%llu", (unsigned long long)way);
    snprintf(wake_text, sizeof wake_text, "%llu", (unsigned long long)wake);
    pid_t child = fork();
    if (child == 0) {
        /* Memory that parked threads hold is not leaked, but nothing frees it either. */
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execl("/proc/self/exe", "stress_block_exit", "--way", way_text, "--wake", wake_text,
              (char *)NULL);
        _exit(errno == 0 ? 2 : 5);
    }
    hs_child_wait(child, MS_MAX, "%s, way %llu", hs_wake_name((enum weir_wake)wake),
                  (unsigned long long)way);
    hs_figure_add("processes", 1);
    hs_progress();
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"way", "in which the process ends, as a number", &way_to_go, NULL},
        {"wake", "its strategy, as a number", &wake_to_use, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Processes that end while producers are parked.", options);
    if (way_to_go < WAYS) {
        hs_emitters_init();
        process_end();
    }
    do {
        for (uint64_t way = 0; way < WAYS; way++)
            for (uint64_t wake = 0; wake < HS_WAKES; wake++)
                way_run(way, wake);
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
