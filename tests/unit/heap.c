/* Walks of the heap: what they write, for whom, and what a snapshot says that is not whole. */
#define _GNU_SOURCE
#include "stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "failing.h"
#include "runtime/heap_walk.h"

#define SNAPSHOT   "Microsoft-Windows-DotNETRuntime:0x1980001:5"
#define WITH_TEXTS "Microsoft-Windows-DotNETRuntime:0x1000001980001:5"

/* --- A heap. --------------------------------------------------------------------------------- */

#define NODES 3000u

static uint64_t random_state = 1;

static uint64_t random_next(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return random_state >> 33;
}

struct node {
    uint64_t address, size, type, edge_count;
};

static struct node nodes[NODES];
static uint64_t edges[NODES * 8];
static uint32_t edge_count, asked;

static void heap_make(void)
{
    edge_count = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = (struct node){0x10000 + 16 * i, 1 + random_next(), 8 + 2 * (random_next() % 5),
                                 random_next() % 8};
        for (uint64_t j = 0; j < nodes[i].edge_count; j++)
            edges[edge_count++] = 0x10000 + 16 * (random_next() % NODES);
    }
    nodes[1].size = UINT64_C(5) << 31;
}

static void ask(void *context)
{
    (void)context;
    __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
}

static void walk_all(void *context, struct weir_heap_graph *graph)
{
    uint32_t edge = 0;
    (void)context;
    for (uint64_t type = 8; type < 18; type += 2)
        weir_heap_type(graph, type, "kind", 0, 0);
    weir_heap_root(graph, WEIR_HEAP_ROOT_STACK, 0, nodes[0].address, 7);
    for (uint32_t i = 0; i < NODES; i++) {
        if (!weir_heap_node(graph, nodes[i].address, nodes[i].size, nodes[i].type))
            return;
        for (uint64_t j = 0; j < nodes[i].edge_count; j++)
            weir_heap_edge(graph, edges[edge++]);
        weir_heap_edge(graph, 0); /* passed over */
    }
}

static void host_register_with(void (*walk)(void *context, struct weir_heap_graph *graph),
                               uint32_t ms, void *context)
{
    struct weir_error error;
    struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
    host.request = ask;
    host.walk = walk;
    host.context = context;
    host.safe_point_ms = ms;
    host.visited_max = 1000;
    asked = 0;
    if (weir_heap_register(&host, &error) != WEIR_OK)
        fail_msg("%s", error.text);
}

static void host_register(void (*walk)(void *context, struct weir_heap_graph *graph), uint32_t ms)
{
    host_register_with(walk, ms, NULL);
}

/* --- What a stream has. ---------------------------------------------------------------------- */

struct snapshot {
    uint32_t starts, ends, types, roots, statics, weaks, modules, others, marks;
    uint32_t number;   /* of the last start */
    uint32_t next[64]; /* the index that is due, by event id */
    uint64_t lost;
    char reason[128];
    unsigned char nodes[sizeof nodes + 64], edges[sizeof edges / 8 * 12 + 64];
    size_t node_bytes, edge_bytes, type_bytes;
};

static uint32_t u32_at(const struct wt_event *event, uint32_t offset)
{
    uint32_t value;
    assert_true(offset + sizeof value <= event->payload_size);
    memcpy(&value, event->payload + offset, sizeof value);
    return value;
}

/* The values of an event with index, count and number of the runtime. */
static void values_take(struct snapshot *found, const struct wt_event *event, uint32_t each,
                        unsigned char *to, size_t *bytes)
{
    assert_int_equal(u32_at(event, 0), found->next[event->metadata->event_id]++);
    assert_int_equal(event->payload_size, 10 + each * u32_at(event, 4));
    assert_true(event->payload_size < 65536);
    memcpy(to + *bytes, event->payload + 10, event->payload_size - 10);
    *bytes += event->payload_size - 10;
}

static void mark_take(struct snapshot *found, const struct wt_event *event)
{
    assert_int_equal(u32_at(event, 0), found->number);
    memcpy(&found->lost, event->payload + 4, 8);
    for (uint32_t i = 0; i + 13 < event->payload_size && i < 2 * sizeof found->reason; i += 2)
        found->reason[i / 2] = (char)event->payload[12 + i];
    found->marks++;
}

static void on_event(void *context, const struct wt_event *event)
{
    struct snapshot *found = context;
    size_t root_bytes = 0;
    unsigned char root[64];
    if (strcmp(event->metadata->provider_name, "Weir") == 0)
        return;
    switch (event->metadata->event_id) {
    case 1:
        found->number = u32_at(event, 0);
        assert_int_equal(event->payload_size, 26);
        found->starts++;
        break;
    case 2:
        assert_int_equal(u32_at(event, 0), found->number);
        found->ends++;
        break;
    case 15:
        found->types += u32_at(event, 0);
        found->type_bytes += event->payload_size - 6;
        break;
    case 16:
        values_take(found, event, 21, root, &root_bytes);
        found->roots++;
        break;
    case 17:
        values_take(found, event, 24, root, &root_bytes);
        found->weaks++;
        break;
    case 18:
        values_take(found, event, 32, found->nodes, &found->node_bytes);
        break;
    case 19:
        values_take(found, event, 12, found->edges, &found->edge_bytes);
        break;
    case 38:
        found->statics++;
        break;
    case 154:
        found->modules++;
        break;
    case 65000:
        mark_take(found, event);
        break;
    default:
        found->others++;
    }
}

/* Of a snapshot that is not whole. */
static void on_lossy(void *context, const struct wt_event *event)
{
    struct snapshot *found = context;
    if (strcmp(event->metadata->provider_name, "Weir") == 0)
        return;
    if (event->metadata->event_id == 1)
        found->number = u32_at(event, 0);
    found->ends += event->metadata->event_id == 2;
    if (event->metadata->event_id == 65000)
        mark_take(found, event);
}

static struct snapshot *read_snapshot(struct weir_session *session)
{
    static struct snapshot found;
    const struct wt_handlers handlers = {.event = on_event};
    memset(&found, 0, sizeof found);
    unit_read_memory(session, handlers, &found);
    return &found;
}

static struct snapshot *stop(struct weir_session *session)
{
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct snapshot *found = read_snapshot(session);
    weir_session_destroy(session);
    return found;
}

static struct weir_session *start(const char *providers, enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.providers = providers;
    config.mode = mode;
    return unit_start(&config);
}

static void check_whole(const struct snapshot *found)
{
    assert_int_equal(found->starts, 1);
    assert_int_equal(found->ends, 1);
    assert_int_equal(found->marks, 0);
    assert_int_equal(found->types, 5);
    assert_int_equal(found->roots, 1);
    assert_int_equal(found->node_bytes, sizeof nodes);
    assert_memory_equal(found->nodes, nodes, sizeof nodes);
    assert_int_equal(found->edge_bytes, 12 * edge_count);
    for (uint32_t i = 0; i < edge_count; i++)
        assert_memory_equal(found->edges + 12 * i, &edges[i], 8);
}

/* --- Tests. ---------------------------------------------------------------------------------- */

/* The graph is the same however many elements an event has. */
static void test_capacities(void **state)
{
    (void)state;
    host_register(walk_all, 60000);
    for (wr_heap_elements_max = 0; wr_heap_elements_max <= 64; wr_heap_elements_max++) {
        struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
        assert_true(weir_heap_is_due());
        assert_int_equal(weir_heap_serve(), 1);
        assert_false(weir_heap_is_due());
        check_whole(stop(session));
    }
    assert_int_equal(asked, 65);
    wr_heap_elements_max = 0;
    weir_heap_unregister();
}

/* Names are cut at 1,000 bytes, between characters if they have any. */
static void walk_names(void *context, struct weir_heap_graph *graph)
{
    static char long_name[2002] = "x", broken[1101];
    (void)context;
    for (uint32_t at = 1; at + 1 < sizeof long_name; at += 2)
        memcpy(long_name + at, "\xC3\xA4", 2);
    memset(broken, 0x80, sizeof broken - 1);
    weir_heap_type(graph, 8, long_name, 0, 0);
    weir_heap_type(graph, 10, broken, 0, 0);
    weir_heap_type(graph, 12, NULL, 0, 0);
    weir_heap_static(graph, 16, 8, broken, false);
}

static void test_names(void **state)
{
    (void)state;
    host_register(walk_names, 60000);
    struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
    assert_int_equal(weir_heap_serve(), 1);
    struct snapshot *found = stop(session);
    assert_int_equal(found->types, 3);
    assert_int_equal(found->type_bytes, 3 * 29 + 2 * (500 + 1) + 2 * (1000 + 1) + 2);
    assert_int_equal(found->statics, 1);
    assert_int_equal(found->ends, 1);
    weir_heap_unregister();
}

/* `context`: does the session want contents? */
static void walk_golden(void *context, struct weir_heap_graph *graph)
{
    char text[67];
    memset(text, 'x', 63);
    memcpy(text + 63, "\xC3\xA4y", 4); /* cut in front of the character that does not fit */
    assert_int_equal(weir_heap_wants_texts(graph), *(bool *)context);
    weir_heap_type(graph, 8, "T\xC3\xA4", 6, WEIR_HEAP_TYPE_ARRAY);
    weir_heap_module(graph, 6, "/scripts/a.lua");
    weir_heap_root(graph, WEIR_HEAP_ROOT_HANDLE, WEIR_HEAP_ROOT_PINNED, 16, 9);
    weir_heap_weak(graph, 16, 32, 48);
    weir_heap_static(graph, 32, 8, "g", true);
    weir_heap_node(graph, 16, 100, 8);
    assert_true(weir_heap_text(graph, "abcdefghi", 9));
    weir_heap_edge(graph, 32);
    weir_heap_node(graph, 32, UINT64_C(1) << 33, 8);
    assert_true(weir_heap_text(graph, text, 66));
}

struct golden {
    char text[4096];
    uint32_t definitions;
};

static void on_golden(void *context, const struct wt_event *event)
{
    struct golden *golden = context;
    size_t length = strlen(golden->text);
    if (strcmp(event->metadata->provider_name, "Weir") == 0)
        return;
    length += (size_t)sprintf(golden->text + length, "%u.%u", event->metadata->event_id,
                              event->metadata->version);
    for (uint32_t i = 0; i < event->payload_size; i++)
        length +=
            (size_t)sprintf(golden->text + length, i % 4 ? "%02x" : " %02x", event->payload[i]);
    strcpy(golden->text + length, "\n");
}

static void on_golden_definition(void *context, const struct wt_metadata *metadata)
{
    ((struct golden *)context)->definitions += strcmp(metadata->provider_name, "Weir") != 0;
}

/* The number of the collection is masked. */
static struct golden *golden_of(const char *providers, bool wants_texts)
{
    static struct golden golden;
    const struct wt_handlers handlers = {.event = on_golden, .metadata = on_golden_definition};
    struct weir_session_config config = unit_config();
    config.providers = providers;
    config.mode = WEIR_MODE_BLOCK;
    config.rundown_keywords = 0x8;
    host_register_with(walk_golden, 60000, &wants_texts);
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_heap_serve(), 1);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    memset(&golden, 0, sizeof golden);
    unit_read_memory(session, handlers, &golden);
    memset(strstr(golden.text, "1.2 ") + 4, 'N', 8);
    memset(strstr(golden.text, "\n2.1 ") + 5, 'N', 8);
    weir_session_destroy(session);
    weir_heap_unregister();
    return &golden;
}

/* The bytes that dotnet-gcdump demands, and no others; with contents for a session that wants them. */
static void test_bytes(void **state)
{
    (void)state;
    static const char texts[] =
        "65001.0 00000000 02000000 00001000 00000000 00000900 00000000 0000892a 369feac9 61450900 "
        "61626364 65666768 69200000 00000000 00420000 00000000 006b5ed6 f89affa1 cd3f0078 78787878 "
        "78787878 78787878 78787878 78787878 78787878 78787878 78787878 78787878 78787878 78787878 "
        "78787878 78787878 78787878 78787878 7878\n";
    static const char want[] =
        "1.2 NNNNNNNN 02000000 01000000 00000000 00000000 00000000 0000\n"
        "15.0 01000000 00000800 00000000 00000600 00000000 00000000 00000800 00001254 00e40000 "
        "00000000 00\n"
        "16.0 00000000 01000000 00001000 00000000 00000201 00000009 00000000 000000\n"
        "17.0 00000000 01000000 00001000 00000000 00002000 00000000 00003000 00000000 0000\n"
        "18.0 00000000 02000000 00001000 00000000 00006400 00000000 00000800 00000000 00000100 "
        "00000000 00002000 00000000 00000000 00000200 00000800 00000000 00000000 00000000 0000\n"
        "19.0 00000000 01000000 00002000 00000000 00000000 0000\n"
        "38.0 01000000 01000000 00000000 00000100 00000000 00002000 00000000 00000800 00000000 "
        "00000100 00006700 0000\n"
        "2.1 NNNNNNNN 02000000 0000\n"
        "154.1 06000000 00000000 06000000 00000000 00000000 00000000 2f007300 63007200 69007000 "
        "74007300 2f006100 2e006c00 75006100 00000000 0000\n";
    struct golden *golden = golden_of(SNAPSHOT, false);
    assert_string_equal(golden->text, want);
    assert_int_equal(golden->definitions, 9);
    golden = golden_of(WITH_TEXTS, true);
    assert_int_equal(golden->definitions, 10);
    char *at = strstr(golden->text, texts);
    assert_non_null(at);
    memmove(at, at + sizeof texts - 1, strlen(at + sizeof texts - 1) + 1);
    assert_string_equal(golden->text, want);
    golden = golden_of("Microsoft-Windows-DotNETRuntime:0x1000000880001:5", false);
    assert_null(strstr(golden->text, "65001.0")); /* there are no nodes to have them */
}

#define TEXTS          1000u
#define TEXT_BYTES_MAX 102u

/* A text of 2 to 101 bytes, which are not UTF-8. Those of one length differ in the last two bytes. */
static size_t text_make(uint32_t number, unsigned char *bytes)
{
    size_t size = 2 + number % 100;
    memset(bytes, 0x80, size);
    bytes[size - 2] |= (unsigned char)(number / 128);
    bytes[size - 1] |= (unsigned char)(number % 128);
    return size;
}

static void walk_texts(void *context, struct weir_heap_graph *graph)
{
    unsigned char bytes[TEXT_BYTES_MAX];
    (void)context;
    for (uint32_t i = 0; i < 2 * TEXTS; i++) {
        size_t size = text_make(i % TEXTS, bytes);
        assert_true(weir_heap_node(graph, 16 + 16 * i, 24, 8));
        assert_true(weir_heap_text(graph, bytes, size));
    }
}

struct texts {
    uint32_t next, count; /* of events, of texts */
    uint64_t hashes[2 * TEXTS];
};

/* Returns the end of the element. */
static const unsigned char *text_take(struct texts *texts, const unsigned char *element)
{
    unsigned char bytes[TEXT_BYTES_MAX];
    uint32_t i = texts->count++;
    const uint64_t head[2] = {16 + 16 * i, text_make(i % TEXTS, bytes)};
    const uint32_t kept = head[1] < 64 ? (uint32_t)head[1] : 64;
    assert_in_range(i, 0, 2 * TEXTS - 1);
    assert_memory_equal(element, head, sizeof head);
    memcpy(&texts->hashes[i], element + 16, 8);
    assert_int_equal(element[24] | element[25] << 8, kept);
    assert_memory_equal(element + 26, bytes, kept);
    return element + 26 + kept;
}

static void on_texts(void *context, const struct wt_event *event)
{
    struct texts *texts = context;
    const unsigned char *at = event->payload + 10;
    if (strcmp(event->metadata->provider_name, "Weir") == 0 || event->metadata->event_id != 65001)
        return;
    assert_int_equal(u32_at(event, 0), texts->next++);
    assert_true(event->payload_size < 65536);
    for (uint32_t i = 0; i < u32_at(event, 4); i++)
        at = text_take(texts, at);
    assert_ptr_equal(at, event->payload + event->payload_size);
}

/* They are the same however many fit an event, and only equal ones have equal hashes. */
static void test_texts(void **state)
{
    (void)state;
    static struct texts texts;
    const struct wt_handlers handlers = {.event = on_texts};
    host_register(walk_texts, 60000);
    for (wr_heap_elements_max = 0; wr_heap_elements_max <= 3; wr_heap_elements_max++) {
        struct weir_session *session = start(WITH_TEXTS, WEIR_MODE_BLOCK);
        assert_int_equal(weir_heap_serve(), 1);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        memset(&texts, 0, sizeof texts);
        unit_read_memory(session, handlers, &texts);
        weir_session_destroy(session);
        assert_int_equal(texts.count, 2 * TEXTS);
        assert_true(texts.next > 1);
    }
    for (uint32_t i = 0; i < 2 * TEXTS; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_int_equal(texts.hashes[i] == texts.hashes[j], i == j + TEXTS);
    wr_heap_elements_max = 0;
    weir_heap_unregister();
}

static void walk_early_text(void *context, struct weir_heap_graph *graph)
{
    (void)context;
    weir_heap_text(graph, "x", 1);
    weir_heap_node(graph, 16, 24, 8);
    weir_heap_text(graph, NULL, 0);
}

/* An error of the host, but only where contents are wanted. */
static void test_text_without_a_node(void **state)
{
    (void)state;
    host_register(walk_early_text, 60000);
    struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
    assert_int_equal(weir_heap_serve(), 1);
    assert_int_equal(stop(session)->marks, 0);
    session = start(WITH_TEXTS, WEIR_MODE_BLOCK);
    assert_int_equal(weir_heap_serve(), 1);
    struct snapshot *found = stop(session);
    assert_string_equal(found->reason, "the host has given a text before any node");
    assert_int_equal(found->others, 1); /* the empty text */
    weir_heap_unregister();
}

/* A walk is one session's, and only one that has asked is walked for. */
static void test_sessions(void **state)
{
    (void)state;
    host_register(walk_all, 60000);
    struct weir_session *first = start(SNAPSHOT, WEIR_MODE_BLOCK);
    struct weir_session *gc = start("Microsoft-Windows-DotNETRuntime:0x1:5", WEIR_MODE_BLOCK);
    struct weir_session *quiet =
        start("Microsoft-Windows-DotNETRuntime:0x180001:5", WEIR_MODE_BLOCK);
    struct weir_session *second = start(SNAPSHOT, WEIR_MODE_BLOCK);
    assert_int_equal(weir_heap_serve(), 2);
    assert_int_equal(weir_heap_serve(), 0);
    check_whole(stop(first));
    check_whole(stop(second));
    struct snapshot *found = stop(gc);
    assert_int_equal(found->starts + found->types + found->node_bytes + found->others, 0);
    assert_int_equal(weir_heap_walk(), 1); /* the host's own: `quiet` wants heaps */
    check_whole(stop(quiet));
    weir_heap_unregister();
}

static void check_empty(const struct snapshot *found, const char *reason)
{
    assert_int_equal(found->starts, 1);
    assert_int_equal(found->ends, 1);
    assert_int_equal(found->types, 1);
    assert_int_equal(found->node_bytes, 0);
    assert_int_equal(found->marks, 1);
    assert_string_equal(found->reason, reason);
}

/* Without a safe point the session gets an empty snapshot that says so. */
static void test_no_safe_point(void **state)
{
    (void)state;
    host_register(walk_all, 20);
    struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
    for (int i = 0; weir_heap_is_due() && i < 10000; i++)
        usleep(1000);
    assert_false(weir_heap_is_due());
    assert_int_equal(weir_heap_serve(), 0);
    for (int i = 0; unit_counts(session).written < 4 && i < 10000; i++)
        usleep(1000); /* the thread that has claimed it emits */
    check_empty(stop(session), "the host has not reached a safe point in time");
    weir_heap_unregister();
}

/* So it does without memory for the walk, which is mapped first; the next walk is whole. */
static void test_no_memory(void **state)
{
    (void)state;
    host_register(walk_all, 60000);
    struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
    failing_begin(0, FAILING_CALLER);
    assert_int_equal(weir_heap_serve(), 1);
    failing_end();
    check_empty(stop(session), "the process has no memory for the walk");
    session = start(SNAPSHOT, WEIR_MODE_BLOCK);
    assert_int_equal(weir_heap_serve(), 1);
    check_whole(stop(session));
    weir_heap_unregister();
}

static void walk_slowly(void *context, struct weir_heap_graph *graph)
{
    usleep(1700000);
    walk_all(context, graph);
}

/* A session that waits for another one's walk is not late. */
static void test_slow_walk(void **state)
{
    (void)state;
    host_register(walk_slowly, 1500);
    struct weir_session *first = start(SNAPSHOT, WEIR_MODE_BLOCK);
    struct weir_session *second = start(SNAPSHOT, WEIR_MODE_BLOCK);
    assert_int_equal(weir_heap_serve(), 2);
    check_whole(stop(first));
    check_whole(stop(second));
    weir_heap_unregister();
}

static void walk_much(void *context, struct weir_heap_graph *graph)
{
    (void)context;
    for (uint64_t i = 1; i <= 100000; i++)
        weir_heap_node(graph, 16 * i, 24, 8);
}

static bool append_slowly(void *context, const void *bytes, size_t count)
{
    usleep(20000);
    return unit_append(context, bytes, count);
}

/* In DROP the snapshot has an end, and says how many events are missing. */
static void test_drop(void **state)
{
    (void)state;
    host_register(walk_much, 60000);
    struct weir_session_config config = unit_config();
    config.providers = SNAPSHOT;
    config.budget_bytes = 256u << 10;
    config.no_yield = true;
    static struct unit_bytes bytes;
    config.memory_bytes_max = 0;
    config.sink.write = append_slowly;
    config.sink.context = &bytes;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_heap_serve(), 1);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    static struct snapshot found;
    const struct wt_handlers handlers = {.event = on_lossy};
    memset(&found, 0, sizeof found);
    unit_read(bytes.at, bytes.count, handlers, &found);
    assert_true(counts.attempted > counts.written);
    assert_int_equal(found.ends, 1);
    assert_int_equal(found.marks, 1);
    assert_in_range(found.lost, 1, counts.attempted);
    weir_session_destroy(session);
    weir_heap_unregister();
}

static void walk_visits(void *context, struct weir_heap_graph *graph)
{
    (void)context;
    assert_false(weir_heap_visit(graph, 0));
    for (uint64_t i = 1; i <= 1000; i++)
        assert_true(weir_heap_visit(graph, i << 4));
    for (uint64_t i = 1; i <= 1000; i++)
        assert_false(weir_heap_visit(graph, i << 4));
    if (*(bool *)context)
        assert_false(weir_heap_visit(graph, 8));
}

/* The set has room for 1,000 objects. */
static void test_visits(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        bool is_over = round == 1;
        struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
        host.request = ask;
        host.walk = walk_visits;
        host.context = &is_over;
        host.visited_max = 1000;
        assert_int_equal(weir_heap_register(&host, NULL), WEIR_OK);
        struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
        assert_int_equal(weir_heap_serve(), 1);
        assert_int_equal(stop(session)->marks, is_over);
        weir_heap_unregister();
    }
}

static struct weir_session *stopped;

static void *stop_other(void *unused)
{
    assert_int_equal(weir_session_stop(stopped, NULL), WEIR_OK);
    return unused;
}

static void walk_on(void *context, struct weir_heap_graph *graph)
{
    pthread_t thread;
    uint64_t address = 16;
    assert_true(weir_heap_node(graph, address, 1, 8));
    assert_int_equal(pthread_create(&thread, NULL, stop_other, NULL), 0);
    while (weir_heap_node(graph, address += 16, 1, 8))
        ;
    pthread_join(thread, NULL);
    *(bool *)context = true;
}

/* A walk whose session ends is told so. */
static void test_stop_in_a_walk(void **state)
{
    (void)state;
    bool has_ended = false;
    struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
    host.request = ask;
    host.walk = walk_on;
    host.context = &has_ended;
    assert_int_equal(weir_heap_register(&host, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = SNAPSHOT;
    config.mode = WEIR_MODE_BLOCK;
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    stopped = unit_start(&config);
    assert_int_equal(weir_heap_serve(), 1);
    assert_true(has_ended);
    weir_session_destroy(stopped);
    weir_heap_unregister();
}

static bool register_again(void)
{
    struct weir_provider *own;
    struct weir_error error;
    struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
    host.request = ask;
    host.walk = walk_all;
    if (weir_provider_create("Microsoft-Windows-DotNETRuntime", NULL, NULL, &own, NULL) !=
            WEIR_OK ||
        weir_heap_register(&host, &error) != WEIR_EXISTS || !strstr(error.text, "DotNETRuntime"))
        return false;
    weir_provider_destroy(own);
    if (weir_heap_register(&host, NULL) != WEIR_OK)
        return false;
    start(SNAPSHOT, WEIR_MODE_BLOCK);
    return asked == 1 && weir_heap_serve() == 1;
}

/* A host that has such a provider itself is refused, and may try again without. In a child, since the
 * library's provider stays. */
static void test_provider_of_the_hosts(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(register_again() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_hosts(void **state)
{
    (void)state;
    struct weir_error error;
    struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
    weir_heap_unregister(); /* of none, which must not spoil what follows */
    assert_int_equal(weir_heap_register(NULL, &error), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_heap_register(&host, &error), WEIR_BAD_ARGUMENT);
    host.request = ask;
    host.walk = walk_all;
    host.reserved = 1;
    assert_int_equal(weir_heap_register(&host, &error), WEIR_BAD_ARGUMENT);
    host.reserved = 0;
    assert_int_equal(weir_heap_register(&host, &error), WEIR_OK);
    assert_int_equal(weir_heap_register(&host, &error), WEIR_EXISTS);
    weir_heap_unregister();
}

/* A session that asks before there is a host is served by it; a child owes its parent nothing. */
static void test_late_host_and_fork(void **state)
{
    (void)state;
    struct weir_session *session = start(SNAPSHOT, WEIR_MODE_BLOCK);
    host_register(walk_all, 60000);
    assert_int_equal(asked, 1);
    pid_t child = fork();
    if (child == 0)
        _exit(weir_heap_serve() == 0 && !weir_heap_is_due() ? 0 : 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(weir_heap_serve(), 1);
    check_whole(stop(session));
    weir_heap_unregister();
}

int main(void)
{
    heap_make();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_provider_of_the_hosts),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_text_without_a_node),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_capacities),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_no_safe_point),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_slow_walk),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_visits),
        cmocka_unit_test(test_stop_in_a_walk),
        cmocka_unit_test(test_late_host_and_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
