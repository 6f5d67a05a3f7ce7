/*
 * Mode DROP: refused threads are served in the order of refusals. The sink takes one buffer when
 * the test allows it. While the sink blocks, so does the drain. Each of the session's threads
 * emits one event on command.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "buffers/mode_drop.h"
#include "lane/thread.h"
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT  4096u
#define MEMBERS  20u
#define GIVE_UP  20000 /* looks, a millisecond apart */
#define AT_ONCE  UINT32_MAX
#define FLUSH_MS 60000u /* longer than a test: none may depend on the timer */

/* --- The sink. ------------------------------------------------------------------------------- */

static uint32_t writes_begun, writes_allowed; /* ANY */

static bool write_when_allowed(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    uint32_t number = __atomic_add_fetch(&writes_begun, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&writes_allowed, __ATOMIC_ACQUIRE) < number)
        usleep(200);
    return true;
}

static void wait_until_it_stands(uint32_t number)
{
    for (int i = 0; i < GIVE_UP && __atomic_load_n(&writes_begun, __ATOMIC_ACQUIRE) < number; i++)
        usleep(1000);
    assert_int_equal(__atomic_load_n(&writes_begun, __ATOMIC_ACQUIRE), number);
}

/* Lets one buffer through, and waits until the drain is blocked in the next write. By then it has
 * read what was full and served the lanes that wait. */
static void step(void)
{
    uint32_t number = __atomic_add_fetch(&writes_allowed, 1, __ATOMIC_ACQ_REL);
    wait_until_it_stands(number + 1);
}

static void let_go(void)
{
    __atomic_store_n(&writes_allowed, AT_ONCE, __ATOMIC_RELEASE);
}

/* Returns with the drain blocked in its first write. */
static struct weir_session *start_configured(uint32_t segments, bool no_yield)
{
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = write_when_allowed;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = (uint64_t)segments * SEGMENT;
    config.flush_ms = FLUSH_MS;
    config.no_yield = no_yield;
    writes_begun = writes_allowed = 0;
    struct weir_session *session = unit_start(&config);
    wait_until_it_stands(1);
    return session;
}

static struct weir_session *start_still(uint32_t segments)
{
    return start_configured(segments, false);
}

/* --- Threads. -------------------------------------------------------------------------------- */

enum order { EMIT_ONE, EMIT_SPAN, EMIT_UNTIL_REFUSED, LEAVE };

struct member {
    pthread_t thread;
    sem_t go, done;
    enum order order;
    bool is_written; /* of the last event */
};

static struct member members[MEMBERS];

static bool emit_span(void)
{
    static const unsigned char bytes[SEGMENT + SEGMENT / 2]; /* takes two segments */
    struct weir_value value = {.type = WEIR_TYPE_array_u8, .count = sizeof bytes};
    value.pointer = bytes;
    return weir_event_emit(&weir_events_Unit.Bytes, &value, 1, sizeof value);
}

static bool obey(enum order order)
{
    if (order == EMIT_SPAN)
        return emit_span();
    bool is_written = WEIR_EMIT(Unit, Pair, 1, 2);
    while (order == EMIT_UNTIL_REFUSED && is_written)
        is_written = WEIR_EMIT(Unit, Pair, 1, 2);
    return is_written;
}

static void *run(void *argument)
{
    struct member *member = argument;
    for (;;) {
        sem_wait(&member->go);
        if (member->order == LEAVE)
            return NULL;
        member->is_written = obey(member->order);
        sem_post(&member->done);
    }
}

static bool tell(uint32_t index, enum order order)
{
    struct member *member = &members[index];
    member->order = order;
    sem_post(&member->go);
    if (order == LEAVE)
        pthread_join(member->thread, NULL);
    else
        sem_wait(&member->done);
    return member->is_written;
}

static void members_start(void)
{
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct member){.is_written = false};
        sem_init(&members[i].go, 0, 0);
        sem_init(&members[i].done, 0, 0);
        assert_int_equal(pthread_create(&members[i].thread, NULL, run, &members[i]), 0);
    }
}

/* Ends the members from `first` on; those before have left. */
static void members_end(struct weir_session *session, uint32_t first)
{
    let_go();
    for (uint32_t i = first; i < MEMBERS; i++)
        tell(i, LEAVE);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, counts.written + counts.lost[WEIR_LOSS_FULL] +
                                           counts.lost[WEIR_LOSS_NO_SEGMENT]);
    weir_session_destroy(session);
}

/* Each member is refused once, in order; the first one has filled the session before. */
static void refuse_all(void)
{
    for (uint32_t i = 0; i < MEMBERS; i++)
        assert_false(tell(i, i ? EMIT_ONE : EMIT_UNTIL_REFUSED));
}

/* Emits until the event is written. */
static void wait_until_served(uint32_t index, enum order order)
{
    bool is_written = false;
    for (int i = 0; i < GIVE_UP && !is_written; i++) {
        is_written = tell(index, order);
        usleep(1000);
    }
    assert_true(is_written);
}

/* --- Tests. ---------------------------------------------------------------------------------- */

/* Two segments at a time. A thread that has had its turn fills its segment and is refused again,
 * behind all others, so the second round has the same order. */
static void test_order_of_refusals(void **state)
{
    (void)state;
    struct weir_session *session = start_still(2);
    members_start();
    refuse_all();
    for (uint32_t served = 0; served < 2 * MEMBERS; served += 2) {
        uint32_t first = served % MEMBERS;
        step();
        for (uint32_t i = MEMBERS; i-- > 0;)
            if (i != first && i != first + 1)
                assert_false(tell(i, EMIT_ONE));
        assert_true(tell(first, EMIT_ONE));
        assert_true(tell(first + 1, EMIT_ONE));
        assert_false(tell(first, EMIT_UNTIL_REFUSED));
        assert_false(tell(first + 1, EMIT_UNTIL_REFUSED));
    }
    members_end(session, 0);
}

/* A thread that has not been refused is served after those that have. */
static void test_nobody_passes(void **state)
{
    (void)state;
    struct weir_session *session = start_still(2);
    members_start();
    assert_false(tell(0, EMIT_UNTIL_REFUSED));
    assert_false(tell(1, EMIT_ONE));
    assert_false(tell(2, EMIT_ONE));
    step();
    assert_true(tell(0, EMIT_ONE));
    tell(0, EMIT_UNTIL_REFUSED);
    assert_true(tell(1, EMIT_ONE));
    tell(1, LEAVE); /* its segment comes back */
    step();
    assert_false(tell(3, EMIT_ONE));
    assert_true(tell(2, EMIT_ONE));
    let_go();
    tell(0, LEAVE);
    tell(2, LEAVE);
    members_end(session, 3);
}

/* The pin of a dropped event goes up by two, as that of a written one does, and the thread knows the cause. */
static void test_drops_leave_their_pins(void **state)
{
    (void)state;
    struct weir_session *session = start_still(2);
    while (WEIR_EMIT(Unit, Pair, 1, 2)) {
    }
    uint64_t pin = wr_pin_load(wr_self.thread);
    for (unsigned i = 1; i <= 3; i++) {
        assert_false(WEIR_EMIT(Unit, Pair, 1, 2));
        assert_int_equal(wr_pin_load(wr_self.thread), pin + 2 * i);
        assert_int_equal(weir_last_loss(), WEIR_LOSS_FULL);
    }
    let_go();
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
}

/* Two grants that are not used, and then two more. */
static void test_unused_grants_come_back(void **state)
{
    (void)state;
    struct weir_session *session = start_still(2);
    members_start();
    refuse_all();
    step();
    let_go();
    wait_until_served(4, EMIT_ONE);
    wait_until_served(0, EMIT_ONE); /* it enrols again and is not forgotten */
    members_end(session, 0);
}

/* The first two in the queue exit, and so does one that has been granted a segment. */
static void test_exits(void **state)
{
    (void)state;
    struct weir_session *session = start_still(2);
    members_start();
    refuse_all();
    tell(0, LEAVE);
    tell(1, LEAVE);
    step();
    assert_false(tell(4, EMIT_ONE));
    assert_true(tell(3, EMIT_ONE));
    tell(2, LEAVE);
    let_go();
    wait_until_served(4, EMIT_ONE);
    members_end(session, 3);
}

/* Two threads hold all segments and stop writing, or write slowly. */
static void test_held_segments_come_back(void **state)
{
    (void)state;
    struct weir_session *session = start_still(2);
    members_start();
    assert_true(tell(0, EMIT_ONE));
    assert_true(tell(1, EMIT_ONE));
    let_go();
    wait_until_served(2, EMIT_ONE);
    bool is_written = false;
    for (int i = 0; i < GIVE_UP && !is_written; i++) {
        tell(0, EMIT_ONE);
        tell(1, EMIT_ONE);
        tell(2, EMIT_ONE);
        is_written = tell(3, EMIT_ONE);
        usleep(1000);
    }
    assert_true(is_written);
    members_end(session, 0);
}

/* A record that needs two segments waits for both, and so does the one behind it. */
static void test_span_has_its_turn(void **state)
{
    (void)state;
    struct weir_session *session = start_still(4);
    members_start();
    for (uint32_t i = 0; i < 4; i++)
        assert_true(tell(i, EMIT_ONE));
    assert_false(tell(4, EMIT_SPAN));
    assert_false(tell(5, EMIT_ONE));
    tell(0, LEAVE);
    step();
    assert_false(tell(4, EMIT_SPAN));
    assert_false(tell(5, EMIT_ONE));
    assert_false(tell(3, EMIT_UNTIL_REFUSED));
    tell(1, LEAVE);
    step();
    assert_true(tell(4, EMIT_SPAN));
    assert_true(tell(5, EMIT_ONE));
    members_end(session, 2);
}

static _Thread_local bool counts_yields;
static uint32_t yields;
static uint32_t drain_yields; /* ANY */

/* In the place of the system's. The thread has left the library: it may emit. */
int sched_yield(void)
{
    __atomic_add_fetch(&drain_yields, wr_self.is_drain, __ATOMIC_ACQ_REL);
    if (!counts_yields)
        return 0;
    yields++;
    assert_false(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_NO_SEGMENT);
    return 0;
}

/* Those of this thread, from now on. */
static void count_yields(void)
{
    yields = 0;
    counts_yields = true;
}

static void emit_in_vain(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_false(obey(EMIT_ONE));
}

/* Members emit until they are refused. */
static void refuse(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        assert_false(tell(i, EMIT_UNTIL_REFUSED));
}

/* How often this thread yields when it is refused, and at the two hundred events after that. Meanwhile
 * the drain sweeps, and serves eight threads before this one. */
static uint32_t yields_of(bool no_yield, bool no_block, enum order refused)
{
    struct weir_session *session = start_configured(4, no_yield);
    members_start();
    refuse(0, 8);
    count_yields();
    if (no_block)
        weir_no_block_begin();
    assert_false(obey(refused));
    emit_in_vain(100);
    step(); /* in this look the first four are served */
    refuse(0, 4);
    step();
    emit_in_vain(100);
    if (no_block)
        weir_no_block_end();
    counts_yields = false;
    members_end(session, 0);
    return yields;
}

/* Five times after its sixteenth refusal, because many wait; and four times after a sweep. */
static void test_yields_while_many_wait(void **state)
{
    (void)state;
    assert_int_equal(yields_of(false, false, EMIT_ONE), 9);
    assert_int_equal(yields_of(false, false, EMIT_SPAN), 9);
    assert_int_equal(yields_of(true, false, EMIT_ONE), 0);
    assert_int_equal(yields_of(false, true, EMIT_ONE), 0);
}

/* The drain stands still; the test looks and sweeps for it. */
static void sweep(struct wr_buffers *buffers)
{
    buffers->mode->sweep(wr_ptr_load_relaxed(wr_thread_lane(wr_self.thread, buffers->slot)));
}

/* When it has been refused, and after a sweep, but not after a look, after which the drain does. */
static void test_yields_while_few_wait(void **state)
{
    (void)state;
    struct weir_session *session = start_still(4);
    struct wr_buffers *buffers = &session->buffers;
    members_start();
    refuse(0, 2);
    count_yields();
    assert_false(obey(EMIT_ONE));
    buffers->yields = false;
    assert_int_equal(buffers->mode->attend(buffers), WR_ATTENTION_STUCK);
    assert_int_equal(yields, 0);
    buffers->yields = true;
    assert_int_equal(buffers->mode->attend(buffers), WR_ATTENTION_STUCK);
    assert_int_equal(yields, 1);
    emit_in_vain(100);
    assert_int_equal(yields, 1 + 1);
    sweep(buffers);
    emit_in_vain(WR_TURN_FLAT_OUT - 1);
    assert_int_equal(yields, 1 + 1);
    emit_in_vain(100);
    assert_int_equal(yields, 1 + 1 + WR_TURN_YIELDS);
    counts_yields = false;
    members_end(session, 0);
}

/* The drain yields once it has served the only thread that waits. */
static void test_yield_of_the_drain(void **state)
{
    (void)state;
    struct weir_session *session = start_still(4);
    members_start();
    refuse(0, 1);
    drain_yields = 0;
    step(); /* in this look the thread is served */
    assert_int_equal(__atomic_load_n(&drain_yields, __ATOMIC_ACQUIRE), 0);
    members_end(session, 0);
    assert_int_equal(__atomic_load_n(&drain_yields, __ATOMIC_ACQUIRE), 1);
}

/* A thread that is refused only a few times between two sweeps does not yield, however often that is. */
static void test_yields_of_a_slow_thread(void **state)
{
    (void)state;
    struct weir_session *session = start_still(4);
    struct wr_buffers *buffers = &session->buffers;
    members_start();
    refuse(0, 8);
    count_yields();
    assert_false(obey(EMIT_ONE));
    for (uint32_t sweeps = 1; sweeps <= 100; sweeps++) {
        emit_in_vain(WR_TURN_FLAT_OUT - 1);
        for (uint32_t i = 0; i < sweeps % 4 + 1; i++)
            sweep(buffers);
    }
    assert_int_equal(yields, 0);
    emit_in_vain(WR_TURN_FLAT_OUT);
    assert_int_equal(yields, WR_TURN_YIELDS); /* the one that yields emits, and yields again */
    counts_yields = false;
    members_end(session, 0);
}

/* What a thread lost while it waited before does not count. */
static void test_yields_of_a_second_wait(void **state)
{
    (void)state;
    struct weir_session *session = start_still(4);
    members_start();
    count_yields();
    for (int waits = 0; waits < 2; waits++) {
        assert_false(obey(EMIT_UNTIL_REFUSED));
        emit_in_vain(WR_TURN_FLAT_OUT - 1);
        assert_int_equal(yields, 0);
        step();
        assert_true(obey(EMIT_ONE));
    }
    counts_yields = false;
    members_end(session, 0);
}

/* What a thread was granted for a smaller record goes back; then it is served for the larger
 * one. */
static void test_other_sizes_than_refused(void **state)
{
    (void)state;
    struct weir_session *session = start_still(4);
    members_start();
    assert_false(tell(0, EMIT_UNTIL_REFUSED));
    assert_false(tell(1, EMIT_SPAN));
    assert_false(tell(2, EMIT_ONE));
    step();
    assert_false(tell(0, EMIT_SPAN)); /* it was granted one */
    assert_true(tell(1, EMIT_ONE));   /* it was granted two */
    assert_true(tell(2, EMIT_ONE));
    let_go();
    wait_until_served(0, EMIT_SPAN);
    wait_until_served(3, EMIT_ONE);
    members_end(session, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_of_refusals),
                                       cmocka_unit_test(test_nobody_passes),
                                       cmocka_unit_test(test_drops_leave_their_pins),
                                       cmocka_unit_test(test_unused_grants_come_back),
                                       cmocka_unit_test(test_exits),
                                       cmocka_unit_test(test_held_segments_come_back),
                                       cmocka_unit_test(test_span_has_its_turn),
                                       cmocka_unit_test(test_other_sizes_than_refused),
                                       cmocka_unit_test(test_yields_while_many_wait),
                                       cmocka_unit_test(test_yields_while_few_wait),
                                       cmocka_unit_test(test_yield_of_the_drain),
                                       cmocka_unit_test(test_yields_of_a_slow_thread),
                                       cmocka_unit_test(test_yields_of_a_second_wait)};
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
