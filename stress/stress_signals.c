/*
 * Signal handlers that emit at any point of an emit of the interrupted thread: no record is torn,
 * no thread waits for itself, and each attempt is written or counted as lost, as its return value
 * says. If a handler interrupts the library, its event is counted as NESTED.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Per thread: its normal code, the timer's handler, the other thread's signal. The second handler
 * may interrupt the first. */
enum { SOURCE_NORMAL, SOURCE_TIMER, SOURCE_KILL, SOURCES };

#define HANDLER_EVENTS_MAX 2000000u
#define NORMAL_EVENTS_MAX  20000000u
#define ERRNO_MARK         123

static uint64_t threads = 4, run_ms = 3000, timer_us = 50;
static struct hs_trace trace;
static struct hs_emitter *emitters;
static bool is_over;                    /* ANY */
static __thread struct hs_emitter *own; /* the first of the thread's SOURCES emitters */

struct target {
    pthread_t thread;
    struct hs_emitter *own;
    bool is_ready; /* ANY */
};

static void handler(int signal)
{
    int saved = errno;
    struct hs_emitter *mine = own;
    if (mine) {
        errno = ERRNO_MARK;
        hs_emit(&mine[signal == SIGPROF ? SOURCE_TIMER : SOURCE_KILL], HS_FIXED);
        hs_check(errno == ERRNO_MARK, "emit in a handler changed errno to %d", errno);
    }
    errno = saved;
}

static timer_t timer_begin(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event.sigev_notify_thread_id = gettid();
    struct itimerspec spec = {.it_interval = {0, (long)timer_us * 1000},
                              .it_value = {0, (long)timer_us * 1000}};
    hs_check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create: %s",
             strerror(errno));
    hs_check(timer_settime(timer, 0, &spec, NULL) == 0, "timer_settime: %s", strerror(errno));
    return timer;
}

/* SIGUSR1 is sent only while the target is ready: a thread that has exited must not be
 * signalled. */
static void *emit_flat_out(void *argument)
{
    struct target *target = argument;
    own = target->own;
    timer_t timer = timer_begin();
    __atomic_store_n(&target->is_ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 64; i++) {
            errno = ERRNO_MARK;
            hs_emit(&own[SOURCE_NORMAL], HS_MIX);
            hs_check(errno == ERRNO_MARK, "emit changed errno to %d", errno);
        }
        if (own[SOURCE_NORMAL].attempts == NORMAL_EVENTS_MAX)
            break;
    }
    timer_delete(timer);
    return NULL;
}

static void shoot(struct target *targets, uint64_t until_ns)
{
    for (uint64_t at = 0; hs_now_ns() < until_ns; at = (at + 1) % threads) {
        if (__atomic_load_n(&targets[at].is_ready, __ATOMIC_ACQUIRE))
            pthread_kill(targets[at].thread, SIGUSR1);
        if (at == 0)
            hs_sleep_us(30);
    }
}

static void round_run(struct target *targets)
{
    hs_emitters_reset(emitters, (uint32_t)threads * SOURCES);
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    struct weir_session_config config = hs_trace_config(256u << 10);
    config.flush_ms = 5;
    if (!hs_trace_start(&trace, config, HS_SINK_FILE, NULL))
        return;
    for (uint64_t i = 0; i < threads; i++) {
        targets[i] = (struct target){.own = &emitters[i * SOURCES]};
        hs_thread_start(&targets[i].thread, emit_flat_out, &targets[i]);
    }
    shoot(targets, hs_now_ns() + run_ms * 1000000);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_join(targets[i].thread);
    if (hs_trace_stop(&trace))
        hs_oracle_run(emitters, (uint32_t)threads * SOURCES, &trace);
    for (uint64_t i = 0; i < threads * SOURCES; i++)
        hs_figure_add(i % SOURCES ? "handler_attempts" : "normal_attempts",
                      (double)emitters[i].attempts);
    for (uint64_t i = 0; i < threads * SOURCES; i++)
        if (i % SOURCES)
            hs_figure_add("handler_written", (double)emitters[i].written);
    hs_figure_add("nested", (double)trace.stats.counts.lost[WEIR_LOSS_NESTED]);
    hs_check(trace.stats.counts.lost[WEIR_LOSS_NESTED] > 0,
             "no handler interrupted an emit, so nothing was tested");
    hs_trace_end(&trace);
}

static void emitters_make(void)
{
    emitters = hs_emitters_new((uint32_t)threads * SOURCES, 1);
    for (uint64_t i = 0; i < threads * SOURCES; i++) {
        uint64_t capacity = i % SOURCES ? HANDLER_EVENTS_MAX : NORMAL_EVENTS_MAX;
        free(emitters[i].is_written);
        free(emitters[i].is_seen);
        emitters[i].is_shared = true;
        emitters[i].capacity = capacity;
        emitters[i].is_written = hs_allocate(capacity / 8 + 8);
        emitters[i].is_seen = hs_allocate(capacity / 8 + 8);
    }
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "that are interrupted", &threads, NULL},
        {"ms", "length of a round", &run_ms, NULL},
        {"timer-us", "time between two signals of a timer", &timer_us, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Handlers that emit interrupt threads that emit.", options);
    hs_emitters_init();
    emitters_make();
    struct target *targets = hs_allocate(threads * sizeof *targets);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    do {
        round_run(targets);
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_emitters_free(emitters, (uint32_t)threads * SOURCES);
    free(targets);
    return hs_finish();
}
