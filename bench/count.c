#include "count.h"

#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>
#include <weir/trace.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#define LIBC_VERSION gnu_get_libc_version()
#else
#define LIBC_VERSION "unknown"
#endif

#define EVENTS_MAX 100000 /* what the sessions have room for */

#define COUNT_EVENTS(EVENT, P)                                                                   \
    EVENT(P, Text, 1, 0, WEIR_LEVEL_INFO, 0x1, (str, Text))                                      \
    EVENT(P, Mixed, 2, 0, WEIR_LEVEL_INFO, 0x1, (u8, A), (u16, B), (u32, C), (u64, D), (f64, E)) \
    EVENT(P, Raw, 3, 0, WEIR_LEVEL_INFO, 0x1, (u32, Index), (raw, Bytes))                        \
    EVENT(P, Nodes, 4, 0, WEIR_LEVEL_INFO, 0x1, (u32, Index), (array_struct(Node), Nodes))
#define COUNT_NODE(FIELD) FIELD(u64, Address) FIELD(u64, Size)
WEIR_STRUCT(Node, COUNT_NODE)
WEIR_PROVIDER(WeirCount, COUNT_EVENTS)
WEIR_PROVIDER_DEFINE(WeirCount, COUNT_EVENTS)

void count_fail(const char *what, const char *why)
{
    fprintf(stderr, "weir-count: %s: %s\n", what, why);
    exit(1);
}

uint64_t count_begin(int argc, char **argv)
{
    char *end = NULL;
    unsigned long events = argc == 2 ? strtoul(argv[1], &end, 10) : 0;
    if (!end || *end || events < 1 || events > EVENTS_MAX) {
        fprintf(stderr, "usage: %s EVENTS, a number from 1 to %d\n", argv[0], EVENTS_MAX);
        exit(2);
    }
    printf("compiler %s\nlibc %s\n", COUNT_COMPILER, LIBC_VERSION);
    return events;
}

static void count_once(const char *name, uint64_t events, count_work prepare, count_work work,
                       void *context)
{
    char label[200];
    snprintf(label, sizeof label, "%s events:%llu", name, (unsigned long long)events);
    if (prepare && !prepare(context, events))
        count_fail(label, "could not be prepared");
    CALLGRIND_START_INSTRUMENTATION;
    bool is_done = work(context, events);
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(label);
    if (!is_done)
        count_fail(label, "did not do what it counts");
}

void count_twice(const char *name, uint64_t events, count_work prepare, count_work work,
                 void *context)
{
    count_once(name, events, prepare, work, context);
    count_once(name, 2 * events, prepare, work, context);
}

struct weir_session *count_session(struct weir_session_config config, uint64_t budget_bytes,
                                   uint32_t segment_bytes)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    config.budget_bytes = budget_bytes;
    config.segment_bytes = segment_bytes;
    config.flush_ms = 60000; /* long enough that no timer fires */
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        count_fail("session", error.text);
    return session;
}

bool count_events_register(void)
{
    return weir_provider_register(&weir_provider_WeirCount, NULL, NULL, NULL, NULL) == WEIR_OK;
}

uint64_t count_emit_text(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirCount, Text, "/usr/share/some/path/of/32/bytes");
    return written;
}

uint64_t count_emit_mixed(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirCount, Mixed, (uint8_t)i, (uint16_t)i, (uint32_t)i, i, (double)i);
    return written;
}

uint64_t count_emit_raw(uint64_t count)
{
    static const uint64_t words[4] = {1, 2, 3, 4};
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirCount, Raw, (uint32_t)i, words, sizeof words);
    return written;
}

uint64_t count_emit_nodes(uint64_t count)
{
    static const struct weir_struct_Node nodes[2] = {{1, 2}, {3, 4}};
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirCount, Nodes, (uint32_t)i, nodes, 2);
    return written;
}
