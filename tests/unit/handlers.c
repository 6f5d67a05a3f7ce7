/* Signal handlers that emit while their thread is inside the library. */
#define _GNU_SOURCE
#include "unit.h"

#include <signal.h>
#include <sys/time.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static struct weir_event *dynamic_event;
static volatile uint64_t handler_emits, handler_written;

/* Emits a valid event and one whose values do not match: both are counted, whatever was
 * interrupted. */
static void on_timer(int number)
{
    (void)number;
    handler_written += WEIR_EMIT(Unit, Pair, 1, 2);
    handler_written += weir_event_emit(dynamic_event, NULL, 0, sizeof(struct weir_value));
    handler_emits += 2;
}

static void timer_set(int microseconds)
{
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void test_nested_events_are_counted(void **state)
{
    (void)state;
    static const struct weir_field fields[] = {{"A", WEIR_TYPE_u32}};
    const struct weir_schema schema = {.size = sizeof(struct weir_schema),
                                       .field_bytes = sizeof(struct weir_field),
                                       .name = "E",
                                       .event_id = 1,
                                       .level = 4,
                                       .fields = fields,
                                       .field_count = 1};
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Handler", NULL, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(provider, &schema, &dynamic_event, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Unit,Handler";
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    struct weir_session *session = unit_start(&config);
    struct sigaction action = {.sa_handler = on_timer};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    timer_set(50);
    uint64_t emitted = 0, written = 0;
    while (handler_emits < 10000) {
        for (int i = 0; i < 1000; i++, emitted++)
            written += WEIR_EMIT(Unit, Pair, emitted, 0);
    }
    timer_set(0);
    signal(SIGALRM, SIG_IGN);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, emitted + handler_emits);
    assert_int_equal(counts.written, written + handler_written);
    assert_true(counts.lost[WEIR_LOSS_NESTED] > 0);
    weir_session_destroy(session);
    weir_provider_destroy(provider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nested_events_are_counted)};
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
