/*
 * Stamps of the caller's: which times such events have in the stream, and which are counted as
 * late. A stream's time is the clock's unless that steps back, so the file can be compared with the
 * stamps.
 */
#define _GNU_SOURCE
#include "stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Each event begins with the number of its entry in `sent`. */
#define STAMP_EVENTS(EVENT, P)                                                                     \
    EVENT(P, Bare, 1, 0, WEIR_LEVEL_INFO, 0)                                                       \
    EVENT(P, One, 2, 0, WEIR_LEVEL_INFO, 0, (u64, Number))                                         \
    EVENT(P, Mixed, 3, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (u8, A), (u16, B), (f32, C))          \
    EVENT(P, Three, 4, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (u64, A), (u64, B))                   \
    EVENT(P, Four, 5, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (u64, A), (u64, B), (u64, C))          \
    EVENT(P, Five, 6, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (u64, A), (u64, B), (u64, C),          \
          (u64, D))                                                                                \
    EVENT(P, Six, 7, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (u64, A), (u64, B), (u64, C), (u64, D), \
          (u64, F))                                                                                \
    EVENT(P, Text, 8, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (str, Value))                          \
    EVENT(P, Data, 9, 0, WEIR_LEVEL_INFO, 0, (u64, Number), (array_u8, Value))
WEIR_PROVIDER(Stamp, STAMP_EVENTS)
WEIR_PROVIDER_DEFINE(Stamp, STAMP_EVENTS)
WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define EVENTS_MAX 20000
#define HOUR       (UINT64_C(3600) * 1000000000) /* of any clock, more or less */

/* --- What was emitted, and what the file says of it. ----------------------------------------- */

struct sent {
    bool is_given;
    uint64_t stamp;         /* if is_given */
    uint64_t before, after; /* readings of the clock around the call */
    bool is_found;
    uint64_t time, point; /* in the file: its time, and that of the last point before it */
    bool is_least;        /* the time is that of the thread's last event, or of the point */
};

static struct sent sent[EVENTS_MAX];
static uint64_t sent_count;

struct file {
    uint64_t point, last_time, found, moved, steps;
    uint64_t last_number; /* of the thread */
};

static void check_time(struct file *file, struct sent *one, uint64_t time)
{
    uint64_t least = file->last_time > file->point ? file->last_time : file->point;
    assert_false(one->is_found);
    assert_true(time >= least);
    *one = (struct sent){
        one->is_given,    one->stamp,   one->before,          one->after,
        .is_found = true, .time = time, .point = file->point, .is_least = time == least};
    file->last_time = time;
    file->found++;
    if (!one->is_given || time == one->stamp)
        return;
    file->moved++;
    if (time > one->stamp) {
        assert_true(one->is_least);
    } else { /* later than the look, which came after the call; it got a time that has passed */
        assert_true(one->stamp > one->after);
        assert_true(time < weir_clock());
    }
}

static void on_event(void *context, const struct wt_event *event)
{
    struct file *file = context;
    if (strcmp(event->metadata->event_name, "ClockStep") == 0)
        file->steps++;
    if (strcmp(event->metadata->provider_name, "Stamp") != 0)
        return;
    uint64_t number = file->last_number + 1;
    if (event->payload_size >= sizeof number)
        memcpy(&number, event->payload, sizeof number);
    assert_true(number < sent_count);
    assert_true(file->found == 0 || number > file->last_number);
    file->last_number = number;
    check_time(file, &sent[number], (uint64_t)event->time);
}

static void on_point(void *context, const struct wt_point *point)
{
    ((struct file *)context)->point = (uint64_t)point->time;
}

static struct file read_file(const void *bytes, uint64_t count)
{
    struct file file = {0};
    for (uint64_t i = 0; i < sent_count; i++)
        sent[i].is_found = false;
    const struct wt_handlers handlers = {.event = on_event, .point = on_point};
    unit_read(bytes, count, handlers, &file);
    assert_int_equal(file.steps, 0); /* no stamp of the caller's is a step of the clock */
    return file;
}

static struct sent *next(bool is_given, uint64_t stamp)
{
    assert_true(sent_count < EVENTS_MAX);
    sent[sent_count] = (struct sent){.is_given = is_given, .stamp = stamp, .before = weir_clock()};
    return &sent[sent_count++];
}

static struct sent *emit(void)
{
    struct sent *one = next(false, 0);
    assert_true(WEIR_EMIT(Stamp, One, sent_count - 1));
    one->after = weir_clock();
    return one;
}

static struct sent *emit_at(uint64_t stamp)
{
    struct sent *one = next(true, stamp);
    assert_true(WEIR_EMIT_AT(stamp, Stamp, Four, sent_count - 1, 1, 2, 3));
    one->after = weir_clock();
    return one;
}

/* The same with a string, whose records are written and encoded by functions of their own. */
static void emit_text(void)
{
    struct sent *one = next(false, 0);
    assert_true(WEIR_EMIT(Stamp, Text, sent_count - 1, "text"));
    one->after = weir_clock();
}

static void emit_text_at(uint64_t stamp)
{
    struct sent *one = next(true, stamp);
    assert_true(WEIR_EMIT_AT(stamp, Stamp, Text, sent_count - 1, "text"));
    one->after = weir_clock();
}

/* --- Sessions. ------------------------------------------------------------------------------- */

static struct weir_session_config stamp_config(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.providers = "Stamp,Unit";
    config.mode = mode;
    config.flush_ms = 60000; /* one look, at the stop */
    sent_count = 0;
    return config;
}

struct range {
    uint64_t least, most;
};

static void count_late(struct range *late, const struct sent *one)
{
    if (one->is_given) {
        bool is_moved = one->time != one->stamp;
        /* Two points of one look are a tick apart. A stamp between them is not late. */
        bool is_between = one->is_least && one->time == one->point && one->stamp + 1 == one->time;
        late->most += is_moved;
        late->least += is_moved && !is_between;
        return;
    }
    /* The library's own stamp is not known. It is late if the thread was held up until a point. */
    assert_true(one->time >= one->before);
    late->most += one->is_least && one->before < one->point;
}

/* Stops the session. All events are in the file, and those that have another time than their stamp
 * are the late ones. Returns how many these are. */
static uint64_t finish(struct weir_session *session)
{
    const void *bytes;
    uint64_t count;
    struct range late = {0, 0};
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    struct file file = read_file(bytes, count);
    assert_int_equal(file.found, sent_count);
    for (uint64_t i = 0; i < sent_count; i++)
        count_late(&late, &sent[i]);
    assert_in_range(unit_stats(session).late_records, late.least, late.most);
    weir_session_destroy(session);
    return file.moved;
}

static void *plain(void *unused)
{
    assert_true(WEIR_EMIT(Unit, Plain));
    return unused;
}

/* Waits until the drain has written a point that is younger than this call. The clock of the first
 * one may have been read before. A point needs news: an event of another thread. */
static void wait_for_point(struct weir_session *session)
{
    for (int round = 0; round < 2; round++) {
        uint64_t points = unit_stats(session).sequence_points;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, plain, NULL), 0);
        pthread_join(thread, NULL);
        while (unit_stats(session).sequence_points == points)
            usleep(1000);
    }
}

static const enum weir_mode modes[] = {WEIR_MODE_DROP, WEIR_MODE_BLOCK, WEIR_MODE_OVERWRITE};
#define EACH_MODE(i) for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)

/* --- The rules, one by one. ------------------------------------------------------------------ */

/* Every size of payload, and events without a stamp between them. */
static void test_stamps_are_kept(void **state)
{
    (void)state;
    static const uint8_t data[9000] = {1};
    EACH_MODE(i)
    {
        struct weir_session_config config = stamp_config(modes[i]);
        config.segment_bytes = 4096;
        struct weir_session *session = unit_start(&config);
        emit(); /* introduces the thread before the first stamp */
        for (int round = 0; round < 50; round++) {
            uint64_t now = weir_clock();
            emit_at(now);
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Bare));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, One, sent_count - 1));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Mixed, sent_count - 1, 1, 2, 3.0f));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Three, sent_count - 1, 1, 2));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Five, sent_count - 1, 1, 2, 3, 4));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Six, sent_count - 1, 1, 2, 3, 4, 5));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Text, sent_count - 1, "text"));
            next(true, now);
            assert_true(WEIR_EMIT_AT(now, Stamp, Data, sent_count - 1, data, 5));
            next(true, now); /* over several segments */
            assert_true(WEIR_EMIT_AT(now, Stamp, Data, sent_count - 1, data, sizeof data));
            emit();
        }
        assert_int_equal(finish(session), 0);
    }
}

static void test_older_than_the_last(void **state)
{
    (void)state;
    EACH_MODE(i)
    {
        struct weir_session_config config = stamp_config(modes[i]);
        struct weir_session *session = unit_start(&config);
        uint64_t now = weir_clock();
        struct sent *first = emit();
        struct sent *zero = emit_at(0), *older = emit_at(now);
        struct sent *good = emit_at(weir_clock());
        struct sent *again = emit_at(now);
        struct sent *last = emit();
        assert_int_equal(finish(session), 3);
        assert_int_equal(zero->time, first->time);
        assert_int_equal(older->time, first->time);
        assert_int_equal(again->time, good->time);
        assert_in_range(last->time, last->before, last->after);
    }
}

/* The segment is fresh, and its base is younger than the stamp. */
static void test_older_than_the_segment(void **state)
{
    (void)state;
    EACH_MODE(i)
    {
        struct weir_session_config config = stamp_config(modes[i]);
        struct weir_session *session = unit_start(&config);
        emit(); /* introduces the thread before the stamp */
        uint64_t now = weir_clock();
        for (int round = 0; round < 2000; round++) /* three segments */
            emit_at(now);
        assert_int_equal(finish(session), 0);
    }
}

static void test_older_than_the_point(void **state)
{
    (void)state;
    struct weir_session_config config = stamp_config(WEIR_MODE_DROP);
    config.flush_ms = 1;
    struct weir_session *session = unit_start(&config);
    emit();
    uint64_t now = weir_clock();
    wait_for_point(session);
    struct sent *late = emit_at(now);
    assert_int_equal(finish(session), 1);
    assert_true(late->point > now);
    assert_int_equal(late->time, late->point);
}

/* The drain reads it, and what follows, at its next look: before it writes the next point. */
static void test_in_the_future(void **state)
{
    (void)state;
    static const uint64_t ahead[] = {1000000000, 1000 * HOUR, UINT64_MAX / 2, UINT64_MAX};
    struct weir_session_config config = stamp_config(WEIR_MODE_DROP);
    config.flush_ms = 1;
    struct weir_session *session = unit_start(&config);
    for (size_t i = 0; i < sizeof ahead / sizeof ahead[0]; i++) {
        uint64_t now = weir_clock();
        emit_at(ahead[i] > UINT64_MAX - now ? UINT64_MAX : now + ahead[i]);
        emit();
        wait_for_point(session);
        emit_at(weir_clock());
    }
    wait_for_point(session);
    emit_at(UINT64_MAX); /* read at the stop */
    /* A look may also come between a reading of the clock and its event. */
    assert_in_range(finish(session), 5, 9);
    for (uint64_t i = 0; i + 3 < sent_count; i += 3) {
        assert_true(sent[i].time < sent[i + 2].before);
        assert_true(sent[i + 1].time < sent[i + 2].before);
        assert_true(sent[i + 1].point < sent[i + 2].before);
        assert_true(sent[i + 2].point > sent[i + 1].after);
    }
}

/* A recorder may be asked much later. What the library has stamped keeps its time, and a stamp is
 * in the future if it is later than that. */
static void test_recorder(void **state)
{
    (void)state;
    struct weir_session_config config = stamp_config(WEIR_MODE_OVERWRITE);
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    uint64_t late = 0;
    for (int round = 0; round < 300; round++) {
        emit();
        emit_at(weir_clock());
        emit_at(weir_clock() + (uint64_t)round * 1000); /* most lie in the past at the stop */
        emit_at(round % 2 ? UINT64_MAX : 0);
    }
    struct sent *last = emit();
    usleep(1000);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    struct file file = read_file(bytes, count);
    assert_int_equal(file.found, sent_count);
    for (uint64_t i = 0; i < sent_count; i++) {
        late += sent[i].is_given && sent[i].time != sent[i].stamp;
        if (!sent[i].is_given)
            assert_in_range(sent[i].time, sent[i].before, sent[i].after);
        else if (sent[i].stamp == UINT64_MAX)
            assert_int_equal(sent[i].time, sent[i + 1].time);
        else if (i % 4 == 1) /* an honest one */
            assert_int_equal(sent[i].time, sent[i].stamp);
    }
    assert_true(late > 300 && late < sent_count / 2);
    assert_int_equal(unit_stats(session).late_records, late);
    assert_in_range(last->time, last->before, last->after);
    weir_session_destroy(session);
}

/* Pairs fill each segment to its end, so the last record has its bound in the next segment. */
static void test_recorder_bounds_by_segments(void **state)
{
    (void)state;
    struct weir_session_config config = stamp_config(WEIR_MODE_OVERWRITE);
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    for (int round = 0; round < 400; round++) {
        emit();
        next(true, UINT64_MAX)->after = weir_clock();
        assert_true(WEIR_EMIT_AT(UINT64_MAX, Stamp, Three, sent_count - 1, 1, 2));
    }
    assert_int_equal(finish(session), 400);
    for (uint64_t i = 2; i < sent_count; i += 2)
        assert_in_range(sent[i].time, sent[i].before, sent[i].after);
}

/* `last_ns` leaves out what is older, by the time of its neighbors whatever its stamp. */
static void test_recorder_leaves_out(void **state)
{
    (void)state;
    static struct unit_bytes bytes;
    struct weir_session_config config = stamp_config(WEIR_MODE_OVERWRITE);
    struct weir_session *session = unit_start(&config);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_append;
    sink.context = &bytes;
    emit();
    emit_at(UINT64_MAX);
    emit();
    usleep(400000);
    uint64_t gone = sent_count;
    emit();
    emit_at(0);
    emit_at(weir_clock());
    emit();
    assert_int_equal(weir_session_snapshot(session, &sink, 200000000, NULL), WEIR_OK);
    struct file file = read_file(bytes.at, bytes.count);
    assert_int_equal(file.found, sent_count - gone);
    assert_true(sent[gone].is_found);
    weir_session_destroy(session);
}

/* Any number. */
static uint64_t odd_stamp(uint64_t *random)
{
    static const int64_t distances[] = {0,
                                        1,
                                        1000,
                                        INT64_C(1) << 30,
                                        INT64_C(1) << 45,
                                        INT64_C(1) << 46,
                                        INT64_C(1) << 47,
                                        INT64_C(1) << 48};
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t pick = *random >> 33, now = weir_clock();
    uint64_t distance = (uint64_t)distances[pick % 8] + (pick >> 3) % 3 - 1;
    switch (pick >> 8 & 7) {
    case 0:
        return *random;
    case 1:
        return pick & 8 ? UINT64_MAX - distance : distance;
    case 2:
    case 3:
        return now + distance;
    case 4:
    case 5:
        return now > distance ? now - distance : 0;
    default:
        return now;
    }
}

/* In any mode, between events without a stamp; with a drain that looks all the time, and with one
 * that looks only at the stop. */
static void odd_stamps(enum weir_mode mode, uint32_t flush_ms, uint64_t seed)
{
    struct weir_session_config config = stamp_config(mode);
    uint64_t random = seed;
    config.flush_ms = flush_ms;
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    for (int i = 0; i < 10000; i++) {
        uint64_t stamp = odd_stamp(&random);
        bool is_given = random >> 62 != 0, is_text = i / 100 % 2 != 0;
        if (is_given && is_text)
            emit_text_at(stamp);
        else if (is_given)
            emit_at(stamp);
        else if (is_text)
            emit_text();
        else
            emit();
        if (i % 2000 == 0)
            usleep(2000);
    }
    finish(session);
}

static void test_odd_stamps(void **state)
{
    (void)state;
    EACH_MODE(i)
    {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            odd_stamps(modes[i], 60000, seed);
            odd_stamps(modes[i], 1, seed);
        }
    }
}

/* --- Everything else. ------------------------------------------------------------------------ */

static void test_two_sessions(void **state)
{
    (void)state;
    struct weir_session_config config = stamp_config(WEIR_MODE_DROP);
    struct weir_session *one = unit_start(&config);
    config.mode = WEIR_MODE_OVERWRITE;
    struct weir_session *two = unit_start(&config);
    static const uint8_t data[100] = {1};
    emit();
    emit_at(weir_clock());
    uint64_t now = weir_clock();
    next(true, now);
    assert_true(WEIR_EMIT_AT(now, Stamp, Data, sent_count - 1, data, sizeof data));
    emit_at(0);
    emit_at(UINT64_MAX);
    emit();
    emit_text_at(weir_clock());
    emit_text();
    emit_text_at(0);
    emit_text_at(UINT64_MAX);
    emit_text();
    assert_int_equal(finish(one), 4);
    assert_int_equal(finish(two), 4);
}

static void test_values(void **state)
{
    (void)state;
    static const struct weir_field fields[] = {{"Number", WEIR_TYPE_u64}};
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_provider *provider;
    struct weir_event *event;
    schema.name = "Values";
    schema.event_id = 1;
    schema.fields = fields;
    schema.field_count = 1;
    assert_int_equal(weir_provider_create("StampValues", NULL, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(provider, &schema, &event, NULL), WEIR_OK);
    struct weir_value value = {.type = WEIR_TYPE_u64, .unsigned_value = 7};
    assert_false(weir_event_emit_at(event, 1, &value, 1, sizeof value));
    struct weir_session_config config = stamp_config(WEIR_MODE_DROP);
    config.providers = "StampValues";
    struct weir_session *session = unit_start(&config);
    assert_true(weir_event_emit(event, &value, 1, sizeof value));
    assert_true(weir_event_emit_at(event, weir_clock(), &value, 1, sizeof value));
    assert_true(weir_event_emit_at(event, 1, &value, 1, sizeof value));
    value.type = WEIR_TYPE_u32;
    assert_false(weir_event_emit_at(event, weir_clock(), &value, 1, sizeof value));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_MISMATCH);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 3);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_MISMATCH], 1);
    assert_int_equal(unit_stats(session).late_records, 1);
    weir_session_destroy(session);
    weir_provider_destroy(provider);
}

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

static bool take_held(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    __atomic_store_n((bool *)context, true, __ATOMIC_RELEASE);
    pthread_mutex_lock(&hold);
    pthread_mutex_unlock(&hold);
    return true;
}

static bool append_slowly(void *context, const void *bytes, size_t count)
{
    usleep(20 * 1000); /* longer than the budget takes to fill, under a sanitizer too */
    return unit_append(context, bytes, count);
}

/* An event that has waited for room keeps its stamp, unless a point has been written meanwhile. */
static void test_waits(void **state)
{
    (void)state;
    static struct unit_bytes bytes;
    struct weir_session_config config = stamp_config(WEIR_MODE_BLOCK);
    config.budget_bytes = UINT64_C(16) * 4096;
    config.segment_bytes = 4096;
    config.memory_bytes_max = 0;
    config.sink.write = append_slowly;
    config.sink.context = &bytes;
    struct weir_session *session = unit_start(&config);
    for (int i = 0; i < 15000; i++)
        emit_at(weir_clock());
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_true(unit_stats(session).parks > 0);
    struct file file = read_file(bytes.at, bytes.count);
    assert_int_equal(file.found, sent_count);
    assert_int_equal(unit_stats(session).late_records, file.moved);
    weir_session_destroy(session);
}

/* How many events fit into the budget while the drain is in its sink. */
static uint64_t room_for(bool is_odd)
{
    bool is_in_sink = false;
    uint64_t room = 0;
    struct weir_session_config config = stamp_config(WEIR_MODE_DROP);
    config.budget_bytes = UINT64_C(8) * 4096;
    config.segment_bytes = 4096;
    config.memory_bytes_max = 0;
    config.sink.write = take_held;
    config.sink.context = &is_in_sink;
    pthread_mutex_lock(&hold);
    struct weir_session *session = unit_start(&config);
    while (!__atomic_load_n(&is_in_sink, __ATOMIC_ACQUIRE))
        usleep(1000);
    while (WEIR_EMIT_AT(is_odd ? room % 2 - 1 : weir_clock(), Stamp, Four, 0, 1, 2, 3))
        room++;
    assert_int_equal(weir_last_loss(), WEIR_LOSS_FULL);
    pthread_mutex_unlock(&hold);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_FULL], 1);
    assert_int_equal(unit_counts(session).written, room);
    weir_session_destroy(session);
    return room;
}

/* An odd stamp does not make its thread leave the segment. */
static void test_drop(void **state)
{
    (void)state;
    uint64_t room = room_for(false);
    assert_true(room > 700);
    assert_int_equal(room_for(true), room);
}
static void rundown(void *context, struct weir_session *session)
{
    (void)session;
    *(uint64_t *)context = weir_clock();
    next(true, *(uint64_t *)context);
    assert_true(Stamp_One_at(*(uint64_t *)context, sent_count - 1));
    next(true, 1);
    assert_true(Stamp_One_at(1, sent_count - 1));
    next(true, UINT64_MAX);
    assert_true(Stamp_One_at(UINT64_MAX, sent_count - 1));
    sent[sent_count - 1].after = weir_clock();
}

static void test_rundown(void **state)
{
    (void)state;
    uint64_t now;
    struct weir_session_config config = stamp_config(WEIR_MODE_DROP);
    config.rundown = rundown;
    config.rundown_context = &now;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(finish(session), 2);
    assert_int_equal(sent[0].time, now);
    assert_int_equal(sent[1].time, now);
}

/* The stamp is an argument like the others. */
static void test_disabled(void **state)
{
    (void)state;
    uint64_t evaluated = 0;
    assert_false(WEIR_EMIT_AT(++evaluated, Stamp, One, 1));
    assert_false(WEIR_EMIT_AT(++evaluated, Stamp, Bare));
    assert_int_equal(evaluated, 0);
}

int main(void)
{
    uint64_t before_all = weir_clock();
    if (before_all != 0)
        return 1;
    if (weir_provider_register(&weir_provider_Stamp, NULL, NULL, NULL, NULL) != WEIR_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disabled),
        cmocka_unit_test(test_stamps_are_kept),
        cmocka_unit_test(test_older_than_the_last),
        cmocka_unit_test(test_older_than_the_segment),
        cmocka_unit_test(test_older_than_the_point),
        cmocka_unit_test(test_in_the_future),
        cmocka_unit_test(test_recorder),
        cmocka_unit_test(test_recorder_bounds_by_segments),
        cmocka_unit_test(test_recorder_leaves_out),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_odd_stamps),
        cmocka_unit_test(test_two_sessions),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_rundown),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
