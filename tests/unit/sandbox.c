/*
 * A process enters a sandbox while it traces, and from then on membarrier fails. Running sessions
 * end. Sessions that start later have exact counts, even with threads that existed before.
 *
 * A filter lasts as long as its process, so each test runs in a child.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <buffers/modes.h>
#include <lane/thread.h>
#include <reader.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT  4096u
#define EMITTERS 3u
#define EVENTS   20000u
#define SOURCES  (EMITTERS + 2) /* also a new thread and the signal handlers */
#define WAIT_MS  30000

/* Ends the child if the condition does not hold. */
#define CHECK(holds)                                                                   \
    do {                                                                               \
        if (!(holds)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
            _exit(1);                                                                  \
        }                                                                              \
    } while (0)
#define WAIT_FOR(holds)                                  \
    do {                                                 \
        for (int ms = 0; ms < WAIT_MS && !(holds); ms++) \
            usleep(1000);                                \
        CHECK(holds);                                    \
    } while (0)

/* --- The sandbox. ---------------------------------------------------------------------------- */

#if defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE AUDIT_ARCH_X86_64
#endif

/* For all threads at once. False if the kernel has no filters. */
static bool sandbox_enter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* --- Emitters. ------------------------------------------------------------------------------- */

struct source {
    pthread_t thread;
    uint64_t id, next;
    uint64_t attempts, written;
};

static struct source sources[SOURCES];
static uint32_t phase;     /* ANY: only increases */
static bool is_flat_out;   /* ANY: set before its phase, which lasts until it is cleared */
static uint32_t done;      /* ANY: emitters that have finished the phase */
static bool is_over;       /* ANY */
static uint64_t discarded; /* ANY */

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool emit(struct source *source)
{
    bool is_written = Unit_Pair(source->id, source->next++);
    source->attempts++;
    source->written += is_written;
    return is_written;
}

static void *emit_events(void *argument)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        emit(argument);
    return NULL;
}

/* Pauses in between, so that the earlier stream fits into its memory however long the sandbox
 * takes. */
static void emit_for_a_while(struct source *source)
{
    for (uint32_t i = 0; i < 200; i++)
        emit(source);
    usleep(50);
}

static void *emit_in_phases(void *argument)
{
    for (uint32_t seen = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE);) {
        if (load(&phase) == seen) {
            usleep(100);
            continue;
        }
        seen = load(&phase);
        if (__atomic_load_n(&is_flat_out, __ATOMIC_ACQUIRE))
            while (__atomic_load_n(&is_flat_out, __ATOMIC_ACQUIRE))
                emit_for_a_while(argument);
        else
            emit_events(argument);
        __atomic_fetch_add(&done, 1, __ATOMIC_ACQ_REL);
    }
    return NULL;
}

static bool is_busy, timer_is_on; /* ANY */

/* Runs one at a time: the signal is blocked while its handler runs, but only on one thread. */
static void on_timer(int number)
{
    int saved = errno;
    (void)number;
    if (!__atomic_exchange_n(&is_busy, true, __ATOMIC_SEQ_CST)) {
        if (__atomic_load_n(&timer_is_on, __ATOMIC_SEQ_CST))
            emit(&sources[SOURCES - 1]);
        __atomic_store_n(&is_busy, false, __ATOMIC_RELEASE);
    }
    errno = saved;
}

/* Off: once this has returned, no handler emits. */
static void timer_set(int microseconds)
{
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    __atomic_store_n(&timer_is_on, microseconds != 0, __ATOMIC_SEQ_CST);
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    WAIT_FOR(microseconds || !__atomic_load_n(&is_busy, __ATOMIC_SEQ_CST));
}

static void emitters_start(void)
{
    for (uint32_t i = 0; i < SOURCES; i++)
        sources[i].id = i;
    for (uint32_t i = 0; i < EMITTERS; i++)
        CHECK(pthread_create(&sources[i].thread, NULL, emit_in_phases, &sources[i]) == 0);
}

static void emitters_join(void)
{
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < EMITTERS; i++)
        CHECK(pthread_join(sources[i].thread, NULL) == 0);
}

static void phase_begin(bool flat_out)
{
    __atomic_store_n(&done, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&is_flat_out, flat_out, __ATOMIC_RELEASE);
    __atomic_fetch_add(&phase, 1, __ATOMIC_ACQ_REL);
}

/* Returns when no emitter emits any longer. */
static void phase_end(void)
{
    __atomic_store_n(&is_flat_out, false, __ATOMIC_RELEASE);
    WAIT_FOR(load(&done) == EMITTERS);
}

/* --- Sessions. ------------------------------------------------------------------------------- */

struct told {
    uint32_t calls; /* ANY */
    enum weir_result result;
    char text[200];
};

static void on_error(void *context, enum weir_result result, const char *text)
{
    struct told *told = context;
    told->result = result;
    snprintf(told->text, sizeof told->text, "%s", text);
    __atomic_fetch_add(&told->calls, 1, __ATOMIC_ACQ_REL);
}

static struct weir_session_config config_of(enum weir_mode mode, struct told *told)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = 32 * SEGMENT;
    config.memory_bytes_max = 1u << 30;
    config.flush_ms = 2;
    config.on_error = on_error;
    config.on_error_context = told;
    return config;
}

static struct weir_session *start(const struct weir_session_config *config)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    if (weir_session_create(config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK) {
        fprintf(stderr, "%s\n", error.text);
        _exit(1);
    }
    return session;
}

static struct weir_counts counts_of(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    CHECK(weir_session_stats(session, &stats) == WEIR_OK);
    return stats.counts;
}

static uint64_t lost_of(const struct weir_counts *counts)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        lost += counts->lost[cause];
    return lost;
}

/* --- Their streams. -------------------------------------------------------------------------- */

struct found {
    uint64_t events, lost;
    uint64_t next[SOURCES]; /* the smallest number that may follow */
};

static void on_event(void *context, const struct wt_event *event)
{
    struct found *found = context;
    uint64_t id, number;
    if (strcmp(event->metadata->provider_name, "Unit") != 0)
        return;
    memcpy(&id, event->payload, 8);
    memcpy(&number, event->payload + 8, 8);
    /* The handlers' events come from several threads. */
    CHECK(id < SOURCES && (number >= found->next[id] || id == SOURCES - 1));
    found->next[id] = number + 1;
    found->events++;
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    ((struct found *)context)->lost += gap->count;
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    fprintf(stderr, "%s\n", violation->text);
    CHECK(false);
}

static struct found stream_of(struct weir_session *session)
{
    struct found found = {0};
    const void *bytes;
    uint64_t count;
    CHECK(weir_session_memory(session, &bytes, &count) == WEIR_OK);
    struct wt_memory_source memory = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_handlers handlers = {.event = on_event, .gap = on_gap, .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    CHECK(wt_reader_create(&reader, &source, &options, &handlers, &found) == WT_OK);
    CHECK(wt_reader_run(reader) == WT_END);
    wt_reader_destroy(reader);
    return found;
}

/* Checks that the reader finds what the counts say. */
static struct weir_counts counts_agree(struct weir_session *session)
{
    struct weir_counts counts = counts_of(session);
    struct found found = stream_of(session);
    CHECK(counts.attempted == counts.written + lost_of(&counts));
    CHECK(found.events == counts.written);
    CHECK(found.lost == lost_of(&counts));
    return counts;
}

/* --- Before and after. ----------------------------------------------------------------------- */

/* A session from before: its host got one report. It can be stopped but not freed. Call once no
 * thread emits. */
static void expect_ended(struct weir_session *session, const struct told *told)
{
    WAIT_FOR(load(&told->calls) != 0);
    CHECK(told->result == WEIR_SYSTEM && strstr(told->text, "membarrier") &&
          strstr(told->text, strerror(EPERM)));
    CHECK(weir_session_stop(session, NULL) == WEIR_SYSTEM);
    CHECK(weir_session_stop(session, NULL) == WEIR_SYSTEM);
    CHECK(load(&told->calls) == 1);
    weir_session_destroy(session); /* keeps the memory */
    CHECK(counts_of(session).attempted > 0);
}

/* A session from after: each attempt is written or lost, by the counts of its emitters, by its own
 * counts, and by its stream. */
static void expect_exact(enum weir_mode mode)
{
    struct told told = {0};
    struct weir_session_config config = config_of(mode, &told);
    struct weir_session *session = start(&config);
    uint64_t attempts = 0, written = 0;
    for (uint32_t i = 0; i < SOURCES; i++)
        sources[i].attempts = sources[i].written = sources[i].next = 0;
    timer_set(300);
    phase_begin(false);
    CHECK(pthread_create(&sources[EMITTERS].thread, NULL, emit_events, &sources[EMITTERS]) == 0);
    CHECK(pthread_join(sources[EMITTERS].thread, NULL) == 0);
    phase_end();
    timer_set(0);
    CHECK(weir_session_stop(session, NULL) == WEIR_OK);
    for (uint32_t i = 0; i < SOURCES; i++) {
        attempts += sources[i].attempts;
        written += sources[i].written;
    }
    struct weir_counts counts = counts_agree(session);
    CHECK(counts.attempted == attempts);
    CHECK(counts.written + counts.lost[WEIR_LOSS_OVERWRITTEN] == written);
    CHECK(mode != WEIR_MODE_BLOCK || lost_of(&counts) == counts.lost[WEIR_LOSS_NESTED]);
    CHECK(load(&told.calls) == 0);
    weir_session_destroy(session);
}

static void expect_exact_in_all_modes(void)
{
    for (int round = 0; round < 2; round++)
        for (int mode = 0; mode < WR_MODE_COUNT; mode++)
            expect_exact((enum weir_mode)mode);
}

/* --- Tests. ---------------------------------------------------------------------------------- */

#define NO_SANDBOX 77

/* One session, whose threads are on the fast path when the sandbox takes effect. */
static int enter_with_one(enum weir_mode mode)
{
    struct told told = {0};
    struct weir_session_config config = config_of(mode, &told);
    emitters_start();
    struct weir_session *session = start(&config);
    phase_begin(true);
    WAIT_FOR(counts_of(session).attempted > 10000);
    if (!sandbox_enter())
        return NO_SANDBOX;
    /* A recorder needs no barrier until it takes something back or writes. */
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_discard;
    CHECK(mode != WEIR_MODE_OVERWRITE || weir_session_snapshot(session, &sink, 0, NULL) == WEIR_OK);
    WAIT_FOR(load(&told.calls) != 0);
    CHECK(!weir_event_is_enabled(&weir_events_Unit.Pair));
    phase_end();
    expect_ended(session, &told);
    counts_agree(session);
    expect_exact_in_all_modes();
    emitters_join();
    return 0;
}

static bool sink_stands; /* ANY */
static uint32_t waiting; /* ANY: drains that have met it */

static bool write_when_free(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    if (__atomic_load_n(&sink_stands, __ATOMIC_ACQUIRE))
        __atomic_fetch_add(&waiting, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&sink_stands, __ATOMIC_ACQUIRE))
        usleep(200);
    __atomic_fetch_add(&discarded, count, __ATOMIC_RELAXED);
    return true;
}

/* Three sessions. One has a drain that is blocked in its sink, and parked threads. The drain of
 * another session finds out. */
static int enter_with_each_mode(void)
{
    static struct told told[WR_MODE_COUNT];
    struct weir_session *sessions[WR_MODE_COUNT];
    emitters_start();
    for (int mode = 0; mode < WR_MODE_COUNT; mode++) {
        struct weir_session_config config = config_of((enum weir_mode)mode, &told[mode]);
        if (mode == WEIR_MODE_BLOCK) {
            config.memory_bytes_max = 0;
            config.sink.write = write_when_free;
            config.stop_ms_max = 100;
        }
        sessions[mode] = start(&config);
    }
    __atomic_store_n(&sink_stands, true, __ATOMIC_RELEASE);
    phase_begin(true);
    WAIT_FOR(load(&waiting) == 1);
    struct weir_stats stats = WEIR_STATS_INIT;
    WAIT_FOR(weir_session_stats(sessions[WEIR_MODE_BLOCK], &stats) == WEIR_OK &&
             stats.parked_now == EMITTERS);
    if (!sandbox_enter())
        return NO_SANDBOX;
    phase_end(); /* no thread is parked any longer */
    CHECK(!weir_event_is_enabled(&weir_events_Unit.Pair));
    CHECK(load(&told[WEIR_MODE_BLOCK].calls) == 0);
    /* One event of each thread, unless a parked thread was just about to be served. */
    uint64_t aborted = counts_of(sessions[WEIR_MODE_BLOCK]).lost[WEIR_LOSS_ABORTED];
    CHECK(aborted > 0 && aborted <= EMITTERS);
    CHECK(weir_session_stop(sessions[WEIR_MODE_BLOCK], NULL) ==
          WEIR_TIMEOUT); /* its drain still runs */
    __atomic_store_n(&sink_stands, false, __ATOMIC_RELEASE);
    while (weir_session_stop(sessions[WEIR_MODE_BLOCK], NULL) == WEIR_TIMEOUT) {
    }
    for (int mode = 0; mode < WR_MODE_COUNT; mode++)
        expect_ended(sessions[mode], &told[mode]);
    counts_agree(sessions[WEIR_MODE_DROP]);
    counts_agree(sessions[WEIR_MODE_OVERWRITE]);
    expect_exact_in_all_modes();
    emitters_join();
    return 0;
}

/* Without a session, the first start finds out. In a child of a process that has not found out yet,
 * the fork does. This thread was on the fast path before. */
static int enter_with_none(void)
{
    struct told told = {0};
    struct weir_session_config config = config_of(WEIR_MODE_DROP, &told);
    struct weir_session *session = start(&config);
    emit(&sources[0]);
    CHECK(weir_session_stop(session, NULL) == WEIR_OK);
    weir_session_destroy(session);
    if (!sandbox_enter())
        return NO_SANDBOX;
    pid_t child = fork();
    int status = 0;
    emitters_start();
    expect_exact_in_all_modes();
    emitters_join();
    if (child == 0)
        return 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

static void expect_child_ok(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SANDBOX)
        skip();
    assert_int_equal(status, 0);
}

static void signals_arrange(void)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

static void test_one_session(void **state)
{
    (void)state;
    if (!wr_thread_fast) /* no plain pins here, so nothing depends on membarrier */
        skip();
    for (int mode = 0; mode < WR_MODE_COUNT; mode++) {
        pid_t child = fork();
        if (child == 0) {
            signals_arrange();
            _exit(enter_with_one((enum weir_mode)mode));
        }
        expect_child_ok(child);
    }
}

static void test_three_sessions(void **state)
{
    (void)state;
    if (!wr_thread_fast)
        skip();
    pid_t child = fork();
    if (child == 0) {
        signals_arrange();
        _exit(enter_with_each_mode());
    }
    expect_child_ok(child);
}

static void test_no_session(void **state)
{
    (void)state;
    if (!wr_thread_fast)
        skip();
    pid_t child = fork();
    if (child == 0) {
        signals_arrange();
        _exit(enter_with_none());
    }
    expect_child_ok(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_session),
                                       cmocka_unit_test(test_three_sessions),
                                       cmocka_unit_test(test_no_session)};
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
