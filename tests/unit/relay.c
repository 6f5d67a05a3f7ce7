/*
 * RELAY's cap, and what the drain counts on while threads wait. The tests of the cap are the drain
 * and all threads of a gate.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>
#include "buffers/place.h"
#include "os/os.h"
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT  4096u
#define SEGMENTS 16u
#define GRANT    2u
#define TRIES    1000

/* --- The cap. -------------------------------------------------------------------------------- */

static _Alignas(64) unsigned char area[SEGMENTS * SEGMENT];

/* Starts a gate whose units the holder has taken, all of them; returns these. */
static struct wr_unit *gate_begin(struct wr_gate *gate, uint32_t processors,
                                  struct wr_waiter *holder)
{
    const struct wr_gate_config config = {
        .wake = WEIR_WAKE_RELAY, .grant_units = GRANT, .processors = processors};
    struct wr_unit *units = NULL;
    memset(gate, 0, sizeof *gate);
    memset(holder, 0, sizeof *holder);
    wr_gate_init(gate, &config, area, SEGMENT, SEGMENTS);
    while (gate->free_count > 0) {
        assert_int_equal(wr_gate_ask(gate, holder, 1, UINT64_MAX), WR_ASKED_GRANTED);
        struct wr_unit *last = holder->units;
        while (last->next)
            last = last->next;
        last->next = units;
        units = holder->units;
    }
    return units;
}

static void wait_at(struct wr_gate *gate, struct wr_waiter *waiter)
{
    memset(waiter, 0, sizeof *waiter);
    assert_int_equal(wr_gate_ask(gate, waiter, 1, UINT64_MAX), WR_ASKED_PARKED);
}

/* The first `count` units come back. */
static void give(struct wr_gate *gate, struct wr_unit *units, uint32_t count)
{
    struct wr_unit *last = units;
    while (--count > 0)
        last = last->next;
    last->next = NULL;
    assert_true(wr_gate_give(gate, units, UINT64_MAX));
}

/* The holder has just written. Is the waiter served at once? In any case it is when the holder has
 * stood still for a while. */
static bool is_served_at_once(uint32_t free, uint32_t thread_id)
{
    struct wr_gate gate;
    struct wr_waiter holder, waiter;
    struct wr_unit *units = gate_begin(&gate, 2, &holder); /* one thread may run */
    wait_at(&gate, &waiter);
    waiter.thread_id = thread_id;
    give(&gate, units, free);
    assert_int_equal(gate.free_count, free);
    wr_gate_tune(&gate, 1, 1);
    bool is_at_once = wr_gate_idle(&gate) == WR_GATE_SERVED;
    if (!is_at_once) {
        usleep(1000);
        assert_int_equal(wr_gate_idle(&gate), WR_GATE_SERVED);
        assert_int_equal(gate.running, 1); /* the waiter; the holder rests, and cannot rest again */
        wr_gate_rest(&gate, &holder, UINT64_MAX);
        assert_int_equal(gate.running, 1);
    }
    wr_gate_fini(&gate);
    return is_at_once;
}

/* Of many tries, because this thread may stand still, too. */
static bool is_ever_kept_waiting(uint32_t free, uint32_t thread_id)
{
    bool is_kept = false;
    for (int i = 0; i < TRIES && !is_kept; i++)
        is_kept = !is_served_at_once(free, thread_id);
    return is_kept;
}

/* A thread that sleeps, and its id. */
struct sleeper {
    pthread_t thread;
    uint32_t thread_id;
    sem_t is_there, may_end;
};

static void *sleeper_run(void *argument)
{
    struct sleeper *sleeper = argument;
    sleeper->thread_id = (uint32_t)wr_os_thread_id();
    sem_post(&sleeper->is_there);
    while (sem_wait(&sleeper->may_end) != 0) {
    }
    return NULL;
}

static void sleeper_begin(struct sleeper *sleeper)
{
    sem_init(&sleeper->is_there, 0, 0);
    sem_init(&sleeper->may_end, 0, 0);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleeper_run, sleeper), 0);
    while (sem_wait(&sleeper->is_there) != 0) {
    }
}

static void sleeper_end(struct sleeper *sleeper)
{
    sem_post(&sleeper->may_end);
    pthread_join(sleeper->thread, NULL);
}

static void bind_to(pthread_t thread, size_t processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    assert_int_equal(pthread_setaffinity_np(thread, sizeof one, &one), 0);
}

/* For a whole grant it matters where the waiter may run; for less the holder has to stand still. */
static void test_idle_drain(void **state)
{
    (void)state;
    cpu_set_t all;
    struct sleeper sleeper;
    size_t here = (size_t)sched_getcpu(), other = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        other = CPU_ISSET(i, &all) && i != here ? i : other;
    sleeper_begin(&sleeper);
    bind_to(pthread_self(), here);
    bind_to(sleeper.thread, here);
    assert_false(is_ever_kept_waiting(GRANT, sleeper.thread_id));
    assert_true(is_ever_kept_waiting(GRANT - 1, sleeper.thread_id));
    if (CPU_COUNT(&all) > 1) {
        bind_to(sleeper.thread, other);
        assert_true(is_ever_kept_waiting(GRANT, sleeper.thread_id));
    } else {
        print_message("one processor: no waiter that is bound to another one\n");
    }
    sleeper_end(&sleeper);
    assert_false(is_ever_kept_waiting(GRANT, INT32_MAX)); /* there is no such thread */
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* One call serves as many as may run. */
static void test_several_below_the_cap(void **state)
{
    (void)state;
    struct wr_gate gate;
    struct wr_waiter holder, waiters[2];
    struct wr_unit *units = gate_begin(&gate, 4, &holder);
    for (int i = 0; i < 2; i++)
        wait_at(&gate, &waiters[i]);
    give(&gate, units, 2 * GRANT);
    assert_int_equal(gate.waiting, 0);
    assert_int_equal(gate.running, 3);
    wr_gate_fini(&gate);
}

/* When nearly all is free, a thread is served although another one runs. */
static void test_plenty(void **state)
{
    (void)state;
    struct wr_gate gate;
    struct wr_waiter holder, waiter;
    struct wr_unit *units = gate_begin(&gate, 2, &holder), *last = units;
    wait_at(&gate, &waiter);
    units = units->next;
    give(&gate, units, SEGMENTS * 3 / 4 + 1);
    assert_int_equal(gate.waiting, 1);
    give(&gate, last, 1);
    assert_int_equal(gate.waiting, 0);
    wr_gate_fini(&gate);
}

/* --- A turn. --------------------------------------------------------------------------------- */

#define TURN_GRANTS 6u

/* A gate where `waiters` have parked in this order and the first one has just been granted: the others
 * wait, and `free` units are free. */
static void turn_begin(struct wr_gate *gate, struct wr_waiter *waiters, int count, uint32_t free)
{
    struct wr_waiter holder;
    struct wr_unit *units = gate_begin(gate, 2, &holder); /* one thread may run */
    for (int i = 0; i < count; i++)
        wait_at(gate, &waiters[i]);
    give(gate, units, GRANT + free);
    wr_gate_rest(gate, &holder, UINT64_MAX);
    assert_int_equal(waiters[0].unit_count, GRANT);
    assert_int_equal(gate->waiting, count - 1);
    assert_int_equal(gate->free_count, free);
}

/* The thread writes as soon as it has units, until it parks; the drain keeps up. How many grants it had. */
static uint32_t turn_of(struct wr_gate *gate, struct wr_waiter *waiter)
{
    for (uint32_t grants = 1;; grants++) {
        give(gate, waiter->units, GRANT);
        assert_int_equal(gate->waiting, 1);
        bool has_room = wr_gate_has_room(gate, waiter);
        enum wr_asked asked = wr_gate_ask(gate, waiter, 1, UINT64_MAX);
        assert_int_equal(asked, has_room ? WR_ASKED_GRANTED : WR_ASKED_PARKED);
        if (!has_room)
            return grants;
    }
}

/* While more than half is free, a thread goes on ahead of the queue, and then it is the next one's turn. */
static void test_turn(void **state)
{
    (void)state;
    struct wr_gate gate;
    struct wr_waiter waiters[2];
    turn_begin(&gate, waiters, 2, SEGMENTS / 2 + 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(turn_of(&gate, &waiters[i % 2]), TURN_GRANTS);
        assert_int_equal(waiters[(i + 1) % 2].unit_count, GRANT); /* handed on */
    }
    wr_gate_fini(&gate);
}

static void test_turn_ends_early(void **state)
{
    (void)state;
    struct wr_gate gate;
    struct wr_waiter waiters[3];
    turn_begin(&gate, waiters, 2, SEGMENTS / 2); /* the drain does not keep up */
    assert_int_equal(wr_gate_ask(&gate, &waiters[0], 1, UINT64_MAX), WR_ASKED_PARKED);
    wr_gate_fini(&gate);

    turn_begin(&gate, waiters, 3, SEGMENTS / 2 + 3);
    wr_gate_rest(&gate, &waiters[0], UINT64_MAX); /* the second one runs in its place */
    assert_int_equal(gate.waiting, 1);
    assert_int_equal(gate.free_count, SEGMENTS / 2 + 1);
    assert_int_equal(wr_gate_ask(&gate, &waiters[0], 1, UINT64_MAX), WR_ASKED_PARKED);
    wr_gate_fini(&gate);
}

/* --- Parked threads. ------------------------------------------------------------------------- */

#define THREADS (SEGMENTS + 4u)

static sem_t sink_is_entered;

static bool stand_still(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    sem_post(&sink_is_entered);
    pthread_mutex_lock(context);
    pthread_mutex_unlock(context);
    return true;
}

static void *emit_until_lost(void *unused)
{
    while (WEIR_EMIT(Unit, Pair, 1, 2)) {
    }
    return unused;
}

/* More threads than segments, and no thread holds one. */
static void test_parked_threads_hold_nothing(void **state)
{
    (void)state;
    static pthread_mutex_t sink = PTHREAD_MUTEX_INITIALIZER;
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.memory_bytes_max = 0;
    config.sink.write = stand_still;
    config.sink.context = &sink;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = SEGMENTS * SEGMENT;
    config.flush_ms = 1;
    pthread_t threads[THREADS];
    sem_init(&sink_is_entered, 0, 0);
    pthread_mutex_lock(&sink);
    struct weir_session *session = unit_start(&config);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_until_lost, NULL), 0);
    while (sem_wait(&sink_is_entered) != 0) { /* from then on nothing comes back */
    }
    while (unit_stats(session).parked_now < THREADS)
        usleep(1000);
    assert_int_equal(wr_buffers_held(&session->buffers), 0);
    const struct wr_waiter *head = session->buffers.gate.head;
    const struct wr_place *place = WR_CONTAINER(head, struct wr_place, waiter);
    assert_int_not_equal(head->thread_id, 0);
    assert_int_equal(head->thread_id, place->lane.track.thread_id);
    pthread_mutex_unlock(&sink);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_drain),      cmocka_unit_test(test_several_below_the_cap),
        cmocka_unit_test(test_plenty),          cmocka_unit_test(test_turn),
        cmocka_unit_test(test_turn_ends_early), cmocka_unit_test(test_parked_threads_hold_nothing),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
