/* The server's parts that need no server: lists of ports, the delays between dials, requests and
 * replies as bytes. The messages are the worked examples of the protocol's documents. */
#define _GNU_SOURCE
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/server.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* --- Ports. ---------------------------------------------------------------------------------- */

#define PATH_27  "/a/path/of/27/characters/.."
#define PATH_107 PATH_27 PATH_27 PATH_27 "/and/26/more/of/them/....."

struct described {
    const char *text;
    uint32_t count;
    struct {
        const char *path;
        bool is_dialed, suspends;
    } ports[3];
};

static void test_ports(void **state)
{
    (void)state;
    static const struct described all[] = {
        {"", 0, {{NULL, false, false}}},
        {" ;; ; ", 0, {{NULL, false, false}}},
        {"/a", 1, {{"/a", true, true}}},
        {"/a,nosuspend", 1, {{"/a", true, false}}},
        {"/a,listen", 1, {{"/a", false, true}}},
        {" /a b , LISTEN ,\tNoSuspend ", 1, {{"/a b", false, false}}},
        {"/a,connect,listen,suspend,nosuspend", 1, {{"/a", true, true}}},
        {"/a,listen,connect,nosuspend,suspend", 1, {{"/a", false, false}}},
        {"/a,,future,listening,listen", 1, {{"/a", false, true}}},
        {"nosuspend,connect", 1, {{"nosuspend", true, true}}},
        {";/a;; /b,listen;/a,nosuspend",
         3,
         {{"/a", true, true}, {"/b", false, true}, {"/a", true, false}}},
        {PATH_107, 1, {{PATH_107, true, true}}},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct wr_port ports[WR_PORTS_MAX] = {{.path = ""}};
        uint32_t count = 0;
        assert_int_equal(wr_ports_parse(ports, &count, "ports", all[i].text, NULL), WEIR_OK);
        assert_int_equal(count, all[i].count);
        for (uint32_t j = 0; j < count; j++) {
            assert_string_equal(ports[j].path, all[i].ports[j].path);
            assert_int_equal(ports[j].is_dialed, all[i].ports[j].is_dialed);
            assert_int_equal(ports[j].suspends, all[i].ports[j].suspends);
            assert_int_equal(ports[j].fd, -1);
            assert_false(ports[j].is_default || ports[j].is_resumed || ports[j].due_ns);
        }
    }
}

static void test_ports_that_are_refused(void **state)
{
    (void)state;
    static const char *const all[] = {",listen", "/a; ,nosuspend", PATH_107 "x"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct wr_port ports[WR_PORTS_MAX] = {{.path = ""}};
        struct weir_error error = {""};
        uint32_t count = 0;
        assert_int_equal(wr_ports_parse(ports, &count, "the list", all[i], &error),
                         WEIR_BAD_ARGUMENT);
        assert_ptr_equal(strstr(error.text, "the list: '"), error.text);
    }
}

/* 16, and the default port. */
static void test_ports_that_are_many(void **state)
{
    (void)state;
    for (uint32_t has_default = 0; has_default < 2; has_default++) {
        struct wr_port ports[WR_PORTS_MAX] = {{.path = "", .is_default = has_default}};
        struct weir_error error = {""};
        uint32_t count = has_default;
        assert_int_equal(wr_ports_parse(ports, &count, "a", "1;2;3;4;5;6;7;8;9;10;11;12", &error),
                         WEIR_OK);
        assert_int_equal(wr_ports_parse(ports, &count, "a", "13;14;15;16", &error), WEIR_OK);
        assert_int_equal(count, 16 + has_default);
        assert_string_equal(ports[count - 1].path, "16");
        assert_int_equal(wr_ports_parse(ports, &count, "a", ";", &error), WEIR_OK);
        assert_int_equal(wr_ports_parse(ports, &count, "a", "17", &error), WEIR_BAD_ARGUMENT);
        assert_string_equal(error.text, "a: expected no more than 16 ports");
    }
}

/* The process's start time, with a 7 behind it. */
static void test_default_port(void **state)
{
    (void)state;
    static char text[1024], directory[128];
    struct wr_port port = {.path = ""};
    FILE *file = fopen("/proc/self/stat", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unsigned long long ticks = 0;
    const char *at = strrchr(text, ')');
    assert_int_equal(sscanf(at,
                            ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%*s %*s %*s %llu",
                            &ticks),
                     1);
    snprintf(text, sizeof text, "dotnet-diagnostic-%d-%llu7-socket", (int)getpid(), ticks);
    static const char *const directories[][2] = {
        {"/some/where", "/some/where/"}, {"/some/where/", "/some/where/"}, {"", "/tmp/"}};
    for (size_t i = 0; i < 3; i++) {
        setenv("TMPDIR", directories[i][0], 1);
        assert_true(wr_port_default(&port));
        assert_memory_equal(port.path, directories[i][1], strlen(directories[i][1]));
        assert_string_equal(port.path + strlen(directories[i][1]), text);
    }
    memset(directory, 'd', sizeof directory - 1);
    for (size_t length = 100 - strlen(text); length < 120 - strlen(text); length++) {
        setenv("TMPDIR", directory + sizeof directory - 1 - length, 1);
        assert_int_equal(wr_port_default(&port), length + 1 + strlen(text) <= 107);
    }
}

/* .NET dials after 10 ms, and then each time a quarter later, up to 500 ms. */
static void test_delays(void **state)
{
    (void)state;
    struct wr_port port[1];
    uint32_t count = 0;
    uint64_t now_ns = UINT64_C(5000000000);
    double expected_us = 10000;
    assert_int_equal(wr_ports_parse(port, &count, "ports", "/a", NULL), WEIR_OK);
    for (int i = 0; i < 20; i++) {
        wr_port_delay(port, now_ns);
        uint64_t delay_us = (port->due_ns - now_ns) / 1000;
        assert_in_range(delay_us, (uint64_t)expected_us - 1, (uint64_t)expected_us);
        now_ns = port->due_ns;
        expected_us = expected_us * 1.25 < 500000 ? expected_us * 1.25 : 500000;
    }
    assert_int_equal((uint64_t)expected_us, 500000);
}

/* --- Requests. ------------------------------------------------------------------------------- */

#define MAGIC "444F544E45545F4950435F563100"

struct bytes {
    unsigned char at[WR_MESSAGE_BYTES_MAX + 64];
    uint32_t count;
};

static void hex_add(struct bytes *bytes, const char *hex)
{
    for (unsigned value; sscanf(hex, " %2x", &value) == 1; hex += 2) {
        hex += strspn(hex, " ");
        bytes->at[bytes->count++] = (unsigned char)value;
    }
}

static struct bytes *hex(const char *text)
{
    static struct bytes bytes;
    bytes.count = 0;
    hex_add(&bytes, text);
    return &bytes;
}

static void units_add(struct bytes *bytes, uint32_t units, uint16_t unit)
{
    for (uint32_t i = 0; i < units; i++) {
        bytes->at[bytes->count++] = (unsigned char)unit;
        bytes->at[bytes->count++] = (unsigned char)(unit >> 8);
    }
}

static void u32_add(struct bytes *bytes, uint32_t value)
{
    units_add(bytes, 1, (uint16_t)value);
    units_add(bytes, 1, (uint16_t)(value >> 16));
}

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        uint32_t code, bytes, request;
    } all[] = {
        {MAGIC "3E00 0202 0000", WR_REPLY_OK, 62, WR_REQUEST_COLLECT_TRACING},
        {MAGIC "5C00 0207 0000", WR_REPLY_OK, 92, WR_REQUEST_COLLECT_TRACING_6},
        {MAGIC "1400 0401 FFFF", WR_REPLY_OK, 20, WR_REQUEST_RESUME_RUNTIME},
        {MAGIC "FFFF FFFE 0000", WR_REPLY_OK, 65535, 0xfffe},
        {MAGIC "1300 0400 0000", WR_REPLY_BAD_ENCODING, 0, 0},
        {MAGIC "0000 0400 0000", WR_REPLY_BAD_ENCODING, 0, 0},
        {"444F544E45545F4950435F563101 1400 0400 0000", WR_REPLY_UNKNOWN_MAGIC, 0, 0},
        {"644F544E45545F4950435F563100 1400 0400 0000", WR_REPLY_UNKNOWN_MAGIC, 0, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint32_t bytes = 0, request = 0;
        assert_int_equal(wr_header_read(hex(all[i].hex)->at, &bytes, &request), all[i].code);
        if (all[i].code != WR_REPLY_OK)
            continue;
        assert_int_equal(bytes, all[i].bytes);
        assert_int_equal(request, all[i].request);
    }
}

/* 16 MB, nettrace; one provider "Demo", with keywords 1, level 4, no arguments. */
#define BUFFER "10000000 01000000 "
#define DEMO   "01000000 0100000000000000 04000000 05000000 440065006D006F000000 00000000"
#define FILTER "01 02000000 07000000 09000000"

static const struct worked {
    const char *payload;
    uint64_t rundown_keywords;
    uint32_t request;
    bool has_filter, is_block;
} worked[] = {
    {BUFFER DEMO, 0x80020139, WR_REQUEST_COLLECT_TRACING, false, false},
    {BUFFER "01" DEMO, 0x80020139, WR_REQUEST_COLLECT_TRACING_2, false, false},
    {BUFFER "00" DEMO, 0, WR_REQUEST_COLLECT_TRACING_2, false, false},
    {BUFFER "0100" DEMO, 0x80020139, WR_REQUEST_COLLECT_TRACING_3, false, false},
    {BUFFER "3901028000000000 01" DEMO, 0x80020139, WR_REQUEST_COLLECT_TRACING_4, false, false},
    {"00000000" BUFFER "0000000000000000 00" DEMO FILTER, 0, WR_REQUEST_COLLECT_TRACING_5, true,
     false},
    {"00000000" BUFFER "0000000000000000 00" DEMO FILTER "01000000", 0,
     WR_REQUEST_COLLECT_TRACING_6, true, true},
    {"00000000" BUFFER "FFFFFFFFFFFFFFFF 00" DEMO FILTER "00000000", UINT64_MAX,
     WR_REQUEST_COLLECT_TRACING_6, true, false},
};
#define WORKED_COUNT (sizeof worked / sizeof worked[0])

static struct wr_collect *collect(uint32_t request, const struct bytes *payload)
{
    struct wr_collect *result = NULL;
    assert_int_equal(wr_collect_read(request, payload->at, payload->count, &result), WR_REPLY_OK);
    return result;
}

static uint32_t refusal(uint32_t request, const struct bytes *payload)
{
    struct wr_collect *result = NULL;
    uint32_t code = wr_collect_read(request, payload->at, payload->count, &result);
    assert_null(result);
    return code;
}

static void test_collect(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKED_COUNT; i++) {
        struct wr_collect *read = collect(worked[i].request, hex(worked[i].payload));
        const struct weir_enable *enable = read->enables;
        assert_int_equal(read->budget_bytes, 16u << 20);
        assert_int_equal(read->rundown_keywords, worked[i].rundown_keywords);
        assert_int_equal(read->is_block, worked[i].is_block);
        assert_int_equal(read->enable_count, 1);
        assert_string_equal(enable->provider, "Demo");
        assert_int_equal(enable->keywords, 1);
        assert_int_equal(enable->level, 4);
        assert_null(enable->arguments);
        assert_int_equal(enable->event_ids_allowed, worked[i].has_filter);
        assert_int_equal(enable->event_id_count, worked[i].has_filter ? 2 : 0);
        for (uint32_t id = 0; id < enable->event_id_count; id++)
            assert_int_equal(enable->event_ids[id], 7 + 2 * id);
        wr_collect_free(read);
    }
}

/* What is cut anywhere is malformed; what follows is for later versions. */
static void test_collect_that_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKED_COUNT; i++) {
        struct bytes *payload = hex(worked[i].payload);
        hex_add(payload, "FFFFFFFF");
        wr_collect_free(collect(worked[i].request, payload));
        for (payload->count -= 5; payload->count > 0; payload->count--)
            assert_int_equal(refusal(worked[i].request, payload), WR_REPLY_BAD_ENCODING);
        assert_int_equal(refusal(worked[i].request, payload), WR_REPLY_BAD_ENCODING);
    }
}

#define SECOND_OF(buffer, level, name) \
    buffer "01 01000000 0000000000000000 " level "000000 " name " 00000000"
#define NAME_A "02000000 41000000"

static void test_collect_that_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *payload;
        uint32_t code;
    } all[] = {
        {SECOND_OF("00000000 01000000", "00", NAME_A), WR_REPLY_BAD_ENCODING}, /* no buffer */
        {SECOND_OF(BUFFER, "06", NAME_A), WR_REPLY_BAD_ENCODING},
        {SECOND_OF("10000000 02000000", "00", NAME_A), WR_REPLY_BAD_ENCODING}, /* no such format */
        {SECOND_OF("10000000 00000000", "00", NAME_A), WR_REPLY_FAIL},         /* NetPerf */
        {SECOND_OF(BUFFER, "00", "00000000"), WR_REPLY_BAD_ENCODING},          /* no name */
        {SECOND_OF(BUFFER, "00", "01000000 0000"), WR_REPLY_BAD_ENCODING},     /* an empty one */
        {SECOND_OF(BUFFER, "00", "01000000 4100"), WR_REPLY_BAD_ENCODING},     /* without its end */
        {SECOND_OF(BUFFER, "00", "04000000 4100000042000000"), WR_REPLY_BAD_ENCODING}, /* a zero */
        {SECOND_OF(BUFFER, "00", "FFFFFFFF 41000000"), WR_REPLY_BAD_ENCODING},
        {SECOND_OF(BUFFER, "00", "00000080 41000000"), WR_REPLY_BAD_ENCODING}, /* twice it is 0 */
        {BUFFER "01 00000000", WR_REPLY_BAD_ENCODING},                         /* no provider */
        {BUFFER "01 E9030000", WR_REPLY_BAD_ENCODING},                         /* 1,001 of them */
        {BUFFER "01 FFFFFFFF", WR_REPLY_BAD_ENCODING},
    };
    wr_collect_free(collect(WR_REQUEST_COLLECT_TRACING_2, hex(SECOND_OF(BUFFER, "05", NAME_A))));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_int_equal(refusal(WR_REQUEST_COLLECT_TRACING_2, hex(all[i].payload)), all[i].code);
    /* To the kernel's user_events; of an unknown kind; with an unknown mode. */
    static const char sixth[] = BUFFER "0000000000000000 00" DEMO FILTER "02000000";
    struct bytes *payload = hex("01000000");
    hex_add(payload, sixth);
    assert_int_equal(refusal(WR_REQUEST_COLLECT_TRACING_6, payload), WR_REPLY_FAIL);
    payload->at[0] = 2;
    assert_int_equal(refusal(WR_REQUEST_COLLECT_TRACING_6, payload), WR_REPLY_BAD_ENCODING);
    payload->at[0] = 0;
    assert_int_equal(refusal(WR_REQUEST_COLLECT_TRACING_6, payload), WR_REPLY_BAD_ENCODING);
    wr_collect_free(collect(WR_REQUEST_COLLECT_TRACING_5, payload));
}

/* Ids that no event can have are left out, and the text that follows is not read as ids. */
static void test_collect_with_filters(void **state)
{
    (void)state;
    struct bytes *payload = hex("00000000" BUFFER "0000000000000000 00 03000000");
    hex_add(payload, "FFFFFFFFFFFFFFFF 05000000 02000000 41000000 04000000 78003D0079000000");
    hex_add(payload, "01 04000000 FFFF0000 00000100 FFFFFFFF 00000000");
    hex_add(payload, "0000000000000000 00000000 02000000 42000000 01000000 0000 00 00000000");
    hex_add(payload, "0000000000000000 00000000 02000000 43000000 00000000 07 00000000");
    struct wr_collect *read = collect(WR_REQUEST_COLLECT_TRACING_5, payload);
    const struct weir_enable *enables = read->enables;
    assert_int_equal(read->enable_count, 3);
    assert_string_equal(enables[0].provider, "A");
    assert_string_equal(enables[0].arguments, "x=y");
    assert_int_equal(enables[0].keywords, UINT64_MAX);
    assert_int_equal(enables[0].event_id_count, 2);
    assert_int_equal(enables[0].event_ids[0], 65535);
    assert_int_equal(enables[0].event_ids[1], 0); /* an id as any other */
    assert_string_equal(enables[1].provider, "B");
    assert_null(enables[1].arguments);
    assert_false(enables[1].event_ids_allowed || enables[1].event_id_count);
    assert_true(enables[2].event_ids_allowed && !enables[2].event_id_count);
    wr_collect_free(read);
    /* More ids than are there. */
    payload->at[payload->count - 4] = 1;
    assert_int_equal(refusal(WR_REQUEST_COLLECT_TRACING_5, payload), WR_REPLY_BAD_ENCODING);
}

/* A request of 65,535 bytes whose arguments are all of the same unit. */
static struct bytes *with_arguments(uint32_t units, uint16_t unit)
{
    struct bytes *payload = hex(BUFFER "01 01000000 0000000000000000 00000000" NAME_A);
    u32_add(payload, units + 1);
    units_add(payload, units, unit);
    units_add(payload, 1, 0);
    return payload;
}

static void test_collect_with_long_arguments(void **state)
{
    (void)state;
    uint32_t rest = WR_MESSAGE_BYTES_MAX - WR_MESSAGE_HEADER_BYTES - with_arguments(0, 0)->count;
    struct wr_collect *read =
        collect(WR_REQUEST_COLLECT_TRACING_2, with_arguments(rest / 2, 0xe9)); /* two bytes each */
    assert_int_equal(strlen(read->enables[0].arguments), rest / 2 * 2);
    wr_collect_free(read);
    read = collect(WR_REQUEST_COLLECT_TRACING_2, with_arguments(21845, 0x20ac)); /* three */
    assert_int_equal(strlen(read->enables[0].arguments), 65535);
    wr_collect_free(read);
    assert_int_equal(refusal(WR_REQUEST_COLLECT_TRACING_2, with_arguments(21846, 0x20ac)),
                     WR_REPLY_BAD_ENCODING);
}

static void test_collect_with_many_providers(void **state)
{
    (void)state;
    struct bytes *payload = hex(BUFFER "01 E8030000");
    for (int i = 0; i < 1000; i++)
        hex_add(payload, "0000000000000000 00000000 02000000 AC200000 00000000");
    struct wr_collect *read = collect(WR_REQUEST_COLLECT_TRACING_2, payload);
    assert_int_equal(read->enable_count, 1000);
    assert_string_equal(read->enables[999].provider, "\xe2\x82\xac");
    wr_collect_free(read);
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *units, *text; /* NULL: malformed */
    } all[] = {
        {"00000000", ""},
        {"01000000 0000", ""},
        {"02000000 4100 0000", "A"},
        {"05000000 7F00 8000 FF07 0008 0000", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"},
        {"03000000 FFD7 FFFF 0000", "\xed\x9f\xbf\xef\xbf\xbf"},
        {"05000000 00D8 00DC FFDB FFDF 0000", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"02000000 00D8 0000", "\xef\xbf\xbd"},
        {"02000000 FFDF 0000", "\xef\xbf\xbd"},
        {"03000000 3DD8 4100 0000", "\xef\xbf\xbd"
                                    "A"},
        {"04000000 3DD8 3DD8 02DE 0000", "\xef\xbf\xbd\xf0\x9f\x98\x82"},
        {"03000000 00DC 00D8 0000", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"03000000 0000 4100 0000", NULL},
        {"02000000 4100 4200", NULL},
        {"03000000 4100 0000", NULL},
        {"01000080 0000", NULL},
        {"0100", NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct bytes *bytes = hex(all[i].units);
        struct wr_payload_reader reader = {bytes->at, bytes->at + bytes->count, false};
        char room[64], *out = room;
        const char *text = wr_read_text(&reader, &out);
        assert_int_equal(reader.is_bad, all[i].text == NULL);
        assert_true(out > room && out[-1] == 0);
        if (!all[i].text)
            continue;
        assert_ptr_equal(text, room);
        assert_string_equal(text, all[i].text);
        assert_ptr_equal(out, text + strlen(text) + 1);
        assert_ptr_equal(reader.at, reader.end);
    }
}

/* --- Replies. -------------------------------------------------------------------------------- */

static void reply_is(struct wr_reply *reply, const struct bytes *bytes)
{
    assert_false(reply->is_bad);
    assert_int_equal(reply->used, bytes->count);
    assert_memory_equal(reply->bytes, bytes->at, bytes->count);
    wr_reply_free(reply);
}

static void test_replies(void **state)
{
    (void)state;
    struct wr_reply reply;
    wr_reply_begin(&reply, WR_REPLY_UNKNOWN_COMMAND);
    wr_reply_end(&reply);
    reply_is(&reply, hex(MAGIC "1800 FFFF 0000 85131380"));
    wr_reply_begin(&reply, WR_REPLY_OK);
    wr_reply_u32(&reply, 0);
    wr_reply_end(&reply);
    reply_is(&reply, hex(MAGIC "1800 FF00 0000 00000000"));
    unsigned char bytes[WR_ADVERTISE_BYTES];
    wr_reply_id(bytes, UINT64_C(0x7F0011223340));
    assert_memory_equal(bytes, hex(MAGIC "1C00 FF00 0000 403322 11007F0000")->at, 28);
    wr_advertise(bytes, hex("67453E129BE8D312A456426614174000")->at, 12345);
    assert_memory_equal(
        bytes, hex("414456525F563100 67453E129BE8D312A456426614174000 3930000000000000 0000")->at,
        34);
}

static void ascii_add(struct bytes *bytes, const char *text)
{
    u32_add(bytes, (uint32_t)strlen(text) + 1);
    for (const char *at = text; at == text || at[-1]; at++)
        units_add(bytes, 1, (uint16_t)*at);
}

static void test_process_info(void **state)
{
    (void)state;
    static const uint32_t requests[] = {WR_REQUEST_PROCESS_INFO, WR_REQUEST_PROCESS_INFO_2,
                                        WR_REQUEST_PROCESS_INFO_3};
    static const char cookie[] = "67453E129BE8D312A456426614174000";
    static struct wr_server_texts texts;
    wr_server.texts = &texts;
    memcpy(wr_server.cookie, hex(cookie)->at, WR_COOKIE_BYTES);
    strcpy(texts.command_line, "/bin/app -x");
    strcpy(texts.entrypoint, "app");
    strcpy(texts.version, "1.0.0");
    bool is_x64 = strcmp(wr_architecture, "x64") == 0;
    for (int i = 0; i < 3; i++) {
        struct wr_reply reply;
        struct bytes *expected = hex(MAGIC "0000 FF00 0000");
        hex_add(expected, i == 2 ? "01000000" : "");
        u32_add(expected, (uint32_t)getpid());
        hex_add(expected, "00000000");
        hex_add(expected, cookie);
        ascii_add(expected, "/bin/app -x");
        ascii_add(expected, "Linux");
        ascii_add(expected, wr_architecture);
        if (i > 0)
            ascii_add(expected, "app");
        if (i > 0)
            ascii_add(expected, "1.0.0");
        if (i > 1)
            ascii_add(expected, is_x64 ? "linux-x64" : "linux-arm64");
        expected->at[14] = (unsigned char)expected->count;
        wr_process_info(&reply, requests[i]);
        reply_is(&reply, expected);
        assert_true(!is_x64 || i < 2 || expected->count == 156); /* as in the worked example */
    }
}

/* This program's, whose name is in it, and cut at each byte. */
static void test_command_line(void **state)
{
    (void)state;
    char whole[WR_SERVER_TEXT_MAX], cut[WR_SERVER_TEXT_MAX];
    wr_process_command_line(whole, sizeof whole);
    assert_non_null(strstr(whole, "server_parts"));
    for (size_t capacity = strlen(whole) + 1; capacity > 0; capacity--) {
        memset(cut, 'x', sizeof cut);
        wr_process_command_line(cut, capacity);
        assert_memory_equal(cut, whole, capacity - 1);
        assert_int_equal(cut[capacity - 1], 0);
        assert_int_equal(cut[capacity], 'x');
    }
}

/* In a program that starts with these variables: one without "=" is no variable. */
static void test_environment(void **state)
{
    (void)state;
    int ends[2];
    unsigned char got[128];
    unit_skip_under_qemu("a program's own file is the emulator");
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char *arguments[] = {(char[]){"server_parts"}, (char[]){"environment"}, NULL};
        char *variables[] = {(char[]){"A=1"}, (char[]){"NOTHING"}, (char[]){"B="}, NULL};
        dup2(ends[1], STDOUT_FILENO);
        execve("/proc/self/exe", arguments, variables);
        _exit(1);
    }
    close(ends[1]);
    ssize_t count = read(ends[0], got, sizeof got);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    const struct bytes *expected = hex(MAGIC "1A00 FF00 0000 1A000000 0000 02000000"
                                             "04000000 41003D0031000000 03000000 42003D000000");
    assert_int_equal(count, expected->count);
    assert_memory_equal(got, expected->at, expected->count);
}

static int environment_print(void)
{
    struct wr_reply reply;
    wr_process_environment(&reply);
    return write(STDOUT_FILENO, reply.bytes, reply.used) == (ssize_t)reply.used ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_ports_that_are_refused),
        cmocka_unit_test(test_ports_that_are_many),
        cmocka_unit_test(test_default_port),
        cmocka_unit_test(test_delays),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_collect),
        cmocka_unit_test(test_collect_that_is_cut),
        cmocka_unit_test(test_collect_that_is_refused),
        cmocka_unit_test(test_collect_with_filters),
        cmocka_unit_test(test_collect_with_long_arguments),
        cmocka_unit_test(test_collect_with_many_providers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_process_info),
        cmocka_unit_test(test_command_line),
        cmocka_unit_test(test_environment),
    };
    if (argc == 2 && strcmp(argv[1], "environment") == 0)
        return environment_print();
    return cmocka_run_group_tests_name("server_parts", tests, NULL, NULL);
}
