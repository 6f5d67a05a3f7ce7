/*
 * A clock that steps back twice by the same amount, under a drain that a sink holds between its looks.
 * The library's clock is moved (stress/moved_clock.h).
 */
#define _GNU_SOURCE
#include "stream.h"

#include <gate.h>
#include <pthread.h>
#include "moved_clock.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

struct moved_clock moved_clock_of_all;
__thread struct moved_clock moved_clock_of_thread;
__thread uint64_t moved_clock_readings;

#define HOUR     (INT64_C(3600) * 1000000000) /* of any clock, more or less */
#define STEP     (5 * HOUR)
#define A_MINUTE (HOUR / 60)

static struct gate gate = GATE_INIT;
static struct unit_bytes bytes;

static bool write_through_gate(void *context, const void *from, size_t count)
{
    gate_pass(&gate, count);
    return unit_append(context, from, count);
}

static struct weir_session *start(void)
{
    struct weir_session_config config = unit_config();
    config.segment_bytes = 4096;
    config.budget_bytes = 16 * config.segment_bytes;
    config.memory_bytes_max = 0;
    config.sink.write = write_through_gate;
    config.sink.context = &bytes;
    config.flush_ms = 1;
    return unit_start(&config);
}

static void move(int64_t ticks)
{
    __atomic_fetch_add(&moved_clock_of_all.ns, ticks, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&moved_clock_of_all.ticks, ticks, __ATOMIC_SEQ_CST);
}

struct file {
    int64_t first, last;
    uint64_t events, steps, step_ticks;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct file *file = context;
    uint64_t payload[2];
    memcpy(payload, event->payload, event->payload_size < 16 ? 0 : 16);
    if (strcmp(event->metadata->event_name, "ClockStep") == 0 && payload[0] == 0) {
        file->steps++;
        file->step_ticks += payload[1];
    }
    if (strcmp(event->metadata->provider_name, "Unit") != 0)
        return;
    file->first = file->events++ ? file->first : event->time;
    file->last = event->time;
}

static void *take_the_rest(void *unused)
{
    while (WEIR_EMIT(Unit, Pair, 0, 0))
        ;
    return unused;
}

/* Lets the drain go on to the end of its next look that has something to send. */
static void look(void)
{
    assert_true(gate_let(&gate, 1, 60, NULL));
}

/* An event whose thread finds no segment but the one from before the first step is stamped with the base
 * of that one, here an hour old at that step. If the second step's look is the first to read it, the
 * stream must not go on from there, four hours ahead. */
static void test_base_from_before_an_earlier_step(void **state)
{
    (void)state;
    struct file file = {0};
    pthread_t other;
    move(100 * HOUR);
    gate_close(&gate);
    struct weir_session *session = start();
    uint64_t unmoved = weir_clock();
    assert_true(WEIR_EMIT(Unit, Pair, 1, 1));
    assert_true(gate_wait(&gate, 60));
    move(HOUR);
    assert_true(WEIR_EMIT(Unit, Plain));
    look();
    move(-STEP);
    bool has_moved = weir_clock() < unmoved;
    if (has_moved) {
        look();
        assert_int_equal(pthread_create(&other, NULL, take_the_rest, NULL), 0);
        assert_int_equal(pthread_join(other, NULL), 0);
        assert_true(WEIR_EMIT(Unit, Pair, 2, 2));
        move(-STEP);
    }
    gate_open(&gate);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    unit_read(bytes.at, bytes.count, (struct wt_handlers){.event = on_event}, &file);
    assert_int_equal(unit_counts(session).written, file.events);
    weir_session_destroy(session);
    if (!has_moved) /* a counter that moved_clock.h does not replace */
        skip();
    assert_int_equal(file.steps, 2);
    assert_in_range(file.step_ticks, 2 * STEP - A_MINUTE, 2 * STEP + A_MINUTE);
    assert_in_range(file.last - file.first, HOUR, HOUR + A_MINUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_from_before_an_earlier_step),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
