/*
 * Each allocation of a call fails in turn, for each call that allocates, in a fresh process. Then
 *
 *  - the call is refused with its documented result and a text, or the event is counted as lost;
 *  - the same call works when it is repeated, and what was refused has left no trace: in the end as
 *    much memory is held, and as many descriptors and files, as after a run without failure;
 *  - a session's figures add up, and agree with its stream.
 *
 * Calls whose documentation says that they do not allocate make no allocation at all.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <reader.h>
#include "failing.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define MODES      3u
#define SINK_KINDS 4u

static char directory[] = "/tmp/weir-allocation-XXXXXX";
static int null_descriptor;

/* --- In a child. ----------------------------------------------------------------------------- */

static unsigned variant; /* of the scenario, by index */
static struct weir_error error;
static struct weir_session *sessions[MODES];
static struct unit_bytes streams[MODES];
static unsigned session_count;
static struct weir_provider *provider;
static uint64_t attempts, calls;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool is_true, const char *condition, int line)
{
    if (is_true)
        return;
    print_error("line %d: %s; %s\n", line, condition, error.text);
    _exit(1);
}

static enum weir_result with_text(enum weir_result result)
{
    CHECK(result == WEIR_OK || error.text[0]);
    return result;
}

static void nothing(void)
{
}

static void unit_register(void)
{
    CHECK(weir_provider_register(&weir_provider_Unit, NULL, NULL, &provider, &error) == WEIR_OK);
}

/* The drain of such a session does not allocate. */
static struct weir_session_config config_in(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.memory_bytes_max = 0;
    config.sink.write = unit_append;
    config.sink.context = &streams[session_count];
    return config;
}

static void session_add(const struct weir_session_config *config)
{
    CHECK(weir_session_create(config, &sessions[session_count], &error) == WEIR_OK);
    CHECK(weir_session_start(sessions[session_count++], &error) == WEIR_OK);
}

static void session_add_for(const char *providers)
{
    struct weir_session_config config = config_in(WEIR_MODE_DROP);
    config.providers = providers;
    config.unknown_providers_allowed = true;
    session_add(&config);
}

/* --- A session's end: its figures, and what the reader finds. -------------------------------- */

struct found {
    uint64_t events, lost, broken;
};

static void on_event(void *context, const struct wt_event *event)
{
    ((struct found *)context)->events += strcmp(event->metadata->provider_name, "Weir") != 0;
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    ((struct found *)context)->lost += gap->count;
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    print_error("%s\n", violation->text);
    ((struct found *)context)->broken++;
}

static struct found read_stream(const void *bytes, size_t count)
{
    struct found found = {0};
    struct wt_memory_source memory = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_handlers handlers = {.event = on_event, .gap = on_gap, .violation = on_violation};
    struct wt_reader *reader;
    CHECK(wt_reader_create(&reader, &source, NULL, &handlers, &found) == WT_OK);
    CHECK(wt_reader_run(reader) == WT_END);
    wt_reader_destroy(reader);
    return found;
}

static struct weir_counts counts_of(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    CHECK(weir_session_stats(session, &stats) == WEIR_OK);
    uint64_t sum = stats.counts.written;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        sum += stats.counts.lost[cause];
    CHECK(stats.counts.attempted == sum);
    return stats.counts;
}

/* Returns how many events it has lost. */
static uint64_t session_end(unsigned index)
{
    const struct unit_bytes *stream = &streams[index];
    CHECK(weir_session_stop(sessions[index], &error) == WEIR_OK);
    struct weir_counts counts = counts_of(sessions[index]);
    struct found found = read_stream(stream->at, stream->count);
    CHECK(counts.attempted == attempts);
    CHECK(found.events == counts.written);
    CHECK(found.lost == attempts - counts.written);
    CHECK(found.broken == 0);
    CHECK(weir_session_destroy(sessions[index]) == WEIR_OK);
    return found.lost;
}

/* --- Create and start. ----------------------------------------------------------------------- */

static void *allocate(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void release(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static const char *stream_path(void)
{
    static char path[sizeof directory + 16];
    snprintf(path, sizeof path, "%s/stream", directory);
    return path;
}

/* Each kind of sink in each mode; those in memory with the host's allocator. */
static struct weir_session_config config_of_variant(void)
{
    enum weir_sink_kind kind = (enum weir_sink_kind)(variant % SINK_KINDS);
    struct weir_session_config config = config_in((enum weir_mode)(variant / SINK_KINDS));
    config.providers = "Unit:1:5:\"a=b,c\",Other,*:2";
    config.unknown_providers_allowed = true;
    config.sink.write = kind == WEIR_SINK_WRITE ? unit_append : NULL;
    config.sink.descriptor = kind == WEIR_SINK_DESCRIPTOR ? null_descriptor : -1;
    config.sink.file = kind == WEIR_SINK_FILE ? stream_path() : NULL;
    config.memory_bytes_max = kind == WEIR_SINK_MEMORY ? 16u << 20 : 0;
    config.allocate = kind == WEIR_SINK_MEMORY ? allocate : NULL;
    config.release = kind == WEIR_SINK_MEMORY ? release : NULL;
    return config;
}

static enum weir_result create(void)
{
    const struct weir_session_config config = config_of_variant();
    return with_text(weir_session_create(&config, &sessions[0], &error));
}

static enum weir_result create_of_array(void)
{
    static const uint16_t ids[] = {5, 1, 2};
    struct weir_session_config config = config_in(WEIR_MODE_DROP);
    const struct weir_enable enables[] = {
        {.provider = "Unit", .event_ids = ids, .event_id_count = 3},
        {.provider = "*", .arguments = "a=b"}};
    config.providers = NULL;
    config.enables = enables;
    config.enable_count = 2;
    return with_text(weir_session_create(&config, &sessions[0], &error));
}

static void create_end(void)
{
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    CHECK(weir_session_list(&table) == WEIR_OK && table.session_count == 1);
    CHECK(weir_session_destroy(sessions[0]) == WEIR_OK);
}

static void start_begin(void)
{
    unit_register();
    CHECK(create() == WEIR_OK);
}

/* A session that could not be started is of no use. */
static enum weir_result start(void)
{
    if (!sessions[0])
        CHECK(create() == WEIR_OK);
    enum weir_result result = weir_session_start(sessions[0], &error);
    CHECK(weir_event_is_enabled(&weir_events_Unit.Plain) == (result == WEIR_OK));
    if (result != WEIR_OK) {
        CHECK(weir_session_destroy(sessions[0]) == WEIR_OK);
        sessions[0] = NULL;
    }
    return with_text(result);
}

/* A start that was refused has given back its slot. */
static void all_slots_check(void)
{
    struct weir_session *all[64];
    struct weir_session_config config = config_in(WEIR_MODE_DROP);
    config.sink.write = unit_discard;
    for (unsigned i = 0; i < 64; i++) {
        CHECK(weir_session_create(&config, &all[i], &error) == WEIR_OK);
        CHECK(weir_session_start(all[i], &error) == WEIR_OK);
    }
    for (unsigned i = 0; i < 64; i++)
        CHECK(weir_session_destroy(all[i]) == WEIR_OK);
}

static void start_end(void)
{
    CHECK(WEIR_EMIT(Unit, Pair, 1, 2));
    CHECK(weir_session_stop(sessions[0], &error) == WEIR_OK);
    CHECK(counts_of(sessions[0]).written == 1);
    CHECK(weir_session_destroy(sessions[0]) == WEIR_OK);
    if (variant % SINK_KINDS == WEIR_SINK_FILE)
        CHECK(unlink(stream_path()) == 0);
    all_slots_check();
}

static void update_begin(void)
{
    unit_register();
    session_add_for("Unit:1");
}

/* If it is refused, the session wants what it wanted before. */
static enum weir_result update(void)
{
    const struct weir_enable enables[] = {{.provider = "Unit", .keywords = 2},
                                          {.provider = "Unit", .keywords = 4, .arguments = "a=b"}};
    enum weir_result result =
        weir_session_update(sessions[0], enables, 2, sizeof enables[0], &error);
    CHECK(weir_event_is_enabled(&weir_events_Unit.Plain) == (result != WEIR_OK));
    CHECK(weir_event_is_enabled(&weir_events_Unit.Text) == (result == WEIR_OK));
    return with_text(result);
}

static void update_end(void)
{
    attempts += WEIR_EMIT(Unit, Text, "of the second keyword");
    CHECK(attempts == 1);
    CHECK(session_end(0) == 0);
}

/* --- Providers. ------------------------------------------------------------------------------ */

static void on_union(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    calls += enabled;
}

static void on_change(void *context, const struct weir_provider_change *change)
{
    (void)context;
    calls += change->is_enabled;
}

static void provider_begin(void)
{
    session_add_for("Told,Unit");
}

static enum weir_result provider_create(void)
{
    enum weir_result result =
        weir_provider_create("Told", variant ? on_union : NULL, NULL, &provider, &error);
    CHECK(calls == (result == WEIR_OK && variant));
    return with_text(result);
}

static void provider_end(void)
{
    weir_provider_destroy(provider);
    CHECK(session_end(0) == 0);
}

/* So many that the table of names grows. While it has room, it does without that. */
static struct weir_provider *providers[20];
static unsigned provider_count;

static enum weir_result providers_create(void)
{
    while (provider_count < sizeof providers / sizeof providers[0]) {
        char name[16];
        snprintf(name, sizeof name, "Provider%u", provider_count);
        enum weir_result result =
            weir_provider_create(name, NULL, NULL, &providers[provider_count], &error);
        if (result != WEIR_OK)
            return with_text(result);
        provider_count++;
    }
    return WEIR_OK;
}

static void providers_end(void)
{
    CHECK(weir_provider_create("provider0", NULL, NULL, NULL, &error) == WEIR_EXISTS);
    for (unsigned i = 0; i < provider_count; i++)
        weir_provider_destroy(providers[i]);
}

/* The second variant finds its definitions from before. */
static void register_begin(void)
{
    provider_begin();
    if (variant == 0)
        return;
    unit_register();
    weir_provider_destroy(provider);
}

static enum weir_result register_events(void)
{
    enum weir_result result =
        weir_provider_register(&weir_provider_Unit, on_union, NULL, &provider, &error);
    CHECK(weir_event_is_enabled(&weir_events_Unit.Plain) == (result == WEIR_OK));
    CHECK(weir_event_is_enabled(&weir_events_Unit.Always) == (result == WEIR_OK));
    CHECK(calls == (result == WEIR_OK));
    return with_text(result);
}

static void register_end(void)
{
    attempts += WEIR_EMIT(Unit, Plain);
    attempts += WEIR_EMIT(Unit, Text, "text");
    attempts += WEIR_EMIT(Unit, Bytes, (const uint8_t *)"bytes", 5);
    CHECK(attempts == 3);
    provider_end();
}

static void watch_begin(void)
{
    provider_begin();
    CHECK(weir_provider_create("Told", NULL, NULL, &provider, &error) == WEIR_OK);
}

static enum weir_result watch(void)
{
    enum weir_result result = weir_provider_watch(provider, on_change, NULL, &error);
    CHECK(calls == (result == WEIR_OK));
    return with_text(result);
}

static struct weir_event *defined;

static enum weir_result define(void)
{
    static const struct weir_field fields[] = {
        {"Number", WEIR_TYPE_u32}, {"Text", WEIR_TYPE_str}, {"Wide", WEIR_TYPE_object}};
    static const struct weir_field inner_fields[] = {{"Wide", WEIR_TYPE_str16},
                                                     {"Pairs", WEIR_TYPE_array_object}};
    static const struct weir_object pairs = {sizeof pairs, fields, 1, sizeof fields[0], NULL};
    static const struct weir_object *const inner_objects[] = {&pairs};
    static const struct weir_object inner = {sizeof inner, inner_fields, 2, sizeof fields[0],
                                             inner_objects};
    static const struct weir_object *const objects[] = {&inner};
    static const struct weir_enum_value values[] = {{"One", 1}};
    static const struct weir_enum names = {sizeof names, "Names", values, 1, sizeof values[0]};
    static const struct weir_enum *const enums[] = {&names, NULL, NULL};
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    schema.name = "Defined";
    schema.event_id = 1;
    schema.fields = fields;
    schema.field_count = 3;
    schema.enums = enums;
    schema.objects = objects;
    enum weir_result result = weir_event_define(provider, &schema, &defined, &error);
    CHECK((result == WEIR_OK) == (defined != NULL));
    return with_text(result);
}

static void define_end(void)
{
    const struct weir_value inner[] = {{.type = WEIR_TYPE_str16, .pointer = u"wide"},
                                       {.type = WEIR_TYPE_array_object}};
    const struct weir_value values[] = {{.type = WEIR_TYPE_u32, .unsigned_value = 1},
                                        {.type = WEIR_TYPE_str, .pointer = "text"},
                                        {.type = WEIR_TYPE_object, .count = 2, .pointer = inner}};
    attempts += weir_event_emit(defined, values, 3, sizeof values[0]);
    CHECK(attempts == 1);
    provider_end();
}

static void on_hook(void *context)
{
    (void)context;
}

static enum weir_result hooks_set(void)
{
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    hooks.before = hooks.after = on_hook;
    return weir_park_hooks_set(&hooks);
}

static void hooks_end(void)
{
    unit_register();
    session_add_for("Unit");
    CHECK(session_end(0) == 0);
    CHECK(weir_park_hooks_set(NULL) == WEIR_OK);
}

/* --- Events. --------------------------------------------------------------------------------- */

static void first_event_begin(void)
{
    struct weir_session_config config = config_in((enum weir_mode)variant);
    unit_register();
    session_add(&config);
}

/* A session in each mode. They attach the thread before they write, and a second time then if they
 * could not. */
static void first_of_all_begin(void)
{
    unit_register();
    for (unsigned mode = 0; mode < MODES; mode++) {
        struct weir_session_config config = config_in((enum weir_mode)mode);
        session_add(&config);
    }
}

static enum weir_result first_event(void)
{
    attempts++;
    if (WEIR_EMIT(Unit, Pair, attempts, 2))
        return WEIR_OK;
    CHECK(weir_last_loss() == WEIR_LOSS_NO_SEGMENT);
    return WEIR_NO_MEMORY;
}

static void first_event_end(void)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < session_count; i++) {
        CHECK(counts_of(sessions[i]).lost[WEIR_LOSS_NO_SEGMENT] <= attempts - 1);
        lost += session_end(i);
    }
    CHECK(session_count > 1 ? lost >= attempts - 1 : lost == attempts - 1);
}

static void on_error(void *context, enum weir_result result, const char *text)
{
    (void)context;
    calls += result == WEIR_IO && text[0];
}

/* The drain lets the memory of the stream grow several times. */
static enum weir_result memory_grow(void)
{
    static const uint8_t bytes[1000];
    struct weir_session_config config = unit_config();
    uint64_t accepted = 0;
    config.mode = WEIR_MODE_BLOCK;
    config.on_error = on_error;
    session_count = 0;
    calls = 0;
    session_add(&config);
    for (unsigned i = 0; i < 4000; i++)
        accepted += WEIR_EMIT(Unit, Bytes, bytes, sizeof bytes);
    enum weir_result result = weir_session_stop(sessions[0], &error);
    struct weir_counts counts = counts_of(sessions[0]);
    CHECK(counts.written + counts.lost[WEIR_LOSS_SINK_FAILED] == accepted);
    CHECK(result == WEIR_OK ? counts.written == 4000 : counts.written < 4000);
    CHECK(calls == (result != WEIR_OK));
    CHECK(weir_session_destroy(sessions[0]) == WEIR_OK);
    return with_text(result);
}

/* --- What does not allocate. ----------------------------------------------------------------- */

static void running_begin(void)
{
    unit_register();
    struct weir_session_config config = config_in((enum weir_mode)variant);
    config.segment_bytes = 4096;
    config.budget_bytes = 16384;
    session_add(&config);
    CHECK(first_event() == WEIR_OK);
}

static void running_end(void)
{
    session_end(0);
}

/* More than the budget, some of them larger than a segment. */
static enum weir_result emit(void)
{
    static const uint8_t bytes[6000];
    for (unsigned i = 0; i < 500; i++, attempts += 3) {
        WEIR_EMIT(Unit, Pair, i, i);
        WEIR_EMIT(Unit, Text, "text");
        WEIR_EMIT(Unit, Bytes, bytes, sizeof bytes);
    }
    return WEIR_OK;
}

static enum weir_result ask(void)
{
    struct weir_session_info infos[1];
    struct weir_session_table session_table = WEIR_SESSION_TABLE_INIT;
    struct weir_thread_stats threads[1];
    struct weir_thread_table thread_table = WEIR_THREAD_TABLE_INIT;
    session_table.sessions = infos;
    thread_table.threads = threads;
    session_table.sessions_max = thread_table.threads_max = 1;
    counts_of(sessions[0]);
    CHECK(weir_session_list(&session_table) == WEIR_OK && session_table.session_count == 1);
    CHECK(weir_session_thread_stats(sessions[0], &thread_table) == WEIR_OK);
    CHECK(thread_table.thread_count == 1);
    weir_no_block_begin();
    weir_no_block_end();
    weir_thread_reset();
    return WEIR_OK;
}

static void recorder_begin(void)
{
    variant = WEIR_MODE_OVERWRITE;
    running_begin();
}

static enum weir_result snapshot(void)
{
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_append;
    sink.context = &streams[1];
    return with_text(weir_session_snapshot(sessions[0], &sink, 0, &error));
}

static enum weir_result stop(void)
{
    CHECK(weir_session_stop_id(weir_session_id(sessions[0]), &error) == WEIR_OK);
    return with_text(weir_session_stop(sessions[0], &error));
}

static enum weir_result destroy(void)
{
    CHECK(weir_session_destroy(sessions[0]) == WEIR_OK);
    weir_provider_destroy(provider);
    return WEIR_OK;
}

/* --- Scenarios. ------------------------------------------------------------------------------ */

static const struct scenario {
    const char *name;
    unsigned variants;
    enum failing_threads threads;
    enum weir_result refused; /* the result if an allocation fails; WEIR_OK: there is none */
    bool may_do_without;      /* some are not needed */
    void (*begin)(void);
    enum weir_result (*call)(void);
    void (*end)(void);
} scenarios[] = {
    {"create", MODES *SINK_KINDS, FAILING_ALL, WEIR_NO_MEMORY, false, nothing, create, create_end},
    {"create of array", 1, FAILING_ALL, WEIR_NO_MEMORY, false, unit_register, create_of_array,
     create_end},
    {"start", MODES *SINK_KINDS, FAILING_CALLER, WEIR_SYSTEM, false, start_begin, start, start_end},
    {"update", 1, FAILING_ALL, WEIR_NO_MEMORY, false, update_begin, update, update_end},
    {"provider", 2, FAILING_ALL, WEIR_NO_MEMORY, false, provider_begin, provider_create,
     provider_end},
    {"providers", 1, FAILING_ALL, WEIR_NO_MEMORY, true, nothing, providers_create, providers_end},
    {"register", 2, FAILING_ALL, WEIR_NO_MEMORY, false, register_begin, register_events,
     register_end},
    {"watch", 1, FAILING_ALL, WEIR_NO_MEMORY, false, watch_begin, watch, provider_end},
    {"define", 1, FAILING_ALL, WEIR_NO_MEMORY, false, watch_begin, define, define_end},
    {"hooks", 1, FAILING_ALL, WEIR_NO_MEMORY, false, nothing, hooks_set, hooks_end},
    {"first event", MODES, FAILING_ALL, WEIR_NO_MEMORY, false, first_event_begin, first_event,
     first_event_end},
    {"first event of all", 1, FAILING_ALL, WEIR_NO_MEMORY, true, first_of_all_begin, first_event,
     first_event_end},
    {"memory sink", 1, FAILING_OTHERS, WEIR_IO, false, unit_register, memory_grow, nothing},
    {"events", MODES, FAILING_ALL, WEIR_OK, false, running_begin, emit, running_end},
    {"figures", MODES, FAILING_ALL, WEIR_OK, false, running_begin, ask, running_end},
    {"snapshot", 1, FAILING_ALL, WEIR_OK, false, recorder_begin, snapshot, running_end},
    {"stop", MODES, FAILING_ALL, WEIR_OK, false, running_begin, stop, running_end},
    {"destroy", MODES, FAILING_ALL, WEIR_OK, false, running_begin, destroy, nothing},
};

/* What a child reports. */
struct report {
    uint64_t allocations;
    struct failing_held held;
    int64_t descriptors;
};
static struct report *report;

static int64_t descriptors_open(void)
{
    int64_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* The process is fresh: it has not called the library yet. */
static void child_run(const struct scenario *scenario, uint64_t failure)
{
    signal(SIGSEGV, SIG_DFL); /* a crash does not continue in cmocka */
    signal(SIGBUS, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    alarm(60);
    scenario->begin();
    failing_begin(failure, scenario->threads);
    enum weir_result result = scenario->call();
    report->allocations = failing_end();
    bool has_failed = report->allocations > failure;
    bool may_be_fine = !has_failed || scenario->may_do_without;
    CHECK((has_failed && result == scenario->refused) || (may_be_fine && result == WEIR_OK));
    if (result != WEIR_OK)
        CHECK(scenario->call() == WEIR_OK);
    scenario->end();
    report->held = failing_held();
    report->descriptors = descriptors_open();
    _exit(0);
}

static struct report run(const struct scenario *scenario, uint64_t failure)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        child_run(scenario, failure);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("%s, variant %u, allocation %d: status %x", scenario->name, variant, (int)failure,
                 (unsigned)status);
    assert_int_equal(rmdir(directory), 0); /* the child has left no file there */
    assert_int_equal(mkdir(directory, 0700), 0);
    return *report;
}

static void variant_test(const struct scenario *scenario)
{
    struct report fine = run(scenario, FAILING_NEVER);
    assert_true((fine.allocations > 0) == (scenario->refused != WEIR_OK));
    for (uint64_t failure = 0; failure < fine.allocations; failure++) {
        struct report failed = run(scenario, failure);
        assert_int_equal(failed.held.blocks, fine.held.blocks);
        assert_int_equal(failed.held.mapped_bytes, fine.held.mapped_bytes);
        assert_int_equal(failed.descriptors, fine.descriptors);
    }
    print_message("%s, variant %u: %d allocations\n", scenario->name, variant,
                  (int)fine.allocations);
}

static void test_scenario(void **state)
{
    const struct scenario *scenario = *state;
    for (variant = 0; variant < scenario->variants; variant++)
        variant_test(scenario);
}

int main(void)
{
    struct CMUnitTest tests[sizeof scenarios / sizeof scenarios[0]];
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        tests[i] = (struct CMUnitTest){scenarios[i].name, test_scenario, NULL, NULL,
                                       (void *)(uintptr_t)&scenarios[i]};
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    null_descriptor = open("/dev/null", O_WRONLY);
    if (report == MAP_FAILED || null_descriptor < 0 || !mkdtemp(directory))
        return 1;
    int failures = cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
    return rmdir(directory) != 0 || failures != 0;
}
