/* What a session wants: the text against the array, what is refused, and the events' masks against
 * the definition in weir/session.h. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static struct weir_session *created(const struct weir_session_config *config)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    if (weir_session_create(config, &session, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return session;
}

static struct weir_session_config config_of(const struct weir_enable *enables, uint32_t count)
{
    struct weir_session_config config = unit_config();
    config.providers = NULL;
    config.enables = enables;
    config.enable_count = count;
    config.unknown_providers_allowed = true;
    return config;
}

/* --- The text. ------------------------------------------------------------------------------- */

static void entry_is(const struct wr_filter *filter, const char *name, uint64_t keywords,
                     uint8_t level, const char *arguments)
{
    assert_string_equal(filter->name, name);
    assert_int_equal(filter->keywords, keywords);
    assert_int_equal(filter->level, level);
    if (arguments)
        assert_string_equal(filter->arguments, arguments);
    else
        assert_null(filter->arguments);
}

static void test_text(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.unknown_providers_allowed = true;
    config.providers =
        "Lua:1:5:\"k=v;k2=a\",*:0x2,\xc3\xa4 b::4:,C:::a:b=\"c\",D:0:0:\"x,\"\"y\"\"\",E:::\"\"";
    struct weir_session *session = created(&config);
    assert_int_equal(session->interest->count, 6);
    entry_is(&session->interest->filters[0], "Lua", 1, 5, "k=v;k2=a");
    entry_is(&session->interest->filters[1], "*", 2, 5, NULL);
    entry_is(&session->interest->filters[2], "\xc3\xa4 b", UINT64_MAX, 4, NULL);
    entry_is(&session->interest->filters[3], "C", UINT64_MAX, 5, "a:b=\"c\"");
    entry_is(&session->interest->filters[4], "D", UINT64_MAX, 5, "x,\"y\"");
    entry_is(&session->interest->filters[5], "E", UINT64_MAX, 5, NULL);
    weir_session_destroy(session);
}

static void test_thousand(void **state)
{
    (void)state;
    static char text[1001 * 6 + 1];
    for (size_t i = 0; i < 1001; i++)
        memcpy(text + 6 * i, "Unit:,", 7);
    struct weir_session_config config = unit_config();
    config.providers = text;
    struct weir_session *session = NULL;
    text[1001 * 6 - 1] = 0;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_BAD_ARGUMENT);
    text[1000 * 6 - 1] = 0;
    session = created(&config);
    assert_int_equal(session->interest->count, 1000);
    weir_session_destroy(session);
}

/* --- What is refused. ------------------------------------------------------------------------ */

static void refused(const struct weir_session_config *config, const char *text)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    assert_int_equal(weir_session_create(config, &session, &error), WEIR_BAD_ARGUMENT);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
}

static void entry_refused(struct weir_enable entry, const char *text)
{
    struct weir_session_config config = config_of(&entry, 1);
    refused(&config, text);
}

static void test_refused(void **state)
{
    (void)state;
    const struct weir_enable good = {.provider = "Unit"};
    struct weir_enable bad = good;
    bad.provider = NULL;
    entry_refused(bad, "entry 1 has no name");
    bad = good;
    bad.level = 6;
    entry_refused(bad, "the level is 6");
    bad = good;
    bad.event_id_count = 1;
    entry_refused(bad, "event ids");
    bad = good;
    bad.reserved[1] = 1;
    entry_refused(bad, "reserved");
    static char arguments[65537];
    memset(arguments, 'a', 65536);
    bad = good;
    bad.arguments = arguments;
    entry_refused(bad, "arguments of more than");
    struct weir_session_config config = config_of(&good, 1);
    config.enable_bytes += 8;
    refused(&config, "enable_bytes");
    config.enable_bytes -= 12; /* not in steps of eight */
    refused(&config, "enable_bytes");
    config.enable_bytes -= 4; /* less than the first version */
    refused(&config, "enable_bytes");
    config = config_of(&good, 1001);
    refused(&config, "at most 1000");
    config = config_of(&good, 1);
    config.providers = "Unit";
    refused(&config, "not both");
}

/* --- Masks. ---------------------------------------------------------------------------------- */

enum { PROVIDERS = 6, EVENTS_EACH = 8, ENTRIES_MAX = 5, IDS_MAX = 4, RUNNING = 3 };

struct wanted {
    struct weir_enable entries[ENTRIES_MAX];
    uint16_t ids[ENTRIES_MAX][IDS_MAX];
    uint32_t count;
};

static const char *const names[] = {"Masks0", "mASKS1", "MASKS2", "masks3",
                                    "Masks4", "Masks5", "Masks6", "*"};
static const uint64_t keywords_of_sessions[] = {
    0, UINT64_MAX, 1, 6, UINT64_C(1) << 63, UINT64_C(0xf) << 44, UINT64_C(1) << 44 | 1};
static const uint64_t keywords_of_events[] = {0, 1, 2, 5, UINT64_C(1) << 63, UINT64_C(1) << 44};
static struct weir_schema schemas[PROVIDERS * EVENTS_EACH];
static struct weir_event *events[PROVIDERS * EVENTS_EACH];

static uint64_t seed = 1;
static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % limit;
}

#define ANY_OF(array) array[below(sizeof array / sizeof array[0])]

static void wanted_make(struct wanted *wanted)
{
    wanted->count = 1 + below(ENTRIES_MAX);
    for (uint32_t i = 0; i < wanted->count; i++) {
        for (uint32_t id = 0; id < IDS_MAX; id++)
            wanted->ids[i][id] = (uint16_t)below(EVENTS_EACH);
        wanted->entries[i] = (struct weir_enable){.provider = ANY_OF(names),
                                                  .keywords = ANY_OF(keywords_of_sessions),
                                                  .level = (uint8_t)below(6),
                                                  .event_ids = wanted->ids[i],
                                                  .event_id_count = below(IDS_MAX + 1),
                                                  .event_ids_allowed = below(3) == 0};
    }
}

/* The definition, as weir/session.h has it. */
static bool entry_wants(const struct weir_enable *entry, const char *provider,
                        const struct weir_schema *event)
{
    uint64_t keywords = entry->keywords;
    if (keywords != UINT64_MAX)
        for (int bit = 44; bit <= 47; bit++)
            keywords &= ~(UINT64_C(1) << bit);
    bool is_listed = false;
    for (uint32_t i = 0; i < entry->event_id_count; i++)
        is_listed |= entry->event_ids[i] == event->event_id;
    return (strcmp(entry->provider, "*") == 0 || strcasecmp(entry->provider, provider) == 0) &&
           (keywords == 0 || event->keywords == 0 || (keywords & event->keywords)) &&
           (entry->level == 0 || event->level <= entry->level) &&
           (entry->event_ids_allowed ? is_listed : !is_listed);
}

static bool wants(const struct wanted *wanted, uint32_t event)
{
    for (uint32_t i = 0; i < wanted->count; i++)
        if (entry_wants(&wanted->entries[i], names[event / EVENTS_EACH], &schemas[event]))
            return true;
    return false;
}

static void events_define(struct weir_provider **providers)
{
    for (uint32_t i = 0; i < PROVIDERS * EVENTS_EACH; i++) {
        struct weir_provider **provider = &providers[i / EVENTS_EACH];
        if (i % EVENTS_EACH == 0)
            assert_int_equal(
                weir_provider_create(names[i / EVENTS_EACH], NULL, NULL, provider, NULL), WEIR_OK);
        schemas[i] = (struct weir_schema)WEIR_SCHEMA_INIT;
        schemas[i].name = "E";
        schemas[i].event_id = (uint16_t)(i % EVENTS_EACH); /* also 0 */
        schemas[i].level = (uint8_t)below(6);
        schemas[i].keywords = ANY_OF(keywords_of_events);
        assert_int_equal(weir_event_define(*provider, &schemas[i], &events[i], NULL), WEIR_OK);
    }
}

/* The masks, while `running` of these run. */
static void masks_are(const struct wanted *wanted, struct weir_session *const *running)
{
    for (uint32_t event = 0; event < PROVIDERS * EVENTS_EACH; event++) {
        uint64_t mask = 0;
        for (uint32_t i = 0; i < RUNNING; i++)
            if (running[i] && wants(&wanted[i], event))
                mask |= UINT64_C(1) << running[i]->slot;
        assert_int_equal(events[event]->enabled, mask);
    }
}

/* ROUNDS configurations against the definition; every 200th is started beside two others. */
static void test_masks(void **state)
{
    (void)state;
    struct weir_provider *providers[PROVIDERS];
    static struct wanted wanted[RUNNING];
    struct weir_session *running[RUNNING] = {NULL};
    events_define(providers);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t place = (round / 200) % RUNNING;
        weir_session_destroy(running[place]);
        running[place] = NULL;
        wanted_make(&wanted[place]);
        struct weir_session_config config = config_of(wanted[place].entries, wanted[place].count);
        struct weir_session *session = created(&config);
        for (uint32_t event = 0; event < PROVIDERS * EVENTS_EACH; event++)
            assert_int_equal(wr_interest_wants(session->interest, wr_definition_of(events[event])),
                             wants(&wanted[place], event));
        if (round % 200 != 199) {
            weir_session_destroy(session);
            continue;
        }
        assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
        running[place] = session;
        masks_are(wanted, running);
    }
    for (uint32_t place = 0; place < RUNNING; place++)
        weir_session_destroy(running[place]);
    masks_are(wanted, (struct weir_session *[RUNNING]){NULL});
    for (uint32_t i = 0; i < PROVIDERS; i++)
        weir_provider_destroy(providers[i]);
}

/* A start and a stop of a session that wants one provider store the masks of its events, and leave
 * 10,000 others alone. */
static void test_masks_stored(void **state)
{
    (void)state;
    static struct weir_provider *providers[1000];
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_event *event;
    char name[16];
    schema.name = "E";
    for (uint32_t i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "Stored%u", i / 10);
        if (i % 10 == 0)
            assert_int_equal(weir_provider_create(name, NULL, NULL, &providers[i / 10], NULL),
                             WEIR_OK);
        schema.event_id = (uint16_t)(1 + i % 10);
        assert_int_equal(weir_event_define(providers[i / 10], &schema, &event, NULL), WEIR_OK);
    }
    struct weir_enable one = {.provider = "Stored500"};
    struct weir_session_config config = config_of(&one, 1);
    uint64_t before = wr_masks_stored;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(wr_masks_stored - before, 10);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(wr_masks_stored - before, 20);
    weir_session_destroy(session);
    for (uint32_t i = 0; i < 1000; i++)
        weir_provider_destroy(providers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_thousand),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_masks),
        cmocka_unit_test(test_masks_stored),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
