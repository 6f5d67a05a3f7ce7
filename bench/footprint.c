/*
 * Figures in the library's documents other than the cost of an event, as one JSON object: how long
 * the first start in a process blocks, what a session reserves besides its budget, what waking a
 * thread costs on both sides, and how much more a serializing read of the clock costs than a plain
 * one.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <weir/weir.h>

#define THREADS       425u /* five times as many as share one piece of lane memory */
#define THREADS_PIECE 85.0
#define ROUNDS        20000u
#define READS         200000u

#define FOOTPRINT_EVENTS(EVENT, P) EVENT(P, Tick, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number))
WEIR_PROVIDER(Footprint, FOOTPRINT_EVENTS)
WEIR_PROVIDER_DEFINE(Footprint, FOOTPRINT_EVENTS)

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "weir-footprint: %s failed\n", what);
    exit(1);
}

static double now_ns(clockid_t clock)
{
    struct timespec now;
    must(clock_gettime(clock, &now) == 0, "reading a clock");
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* --- A session. ------------------------------------------------------------------------------ */

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context, (void)bytes, (void)count;
    return true;
}

static struct weir_session *session_new(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session = NULL;
    config.providers = "Footprint";
    config.sink.write = discard;
    must(weir_session_create(&config, &session, NULL) == WEIR_OK, "creating a session");
    return session;
}

static struct weir_stats stats_of(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    must(weir_session_stats(session, &stats) == WEIR_OK, "asking for figures");
    return stats;
}

/* The process has just started, so this includes measuring the clock. */
static double first_start_ms(struct weir_session *session)
{
    double start_ns = now_ns(CLOCK_MONOTONIC);
    must(weir_session_start(session, NULL) == WEIR_OK, "starting a session");
    return (now_ns(CLOCK_MONOTONIC) - start_ns) / 1e6;
}

/* --- Threads that each have a lane, at the same time. ---------------------------------------- */

static pthread_barrier_t have_emitted, may_leave;

static void *emit_once(void *unused)
{
    (void)unused;
    must(WEIR_EMIT(Footprint, Tick, 1), "emitting an event");
    pthread_barrier_wait(&have_emitted);
    pthread_barrier_wait(&may_leave);
    return NULL;
}

static double bytes_with_threads(struct weir_session *session)
{
    static pthread_t threads[THREADS];
    must(pthread_barrier_init(&have_emitted, NULL, THREADS + 1) == 0, "making a barrier");
    must(pthread_barrier_init(&may_leave, NULL, THREADS + 1) == 0, "making a barrier");
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, emit_once, NULL) == 0, "starting a thread");
    pthread_barrier_wait(&have_emitted);
    struct weir_stats stats = stats_of(session);
    must(stats.threads_seen == THREADS, "giving each thread a lane");
    pthread_barrier_wait(&may_leave);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return (double)stats.reserved_bytes;
}

/* --- Two threads that wake each other. ------------------------------------------------------- */

static uint32_t turn; /* whose: 0 or 1 */

static void futex(int operation, uint32_t value)
{
    syscall(SYS_futex, &turn, operation, value, NULL, NULL, 0);
}

static void *take_turns(void *argument)
{
    const uint32_t mine = *(const uint32_t *)argument, theirs = 1 - mine;
    static double cpu_ns[2];
    double start_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned round = 0; round < ROUNDS; round++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
            futex(FUTEX_WAIT_PRIVATE, theirs);
        __atomic_store_n(&turn, theirs, __ATOMIC_RELEASE);
        futex(FUTEX_WAKE_PRIVATE, 1);
    }
    cpu_ns[mine] = now_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
    return &cpu_ns[mine];
}

/* Half the processor time of a wait and a wake: what each side pays. */
static double wake_side_ns(void)
{
    static const uint32_t names[2] = {0, 1};
    pthread_t other;
    void *cpu_ns = NULL;
    must(pthread_create(&other, NULL, take_turns, (void *)&names[1]) == 0, "starting a thread");
    double both_ns = *(double *)take_turns((void *)&names[0]);
    pthread_join(other, &cpu_ns);
    both_ns += *(double *)cpu_ns;
    return both_ns / (4.0 * ROUNDS);
}

/* --- The clock. ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#include <x86intrin.h>

static volatile uint64_t ticks;

static double clock_ns(bool serializes)
{
    double start_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < READS; i++) {
        if (serializes)
            _mm_lfence();
        ticks = __rdtsc();
    }
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / READS;
}
#else
static double clock_ns(bool serializes)
{
    double start_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < READS; i++)
        now_ns(CLOCK_MONOTONIC);
    (void)serializes; /* this clock can be read in only one way */
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / READS;
}
#endif

int main(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "weir-footprint: '%s': no arguments are expected\n", argv[1]);
        return 2;
    }
    must(weir_provider_register(&weir_provider_Footprint, NULL, NULL, NULL, NULL) == WEIR_OK,
         "registering the events");
    struct weir_session *session = session_new();
    double first_ms = first_start_ms(session), empty = (double)stats_of(session).reserved_bytes;
    double crowded = bytes_with_threads(session);
    must(weir_session_stop(session, NULL) == WEIR_OK, "stopping a session");
    weir_session_destroy(session);
    printf("{\"first_start_ms\": %.3f, \"reserved_bytes\": %.0f, \"bytes_of_85_threads\": %.0f, "
           "\"wake_side_ns\": %.1f, \"clock_ns\": %.2f, \"clock_serialized_ns\": %.2f}\n",
           first_ms, empty, (crowded - empty) * THREADS_PIECE / THREADS, wake_side_ns(),
           clock_ns(false), clock_ns(true));
    return 0;
}
