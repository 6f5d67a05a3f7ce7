/*
 * A collector that stops the world: it suspends each mutator with a signal whose handler waits,
 * emits while all of them stand still, wherever that is, and resumes them. Its emit calls must
 * return: a mutator may hold any lock of the library, and does not move until the collector is
 * done.
 *
 * The watchdog reports a collection that hangs; no time is judged.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>
#include "harness.h"

#define SUSPEND_EVENTS(EVENT, P)                                             \
    EVENT(P, Small, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, First), (u64, Second)) \
    EVENT(P, Text, 2, 0, WEIR_LEVEL_INFO, 0x1, (str, Value))
WEIR_PROVIDER(Suspend, SUSPEND_EVENTS)
WEIR_PROVIDER_DEFINE(Suspend, SUSPEND_EVENTS)

#define MUTATORS_MAX     16
#define EMITTED_BY_STOPS 8
#define LONG_FACTOR      40

struct mutator {
    pthread_t thread;
    uint64_t attempted, written;
};

struct scenario {
    const char *name;
    enum weir_mode mode;
    bool in_scope;
    uint64_t max_block_ns;
    bool block_signals;
};

static uint64_t collections = 2500, is_long, mutator_count = 3;
static struct mutator mutators[MUTATORS_MAX];
static struct mutator collector;
static const struct scenario *scenario;
static bool is_over;
static sem_t suspended, started;
static uint64_t epoch; /* odd: the world stands still */
static char text[6000];

/* --- Mutators. ------------------------------------------------------------------------------- */

/* SIGUSR2 wakes it, and is unblocked only here, so that it cannot be lost. */
static void on_suspend(int signal)
{
    (void)signal;
    int error = errno;
    sigset_t mask;
    sigfillset(&mask);
    sigdelset(&mask, SIGUSR2);
    uint64_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
    sem_post(&suspended);
    while (__atomic_load_n(&epoch, __ATOMIC_ACQUIRE) == now)
        sigsuspend(&mask);
    errno = error;
}

static void on_resume(int signal)
{
    (void)signal;
}

static void emit(struct mutator *mutator, uint64_t i)
{
    if (scenario->in_scope)
        weir_no_block_begin();
    mutator->written += i % 64 ? WEIR_EMIT(Suspend, Small, i, i) : WEIR_EMIT(Suspend, Text, text);
    mutator->attempted++;
    if (scenario->in_scope)
        weir_no_block_end();
}

static void *mutate(void *argument)
{
    struct mutator *mutator = argument;
    emit(mutator, 1);
    sem_post(&started);
    for (uint64_t i = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++)
        emit(mutator, i);
    return NULL;
}

/* --- The collector. -------------------------------------------------------------------------- */

static void signal_all(int signal)
{
    for (uint64_t i = 0; i < mutator_count; i++)
        pthread_kill(mutators[i].thread, signal);
}

static void *first_emit(void *argument)
{
    emit(argument, 1);
    return NULL;
}

static void collect(uint64_t number)
{
    __atomic_store_n(&epoch, epoch + 1, __ATOMIC_RELEASE);
    signal_all(SIGUSR1);
    for (uint64_t i = 0; i < mutator_count; i++)
        while (sem_wait(&suspended) != 0) {
        }
    for (uint64_t i = 0; i < EMITTED_BY_STOPS; i++)
        emit(&collector, number + i * 8);
    if (number % 64 == 0) { /* a thread's first event */
        pthread_t thread;
        hs_thread_start(&thread, first_emit, &collector);
        hs_thread_join(thread);
    }
    __atomic_store_n(&epoch, epoch + 1, __ATOMIC_RELEASE);
    signal_all(SIGUSR2);
    hs_progress();
}

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

static struct weir_session *session_start(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session = NULL;
    config.providers = "Suspend";
    config.mode = scenario->mode;
    config.budget_bytes = 256u << 10;
    config.segment_bytes = 4096;
    config.sink.write = discard;
    config.max_block_ns = scenario->max_block_ns;
    config.block_signals = scenario->block_signals;
    config.stop_ms_max = 20000;
    struct weir_error error = {""};
    bool is_started = weir_session_create(&config, &session, &error) == WEIR_OK &&
                      weir_session_start(session, &error) == WEIR_OK;
    hs_check(is_started, "%s", error.text);
    return session;
}

/* Every emitted event was written or lost, as its emit call returned. */
static void session_end(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    enum weir_result result = weir_session_stop(session, NULL);
    uint64_t attempted = collector.attempted, written = collector.written;
    for (uint64_t i = 0; i < mutator_count; i++) {
        attempted += mutators[i].attempted;
        written += mutators[i].written;
    }
    hs_check(weir_session_stats(session, &stats) == WEIR_OK, "%s: stats", scenario->name);
    uint64_t gone = stats.counts.lost[WEIR_LOSS_OVERWRITTEN];
    hs_check(result == WEIR_OK, "%s: the stop returned %d", scenario->name, result);
    hs_check(stats.counts.attempted == attempted, "%s: %llu of %llu events are accounted for",
             scenario->name, (unsigned long long)stats.counts.attempted,
             (unsigned long long)attempted);
    hs_check(stats.counts.written + gone == written, "%s: %llu of %llu events were written",
             scenario->name, (unsigned long long)(stats.counts.written + gone),
             (unsigned long long)written);
    hs_figure_add("events", (double)attempted);
    hs_figure_add("lost", (double)(attempted - written));
    weir_session_destroy(session);
}

static void scenario_run(const struct scenario *which)
{
    scenario = which;
    collector = (struct mutator){.attempted = 0};
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    struct weir_session *session = session_start();
    for (uint64_t i = 0; i < mutator_count; i++) {
        mutators[i] = (struct mutator){.attempted = 0};
        hs_thread_start(&mutators[i].thread, mutate, &mutators[i]);
    }
    /* A thread that is starting holds locks of the C library, which our own threads take when they
     * start. */
    for (uint64_t i = 0; i < mutator_count; i++)
        while (sem_wait(&started) != 0) {
        }
    for (uint64_t i = 0; i < collections * (is_long ? LONG_FACTOR : 1); i++)
        collect(i);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < mutator_count; i++)
        hs_thread_join(mutators[i].thread);
    session_end(session);
    hs_figure_add("collections", (double)(collections * (is_long ? LONG_FACTOR : 1)));
}

static const struct scenario all[] = {
    {.name = "DROP", .mode = WEIR_MODE_DROP},
    {.name = "OVERWRITE", .mode = WEIR_MODE_OVERWRITE},
    {.name = "BLOCK in a scope", .mode = WEIR_MODE_BLOCK, .in_scope = true},
    {.name = "BLOCK with a deadline", .mode = WEIR_MODE_BLOCK, .max_block_ns = 2000000},
    {.name = "OVERWRITE, signals blocked", .mode = WEIR_MODE_OVERWRITE, .block_signals = true},
    {.name = "BLOCK with a deadline, signals blocked",
     .mode = WEIR_MODE_BLOCK,
     .max_block_ns = 2000000,
     .block_signals = true},
};

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"collections", "per mode", &collections, NULL},
        {"mutators", "threads that are suspended", &mutator_count, NULL},
        {"long", "1: 40 times as many collections", &is_long, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "A collector suspends threads with a signal, and emits.", options);
    mutator_count = mutator_count < MUTATORS_MAX ? mutator_count : MUTATORS_MAX;
    memset(text, 'x', sizeof text - 1);
    sem_init(&suspended, 0, 0);
    sem_init(&started, 0, 0);
    struct sigaction action = {.sa_handler = on_suspend, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_resume;
    sigaction(SIGUSR2, &action, NULL);
    hs_check(weir_provider_register(&weir_provider_Suspend, NULL, NULL, NULL, NULL) == WEIR_OK,
             "register");
    do {
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            scenario_run(&all[i]);
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
