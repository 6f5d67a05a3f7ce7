/* Callbacks and watchers of providers: what they are told of each session, in which order, and what they may do. */
#include "unit.h"

#include <stdio.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

enum { CHANGES_MAX = 16 };

struct told {
    int calls;
    struct weir_provider_change changes[CHANGES_MAX];
    char arguments[CHANGES_MAX][32]; /* of the changes; "-": none */
    void (*act)(struct told *told);  /* once, in the next call */
    struct weir_session *session;
    struct weir_provider *provider;
    const struct weir_status *status; /* of the provider, or NULL */
};

static void status_is(const struct weir_status *status, uint64_t keywords, uint64_t level)
{
    assert_int_equal(status->keywords, keywords);
    assert_int_equal(status->level, level);
}

static void on_change(void *context, const struct weir_provider_change *change)
{
    struct told *told = context;
    int at = told->calls++;
    assert_true(at < CHANGES_MAX);
    assert_int_equal(change->size, sizeof *change);
    told->changes[at] = *change;
    if (told->status) /* it is final before the call */
        status_is(told->status, change->union_keywords, change->union_level);
    snprintf(told->arguments[at], sizeof told->arguments[at], "%s",
             change->arguments ? change->arguments : "-");
    void (*act)(struct told *) = told->act;
    told->act = NULL;
    if (act)
        act(told);
    assert_string_equal(change->arguments ? change->arguments : "-", told->arguments[at]);
    assert_int_equal(told->calls, at + 1); /* what it causes follows when it has returned */
}

static struct weir_provider *told_provider(struct told *told)
{
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Told", NULL, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_provider_watch(provider, on_change, told, NULL), WEIR_OK);
    assert_int_equal(weir_provider_watch(provider, on_change, told, NULL), WEIR_EXISTS);
    return provider;
}

static struct weir_session *started(const char *providers)
{
    struct weir_session_config config = unit_config();
    config.providers = providers;
    return unit_start(&config);
}

static void change_is(const struct told *told, int at, enum weir_change what, uint64_t session_id,
                      uint64_t keywords, uint8_t level, const char *arguments)
{
    assert_true(at < told->calls);
    assert_int_equal(told->changes[at].what, what);
    assert_int_equal(told->changes[at].session_id, session_id);
    assert_int_equal(told->changes[at].keywords, keywords);
    assert_int_equal(told->changes[at].level, level);
    assert_string_equal(told->arguments[at], arguments);
}

static void union_is(const struct told *told, bool is_enabled, uint64_t keywords, uint8_t level)
{
    const struct weir_provider_change *change = &told->changes[told->calls - 1];
    assert_int_equal(change->is_enabled, is_enabled);
    assert_int_equal(change->union_keywords, keywords);
    assert_int_equal(change->union_level, level);
}

/* --- What is told. --------------------------------------------------------------------------- */

static void test_each_session(void **state)
{
    (void)state;
    struct told told = {0};
    struct weir_provider *provider = told_provider(&told);
    told.status = weir_provider_status(provider);
    weir_session_destroy(started("Unit"));
    assert_int_equal(told.calls, 0);
    struct weir_session *first = started("Told:0x1:3:k=v,Told:0x2:2:ignored");
    uint64_t first_id = weir_session_id(first);
    change_is(&told, 0, WEIR_CHANGE_ENABLED, first_id, 3, 3, "k=v");
    union_is(&told, true, 3, 3);
    struct weir_session *second = started("*:0x8");
    uint64_t second_id = weir_session_id(second);
    change_is(&told, 1, WEIR_CHANGE_ENABLED, second_id, 8, 5, "-");
    union_is(&told, true, 0xb, 5);
    weir_session_destroy(first);
    change_is(&told, 2, WEIR_CHANGE_DISABLED, first_id, 0, 0, "-");
    union_is(&told, true, 8, 5);
    weir_session_destroy(second);
    change_is(&told, 3, WEIR_CHANGE_DISABLED, second_id, 0, 0, "-");
    union_is(&told, false, 0, 0);
    assert_int_equal(told.calls, 4);
    weir_provider_destroy(provider);
}

/* A provider that is registered late is told of the sessions in the order in which they started,
 * whichever slots they have. */
static void test_late_provider(void **state)
{
    (void)state;
    struct told told = {0};
    struct weir_session_config config = unit_config();
    config.unknown_providers_allowed = true;
    struct weir_session *gone = unit_start(&config);
    config.providers = "Told:1:1";
    struct weir_session *first = unit_start(&config);
    weir_session_destroy(gone);
    config.providers = "Told:2:2:late";
    struct weir_session *second = unit_start(&config);
    const struct weir_enable enable = {.provider = "Told", .keywords = 1, .level = 1};
    assert_int_equal(weir_session_update(first, &enable, 1, sizeof enable, NULL), WEIR_OK);
    struct weir_provider *provider = told_provider(&told);
    assert_int_equal(told.calls, 2);
    change_is(&told, 0, WEIR_CHANGE_ENABLED, weir_session_id(first), 1, 1, "-");
    change_is(&told, 1, WEIR_CHANGE_ENABLED, weir_session_id(second), 2, 2, "late");
    weir_provider_destroy(provider);
    weir_session_destroy(first);
    weir_session_destroy(second);
    assert_int_equal(told.calls, 2);
}

static enum weir_result update(struct weir_session *session, const struct weir_enable *enables,
                               uint32_t count)
{
    return weir_session_update(session, enables, count, sizeof *enables, NULL);
}

static void test_updates(void **state)
{
    (void)state;
    struct told told = {0};
    struct weir_provider *provider = told_provider(&told);
    struct weir_session *session = started("Unit:1:4,Told:1:4");
    uint64_t id = weir_session_id(session);
    struct weir_enable enables[2] = {{.provider = "Unit", .keywords = 2},
                                     {.provider = "Told", .keywords = 1, .level = 4}};
    assert_true(weir_event_is_enabled(&weir_events_Unit.Plain));
    assert_int_equal(update(session, enables, 2), WEIR_OK);
    assert_int_equal(told.calls, 1); /* nothing new for it */
    assert_false(weir_event_is_enabled(&weir_events_Unit.Plain));
    assert_true(weir_event_is_enabled(&weir_events_Unit.Text));
    enables[1].arguments = "a=b";
    assert_int_equal(update(session, enables, 2), WEIR_OK);
    change_is(&told, 1, WEIR_CHANGE_UPDATED, id, 1, 4, "a=b");
    assert_int_equal(update(session, enables, 1), WEIR_OK);
    change_is(&told, 2, WEIR_CHANGE_DISABLED, id, 0, 0, "-");
    enables[1].arguments = NULL;
    assert_int_equal(update(session, enables, 2), WEIR_OK);
    change_is(&told, 3, WEIR_CHANGE_ENABLED, id, 1, 4, "-");
    enables[1].provider = "NoSuch";
    assert_int_equal(update(session, enables, 2), WEIR_NOT_FOUND);
    assert_int_equal(update(session, enables, 0), WEIR_BAD_ARGUMENT);
    assert_int_equal(update(NULL, enables, 1), WEIR_BAD_STATE);
    assert_int_equal(told.calls, 4);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(update(session, enables, 1), WEIR_BAD_STATE);
    weir_session_destroy(session);
    weir_provider_destroy(provider);
}

/* --- A callback is told of the union. -------------------------------------------------------- */

struct told_union {
    int calls;
    bool enabled;
    uint8_t level;
    uint64_t keywords;
    struct weir_session *sessions[2];
};

static void on_union(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    struct told_union *told = context;
    told->calls++;
    told->enabled = enabled;
    told->level = level;
    told->keywords = keywords;
}

static void test_callback_is_told_the_union(void **state)
{
    (void)state;
    struct told_union told = {0};
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Told", on_union, &told, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_provider_watch(provider, on_change, &told, NULL), WEIR_EXISTS);
    assert_int_equal(weir_provider_watch(provider, NULL, &told, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(told.calls, 0);
    struct weir_session *first = started("Told:0x1:3"), *second = started("Told:0x8:5");
    assert_int_equal(told.calls, 2);
    assert_int_equal(told.level, 5);
    assert_int_equal(told.keywords, 0x9);
    struct weir_session *same = started("Told:0x8:2"); /* nothing new */
    assert_int_equal(told.calls, 2);
    weir_session_destroy(same);
    weir_session_destroy(second);
    assert_int_equal(told.level, 3);
    assert_int_equal(told.keywords, 0x1);
    weir_session_destroy(first);
    assert_int_equal(told.calls, 4);
    assert_false(told.enabled);
    weir_provider_destroy(provider);
}

/* --- The status. ----------------------------------------------------------------------------- */

static void test_status(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.providers = "Words:0x1:3";
    config.unknown_providers_allowed = true;
    struct weir_session *first = unit_start(&config);
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Words", NULL, NULL, &provider, NULL), WEIR_OK);
    const struct weir_status *status = weir_provider_status(provider);
    status_is(status, 1, 3);
    assert_true(weir_status_wants(status, 3, 1));
    assert_true(weir_status_wants(status, WEIR_LEVEL_ALWAYS, 0));
    assert_true(weir_status_wants(status, 3 | WEIR_EVENT_ORDERED | WEIR_EVENT_UNDESCRIBED, 1));
    assert_false(weir_status_wants(status, 4 | WEIR_EVENT_UNDESCRIBED, 1));
    assert_false(weir_status_wants(status, 4, 1));
    assert_false(weir_status_wants(status, 3, 2));
    struct weir_session *second = started("*:0x2:5");
    status_is(status, 3, 5);
    const struct weir_enable enable = {.provider = "words", .keywords = 4, .level = 4};
    assert_int_equal(update(second, &enable, 1), WEIR_OK);
    status_is(status, 5, 4);
    weir_session_destroy(first);
    status_is(status, 4, 4);
    weir_session_destroy(second);
    status_is(status, 0, 0);
    assert_false(weir_status_wants(status, WEIR_LEVEL_ALWAYS, 0));
    weir_provider_destroy(provider);
    assert_null(weir_provider_status(NULL));
}

/* The same for a callback: the session that it was enabled for has ended, and another one has come
 * and gone. */
static void on_union_of_two(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    struct told_union *told = context;
    on_union(context, enabled, level, keywords);
    if (told->calls == 1) {
        assert_int_equal(weir_session_stop(told->sessions[0], NULL), WEIR_OK);
        told->sessions[1] = started("Told:8");
    } else if (told->calls == 2) {
        weir_session_destroy(told->sessions[1]);
    }
}

static void test_callback_learns_the_last_state(void **state)
{
    (void)state;
    struct told_union told = {0};
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Told", on_union_of_two, &told, &provider, NULL),
                     WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Told:1";
    assert_int_equal(weir_session_create(&config, &told.sessions[0], NULL), WEIR_OK);
    assert_int_equal(weir_session_start(told.sessions[0], NULL), WEIR_OK);
    assert_int_equal(told.calls, 2);
    assert_false(told.enabled);
    weir_session_destroy(told.sessions[0]);
    weir_provider_destroy(provider);
}

/* --- What a callback may do. ----------------------------------------------------------------- */

static void stop(struct told *told)
{
    assert_int_equal(weir_session_destroy(told->session), WEIR_BAD_STATE); /* it is being started */
    assert_int_equal(weir_session_stop(told->session, NULL), WEIR_OK);
    assert_int_equal(weir_session_destroy(told->session), WEIR_BAD_STATE);
}

static void test_stop_in_a_callback(void **state)
{
    (void)state;
    struct told told = {.act = stop};
    struct weir_provider *provider = told_provider(&told);
    struct weir_session_config config = unit_config();
    config.providers = "Told";
    assert_int_equal(weir_session_create(&config, &told.session, NULL), WEIR_OK);
    uint64_t id = weir_session_id(told.session);
    assert_int_equal(weir_session_start(told.session, NULL), WEIR_OK);
    change_is(&told, 0, WEIR_CHANGE_ENABLED, id, UINT64_MAX, 5, "-");
    change_is(&told, 1, WEIR_CHANGE_DISABLED, id, 0, 0, "-");
    assert_int_equal(told.calls, 2);
    assert_int_equal(weir_session_stop(told.session, NULL), WEIR_OK); /* again: as it ended */
    assert_int_equal(weir_session_destroy(told.session), WEIR_OK);
    weir_provider_destroy(provider);
}

/* Two sessions of its own; the first is gone before it could be told of it. */
static void start_others(struct told *told)
{
    weir_session_destroy(started("Told:0x10"));
    told->session = started("Told:0x20:2");
}

static void test_start_in_a_callback(void **state)
{
    (void)state;
    struct told told = {.act = start_others};
    struct weir_provider *provider = told_provider(&told);
    struct weir_session *session = started("Told:0x1");
    assert_int_equal(told.calls, 2);
    change_is(&told, 0, WEIR_CHANGE_ENABLED, weir_session_id(session), 1, 5, "-");
    change_is(&told, 1, WEIR_CHANGE_ENABLED, weir_session_id(told.session), 0x20, 2, "-");
    weir_session_destroy(session);
    weir_session_destroy(told.session);
    assert_int_equal(told.calls, 4);
    weir_provider_destroy(provider);
}

/* The session that it is being told of has other arguments by the end of the call; another one has
 * ended, and a third one has taken its place. */
static struct weir_session *updated, *ended;
static uint64_t ended_id;

static void change_others(struct told *told)
{
    struct weir_enable entry = {.provider = "Told", .arguments = "new"};
    assert_int_equal(update(updated, &entry, 1), WEIR_OK);
    ended_id = weir_session_id(ended);
    weir_session_destroy(ended);
    told->session = started("Told:4");
}

static void test_changes_in_a_callback(void **state)
{
    (void)state;
    struct told told = {0};
    ended = started("Unit,*:2:2:ended");
    struct weir_provider *provider = told_provider(&told);
    assert_int_equal(told.calls, 1);
    told.calls = 0;
    told.act = change_others;
    struct weir_session_config config = unit_config();
    config.providers = "Told:1:1:old";
    assert_int_equal(weir_session_create(&config, &updated, NULL), WEIR_OK);
    assert_int_equal(weir_session_start(updated, NULL), WEIR_OK);
    uint64_t id = weir_session_id(updated);
    assert_int_equal(told.calls, 4);
    change_is(&told, 0, WEIR_CHANGE_ENABLED, id, 1, 1, "old");
    change_is(&told, 1, WEIR_CHANGE_UPDATED, id, UINT64_MAX, 5, "new");
    change_is(&told, 2, WEIR_CHANGE_DISABLED, ended_id, 0, 0, "-");
    change_is(&told, 3, WEIR_CHANGE_ENABLED, weir_session_id(told.session), 4, 5, "-");
    weir_provider_destroy(provider);
    weir_session_destroy(updated);
    weir_session_destroy(told.session);
}

/* A session starts in the first call and ends in the second, before it can be told of. */
static void come(struct told *told)
{
    assert_int_equal(weir_session_stop(told->session, NULL), WEIR_OK);
    ended = started("Told:8");
}

static void go(struct told *told)
{
    (void)told;
    weir_session_destroy(ended);
}

static void on_change_of_two(void *context, const struct weir_provider_change *change)
{
    struct told *told = context;
    on_change(context, change);
    told->act = told->calls == 1 ? go : NULL;
}

static void test_union_of_those_told_of(void **state)
{
    (void)state;
    struct told told = {.act = come};
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Told", NULL, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_provider_watch(provider, on_change_of_two, &told, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Told:1";
    assert_int_equal(weir_session_create(&config, &told.session, NULL), WEIR_OK);
    assert_int_equal(weir_session_start(told.session, NULL), WEIR_OK);
    assert_int_equal(told.calls, 2);
    change_is(&told, 1, WEIR_CHANGE_DISABLED, weir_session_id(told.session), 0, 0, "-");
    union_is(&told, false, 0, 0);
    weir_session_destroy(told.session);
    weir_provider_destroy(provider);
}

/* A change of one session that is none for the provider, before one that is. */
static void test_no_change_before_a_change(void **state)
{
    (void)state;
    struct told other = {0}, told = {0};
    struct weir_provider *first;
    assert_int_equal(weir_provider_create("Other", NULL, NULL, &first, NULL), WEIR_OK);
    assert_int_equal(weir_provider_watch(first, on_change, &other, NULL), WEIR_OK);
    struct weir_provider *provider = told_provider(&told);
    struct weir_session *session = started("Other:1:4:a=b,Told");
    struct weir_enable enable = {
        .provider = "Other", .keywords = 1, .level = 4, .arguments = "a=b"};
    assert_int_equal(update(session, &enable, 1), WEIR_OK);
    assert_int_equal(other.calls, 1);
    change_is(&told, 1, WEIR_CHANGE_DISABLED, weir_session_id(session), 0, 0, "-");
    weir_session_destroy(session);
    weir_provider_destroy(provider);
    weir_provider_destroy(first);
}

static void destroy_provider(struct told *told)
{
    weir_provider_destroy(told->provider);
    assert_int_equal(weir_provider_create("Told", NULL, NULL, &told->provider, NULL), WEIR_OK);
}

static void test_destroy_in_a_callback(void **state)
{
    (void)state;
    struct told told = {.act = destroy_provider};
    told.provider = told_provider(&told);
    weir_session_destroy(started("Told:1:1:arguments"));
    assert_int_equal(told.calls, 1);
    assert_string_equal(told.arguments[0], "arguments");
    weir_provider_destroy(told.provider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_session),
        cmocka_unit_test(test_late_provider),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_callback_is_told_the_union),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_callback_learns_the_last_state),
        cmocka_unit_test(test_stop_in_a_callback),
        cmocka_unit_test(test_start_in_a_callback),
        cmocka_unit_test(test_changes_in_a_callback),
        cmocka_unit_test(test_union_of_those_told_of),
        cmocka_unit_test(test_no_change_before_a_change),
        cmocka_unit_test(test_destroy_in_a_callback),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
