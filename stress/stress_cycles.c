/*
 * Ten thousand sessions start and stop under eight threads that emit; --long 1: a million. They
 * differ in mode, in sink, in what they want and in who stops them: their owner, their owner by id,
 * or a stranger who finds them in the list. Some are updated while they run. Slots are used again
 * and again, ids never.
 *
 * What a session counts agrees with what the emitters counted meanwhile, and with its stream, which
 * one session in `sample` has read back: nothing is in it that belongs to another session.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weir/weir.h>
#include "harness.h"
#include "stream.h"
#include "trace.h"

#define EMITTERS_MAX 64u
#define OWNERS_MAX   16u
#define BURST        64u /* of each event, between two pauses */
#define LONG_CYCLES  1000000u
#define LISTED_MAX   64u

/* Event ids. The providers of owners are numbered from 1; number 0 is the one that all share. */
#define EVENT_ID 1u
#define HELLO_ID 100u

typedef unsigned long long ull;

static uint64_t cycles = 10000, emitters = 8, owners = 4, sample = 8, pause_us = 300, is_long;
static uint64_t begun;   /* ANY: cycles */
static uint64_t newest;  /* ANY: at least one session has had this id */
static bool is_over;     /* ANY */
static uint64_t strange; /* ANY: sessions that a stranger has stopped */

/* --- Providers and emitters. ----------------------------------------------------------------- */

/* A provider. Its event is emitted by all emitters: one event, which a start or a stop switches at
 * one moment. */
static struct source {
    struct weir_event *event;
    struct weir_event *hello; /* the watcher's, to one session */
} sources[1 + OWNERS_MAX];

static struct emitter {
    uint32_t index;
    uint64_t done[1 + OWNERS_MAX]; /* ANY: of each source, the emits that have returned */
} all_emitters[EMITTERS_MAX];

static void emit_one(struct emitter *emitter, uint64_t source)
{
    const struct weir_event *event = sources[source].event;
    const uint64_t payload[2] = {emitter->index, emitter->done[source]};
    if (weir_event_is_enabled(event))
        (void)weir_emit(event, payload);
    __atomic_store_n(&emitter->done[source], payload[1] + 1, __ATOMIC_RELEASE);
}

static void *emitter_run(void *argument)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        for (uint32_t i = 0; i < BURST; i++)
            for (uint64_t source = 0; source <= owners; source++)
                emit_one(argument, source);
        hs_sleep_us(pause_us);
    }
    return NULL;
}

/* The session is told by its own id. One that wants the provider no more gets nothing, even if
 * another has its slot by now. */
static void on_change(void *context, const struct weir_provider_change *change)
{
    const struct source *source = context;
    const uint64_t payload[2] = {change->session_id, change->what};
    bool is_written = weir_session_emit(change->session_id, source->hello, payload);
    hs_check(!is_written || change->what != WEIR_CHANGE_DISABLED,
             "session %llu does not want the provider, but got its event", (ull)payload[0]);
}

static struct weir_event *define(struct weir_provider *provider, const char *name, uint16_t id)
{
    static const struct weir_field fields[] = {{"First", WEIR_TYPE_u64}, {"Second", WEIR_TYPE_u64}};
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_event *event = NULL;
    schema.name = name;
    schema.event_id = id;
    schema.level = WEIR_LEVEL_INFO;
    schema.fields = fields;
    schema.field_count = 2;
    hs_check(weir_event_define(provider, &schema, &event, NULL) == WEIR_OK, "define");
    return event;
}

static const char *source_name(uint64_t source, char name[32])
{
    snprintf(name, 32, "Cycles%llu", (ull)source);
    return name;
}

/* The ids differ between the providers, because a stream is read by them. */
static void source_create(uint64_t number)
{
    char name[32];
    struct weir_provider *provider;
    struct source *source = &sources[number];
    enum weir_result result =
        weir_provider_create(source_name(number, name), NULL, NULL, &provider, NULL);
    hs_check(result == WEIR_OK, "provider: %s", weir_result_text(result));
    source->event = define(provider, "Event", (uint16_t)(EVENT_ID + number));
    source->hello = define(provider, "Hello", (uint16_t)(HELLO_ID + number));
    hs_check(weir_provider_watch(provider, on_change, source, NULL) == WEIR_OK, "watch");
}

/* --- A session. ------------------------------------------------------------------------------ */

enum wants {
    WANTS_SHARED,
    WANTS_OWN,
    WANTS_UPDATED, /* first the shared provider, then its owner's */
    WANTS_STRANGE, /* the shared one, until a stranger stops it */
    WANTS_COUNT
};

/* The emits of each emitter that had returned at some moment. */
struct moment {
    uint64_t done[EMITTERS_MAX];
};

struct cycle {
    uint64_t owner; /* from 1 */
    uint64_t random;
    enum wants wants;
    struct hs_trace trace;
    uint64_t id;
    int fd;                                     /* of a descriptor's file in memory; -1 */
    uint64_t bytes;                             /* DRAIN: of a function's sink */
    bool has_function;                          /* the sink is one */
    struct moment before, begun, ending, after; /* around the start and the stop */
    struct {
        uint64_t capture, number, counter;
    } last[EMITTERS_MAX];
    uint64_t hellos;
};

static uint64_t source_of(const struct cycle *cycle)
{
    return cycle->wants == WANTS_OWN ? cycle->owner : 0;
}

static void note(const struct cycle *cycle, struct moment *moment)
{
    for (uint64_t i = 0; i < emitters; i++)
        moment->done[i] =
            __atomic_load_n(&all_emitters[i].done[source_of(cycle)], __ATOMIC_ACQUIRE);
}

static bool count_bytes(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    *(uint64_t *)context += count;
    return true;
}

/* Memory of the session, a file in memory, or a function that keeps nothing. */
static void choose_sink(struct cycle *cycle, struct weir_session_config *config)
{
    cycle->fd = -1;
    switch (cycle->random >> 8 & 3) {
    case 0:
        cycle->has_function = true;
        config->sink.write = count_bytes;
        config->sink.context = &cycle->bytes;
        break;
    case 1:
        cycle->fd = memfd_create("cycles", MFD_CLOEXEC);
        hs_check(cycle->fd >= 0, "no file in memory");
        config->sink.descriptor = cycle->fd;
        snprintf(cycle->trace.path, sizeof cycle->trace.path, "/proc/self/fd/%d", cycle->fd);
        cycle->trace.keeps_file = true;
        break;
    default:
        config->memory_bytes_max = 64u << 20;
    }
}

static bool create(struct cycle *cycle)
{
    char name[32];
    struct weir_error error = {""};
    struct weir_enable wanted = WEIR_ENABLE_INIT;
    struct weir_session_config config = hs_trace_config(64u << 10);
    uint64_t before = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
    wanted.provider = source_name(source_of(cycle), name);
    config.providers = NULL;
    config.enables = &wanted;
    config.enable_count = 1;
    config.segment_bytes = 4096;
    config.flush_ms = (uint32_t)(1 + cycle->random % 20);
    config.mode = (enum weir_mode)((cycle->random >> 16) % 3);
    if (config.mode == WEIR_MODE_BLOCK)
        config.wake = (enum weir_wake)((cycle->random >> 24) % 3);
    config.name = cycle->wants == WANTS_STRANGE ? "strange" : NULL;
    choose_sink(cycle, &config);
    enum weir_result result = weir_session_create(&config, &cycle->trace.session, &error);
    if (!hs_check(result == WEIR_OK, "create: %s: %s", weir_result_text(result), error.text))
        return false;
    cycle->id = weir_session_id(cycle->trace.session);
    hs_check(cycle->id > before, "id %llu after %llu", (ull)cycle->id, (ull)before);
    while (before < cycle->id && !__atomic_compare_exchange_n(&newest, &before, cycle->id, false,
                                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    return true;
}

static void update(struct cycle *cycle)
{
    char name[32];
    struct weir_error error = {""};
    struct weir_enable wanted = WEIR_ENABLE_INIT;
    wanted.provider = source_name(cycle->owner, name);
    enum weir_result result =
        weir_session_update(cycle->trace.session, &wanted, 1, sizeof wanted, &error);
    hs_check(result == WEIR_OK, "update: %s: %s", weir_result_text(result), error.text);
}

/* --- What is checked. ------------------------------------------------------------------------ */

/* Not more than the emits that may have seen the session, and not fewer than those that must. */
static void check_attempts(const struct cycle *cycle)
{
    uint64_t least = 0, most = 1 /* its hello */, attempted = 0;
    const struct weir_counts *counts = &cycle->trace.stats.counts;
    for (uint64_t i = 0; i < emitters; i++) {
        uint64_t first = cycle->begun.done[i] + 1; /* one may be in progress that does not see it */
        if (cycle->ending.done[i] > first)
            least += cycle->ending.done[i] - first;
        most += cycle->after.done[i] + 1 - cycle->before.done[i];
    }
    attempted = counts->written + hs_lost(counts);
    hs_check(counts->attempted == attempted, "session %llu: %llu attempted, %llu written or lost",
             (ull)cycle->id, (ull)counts->attempted, (ull)attempted);
    if (cycle->wants == WANTS_UPDATED)
        return;
    if (cycle->wants == WANTS_STRANGE)
        least = 0;
    hs_check(attempted >= least && attempted <= most,
             "session %llu: %llu written or lost of at least %llu, at most %llu emitted",
             (ull)cycle->id, (ull)attempted, (ull)least, (ull)most);
}

static bool is_wanted(const struct cycle *cycle, uint32_t event_id)
{
    bool is_own = event_id == EVENT_ID + cycle->owner || event_id == HELLO_ID + cycle->owner;
    bool is_shared = event_id == EVENT_ID || event_id == HELLO_ID;
    return cycle->wants == WANTS_OWN       ? is_own
           : cycle->wants == WANTS_UPDATED ? is_own || is_shared
                                           : is_shared;
}

/* Numbers and counters advance together: each emit while the session runs takes a number. */
static void on_event(void *context, const struct hs_event *event)
{
    struct cycle *cycle = context;
    uint64_t fields[2];
    if (!hs_check(is_wanted(cycle, event->id) && event->payload_bytes == sizeof fields,
                  "session %llu has an event with id %u that it does not want", (ull)cycle->id,
                  event->id))
        return;
    memcpy(fields, event->payload, sizeof fields);
    if (event->id >= HELLO_ID) {
        cycle->hellos++;
        hs_check(fields[0] == cycle->id, "session %llu has an event for session %llu",
                 (ull)cycle->id, (ull)fields[0]);
        return;
    }
    if (!hs_check(fields[0] < emitters, "an event of emitter %llu", (ull)fields[0]) ||
        cycle->wants == WANTS_UPDATED) /* two sources share the numbers */
        return;
    uint64_t capture = event->capture->id, number = event->number, counter = fields[1];
    uint64_t last_number = cycle->last[fields[0]].number;
    uint64_t last_counter = cycle->last[fields[0]].counter;
    hs_check(cycle->last[fields[0]].capture != capture ||
                 counter - last_counter == number - last_number,
             "session %llu: from event %llu to %llu, but the numbers are %llu and %llu",
             (ull)cycle->id, (ull)last_counter, (ull)counter, (ull)last_number, (ull)number);
    cycle->last[fields[0]].capture = capture;
    cycle->last[fields[0]].number = number;
    cycle->last[fields[0]].counter = counter;
}

static void check_stream(struct cycle *cycle)
{
    struct hs_stream stream;
    const struct weir_counts *counts = &cycle->trace.stats.counts;
    hs_stream_read(&stream, &cycle->trace, on_event, cycle);
    hs_check(stream.events == counts->written, "%llu events in the stream, %llu written",
             (ull)stream.events, (ull)counts->written);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        hs_check(stream.lost_by_cause[cause] == counts->lost[cause],
                 "lost by %s: %llu in the stream, %llu counted",
                 weir_loss_name((enum weir_loss)cause), (ull)stream.lost_by_cause[cause],
                 (ull)counts->lost[cause]);
    hs_stream_free(&stream);
    hs_figure_add("read_back", 1);
    hs_figure_add("hellos", (double)cycle->hellos);
}

static void check(struct cycle *cycle)
{
    const struct weir_stats *stats = &cycle->trace.stats;
    check_attempts(cycle);
    if (cycle->has_function)
        hs_check(cycle->bytes == stats->bytes_sent, "%llu bytes, bytes_sent is %llu",
                 (ull)cycle->bytes, (ull)stats->bytes_sent);
    else if ((cycle->random >> 40) % sample == 0)
        check_stream(cycle);
    hs_figure_add("cycles", 1);
    hs_figure_add("written", (double)stats->counts.written);
    hs_figure_add("lost", (double)hs_lost(&stats->counts));
}

/* --- Owners. --------------------------------------------------------------------------------- */

/* Gives a stranger the time to find it. */
static void wait_for_stranger(void)
{
    uint64_t before = __atomic_load_n(&strange, __ATOMIC_ACQUIRE);
    for (int i = 0; i < 50 && __atomic_load_n(&strange, __ATOMIC_ACQUIRE) == before; i++)
        hs_sleep_us(100);
}

static void run(struct cycle *cycle)
{
    hs_sleep_us(cycle->random >> 32 & 0x3FF);
    if (cycle->wants == WANTS_UPDATED) {
        update(cycle);
        hs_sleep_us(cycle->random >> 48 & 0x3FF);
    }
    if (cycle->wants == WANTS_STRANGE)
        wait_for_stranger();
    note(cycle, &cycle->ending);
    if (cycle->random >> 63) {
        enum weir_result result = weir_session_stop_id(cycle->id, NULL);
        hs_check(result == WEIR_OK, "stop by id: %s", weir_result_text(result));
    }
    bool is_stopped = hs_trace_stop(&cycle->trace); /* again, perhaps: as it ended */
    note(cycle, &cycle->after);
    if (is_stopped)
        check(cycle);
}

static void cycle_run(uint64_t owner, uint64_t random)
{
    struct cycle cycle = {.owner = owner, .random = random, .wants = random >> 56 & 3, .fd = -1};
    if (create(&cycle)) {
        note(&cycle, &cycle.before);
        if (hs_trace_begin(&cycle.trace)) {
            note(&cycle, &cycle.begun);
            run(&cycle);
        }
        hs_trace_end(&cycle.trace);
        hs_check(weir_session_stop_id(cycle.id, NULL) == WEIR_NOT_FOUND,
                 "session %llu is found after its end", (ull)cycle.id);
    }
    if (cycle.fd >= 0)
        close(cycle.fd);
    hs_progress();
}

static void *owner_run(void *argument)
{
    uint64_t owner = *(uint64_t *)argument, random = hs_random(31, owner);
    while ((__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED) < cycles || hs_time_is_left()) &&
           hs_failures() == 0)
        cycle_run(owner, hs_next(&random));
    return NULL;
}

/* --- A stranger. ----------------------------------------------------------------------------- */

static void stop_strange(const struct weir_session_info *info)
{
    if (strcmp(info->name, "strange") != 0 || info->state != WEIR_SESSION_RUNNING)
        return;
    enum weir_result result = weir_session_stop_id(info->session_id, NULL);
    hs_check(result == WEIR_OK || result == WEIR_NOT_FOUND, "a stranger's stop: %s",
             weir_result_text(result));
    __atomic_fetch_add(&strange, result == WEIR_OK, __ATOMIC_ACQ_REL);
}

static void *stranger_run(void *argument)
{
    static struct weir_session_info infos[LISTED_MAX];
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = infos;
    table.sessions_max = LISTED_MAX;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        enum weir_result result = weir_session_list(&table);
        hs_check(result == WEIR_OK, "list: %s", weir_result_text(result));
        uint64_t last = 0;
        for (uint32_t i = 0; i < table.session_count && i < LISTED_MAX; i++) {
            hs_check(infos[i].session_id > last, "the list has %llu after %llu",
                     (ull)infos[i].session_id, (ull)last);
            last = infos[i].session_id;
            stop_strange(&infos[i]);
        }
        hs_sleep_us(300);
    }
    return argument;
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"cycles", "sessions that start and stop", &cycles, NULL},
        {"threads", "that emit", &emitters, NULL},
        {"owners", "of sessions, each of one at a time", &owners, NULL},
        {"sample", "one session in so many is read back", &sample, NULL},
        {"pause-us", "of each thread, between two bursts", &pause_us, NULL},
        {"long", "1: 10^6 cycles", &is_long, NULL},
        {NULL, NULL, NULL, NULL}};
    pthread_t threads[EMITTERS_MAX + 1], owner_threads[OWNERS_MAX];
    uint64_t numbers[OWNERS_MAX], count = 0;
    hs_init(argc, argv, "Sessions start and stop by the thousand under load.", options);
    cycles = is_long ? LONG_CYCLES : cycles;
    emitters = emitters > EMITTERS_MAX ? EMITTERS_MAX : emitters;
    owners = owners > OWNERS_MAX ? OWNERS_MAX : owners;
    sample = sample ? sample : 1;
    for (uint64_t i = 0; i <= owners; i++)
        source_create(i);
    for (uint32_t i = 0; i < emitters; i++) {
        all_emitters[i].index = i;
        hs_thread_start(&threads[count++], emitter_run, &all_emitters[i]);
    }
    hs_thread_start(&threads[count++], stranger_run, NULL);
    for (uint64_t i = 0; i < owners; i++) {
        numbers[i] = 1 + i;
        hs_thread_start(&owner_threads[i], owner_run, &numbers[i]);
    }
    for (uint64_t i = 0; i < owners; i++)
        hs_thread_join(owner_threads[i]);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < count; i++)
        hs_thread_join(threads[i]);
    hs_figure("stopped_by_strangers", (double)__atomic_load_n(&strange, __ATOMIC_RELAXED));
    hs_figure("newest_id", (double)__atomic_load_n(&newest, __ATOMIC_RELAXED));
    return hs_finish();
}
