/*
 * What goes with an event beside its fields: activities, stacks, and the thread that it is about. The
 * streams of both versions are read back.
 */
#include "stream.h"

#include <fields.h>
#include <stdio.h>
#include <stdlib.h>
#include "event/with.h"
#include "lane/record.h"
#include "nettrace/writer.h"
#include "session/stacks.h"

#define CONTEXT_EVENTS(EVENT, P)                                                   \
    EVENT(P, RequestStart, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number))              \
    EVENT(P, Work, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number))                      \
    EVENT(P, Text, 3, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number), (str, Value))        \
    EVENT(P, Failed, 4, 0, WEIR_LEVEL_INFO | WEIR_EVENT_STACK, 0x1, (u64, Number)) \
    EVENT(P, Told, 5, 0, WEIR_LEVEL_INFO | WEIR_EVENT_STACK, 0x1, (str, Value))    \
    EVENT(P, Bare, 6, 0, WEIR_LEVEL_INFO | WEIR_EVENT_STACK, 0x1)
WEIR_PROVIDER(Context, CONTEXT_EVENTS)
WEIR_PROVIDER_DEFINE(Context, CONTEXT_EVENTS)
WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* --- The file. ------------------------------------------------------------------------------- */

#define EVENTS_MAX 300u
#define RUN_EVENTS EVENTS_MAX
#define FORMS      1400u /* events with stacks of one form after the other */

struct found {
    char name[16], path[WT_ACTIVITY_TEXT_BYTES], related[WT_ACTIVITY_TEXT_BYTES];
    uint8_t activity_id[16];
    uint64_t thread_id, own_thread_id, number, time;
    uint32_t stack_count, stack_id;
    uint64_t stack[1000];
};

struct file {
    struct found *found;
    uint32_t count;
    uint64_t cut; /* stacks, by the session's figures */
};

static void path_of(const uint8_t id[16], char *out)
{
    static const uint8_t none[16];
    out[0] = 0;
    if (memcmp(id, none, 16) != 0 && !wt_activity_text(id, 0, out))
        strcpy(out, "?");
}

static void on_event(void *context, const struct wt_event *event)
{
    struct file *file = context;
    if (strcmp(event->metadata->provider_name, "Context") != 0)
        return;
    assert_true(file->count < EVENTS_MAX);
    struct found *one = &file->found[file->count++];
    snprintf(one->name, sizeof one->name, "%s", event->metadata->event_name);
    memcpy(one->activity_id, event->activity_id, 16);
    path_of(event->activity_id, one->path);
    path_of(event->related_activity_id, one->related);
    one->thread_id = event->thread_id;
    one->time = (uint64_t)event->time;
    one->number = 0;
    if (event->payload_size >= 8)
        memcpy(&one->number, event->payload, 8);
    one->stack_id = event->stack_id;
    one->stack_count = event->stack_size / 8;
    if (event->stack_size)
        memcpy(one->stack, event->stack, event->stack_size);
}

/* Stops the session and reads it. The caller frees what is found. */
static struct file stop(struct weir_session *session)
{
    struct file file = {.found = calloc(EVENTS_MAX, sizeof *file.found)};
    assert_non_null(file.found);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    file.cut = unit_stats(session).stacks_cut;
    unit_read_memory(session, (struct wt_handlers){.event = on_event}, &file);
    weir_session_destroy(session);
    return file;
}

static struct weir_session_config config_of(uint8_t format)
{
    struct weir_session_config config = unit_config();
    config.providers = "Context";
    config.format = format;
    return config;
}

static const uint8_t formats[] = {WEIR_FORMAT_NETTRACE_4, WEIR_FORMAT_NETTRACE_6};

/* --- Activities. ----------------------------------------------------------------------------- */

static void emit_request(void)
{
    struct weir_activity request = WEIR_ACTIVITY_INIT, phase = WEIR_ACTIVITY_INIT;
    WEIR_EMIT(Context, Work, 0);
    weir_activity_start(&request);
    WEIR_EMIT(Context, RequestStart, 1);
    WEIR_EMIT(Context, Work, 2);
    weir_activity_start(&phase);
    WEIR_EMIT(Context, RequestStart, 3);
    WEIR_EMIT(Context, Text, 4, "in the phase");
    weir_activity_stop(&phase);
    weir_activity_start(&phase);
    WEIR_EMIT(Context, Work, 5);
    weir_activity_stop(&request); /* and with it the phase, which was not stopped */
    WEIR_EMIT(Context, Work, 6);
}

/* The path's end behind "//1/n", where n is the number of the root. */
static const char *below_root(const char *path)
{
    assert_int_equal(strncmp(path, "//1/", 4), 0);
    const char *next = strchr(path + 4, '/');
    return next ? next : "";
}

static void test_activities(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_session_config config = config_of(formats[i]);
        struct weir_session *session = unit_start(&config);
        emit_request();
        struct file file = stop(session);
        assert_int_equal(file.count, 7);
        for (uint32_t at = 0; at < 7; at++)
            assert_int_equal(file.found[at].number, at);
        assert_string_equal(file.found[0].path, "");
        assert_string_equal(below_root(file.found[1].path), "");
        assert_string_equal(file.found[1].related, ""); /* a root has no parent */
        assert_string_equal(file.found[2].path, file.found[1].path);
        assert_string_equal(below_root(file.found[3].path), "/1");
        assert_string_equal(file.found[3].related, file.found[1].path);
        assert_string_equal(file.found[4].path, file.found[3].path);
        assert_string_equal(file.found[4].related, ""); /* of the event that starts it only */
        assert_string_equal(below_root(file.found[5].path), "/2");
        assert_string_equal(file.found[6].path, "");
        free(file.found);
    }
}

/* The bytes that .NET writes, and the path that they are. */
static void test_paths(void **state)
{
    (void)state;
    static const struct {
        uint8_t path[12];
        const char *text;
    } known[] = {
        {{0x11}, "//1/1"},
        {{0x1A}, "//1/10"},
        {{0x1C, 0x0B}, "//1/11"},
        {{0x1C, 0xFF}, "//1/255"},
        {{0x1D, 0x00, 0x01}, "//1/256"},
        {{0x11, 0xC1, 0x00}, "//1/1/256"},
        {{0x11, 0xC1, 0x00, 0x00, 0x20}, "//1/1/256/2"}, /* with .NET's zero byte */
        {{0x11, 0xC1, 0x00, 0x20}, "//1/1/256/2"},
        {{0x11, 0xCF, 0xFF}, "//1/1/4095"},
        {{0x11, 0xCF, 0xFF, 0x00, 0x20}, "//1/1/4095/2"}, /* the same */
        {{0x11, 0xCF, 0xFF, 0x20}, "//1/1/4095/2"},
        {{0x11, 0xD0, 0x00, 0x10, 0x30}, "//1/1/4096/3"},
        {{0x1B, 0xC0, 0x07}, "//1$7"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t id[16];
        uint32_t words[4];
        char text[WT_ACTIVITY_TEXT_BYTES];
        memcpy(words, known[i].path, 12);
        words[3] = (words[0] + words[1] + words[2] + 0x599D99AD) ^ 4242;
        memcpy(id, words, 16);
        assert_true(wt_activity_text(id, 4242, text));
        assert_string_equal(text, known[i].text);
        id[15] ^= 0x80;
        assert_false(wt_activity_text(id, 4242, text));
    }
}

/* Children with numbers of every size, at both nibbles, and a path that is too long. */
static void test_numbers(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 10, 11, 255, 256, 4095, 4096, 70000, 20000000};
    struct weir_activity root = WEIR_ACTIVITY_INIT, inner = WEIR_ACTIVITY_INIT;
    char wanted[100], text[WT_ACTIVITY_TEXT_BYTES];
    weir_activity_start(&root);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct weir_activity child = WEIR_ACTIVITY_INIT;
        root.children = numbers[i] - 1;
        weir_activity_start(&child);
        weir_activity_start(&inner);
        assert_true(wt_activity_text(inner.guid.bytes, 0, text));
        snprintf(wanted, sizeof wanted, "/%u/1", numbers[i]);
        assert_string_equal(below_root(text), wanted);
        weir_activity_stop(&child);
    }
    struct weir_activity deep[40];
    for (uint32_t i = 0; i < 40; i++) {
        deep[i] = (struct weir_activity)WEIR_ACTIVITY_INIT;
        weir_activity_start(&deep[i]);
        assert_true(wt_activity_text(deep[i].guid.bytes, 0, text));
        for (uint32_t before = 0; before < i; before++)
            assert_memory_not_equal(deep[i].guid.bytes, deep[before].guid.bytes, 16);
    }
    assert_non_null(strchr(text, '$'));
    weir_activity_stop(&root);
}

/* A coroutine takes its chain to another place, and leaves the one that it found. */
static void test_swap(void **state)
{
    (void)state;
    struct weir_activity outer = WEIR_ACTIVITY_INIT, coroutine = WEIR_ACTIVITY_INIT;
    struct weir_session_config config = config_of(WEIR_FORMAT_NETTRACE_4);
    struct weir_session *session = unit_start(&config);
    weir_activity_start(&outer);
    struct weir_context *mine = weir_context_swap(NULL);
    weir_activity_start(&coroutine);
    struct weir_context *its = weir_context_swap(mine);
    WEIR_EMIT(Context, Work, 1);
    mine = weir_context_swap(its);
    WEIR_EMIT(Context, Work, 2);
    (void)weir_context_swap(mine);
    weir_activity_stop(&outer);
    WEIR_EMIT(Context, Work, 3);
    struct file file = stop(session);
    assert_memory_equal(file.found[0].activity_id, outer.guid.bytes, 16);
    assert_memory_equal(file.found[1].activity_id, coroutine.guid.bytes, 16);
    assert_string_equal(file.found[2].path, "");
    free(file.found);
}

/* --- One event's. ---------------------------------------------------------------------------- */

/* In small segments, so that two records span several; and to a session that wants no stacks. */
static void test_one_event(void **state)
{
    (void)state;
    uint64_t addresses[1001];
    char text[9001] = {0};
    memset(text, 'x', 9000);
    for (uint32_t i = 0; i < 1001; i++)
        addresses[i] = 0x10000 + i;
    for (uint32_t i = 0; i < 4; i++) {
        struct weir_session_config config = config_of(formats[i % 2]);
        config.segment_bytes = 4096;
        config.no_stacks = i / 2;
        struct weir_session *session = unit_start(&config);
        struct weir_guid id = {{1}}, related = {{2}};
        struct weir_context context = WEIR_CONTEXT_INIT;
        context.activity_id = &id;
        context.related_activity_id = &related;
        context.thread_id = 4711;
        context.stack = addresses;
        context.stack_count = 3;
        WEIR_EMIT_WITH(&context, Context, Work, 1);
        WEIR_EMIT(Context, Work, 2);
        context.stack_count = 1001;
        WEIR_EMIT_WITH(&context, Context, Text, 3, "a large one");
        context.stack = NULL;
        WEIR_EMIT_WITH(&context, Context, Work, 4);
        context.stack = addresses; /* narrow, as the first one is not */
        context.stack_count = 255;
        WEIR_EMIT_WITH(&context, Context, Text, 5, text);
        struct file file = stop(session);
        bool has_stacks = !config.no_stacks;
        assert_int_equal(file.count, 5);
        assert_int_equal(file.cut, has_stacks);
        assert_int_equal(file.found[4].stack_count, has_stacks ? 255 : 0);
        assert_memory_equal(file.found[4].stack, addresses, has_stacks ? 2040 : 0);
        assert_int_equal(file.found[4].activity_id[0], 1);
        assert_int_equal(file.found[0].activity_id[0], 1);
        assert_string_equal(file.found[0].related, "?");
        assert_int_equal(file.found[0].stack_count, has_stacks ? 3 : 0);
        assert_memory_equal(file.found[0].stack, addresses, has_stacks ? 24 : 0);
        assert_string_equal(file.found[1].path, "");
        assert_int_equal(file.found[1].stack_count, 0);
        assert_int_not_equal(file.found[1].thread_id, file.found[0].thread_id);
        assert_int_equal(file.found[2].number, 3);
        assert_int_equal(file.found[2].stack_count, has_stacks ? 1000 : 0);
        assert_memory_equal(file.found[2].stack, addresses, has_stacks ? 8000 : 0);
        assert_int_equal(file.found[3].stack_count, 0);
        assert_int_equal(file.found[3].thread_id, file.found[0].thread_id);
        if (formats[i % 2] == WEIR_FORMAT_NETTRACE_4)
            assert_int_equal(file.found[0].thread_id, 4711);
        free(file.found);
    }
}

/* The last eight of each twenty have one of three stacks that come again. Most of the others have a stack
 * of their own: alone, or several in a row. */
static void run_stack(uint64_t *frames, uint64_t number)
{
    bool is_new = number % 20 < 12 && number % 5 != 1;
    frames[0] = is_new ? 10 + number : number * number % 7 % 3;
    frames[1] = 2;
    frames[2] = frames[3] = 3;
}

/* Events that differ only in time, payload and stack are written in groups: each has its own of them,
 * and what another activity or a plain event changes. */
static void test_runs(void **state)
{
    static uint64_t before[RUN_EVENTS], after[RUN_EVENTS];
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_session_config config = config_of(formats[i]);
        config.stack_bytes = 1u << 20;
        struct weir_session *session = unit_start(&config);
        struct weir_guid ids[2] = {{{1}}, {{2}}};
        struct weir_context context = WEIR_CONTEXT_INIT;
        uint64_t frames[4];
        context.stack_count = 4;
        for (uint64_t number = 0; number < RUN_EVENTS; number++) {
            context.activity_id = &ids[number / 100 % 2];
            run_stack(frames, number);
            context.stack = frames;
            before[number] = weir_clock();
            if (number % 100 == 60)
                WEIR_EMIT(Context, Work, number);
            else
                WEIR_EMIT_WITH(&context, Context, Work, number);
            after[number] = weir_clock();
        }
        struct file file = stop(session);
        assert_int_equal(file.count, RUN_EVENTS);
        for (uint32_t at = 0; at < RUN_EVENTS; at++) {
            const struct found *one = &file.found[at];
            bool is_plain = at % 100 == 60;
            assert_int_equal(one->number, at);
            assert_in_range(one->time, before[at], after[at]);
            assert_int_equal(one->activity_id[0], is_plain ? 0 : 1 + at / 100 % 2);
            assert_int_equal(one->stack_count, is_plain ? 0 : 4);
            run_stack(frames, at);
            assert_memory_equal(one->stack, frames, is_plain ? 0 : 32);
        }
        free(file.found);
    }
}

#define EDGE (UINT64_C(1) << WR_RECORD_NARROW_BITS)

/* Of every number of addresses: near one another, at the edges of what can be narrow, and beyond. Then
 * three forms by turns that take 32 bytes in a record, so that one group has all of them. */
static uint32_t form_stack(uint64_t *frames, uint64_t number)
{
    static const uint64_t firsts[] = {0x400000, EDGE - 8192, EDGE, UINT64_MAX - 8191, 0xFFFFFF80};
    static const uint32_t counts[] = {8, 7, 4};
    uint32_t kind = (uint32_t)(number * number % 7 % 3), count = (uint32_t)number % 280 + 1;
    uint64_t first = firsts[number / 280 % 5], step = 16;
    if (number >= FORMS) {
        count = counts[kind];
        first = 0x500000 + number / 2 % 40 * 64;
        step = kind == 2 ? UINT64_C(1) << 32 : 4;
    }
    for (uint32_t i = 0; i < count; i++)
        frames[i] = first + i * step;
    return count;
}

static void check_form(void *context, const struct wt_event *event)
{
    uint64_t *count = context, number, frames[280];
    if (strcmp(event->metadata->provider_name, "Context") != 0)
        return;
    memcpy(&number, event->payload, sizeof number);
    assert_int_equal(number, (*count)++);
    assert_int_equal(event->stack_size, 8 * form_stack(frames, number));
    assert_memory_equal(event->stack, frames, event->stack_size);
}

static void test_stacks_of_each_form(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 4; i++) {
        struct weir_session_config config = config_of(formats[i % 2]);
        config.stack_bytes = i / 2 ? 1u << 20 : 0;
        config.budget_bytes = 8u << 20;
        struct weir_session *session = unit_start(&config);
        uint64_t frames[280], read = 0;
        for (uint64_t number = 0; number < FORMS + 1000; number++) {
            struct weir_context context = WEIR_CONTEXT_INIT;
            context.stack = frames;
            context.stack_count = form_stack(frames, number);
            assert_true(WEIR_EMIT_WITH(&context, Context, Work, number));
        }
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        unit_read_memory(session, (struct wt_handlers){.event = check_form}, &read);
        assert_int_equal(read, FORMS + 1000);
        weir_session_destroy(session);
    }
}

/* The low halves follow the first word, and zeros where memory was something else. */
static void check_narrow(const struct wr_with *with)
{
    uint64_t memory[1 + 128];
    uint32_t words[2 + 256], count = wr_record_stack_count(with->stack_form);
    memset(memory, 0xFF, sizeof memory);
    struct wr_record_out out = {.at = (void *)memory, .end = (void *)(memory + 129)};
    wr_with_put(with, with->flags, &out);
    assert_int_equal(out.at - (unsigned char *)memory, with->stack_bytes);
    memcpy(words, memory, sizeof words);
    assert_int_equal(words[0], with->stack_form);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(words[2 + i], (uint32_t)with->stack[i]);
    assert_int_equal(words[2 + count], count % 2 ? 0 : UINT32_MAX);
}

/* Narrow: stacks of 4 to 255 addresses that all have the same high half and need at most 55 bits. */
static void test_narrow(void **unused)
{
    (void)unused;
    for (uint32_t count = 1; count <= 300; count++) {
        uint64_t frames[300];
        struct weir_context context = WEIR_CONTEXT_INIT;
        context.stack = frames;
        context.stack_count = count;
        bool may_be = count >= 4 && count <= 255;
        for (uint32_t odd = 0; odd <= count + 1; odd++) {
            struct wr_with with = {0};
            for (uint32_t i = 0; i < count; i++)
                frames[i] = EDGE - 8192 + 16 * i + (odd == count + 1 ? 8192 : 0);
            if (odd < count)
                frames[odd] ^= UINT64_C(1) << (32 + odd % 32);
            wr_with_gather(&with, NULL, NULL, &context);
            assert_int_equal(wr_record_stack_count(with.stack_form), count);
            if (may_be && odd == count)
                check_narrow(&with);
            assert_int_equal(with.stack_bytes,
                             8 + (may_be && odd == count ? (count + 1) / 2 * 8 : count * 8));
        }
    }
}

static uint64_t emit_plain(void)
{
    WEIR_EMIT(Context, Work, 1);
    return 2;
}

/* What an argument emits has nothing of the context, which is in no chain. */
static void test_argument_emits(void **state)
{
    (void)state;
    struct weir_session_config config = config_of(WEIR_FORMAT_NETTRACE_4);
    struct weir_session *session = unit_start(&config);
    static const struct weir_guid id = {{7}};
    struct weir_context context = WEIR_CONTEXT_INIT;
    context.activity_id = &id;
    WEIR_EMIT_WITH(&context, Context, Work, emit_plain());
    assert_null(weir_context_swap(NULL));
    struct file file = stop(session);
    assert_int_equal(file.count, 2);
    assert_int_equal(file.found[0].activity_id[0], 0);
    assert_int_equal(file.found[1].activity_id[0], 7);
    free(file.found);
}

static void count_thread(void *context, const struct wt_event *event)
{
    uint32_t *count = context;
    *count += event->thread_id >= 5000000;
}

/* A sampler of many threads: in V6 each of them has one row. */
static void test_many_threads(void **state)
{
    (void)state;
    struct weir_session_config config = config_of(WEIR_FORMAT_NETTRACE_6);
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < 3000; i++) {
        struct weir_context context = WEIR_CONTEXT_INIT;
        context.thread_id = 5000000 + i % 1000;
        WEIR_EMIT_WITH(&context, Context, Work, i);
    }
    uint32_t count = 0;
    const void *bytes;
    uint64_t size;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    unit_read_memory(session, (struct wt_handlers){.event = count_thread}, &count);
    assert_int_equal(weir_session_memory(session, &bytes, &size), WEIR_OK);
    assert_int_equal(count, 3000);
    assert_true(size < 3000 * 16 + 1000 * 80); /* the events, and a row and a block each */
    weir_session_destroy(session);
}

/* --- The hook. ------------------------------------------------------------------------------- */

static int32_t captured;
static uint32_t captures;

static int32_t capture(void *context, uint64_t *addresses, int32_t max)
{
    assert_ptr_equal(context, &captured);
    captures++;
    for (int32_t i = 0; i < max; i++)
        addresses[i] = 0x500 + (uint64_t)i;
    WEIR_EMIT(Context, Failed, 99); /* has no stack */
    return captured;
}

static void hook_set(uint32_t frames_max)
{
    struct weir_stack_hook hook = WEIR_STACK_HOOK_INIT;
    hook.capture = capture;
    hook.context = &captured;
    hook.frames_max = frames_max;
    assert_int_equal(weir_stack_hook_set(&hook), WEIR_OK);
}

static void test_hook(void **state)
{
    (void)state;
    static const int32_t counts[] = {5, 8, 9, 1000000, 0, -1};
    static const uint32_t expected[] = {5, 8, 8, 8, 0, 0};
    hook_set(8);
    for (uint32_t i = 0; i < 6; i++) {
        struct weir_session_config config = config_of(formats[i % 2]);
        struct weir_session *session = unit_start(&config);
        captured = counts[i];
        WEIR_EMIT(Context, Failed, 1);
        WEIR_EMIT(Context, Told, "once more");
        WEIR_EMIT(Context, Bare);
        struct file file = stop(session);
        assert_int_equal(file.cut, i < 2 ? 0 : 3);
        assert_int_equal(file.count, 6);
        for (uint32_t at = 0; at < 6; at++) { /* the hook's event comes first, without a stack */
            struct found *one = &file.found[at];
            assert_int_equal(one->stack_count, at % 2 ? expected[i] : 0);
            assert_int_equal(one->stack_id, at % 2 && expected[i] ? 1 : 0); /* one stack, one id */
        }
        free(file.found);
    }
    assert_int_equal(weir_stack_hook_set(NULL), WEIR_OK);
}

static void test_hook_is_not_called(void **state)
{
    (void)state;
    struct weir_session_config config = config_of(WEIR_FORMAT_NETTRACE_4);
    hook_set(100);
    captures = 0;
    WEIR_EMIT(Context, Failed, 1); /* no session */
    config.no_stacks = true;
    struct weir_session *session = unit_start(&config);
    WEIR_EMIT(Context, Failed, 2);
    struct file file = stop(session);
    assert_int_equal(file.count, 1);
    assert_int_equal(captures, 0);
    free(file.found);
    hook_set(512);
    struct weir_stack_hook hook = WEIR_STACK_HOOK_INIT;
    assert_int_equal(weir_stack_hook_set(&hook), WEIR_BAD_ARGUMENT);
    hook.capture = capture;
    hook.frames_max = 513;
    assert_int_equal(weir_stack_hook_set(&hook), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_stack_hook_set(NULL), WEIR_OK);
}

/* An event that is defined again, now with WEIR_EVENT_STACK, is another event. */
static void test_hook_of_a_later_definition(void **state)
{
    (void)state;
    struct weir_session_config config = config_of(WEIR_FORMAT_NETTRACE_4);
    config.providers = "Later";
    hook_set(100);
    captured = 1;
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_schema schema = WEIR_SCHEMA_INIT;
        struct weir_provider *provider;
        struct weir_event *event;
        schema.name = "Again";
        schema.event_id = 1;
        schema.level = i ? WEIR_LEVEL_INFO | WEIR_EVENT_STACK : WEIR_LEVEL_INFO;
        assert_int_equal(weir_provider_create("Later", NULL, NULL, &provider, NULL), WEIR_OK);
        assert_int_equal(weir_event_define(provider, &schema, &event, NULL), WEIR_OK);
        struct weir_session *session = unit_start(&config);
        captures = 0;
        assert_int_equal(weir_event_emit(event, NULL, 0, sizeof(struct weir_value)), 1);
        assert_int_equal(captures, i);
        free(stop(session).found);
        weir_provider_destroy(provider);
    }
    assert_int_equal(weir_stack_hook_set(NULL), WEIR_OK);
}

/* --- The table. ------------------------------------------------------------------------------ */

/* A million different stacks, and each twice in a row: the second time it is known. */
static void test_bound(void **state)
{
    (void)state;
    struct wr_stacks stacks = {0};
    assert_true(wr_stacks_reserve(&stacks, WR_STACK_BYTES_MIN));
    for (uint32_t i = 1; i <= 1000000; i++) {
        uint64_t stack[9] = {
            (uint64_t)i << WR_RECORD_STACK_HASH_SHIFT | 8, i, 1, 2, 3, 4, 5, 6, i % 7};
        bool is_new;
        assert_int_equal(wr_stacks_find(&stacks, (void *)stack, 64, &is_new), i);
        assert_true(is_new);
        assert_int_equal(wr_stacks_find(&stacks, (void *)stack, 64, &is_new), i);
        assert_false(is_new);
    }
    assert_int_equal(stacks.bytes, WR_STACK_BYTES_MIN);
    wr_stacks_forget(&stacks);
    uint64_t stack[2] = {1, 1};
    bool is_new;
    assert_int_equal(wr_stacks_find(&stacks, (void *)stack, 8, &is_new), 1);
    assert_true(is_new);
    uint64_t narrow[101] = {0}; /* of 200 addresses, which are 1,600 bytes in the stream */
    for (uint64_t i = 1; !stacks.was_full; i++) {
        assert_true(i <= 1 + stacks.store_bytes / 1600);
        narrow[0] = i << WR_RECORD_STACK_HASH_SHIFT | wr_record_narrow_form(200, 0x400000);
        wr_stacks_find(&stacks, (void *)narrow, 800, &is_new);
    }
    wr_stacks_release(&stacks);
}

#define LENGTH_MAX 40u

/* Stacks of one length, each of which differs from the last one in one address, and the last one again.
 * All have one head, as if one hash: each keeps its id, and a group ends where the stream has no such
 * stack. */
static void check_length(struct wr_stacks *stacks, uint32_t length)
{
    static uint64_t records[LENGTH_MAX + 3][1 + LENGTH_MAX];
    uint32_t bytes = length * 8, codes[LENGTH_MAX + 3];
    memset(records, 0, sizeof records);
    for (uint32_t i = 0; i < length + 3; i++)
        records[i][0] = UINT64_C(7) << WR_RECORD_STACK_HASH_SHIFT | length;
    for (uint32_t i = 0; i < length; i++)
        records[i][1 + i] = 1;
    records[length + 2][length] = 2;
    assert_int_equal(wr_stacks_add(stacks, (void *)records, bytes, sizeof records[0], length + 3),
                     length + 1);
    assert_int_equal(
        wr_stacks_known(stacks, (void *)records, bytes, sizeof records[0], length + 3, codes),
        length + 2);
    for (uint32_t i = 0; i < length + 2; i++)
        assert_int_equal(wr_nettrace_stack_id(codes[i]), i <= length ? i + 1 : length + 1);
}

/* The hash that a record has. */
static uint64_t hash_of(const uint64_t *stack, uint32_t count)
{
    uint64_t memory[1 + LENGTH_MAX];
    struct weir_context context = WEIR_CONTEXT_INIT;
    struct wr_with with = {0};
    context.stack = stack;
    context.stack_count = count;
    wr_with_gather(&with, NULL, NULL, &context);
    struct wr_record_out out = {.at = (void *)memory, .end = (void *)(memory + 1 + LENGTH_MAX)};
    wr_with_put(&with, with.flags, &out);
    return memory[0] >> WR_RECORD_STACK_HASH_SHIFT;
}

/* A stack with another address, or with two that have changed places, is looked for elsewhere, whether it is
 * narrow or not; and so is one with other high halves. */
static void test_hashes(void **unused)
{
    uint64_t stack[LENGTH_MAX];
    (void)unused;
    for (uint32_t length = 1; length <= LENGTH_MAX; length++) {
        uint64_t other[LENGTH_MAX];
        for (uint32_t i = 0; i < LENGTH_MAX; i++) {
            stack[i] = 0x400000 + 16 * i;
            other[i] = stack[i] + (UINT64_C(1) << 32);
        }
        assert_int_not_equal(hash_of(other, length), hash_of(stack, length));
        for (uint32_t wide = 0; wide < 2; wide++, stack[0] += UINT64_C(1) << 60) {
            for (uint32_t i = 0; i < length; i++) {
                memcpy(other, stack, sizeof other);
                other[i]++;
                assert_int_not_equal(hash_of(other, length), hash_of(stack, length));
                other[i] = stack[(i + 1) % length];
                other[(i + 1) % length] = stack[i];
                if (length > 1)
                    assert_int_not_equal(hash_of(other, length), hash_of(stack, length));
            }
        }
    }
}

static void test_stacks_of_each_length(void **unused)
{
    struct wr_stacks stacks = {0};
    (void)unused;
    assert_true(wr_stacks_reserve(&stacks, WR_STACK_BYTES_MIN));
    for (uint32_t length = 1; length <= LENGTH_MAX; length++) {
        check_length(&stacks, length);
        wr_stacks_forget(&stacks);
    }
    wr_stacks_release(&stacks);
}

/* The code of an id is what an event's header has for it. */
static void test_stack_codes(void **unused)
{
    static const uint32_t ids[] = {0, 1, 127, 128, 16383, 16384, 1u << 21, INT32_MAX};
    (void)unused;
    for (uint32_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        unsigned char expected[8] = {WR_NETTRACE_HAS_STACK_ID}, found[8];
        uint32_t code = wr_nettrace_stack_code(ids[i]);
        size_t bytes = (size_t)(wr_nettrace_varint(expected + 1, ids[i]) - expected);
        assert_int_equal(wr_nettrace_stack_put(found, code) - found, bytes);
        assert_memory_equal(found, expected, bytes);
        assert_int_equal(wr_nettrace_stack_id(code), ids[i]);
    }
}

/* Payloads of every length behind a stack: all of it is copied, and at most seven bytes more. */
static void test_payloads_of_each_length(void **unused)
{
    unsigned char from[512], to[512];
    (void)unused;
    for (uint32_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(1 + i % 255);
    for (uint32_t length = 0; length <= 300; length++) {
        memset(to, 0, sizeof to);
        wr_nettrace_copy_wide(to, from, length);
        assert_memory_equal(to, from, length);
        assert_int_equal(to[length + 7], 0);
    }
}

/* --- Many stacks. ---------------------------------------------------------------------------- */

#define FRAMES          8u
#define BYTES_MAX       100u
#define AGAIN_BYTES_MAX 16u        /* 8 of payload, and a header with an id of three bytes */
#define HELD_BYTES      (5u << 20) /* the drain writes a point after 4 MiB of stream */

struct many {
    uint64_t distinct;              /* stacks, which come in turn */
    uint64_t count, held, held_max; /* bytes of the events' stacks since the last point */
};

static void stack_make(uint64_t *frames, uint64_t number)
{
    for (uint32_t i = 0; i < FRAMES; i++)
        frames[i] = number * FRAMES + i;
}

static void check_stack(void *context, const struct wt_event *event)
{
    struct many *many = context;
    uint64_t number, frames[FRAMES];
    if (strcmp(event->metadata->provider_name, "Context") != 0)
        return;
    memcpy(&number, event->payload, sizeof number);
    assert_int_equal(number, many->count++);
    stack_make(frames, number % many->distinct);
    assert_int_equal(event->stack_size, sizeof frames);
    assert_memory_equal(event->stack, frames, sizeof frames);
    many->held += sizeof frames;
    if (many->held > many->held_max)
        many->held_max = many->held;
}

static void forget(void *context, const struct wt_point *point)
{
    struct many *many = context;
    (void)point;
    many->held = 0;
}

/* Records `count` events, which have `distinct` stacks by turns, and checks that all of them arrive. Returns
 * the most bytes that the stacks of the events between two points have. */
static uint64_t held_of(struct weir_session_config config, uint64_t count, uint64_t distinct)
{
    config.mode = WEIR_MODE_BLOCK;
    config.flush_ms = 60000;
    struct weir_session *session = unit_start(&config);
    for (uint64_t number = 0; number < count; number++) {
        struct weir_context context = WEIR_CONTEXT_INIT;
        uint64_t frames[FRAMES];
        stack_make(frames, number % distinct);
        context.stack = frames;
        context.stack_count = FRAMES;
        assert_true(WEIR_EMIT_WITH(&context, Context, Work, number));
    }
    struct many many = {.distinct = distinct};
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    /* 64 of addresses, 8 of payload, 4 of a size, and what a block of 16 has around it: 8 */
    assert_in_range(unit_stats(session).bytes_sent, distinct * 64,
                    distinct * BYTES_MAX + (count - distinct) * AGAIN_BYTES_MAX);
    unit_read_memory(session, (struct wt_handlers){.event = check_stack, .point = forget}, &many);
    assert_int_equal(many.count, count);
    weir_session_destroy(session);
    return many.held_max;
}

/* A million with the compilers' plain builds. The table is full again and again, and a reader need not
 * hold more than the drain lets come between two points. */
static void test_million(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_session_config config = config_of(formats[i]);
        config.memory_bytes_max = 1u << 30;
        config.stack_bytes = WR_STACK_BYTES_MIN;
        assert_in_range(held_of(config, STACKS, STACKS), 1, HELD_BYTES);
    }
}

/* Ids of one, two and three bytes, used again: there is no point between, so that they count up to 20,000. */
static void test_stacks_come_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_session_config config = config_of(formats[i]);
        config.budget_bytes = 8u << 20;
        config.stack_bytes = 8u << 20;
        assert_int_equal(held_of(config, 40000, 20000), 40000 * 8 * FRAMES);
    }
}

/* The drain writes a point after the look at which the table was full: before it are at most the stacks
 * of the table and of the budget, and these are a part of all. */
static void test_full_table_makes_a_point(void **state)
{
    struct weir_session_config config = config_of(0);
    (void)state;
    config.budget_bytes = 64u << 10;
    config.stack_bytes = WR_STACK_BYTES_MIN;
    assert_in_range(held_of(config, 10000, 10000), 1, WR_STACK_BYTES_MIN + config.budget_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activities),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_one_event),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_stacks_of_each_form),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_argument_emits),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_hook),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_stacks_of_each_length),
        cmocka_unit_test(test_stack_codes),
        cmocka_unit_test(test_payloads_of_each_length),
        cmocka_unit_test(test_million),
        cmocka_unit_test(test_stacks_come_again),
        cmocka_unit_test(test_full_table_makes_a_point),
        cmocka_unit_test(test_hook_is_not_called),
        cmocka_unit_test(test_hook_of_a_later_definition),
    };
    if (weir_provider_register(&weir_provider_Context, NULL, NULL, NULL, NULL) != WEIR_OK)
        return 1;
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
