/* Sources of rundown: at the stop, in snapshots and at the start, in every mode. */
#define _GNU_SOURCE
#include "stream.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <uchar.h>
#include <unistd.h>
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* What the sources emit; no session names it. */
#define STATE_EVENTS(EVENT, P)                                          \
    EVENT(P, Name, 1, 0, WEIR_LEVEL_INFO, 0x8, (u64, Id), (str, Value)) \
    EVENT(P, Shape, 2, 0, WEIR_LEVEL_VERBOSE, 0x10, (u64, Id))
WEIR_PROVIDER(State, STATE_EVENTS)
WEIR_PROVIDER_DEFINE(State, STATE_EVENTS)

#define MANY UINT64_C(20000) /* with their strings, many times the smallest budget */

/* --- What a stream has. ---------------------------------------------------------------------- */

struct found {
    uint64_t unit, names, lost;
    uint64_t last; /* Id of State/Name */
};

static void on_event(void *context, const struct wt_event *event)
{
    struct found *found = context;
    found->unit += strcmp(event->metadata->provider_name, "Unit") == 0;
    if (strcmp(event->metadata->provider_name, "State") != 0)
        return;
    found->names++;
    memcpy(&found->last, event->payload, 8);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    ((struct found *)context)->lost += gap->count;
}

static const struct wt_handlers handlers = {.event = on_event, .gap = on_gap};

static struct found found_in_memory(struct weir_session *session)
{
    struct found found = {0};
    unit_read_memory(session, handlers, &found);
    return found;
}

/* --- A source. ------------------------------------------------------------------------------- */

static struct weir_provider *state;
static struct weir_rundown asked; /* the last call */
static uint64_t calls, to_emit, emitted;
static void (*during)(void); /* called in the source, after its events */

static void source(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    asked = *rundown;
    calls++;
    for (uint64_t i = 0; i < to_emit; i++)
        emitted += State_Name(i, "a name of some length, as functions have them");
    if (during)
        during();
}

static int register_all(void **unused)
{
    (void)unused;
    return unit_setup(NULL) == 0 &&
                   weir_provider_register(&weir_provider_State, NULL, NULL, &state, NULL) ==
                       WEIR_OK &&
                   weir_rundown_register(state, source, NULL, NULL) == WEIR_OK
               ? 0
               : -1;
}

static int reset(void **unused)
{
    (void)unused;
    asked = (struct weir_rundown){0};
    calls = emitted = 0;
    to_emit = 3;
    during = NULL;
    return 0;
}

/* With a rundown at the stop only. */
static struct weir_session_config stop_config(void)
{
    struct weir_session_config config = unit_config();
    config.rundown_at_start = false;
    return config;
}

static struct weir_session_config small_config(enum weir_mode mode)
{
    struct weir_session_config config = stop_config();
    config.mode = mode;
    config.segment_bytes = 4096;
    config.budget_bytes = 2 * config.segment_bytes;
    return config;
}

/* --- At the stop. ---------------------------------------------------------------------------- */

static void test_at_the_stop(void **unused)
{
    (void)unused;
    static const enum weir_mode modes[] = {WEIR_MODE_DROP, WEIR_MODE_BLOCK, WEIR_MODE_OVERWRITE};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct weir_session_config config = small_config(modes[i]);
        reset(NULL);
        to_emit = MANY;
        struct weir_session *session = unit_start(&config);
        assert_int_equal(calls, 0);
        assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(calls, 1);
        assert_int_equal(emitted, MANY);
        assert_int_equal(asked.moment, WEIR_RUNDOWN_STOP);
        assert_int_equal(asked.session_id, weir_session_id(session));
        assert_int_equal(asked.keywords, 0x80020139);
        struct found found = found_in_memory(session);
        assert_int_equal(found.names, MANY);
        assert_int_equal(found.unit, 1);
        assert_int_equal(found.lost, 0);
        assert_int_equal(unit_counts(session).attempted, MANY + 1);
        weir_session_destroy(session);
    }
}

/* By default it runs at the start too, except where what it writes then would be overwritten. */
static void test_default(void **unused)
{
    (void)unused;
    for (int mode = WEIR_MODE_DROP; mode <= WEIR_MODE_OVERWRITE; mode++) {
        struct weir_session_config config = unit_config();
        config.mode = (enum weir_mode)mode;
        uint32_t expected = mode == WEIR_MODE_OVERWRITE ? 0 : 1;
        reset(NULL);
        struct weir_session *session = unit_start(&config);
        assert_int_equal(calls, expected);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(calls, expected + 1);
        assert_int_equal(found_in_memory(session).names, 3 * calls);
        weir_session_destroy(session);
    }
}

static void test_keywords(void **unused)
{
    (void)unused;
    struct weir_session_config config = stop_config();
    config.rundown_keywords = 0;
    config.rundown_at_start = true;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(calls, 0);
    weir_session_destroy(session);
    config.rundown_keywords = 0x10;
    config.rundown_at_start = false;
    session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(asked.keywords, 0x10);
    weir_session_destroy(session);
}

static void own_rundown(void *context, struct weir_session *session)
{
    (void)session;
    assert_int_equal(calls, 0); /* it comes first */
    assert_false(State_Name(0, ""));
    *(bool *)context = Unit_Pair(1, 2);
}

/* The configuration's own callback is filtered, and sources are not. Another session sees neither. */
static void test_beside_the_callback(void **unused)
{
    (void)unused;
    bool is_written = false;
    struct weir_session_config config = stop_config();
    struct weir_session_config other_config = stop_config();
    other_config.providers = "*";
    other_config.rundown_keywords = 0;
    struct weir_session *other = unit_start(&other_config);
    config.rundown = own_rundown;
    config.rundown_context = &is_written;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(other, NULL), WEIR_OK);
    assert_true(is_written);
    struct found found = found_in_memory(session);
    assert_int_equal(found.unit, 1);
    assert_int_equal(found.names, 3);
    found = found_in_memory(other);
    assert_int_equal(found.unit + found.names, 0);
    weir_session_destroy(session);
    weir_session_destroy(other);
}

/* --- In a snapshot. -------------------------------------------------------------------------- */

static struct found take(struct weir_session *session)
{
    struct found found = {0};
    unit_read_snapshot(session, handlers, &found);
    return found;
}

static void too_large(void)
{
    static char text[40000]; /* 80,000 bytes in the file */
    memset(text, 'x', sizeof text - 1);
    assert_false(State_Name(1, text));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_TOO_LARGE);
}

/* Each snapshot has the rundown, and its losses; the session's figures have neither. */
static void test_in_a_snapshot(void **unused)
{
    (void)unused;
    struct weir_session_config config = small_config(WEIR_MODE_OVERWRITE);
    to_emit = MANY;
    during = too_large;
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(WEIR_EMIT(Unit, Pair, i, i));
        struct found found = take(session);
        assert_int_equal(asked.moment, WEIR_RUNDOWN_SNAPSHOT);
        assert_int_equal(found.unit, i);
        assert_int_equal(found.names, MANY);
        assert_int_equal(found.last, MANY - 1);
        assert_int_equal(found.lost, 1);
    }
    assert_int_equal(unit_counts(session).attempted, 3);
    to_emit = 5;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct found found = found_in_memory(session);
    assert_int_equal(found.unit, 3);
    assert_int_equal(found.names, 5);
    assert_int_equal(found.lost, 1);
    weir_session_destroy(session);
}

/* --- At the start. --------------------------------------------------------------------------- */

/* Far more than the budget, and than what the thread collects before it hands it over. */
static void test_at_the_start(void **unused)
{
    (void)unused;
    struct weir_session_config config = small_config(WEIR_MODE_DROP);
    config.rundown_at_start = true;
    to_emit = MANY;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(asked.moment, WEIR_RUNDOWN_START);
    assert_int_equal(emitted, MANY);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    to_emit = 0;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct found found = found_in_memory(session);
    assert_int_equal(found.names, MANY);
    assert_int_equal(found.unit, 1);
    assert_int_equal(found.lost, 0);
    assert_int_equal(unit_counts(session).written, MANY + 1);
    weir_session_destroy(session);
}

/* A host whose headers do not have the field cannot clear it. */
static void test_hosts_before_the_start_had_one(void **unused)
{
    (void)unused;
    struct weir_session_config config = unit_config();
    config.size = offsetof(struct weir_session_config, rundown_keywords);
    struct weir_session *session = unit_start(&config);
    assert_int_equal(calls, 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(calls, 1);
    assert_int_equal(asked.moment, WEIR_RUNDOWN_STOP);
    weir_session_destroy(session);
}

static void test_lost_at_the_start(void **unused)
{
    (void)unused;
    struct weir_session_config config = stop_config();
    config.rundown_at_start = true;
    during = too_large;
    struct weir_session *session = unit_start(&config);
    during = NULL;
    to_emit = 0;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct found found = found_in_memory(session);
    assert_int_equal(found.names, 3);
    assert_int_equal(found.lost, 1);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 1);
    weir_session_destroy(session);
}

static pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
static sem_t has_begun;

/* Emits under the lock that the source needs, until it has parked with it. */
static void *load(void *session)
{
    pthread_mutex_lock(&tables);
    while (unit_stats(session).parks == 0) {
        for (uint64_t i = 0; i < 1000; i++)
            Unit_Pair(i, i);
        sem_post(&has_begun);
    }
    pthread_mutex_unlock(&tables);
    return NULL;
}

static void take_tables(void)
{
    sem_wait(&has_begun);
    pthread_mutex_lock(&tables);
    pthread_mutex_unlock(&tables);
}

/* The drain goes on while the source waits for a thread that is parked. */
static void test_behind_a_parked_thread(void **unused)
{
    (void)unused;
    struct weir_session_config config = small_config(WEIR_MODE_BLOCK);
    pthread_t loader;
    config.rundown_at_start = true;
    during = take_tables;
    sem_init(&has_begun, 0, 0);
    struct weir_session *session = NULL;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    pthread_create(&loader, NULL, load, session);
    assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
    pthread_join(loader, NULL);
    during = NULL;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_stats stats = unit_stats(session);
    assert_int_equal(stats.counts.attempted, stats.counts.written);
    assert_int_equal(found_in_memory(session).names, 6);
    weir_session_destroy(session);
}

/* The source stops its session: what it emits from then on is aborted, and counted. */
static void stop_own(void)
{
    during = NULL; /* the stop calls the source, too */
    assert_int_equal(weir_session_stop_id(asked.session_id, NULL), WEIR_OK);
    assert_false(State_Name(9, "late"));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_ABORTED);
}

static void test_stopped_during_the_start(void **unused)
{
    (void)unused;
    struct weir_session_config config = stop_config();
    config.rundown_at_start = true;
    during = stop_own;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(calls, 2);
    struct weir_counts counts = unit_counts(session);
    /* The start's three were collected, and nobody takes them after the end. */
    assert_int_equal(counts.written, 3);
    assert_int_equal(counts.lost[WEIR_LOSS_ABORTED], 4);
    assert_int_equal(found_in_memory(session).names, 3);
    weir_session_destroy(session);
}

/* --- A greeting. ----------------------------------------------------------------------------- */

#define REQUESTED (UINT64_C(1) << 40)

struct begun {
    uint64_t events; /* those of the stream before the first of Unit */
    uint64_t names, lost, unit;
    unsigned char session[64]; /* payload of Weir/Session */
    size_t session_bytes;
};

static void on_first_event(void *context, const struct wt_event *event)
{
    struct begun *begun = context;
    bool is_own = strcmp(event->metadata->provider_name, "Weir") == 0;
    begun->unit += strcmp(event->metadata->provider_name, "Unit") == 0;
    begun->events += begun->unit == 0 && strcmp(event->metadata->event_name, "ThreadName") != 0;
    begun->names += strcmp(event->metadata->event_name, "Name") == 0;
    if (!is_own || strcmp(event->metadata->event_name, "Session") != 0)
        return;
    assert_int_equal(begun->events, 1); /* it is the first */
    assert_true(event->payload_size <= sizeof begun->session);
    begun->session_bytes = event->payload_size;
    memcpy(begun->session, event->payload, event->payload_size);
}

static void on_begun_gap(void *context, const struct wt_gap *gap)
{
    ((struct begun *)context)->lost += gap->count;
}

static struct begun begun_in(struct weir_session *session)
{
    struct begun begun = {0};
    unit_read_memory(session, (struct wt_handlers){.event = on_first_event, .gap = on_begun_gap},
                     &begun);
    return begun;
}

/* Events that the session does not want, more than its budget. */
static void greet(void)
{
    const struct weir_rundown none = {.size = sizeof none};
    source(NULL, &none);
}

static struct weir_session *start_greeted(const struct weir_session_config *config)
{
    struct weir_session *session;
    assert_int_equal(weir_session_create(config, &session, NULL), WEIR_OK);
    wr_session_set_greeting(session, greet, REQUESTED);
    assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
    return session;
}

static void check_session_event(const struct begun *begun, const char16_t *mode, size_t mode_bytes,
                                uint64_t budget_bytes)
{
    uint64_t budgets[2];
    assert_int_equal(begun->session_bytes, mode_bytes + sizeof budgets);
    assert_memory_equal(begun->session, mode, mode_bytes);
    memcpy(budgets, begun->session + mode_bytes, sizeof budgets);
    assert_int_equal(budgets[0], budget_bytes);
    assert_int_equal(budgets[1], REQUESTED);
}

static void test_greeting(void **unused)
{
    (void)unused;
    for (int is_block = 0; is_block < 2; is_block++) {
        struct weir_session_config config =
            small_config(is_block ? WEIR_MODE_BLOCK : WEIR_MODE_DROP);
        reset(NULL);
        config.rundown_keywords = 0;
        to_emit = 300;
        during = too_large;
        struct weir_session *session = start_greeted(&config);
        assert_int_equal(emitted, 300);
        assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
        assert_false(State_Name(0, "not wanted any more"));
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        struct begun begun = begun_in(session);
        if (is_block)
            check_session_event(&begun, u"block", sizeof u"block", config.budget_bytes);
        else
            check_session_event(&begun, u"drop", sizeof u"drop", config.budget_bytes);
        assert_int_equal(begun.names, 300);
        assert_int_equal(begun.events, 1 + 300 + 1); /* and one of Weir/Loss */
        assert_int_equal(begun.unit, 1);
        assert_int_equal(begun.lost, 1);
        struct weir_counts counts = unit_counts(session);
        assert_int_equal(counts.written, 301);
        assert_int_equal(counts.lost[WEIR_LOSS_TOO_LARGE], 1);
        assert_int_equal(counts.attempted, 302);
        assert_int_equal(unit_stats(session).late_records, 0);
        weir_session_destroy(session);
    }
}

/* --- With other threads and processes. ------------------------------------------------------- */

static struct weir_session *started; /* or about to be */

static void start(const struct weir_session_config *config)
{
    assert_int_equal(weir_session_create(config, &started, NULL), WEIR_OK);
    assert_int_equal(weir_session_start(started, NULL), WEIR_OK);
}

static bool blocks_signal(pid_t thread, int number)
{
    char path[64], line[256];
    unsigned long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "SigBlk: %lx", &blocked);
    if (status)
        fclose(status);
    return (blocked >> (number - 1) & 1) != 0;
}

/* Until the starter waits for the session's lock with signals blocked. */
static void *hold_lock(void *starter)
{
    pthread_mutex_lock(&started->buffers.lock);
    sem_post(&has_begun);
    while (!blocks_signal(*(pid_t *)starter, SIGUSR1))
        sched_yield();
    pthread_mutex_unlock(&started->buffers.lock);
    return NULL;
}

static void lose_under_lock(void)
{
    pthread_t holder;
    pid_t self = gettid();
    during = NULL;
    assert_int_equal(weir_session_stop_id(asked.session_id, NULL), WEIR_OK);
    pthread_create(&holder, NULL, hold_lock, &self);
    sem_wait(&has_begun);
    assert_false(State_Name(9, "late"));
    pthread_join(holder, NULL);
}

/* A collector's signal must not stop the starter while it holds a lock. */
static void test_lost_without_signals(void **unused)
{
    (void)unused;
    unit_skip_under_qemu("the system does not show what a guest's thread blocks");
    struct weir_session_config config = stop_config();
    config.rundown_at_start = true;
    during = lose_under_lock;
    sem_init(&has_begun, 0, 0);
    start(&config);
    assert_int_equal(unit_counts(started).lost[WEIR_LOSS_ABORTED], 4);
    weir_session_destroy(started);
}

struct stuck {
    sem_t entered, may_go;
};

static bool write_stuck(void *context, const void *bytes, size_t count)
{
    struct stuck *stuck = context;
    (void)bytes;
    (void)count;
    sem_post(&stuck->entered);
    sem_wait(&stuck->may_go);
    sem_post(&stuck->may_go);
    return true;
}

static void *stop_stuck(void *session)
{
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    return session;
}

static pthread_t stopper;
static struct stuck *sink;

static struct weir_session_config stuck_config(struct stuck *stuck)
{
    struct weir_session_config config = stop_config();
    sem_init(&stuck->entered, 0, 0);
    sem_init(&stuck->may_go, 0, 0);
    sink = stuck;
    config.memory_bytes_max = 0;
    config.sink.write = write_stuck;
    config.sink.context = stuck;
    config.rundown_at_start = true;
    return config;
}

static void begin_stop(void)
{
    during = NULL;
    sem_wait(&sink->entered); /* by the stream's header */
    pthread_create(&stopper, NULL, stop_stuck, started);
}

/* A greeting that fits the encode buffer does not make the start wait for the sink. */
static void test_greeting_and_a_stuck_sink(void **unused)
{
    (void)unused;
    struct stuck stuck;
    struct weir_session_config config = stuck_config(&stuck);
    config.rundown_at_start = false;
    config.rundown_keywords = 0;
    struct weir_session *session = start_greeted(&config);
    sem_post(&stuck.may_go);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 3);
    weir_session_destroy(session);
}

/* A start waits for a stuck sink no longer than the session runs. */
static void test_stuck_sink(void **unused)
{
    (void)unused;
    struct stuck stuck;
    struct weir_session_config config = stuck_config(&stuck);
    config.stop_ms_max = 50;
    during = begin_stop;
    start(&config);
    pthread_join(stopper, NULL);
    sem_post(&stuck.may_go);
    while (weir_session_stop(started, NULL) == WEIR_TIMEOUT)
        continue;
    struct weir_counts counts = unit_counts(started);
    assert_int_equal(counts.written, 6); /* what was offered, and the stop's */
    assert_int_equal(counts.attempted, 6);
    weir_session_destroy(started);
}

static void destroy_own(void)
{
    during = NULL;
    assert_int_equal(weir_session_destroy(started), WEIR_BAD_STATE);
}

static void test_destroyed_during_the_start(void **unused)
{
    (void)unused;
    struct weir_session_config config = stop_config();
    config.rundown_at_start = true;
    during = destroy_own;
    start(&config);
    assert_null(during);
    assert_int_equal(weir_session_destroy(started), WEIR_OK);
}

static pid_t child;

/* In the wait for the box, not in that for the drain. */
static void fork_once(void)
{
    if (calls == 0 || child != -1 || (child = fork()) == 0)
        return;
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void before_wait(void *is_behind)
{
    if (!is_behind)
        fork_once();
    if (calls > 0)
        sem_post(&sink->may_go);
}

static void behind_wait(void *is_behind)
{
    if (is_behind)
        fork_once();
}

static void end_child(void)
{
    if (child == 0)
        _exit(emitted < MANY ? 0 : 1);
}

/* In a child, nobody takes the box, whether it is full or not: the source goes on without it. */
static void test_fork_around_a_wait(void **unused)
{
    (void)unused;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        struct stuck stuck;
        const struct weir_park_hooks hooks = {sizeof hooks, before_wait, behind_wait,
                                              is_behind ? &stuck : NULL};
        struct weir_session_config config = stuck_config(&stuck);
        reset(NULL);
        to_emit = MANY;
        child = -1;
        during = end_child;
        assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
        start(&config);
        assert_true(child > 0);
        assert_int_equal(weir_session_stop(started, NULL), WEIR_OK);
        assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
        assert_int_equal(unit_counts(started).written, 2 * MANY);
        weir_session_destroy(started);
    }
}

/* --- Sources and their providers. ------------------------------------------------------------ */

static struct weir_session *second;

static void run_second(void)
{
    struct weir_session_config config = stop_config();
    during = NULL;
    second = unit_start(&config);
    assert_int_equal(weir_session_stop(second, NULL), WEIR_OK);
}

/* A session starts, runs and stops, its own rundown included, while another one is in its rundown. */
static void test_second_session_in_a_rundown(void **unused)
{
    (void)unused;
    for (int at_start = 0; at_start < 2; at_start++) {
        reset(NULL);
        struct weir_session_config config = stop_config();
        config.rundown_at_start = at_start;
        during = run_second;
        struct weir_session *session = unit_start(&config);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(found_in_memory(second).names, 3);
        assert_int_equal(found_in_memory(session).names, at_start ? 6 : 3);
        weir_session_destroy(session);
        weir_session_destroy(second);
    }
}

static struct weir_provider *other;
static uint64_t order;

static void other_source(void *context, const struct weir_rundown *rundown)
{
    (void)rundown;
    assert_int_equal(calls, 1); /* after the one that was registered before it */
    order++;
    if (context)
        weir_provider_destroy(other);
}

static void test_order_and_end(void **unused)
{
    (void)unused;
    struct weir_error error;
    assert_int_equal(weir_rundown_register(NULL, source, NULL, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_rundown_register(state, NULL, NULL, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_rundown_register(state, source, NULL, &error), WEIR_EXISTS);
    assert_non_null(strstr(error.text, "State"));
    for (int is_own = 0; is_own < 2; is_own++) {
        reset(NULL);
        order = 0;
        assert_int_equal(weir_provider_create("Other", NULL, NULL, &other, NULL), WEIR_OK);
        assert_int_equal(weir_rundown_register(other, other_source, is_own ? &order : NULL, NULL),
                         WEIR_OK);
        struct weir_session_config config = stop_config();
        struct weir_session *session = unit_start(&config);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        weir_session_destroy(session);
        assert_int_equal(order, 1);
        if (!is_own)
            weir_provider_destroy(other);
    }
    struct weir_session_config config = stop_config();
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    assert_int_equal(order, 1);
}

static void *destroy_other(void *returned)
{
    weir_provider_destroy(other);
    __atomic_store_n((bool *)returned, true, __ATOMIC_RELEASE);
    return NULL;
}

static bool has_returned;

static void destroyed_meanwhile(void *context, const struct weir_rundown *rundown)
{
    (void)rundown;
    pthread_create(context, NULL, destroy_other, &has_returned);
    struct weir_provider *gone;
    /* Until the name is free, the other thread has not got as far as the wait. */
    while (weir_provider_create("Other", NULL, NULL, &gone, NULL) != WEIR_OK)
        continue;
    weir_provider_destroy(gone);
    assert_false(__atomic_load_n(&has_returned, __ATOMIC_ACQUIRE));
}

static void test_destroyed_by_another_thread(void **unused)
{
    (void)unused;
    pthread_t destroyer;
    has_returned = false;
    assert_int_equal(weir_provider_create("Other", NULL, NULL, &other, NULL), WEIR_OK);
    assert_int_equal(weir_rundown_register(other, destroyed_meanwhile, &destroyer, NULL), WEIR_OK);
    struct weir_session_config config = stop_config();
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    pthread_join(destroyer, NULL);
    assert_true(has_returned);
    weir_session_destroy(session);
}

/* A host's global lock, which its thread lets go of around each wait of the library. */
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool has_host_lock;

static void let_go(void *unused)
{
    (void)unused;
    if (has_host_lock)
        pthread_mutex_unlock(&host_lock);
}

static void take_back(void *unused)
{
    (void)unused;
    if (has_host_lock)
        pthread_mutex_lock(&host_lock);
}

static void needs_host_lock(void *context, const struct weir_rundown *rundown)
{
    (void)rundown;
    sem_post(context);
    pthread_mutex_lock(&host_lock);
    pthread_mutex_unlock(&host_lock);
}

static void *stop_it(void *session)
{
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    return NULL;
}

/* The destroyer has the lock that the source needs. */
static void test_destroyed_with_the_hosts_lock(void **unused)
{
    (void)unused;
    const struct weir_park_hooks hooks = {sizeof hooks, let_go, take_back, NULL};
    sem_t entered;
    sem_init(&entered, 0, 0);
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    assert_int_equal(weir_provider_create("Other", NULL, NULL, &other, NULL), WEIR_OK);
    assert_int_equal(weir_rundown_register(other, needs_host_lock, &entered, NULL), WEIR_OK);
    struct weir_session_config config = stop_config();
    struct weir_session *session = unit_start(&config);
    pthread_mutex_lock(&host_lock);
    has_host_lock = true;
    pthread_t stopping;
    pthread_create(&stopping, NULL, stop_it, session);
    sem_wait(&entered);
    weir_provider_destroy(other);
    has_host_lock = false;
    pthread_mutex_unlock(&host_lock);
    pthread_join(stopping, NULL);
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
    weir_session_destroy(session);
}

static void test_bad_arguments(void **unused)
{
    (void)unused;
    struct weir_session_config config = stop_config();
    struct weir_session *session;
    config.reserved_end[sizeof config.reserved_end - 1] = 1;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_at_the_stop, reset),
        cmocka_unit_test_setup(test_keywords, reset),
        cmocka_unit_test_setup(test_default, reset),
        cmocka_unit_test_setup(test_beside_the_callback, reset),
        cmocka_unit_test_setup(test_in_a_snapshot, reset),
        cmocka_unit_test_setup(test_at_the_start, reset),
        cmocka_unit_test_setup(test_hosts_before_the_start_had_one, reset),
        cmocka_unit_test_setup(test_lost_at_the_start, reset),
        cmocka_unit_test_setup(test_behind_a_parked_thread, reset),
        cmocka_unit_test_setup(test_stopped_during_the_start, reset),
        cmocka_unit_test_setup(test_greeting, reset),
        cmocka_unit_test_setup(test_greeting_and_a_stuck_sink, reset),
        cmocka_unit_test_setup(test_lost_without_signals, reset),
        cmocka_unit_test_setup(test_destroyed_during_the_start, reset),
        cmocka_unit_test_setup(test_stuck_sink, reset),
        cmocka_unit_test_setup(test_fork_around_a_wait, reset),
        cmocka_unit_test_setup(test_second_session_in_a_rundown, reset),
        cmocka_unit_test_setup(test_order_and_end, reset),
        cmocka_unit_test_setup(test_destroyed_by_another_thread, reset),
        cmocka_unit_test_setup(test_destroyed_with_the_hosts_lock, reset),
        cmocka_unit_test_setup(test_bad_arguments, reset),
    };
    return cmocka_run_group_tests(tests, register_all, NULL);
}
