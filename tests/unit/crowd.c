/* More threads between two sequence points than released readers keep. */
#include "stream.h"

#include <pthread.h>

#define THREADS     5200u
#define THREADS_MAX 5000u /* of which a reader of V4 and V5 keeps the events */
#define EVENTS      2u

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

struct found {
    uint64_t events, most;  /* threads with events between two points */
    uint64_t seen[THREADS]; /* the number of the last point before the thread's last event */
    uint64_t threads, points;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct found *found = context;
    uint64_t thread;
    if (strcmp(event->metadata->provider_name, "Unit") != 0)
        return;
    memcpy(&thread, event->payload, sizeof thread);
    assert_in_range(thread, 0, THREADS - 1);
    found->events++;
    found->threads += found->seen[thread] != found->points;
    found->seen[thread] = found->points;
}

static void on_point(void *context, const struct wt_point *point)
{
    struct found *found = context;
    (void)point;
    found->most = found->threads > found->most ? found->threads : found->most;
    found->threads = 0;
    found->points++;
}

static void *emit_some(void *thread)
{
    for (uint64_t i = 0; i < EVENTS; i++)
        Unit_Pair((uint64_t)(uintptr_t)thread, i);
    return NULL;
}

/* One after the other, but the drain looks at all of them at once. */
static void run_threads(void)
{
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, emit_some, (void *)i), 0);
        pthread_join(thread, NULL);
    }
}

static void trace_crowd(enum weir_mode mode)
{
    static struct found found;
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.segment_bytes = 4096;
    config.budget_bytes = (uint64_t)4 * THREADS * config.segment_bytes;
    config.flush_ms = 60000;
    config.stop_ms_max = 60000; /* with a sanitizer on a busy machine */
    struct weir_session *session = unit_start(&config);
    run_threads();
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    memset(&found, 0, sizeof found);
    const struct wt_handlers handlers = {.event = on_event, .point = on_point};
    unit_read_memory(session, handlers, &found);
    assert_int_equal(found.events, THREADS * EVENTS);
    assert_in_range(found.most, 1, THREADS_MAX);
    weir_session_destroy(session);
}

static void test_drop(void **state)
{
    (void)state;
    trace_crowd(WEIR_MODE_DROP);
}

static void test_overwrite(void **state)
{
    (void)state;
    unit_skip_under_qemu("5,200 threads take 20 s there");
    trace_crowd(WEIR_MODE_OVERWRITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_overwrite),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
