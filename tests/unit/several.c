/*
 * An event that several sessions want: it has one pin and one stamp, and a session that is stuck
 * costs the others nothing. The library's clock counts its readings (stress/moved_clock.h).
 *
 * "Stuck" means: the sink blocks, and the budget is full.
 */
#define _GNU_SOURCE
#include "stream.h"

#include <gate.h>
#include <pthread.h>
#include <unistd.h>
#include "lane/thread.h"
#include "moved_clock.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

struct moved_clock moved_clock_of_all;
__thread struct moved_clock moved_clock_of_thread;
__thread uint64_t moved_clock_readings;

#define SEGMENT      4096u
#define SEGMENTS     16u
#define SESSIONS_MAX 8
#define EVENTS       20000u /* 720 kB: of a healthy session's budget, too little to wake its drain */
#define BUDGET       (UINT64_C(4) << 20)

/* --- What a stream has. ---------------------------------------------------------------------- */

/* By the first field, which numbers the events. */
struct file {
    int64_t time[EVENTS];
    uint64_t events;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct file *file = context;
    uint64_t number;
    if (strcmp(event->metadata->provider_name, "Unit") != 0)
        return;
    assert_true(event->payload_size >= sizeof number);
    memcpy(&number, event->payload, sizeof number);
    assert_true(number < EVENTS && file->time[number] == 0);
    file->time[number] = event->time;
    file->events++;
}

static void read_stream(const void *bytes, uint64_t count, struct file *file)
{
    memset(file, 0, sizeof *file);
    unit_read(bytes, count, (struct wt_handlers){.event = on_event}, file);
}

/* Stops and frees a session with a memory sink. */
static void finish(struct weir_session *session, struct file *file)
{
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    read_stream(bytes, count, file);
    assert_int_equal(unit_counts(session).written, file->events);
    weir_session_destroy(session);
}

/* --- Sessions. ------------------------------------------------------------------------------- */

/* Its drain does not look before the end, so that nothing takes its locks meanwhile. */
static struct weir_session *start_healthy(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.budget_bytes = BUDGET;
    config.segment_bytes = SEGMENT;
    config.flush_ms = 60000;
    return unit_start(&config);
}

/* The sink of the stuck session: keeps the stream, and passes the gate before. */
static struct gate gate = GATE_INIT;
static struct unit_bytes stuck_bytes;

static bool write_through_gate(void *context, const void *bytes, size_t count)
{
    gate_pass(&gate, count);
    return unit_append(context, bytes, count);
}

static struct weir_session_config stuck_config(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = (uint64_t)SEGMENTS * SEGMENT;
    config.memory_bytes_max = 0;
    config.sink.write = write_through_gate;
    config.sink.context = &stuck_bytes;
    config.flush_ms = 1;
    stuck_bytes.count = 0;
    return config;
}

static void wait_parked(struct weir_session *session, uint64_t threads)
{
    for (int ms = 0; ms < 20000 && unit_stats(session).parked_now != threads; ms++)
        usleep(1000);
    assert_int_equal(unit_stats(session).parked_now, threads);
}

/* Any session can be started and stopped beside the stuck one. */
static void start_and_stop_another(void)
{
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
}

/* --- One pin, one reading. ------------------------------------------------------------------- */

static void emit_words(uint64_t number)
{
    assert_true(WEIR_EMIT(Unit, Pair, number, 2));
}

static void emit_from_memory(uint64_t number)
{
    uint64_t fields[] = {number, 2};
    assert_true(weir_emit(&weir_events_Unit.Pair, fields));
}

static void emit_nothing(uint64_t number)
{
    (void)number;
    assert_true(WEIR_EMIT(Unit, Plain));
}

static const struct weir_guid activity = {{1, 2, 3}};

static bool emit_in_activity(uint64_t number)
{
    struct weir_context context = WEIR_CONTEXT_INIT;
    context.activity_id = &activity;
    return WEIR_EMIT_WITH(&context, Unit, Pair, number, 2);
}

static void emit_context(uint64_t number)
{
    assert_true(emit_in_activity(number));
}

static void emit_text(uint64_t number)
{
    (void)number;
    assert_true(WEIR_EMIT(Unit, Text, "some text"));
}

static void emit_bytes(uint64_t number)
{
    (void)number;
    assert_true(WEIR_EMIT(Unit, Bytes, (const uint8_t *)"bytes", 5));
}

/* A pin is a number that rises by one when the thread enters, and by one when it leaves. */
static void count_one(void (*emit)(uint64_t number), uint64_t number)
{
    uint64_t pin = wr_u64_load_relaxed(&wr_self.thread->pin), readings = moved_clock_readings;
    emit(number);
    assert_int_equal(wr_u64_load_relaxed(&wr_self.thread->pin) - pin, 2);
    assert_int_equal(moved_clock_readings - readings, 1);
}

/* A letter for each session: D, B or O. */
static void count_with(const char *modes)
{
    static void (*const emits[])(uint64_t number) = {emit_nothing, emit_words, emit_from_memory,
                                                     emit_context, emit_text,  emit_bytes};
    struct weir_session *sessions[SESSIONS_MAX];
    size_t count = strlen(modes);
    for (size_t i = 0; i < count; i++)
        sessions[i] = start_healthy(modes[i] == 'B'   ? WEIR_MODE_BLOCK
                                    : modes[i] == 'O' ? WEIR_MODE_OVERWRITE
                                                      : WEIR_MODE_DROP);
    emit_nothing(0); /* the thread's first event attaches it, and opens the segments */
    for (size_t i = 0; i < sizeof emits / sizeof emits[0]; i++)
        count_one(emits[i], 1 + i);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(weir_session_stop(sessions[i], NULL), WEIR_OK);
        assert_int_equal(unit_counts(sessions[i]).written, 1 + sizeof emits / sizeof emits[0]);
        weir_session_destroy(sessions[i]);
    }
}

static void test_one_pin_and_one_reading(void **state)
{
    (void)state;
    static const char *const modes[] = {"D",  "B",  "O",   "DD",       "DB",
                                        "BD", "BB", "DBO", "DDDDDDDD", "OBDOBDOB"};
    struct weir_session *session = start_healthy(WEIR_MODE_DROP); /* sets the clock up */
    uint64_t readings = moved_clock_readings;
    (void)weir_clock();
    bool is_counted = moved_clock_readings == readings + 1 && wr_thread_fast;
    weir_session_destroy(session);
    if (!is_counted) /* no membarrier; or a counter that moved_clock.h does not replace */
        skip();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        count_with(modes[i]);
}

/* --- Stuck in DROP. -------------------------------------------------------------------------- */

static struct file stuck_file, files[2];

static void same_stamps(const struct file *of, const struct file *beside)
{
    for (uint64_t i = 0; i < EVENTS; i++)
        assert_true(of->time[i] == 0 || of->time[i] == beside->time[i]);
}

/* What the stuck session loses, the others have; what it has, has their stamp. */
static void test_stuck_in_drop(void **state)
{
    (void)state;
    struct weir_session_config config = stuck_config(WEIR_MODE_DROP);
    gate_close(&gate);
    struct weir_session *before = start_healthy(WEIR_MODE_DROP), *stuck = unit_start(&config),
                        *after = start_healthy(WEIR_MODE_BLOCK);
    uint64_t written = 0;
    for (uint64_t i = 0; i < EVENTS; i++)
        written += i % 2 ? WEIR_EMIT(Unit, Pair, i, 2) : emit_in_activity(i);
    struct weir_counts counts = unit_counts(stuck);
    assert_int_equal(counts.attempted, EVENTS);
    assert_int_equal(counts.written, written);
    assert_int_equal(unit_stats(after).parks, 0);
    finish(before, &files[0]);
    finish(after, &files[1]);
    start_and_stop_another();
    gate_open(&gate);
    assert_int_equal(weir_session_stop(stuck, NULL), WEIR_OK);
    read_stream(stuck_bytes.at, stuck_bytes.count, &stuck_file);
    weir_session_destroy(stuck);
    assert_true(written > 0 && written < EVENTS);
    assert_int_equal(stuck_file.events, written);
    assert_int_equal(files[0].events, EVENTS);
    assert_int_equal(files[1].events, EVENTS);
    same_stamps(&files[0], &files[1]);
    same_stamps(&stuck_file, &files[0]);
}

/* A session that starts beside one that the thread has written to: its lane is older than the stamp. */
static void test_session_that_starts_later(void **state)
{
    (void)state;
    struct weir_session *first = start_healthy(WEIR_MODE_DROP);
    assert_true(emit_in_activity(0));
    struct weir_session *second = start_healthy(WEIR_MODE_DROP);
    assert_true(emit_in_activity(1));
    finish(first, &files[0]);
    finish(second, &files[1]);
    assert_int_equal(files[0].events, 2);
    assert_int_equal(files[1].events, 1);
    same_stamps(&files[1], &files[0]);
}

/* --- Stuck in BLOCK. ------------------------------------------------------------------------- */

/* Numbers from `first` on. The drain reads until it has to write what it has encoded. */
static uint64_t fill(uint64_t first)
{
    uint64_t number = first;
    weir_no_block_begin();
    for (int quiet = 0; quiet < 20; quiet++, usleep(2000))
        for (; WEIR_EMIT(Unit, Pair, number, 0); quiet = 0)
            number++;
    weir_no_block_end();
    return number - first;
}

/* Three sessions in BLOCK and DROP, in an order; the stuck one is full before the others start. It
 * has the first slot, or a later one where a session has made room for the others. */
struct three {
    struct weir_session *stuck, *drop, *block;
    uint64_t filled;
};

static struct three start_three(const struct weir_session_config *config, bool is_first)
{
    struct three three = {0};
    struct weir_session *places[2] = {NULL, NULL};
    for (int i = 0; !is_first && i < 2; i++)
        places[i] = start_healthy(WEIR_MODE_DROP);
    gate_close(&gate);
    three.stuck = unit_start(config);
    three.filled = fill(0);
    assert_int_equal(unit_stats(three.stuck).budget_bytes_used, config->budget_bytes);
    for (int i = 0; i < 2; i++)
        weir_session_destroy(places[i]);
    three.block = start_healthy(WEIR_MODE_BLOCK);
    three.drop = start_healthy(WEIR_MODE_DROP);
    return three;
}

/* After each wait in the stuck session, on the thread that waited: the others have its event. */
static struct three waited_in;
static uint64_t waits, waits_before_others;

static void after_wait(void *context, const struct weir_park *park)
{
    (void)context;
    (void)park;
    struct weir_stats drop = WEIR_STATS_INIT, block = WEIR_STATS_INIT;
    waits++;
    bool is_known = weir_session_stats(waited_in.drop, &drop) == WEIR_OK &&
                    weir_session_stats(waited_in.block, &block) == WEIR_OK;
    waits_before_others +=
        !is_known || drop.counts.written != waits || block.counts.written != waits;
}

static void finish_three(struct three *three, uint64_t late)
{
    gate_open(&gate);
    assert_int_equal(weir_session_stop(three->stuck, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(three->stuck);
    read_stream(stuck_bytes.at, stuck_bytes.count, &stuck_file);
    assert_int_equal(stuck_file.events, counts.written);
    assert_int_equal(counts.lost[WEIR_LOSS_DEADLINE], late);
    weir_session_destroy(three->stuck);
}

/* Several segments' worth, so that the thread also finds the healthy session in BLOCK without a
 * segment, and each event waits for the stuck one until its deadline. */
#define LATE 500u

static void *emit_late(void *argument)
{
    for (uint64_t i = 0; i < LATE; i++)
        *(uint64_t *)argument += WEIR_EMIT(Unit, Pair, i, 2);
    return NULL;
}

static void test_stuck_in_block_until_a_deadline(void **state)
{
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        struct weir_session_config config = stuck_config(WEIR_MODE_BLOCK);
        pthread_t thread;
        uint64_t written = 0;
        config.max_block_ns = 100000;
        config.on_park = after_wait;
        waits = waits_before_others = 0;
        waited_in = start_three(&config, is_first);
        assert_int_equal(waits, 0);
        assert_int_equal(pthread_create(&thread, NULL, emit_late, &written), 0);
        pthread_join(thread, NULL);
        assert_int_equal(written, 0);
        assert_int_equal(waits, LATE);
        assert_int_equal(waits_before_others, 0);
        assert_int_equal(unit_counts(waited_in.stuck).written, waited_in.filled);
        assert_int_equal(unit_stats(waited_in.block).parks, 0);
        finish(waited_in.drop, &files[0]);
        finish(waited_in.block, &files[1]);
        start_and_stop_another();
        finish_three(&waited_in, LATE);
        assert_int_equal(files[0].events, LATE);
        assert_int_equal(files[1].events, LATE);
        same_stamps(&files[0], &files[1]);
    }
}

static void *emit_last(void *written)
{
    *(bool *)written = WEIR_EMIT(Unit, Pair, EVENTS - 1, 2);
    return NULL;
}

/* Without a deadline: the others have a new thread's first event while it is parked, and end as
 * always. Its copy in the stuck session has the time of its grant. */
static void test_stuck_in_block_for_good(void **state)
{
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        struct weir_session_config config = stuck_config(WEIR_MODE_BLOCK);
        bool is_written = false;
        pthread_t thread;
        struct three three = start_three(&config, is_first);
        assert_int_equal(pthread_create(&thread, NULL, emit_last, &is_written), 0);
        wait_parked(three.stuck, 1);
        finish(three.drop, &files[0]);
        finish(three.block, &files[1]);
        start_and_stop_another();
        assert_int_equal(unit_stats(three.stuck).parked_now, 1);
        gate_open(&gate);
        pthread_join(thread, NULL);
        assert_true(is_written);
        finish_three(&three, 0);
        assert_int_equal(stuck_file.events, three.filled + 1);
        assert_int_equal(files[0].events, 1);
        assert_int_equal(files[1].events, 1);
        assert_true(files[0].time[EVENTS - 1] == files[1].time[EVENTS - 1]);
        assert_true(stuck_file.time[EVENTS - 1] > files[0].time[EVENTS - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pin_and_one_reading),
        cmocka_unit_test(test_stuck_in_drop),
        cmocka_unit_test(test_session_that_starts_later),
        cmocka_unit_test(test_stuck_in_block_until_a_deadline),
        cmocka_unit_test(test_stuck_in_block_for_good),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
