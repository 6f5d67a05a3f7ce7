/* UTF-8 to UTF-16, against tables, and for all two-byte inputs against the rule itself. */
#define _GNU_SOURCE
#include "unit.h"

#include "nettrace/writer.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

struct conversion {
    const char *text;
    uint16_t units[8];
    uint32_t count;
};

/* A zero is like an invalid byte, also among ASCII that is converted at once. */
static void test_zeros(void **state)
{
    (void)state;
    static const unsigned char text[] = "\0a\0\xC3\xBC\0seventeen bytes here, and \0more\0";
    unsigned char out[128];
    uint16_t units[64];
    uint32_t zeros = 0, count = sizeof text - 1;
    const unsigned char *end = wr_utf16_from_counted(text, count, out);
    assert_ptr_equal(end, out + 2 * count); /* a unit less for the umlaut, one more for the end */
    memcpy(units, out, (size_t)(end - out));
    for (uint32_t i = 0; i < count - 1; i++)
        zeros += units[i] == 0xFFFD;
    assert_int_equal(zeros, 5);
    assert_int_equal(units[0], 0xFFFD);
    assert_int_equal(units[3], 0xFC);
    assert_int_equal(units[count - 1], 0);
    for (uint32_t length = 0; length < 40; length++) {
        memset(units, 0xEE, sizeof units);
        end = wr_utf16_from_counted(
            (const unsigned char *)"seventeen bytes here, and no zero at all", length, out);
        assert_int_equal(end - out, 2 * length + 2);
        assert_true(out[2 * length] == 0 && (length == 0 || out[2 * length - 2] != 0));
    }
}

static void test_table(void **state)
{
    (void)state;
    static const struct conversion conversions[] = {
        {"", {0}, 0},
        {"a", {'a'}, 1},
        {"\xC2\x80", {0x80}, 1},
        {"\xDF\xBF", {0x7FF}, 1},
        {"\xE0\xA0\x80", {0x800}, 1},
        {"\xEF\xBF\xBF", {0xFFFF}, 1},
        {"\xED\x9F\xBF", {0xD7FF}, 1},
        {"\xF0\x90\x80\x80", {0xD800, 0xDC00}, 2},
        {"\xF4\x8F\xBF\xBF", {0xDBFF, 0xDFFF}, 2},
        {"\xC0\x80", {0xFFFD, 0xFFFD}, 2},                         /* overlong */
        {"\xE0\x9F\xBF", {0xFFFD, 0xFFFD, 0xFFFD}, 3},             /* overlong */
        {"\xED\xA0\x80", {0xFFFD, 0xFFFD, 0xFFFD}, 3},             /* a surrogate */
        {"\xF4\x90\x80\x80", {0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD}, 4}, /* past U+10FFFF */
        {"\xFF", {0xFFFD}, 1},
        {"\x80", {0xFFFD}, 1},
        {"\xE2\x82", {0xFFFD, 0xFFFD}, 2}, /* truncated */
        {"\xE2\x82z", {0xFFFD, 0xFFFD, 'z'}, 3},
        {"\xF0\x9F\x98", {0xFFFD, 0xFFFD, 0xFFFD}, 3},
    };
    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++) {
        unsigned char out[64];
        uint32_t bytes = wr_utf16_from_utf8((const unsigned char *)conversions[i].text,
                                            (uint32_t)strlen(conversions[i].text), out);
        assert_int_equal(bytes, 2 * conversions[i].count);
        assert_memory_equal(out, conversions[i].units, bytes);
    }
}

/* The output never exceeds two bytes per input byte, whatever the input is. */
static void test_bound(void **state)
{
    (void)state;
    for (uint32_t first = 0; first < 256; first++)
        for (uint32_t second = 0; second < 256; second++)
            for (uint32_t third = 0; third < 256; third += 5) {
                unsigned char text[3] = {(unsigned char)first, (unsigned char)second,
                                         (unsigned char)third};
                unsigned char out[8];
                memset(out, 0xEE, sizeof out);
                uint32_t bytes = wr_utf16_from_utf8(text, 3, out);
                assert_true(bytes >= 2 && bytes <= 6 && bytes % 2 == 0);
                assert_int_equal(out[6], 0xEE);
            }
}

#define LENGTH_MAX 100u
#define TEXTS      1000000u

/* Byte by byte, so that nothing is ASCII for longer than one. */
static uint32_t one_by_one(const unsigned char *text, uint32_t count, unsigned char *out)
{
    uint32_t bytes = 0;
    for (uint32_t at = 0; at < count;) {
        uint32_t length = 1;
        while (at + length < count && length < 4 && (text[at + length] & 0xC0) == 0x80)
            length++;
        bytes += wr_utf16_from_utf8(text + at, length, out + bytes);
        at += length;
    }
    return bytes;
}

/* Mostly ASCII, with bytes of every kind between: each part is converted as it would be alone, for
 * every length at every alignment, and nothing is read or written outside. */
static void test_blocks(void **state)
{
    (void)state;
    static unsigned char text[LENGTH_MAX + 16], out[2 * LENGTH_MAX + 16], expected[2 * LENGTH_MAX];
    uint64_t random = 88172645463325252u;
    for (uint32_t i = 0; i < TEXTS; i++) {
        uint32_t count = i % (LENGTH_MAX + 1), from = i / (LENGTH_MAX + 1) % 16;
        for (uint32_t j = 0; j < count; j++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            unsigned char mask = (random >> 32) % 16 < i % 5 ? 0xFF : 0x7F;
            text[from + j] = (unsigned char)random & mask;
        }
        memset(out + from, 0xEE, 2 * count + 1);
        uint32_t bytes = wr_utf16_from_utf8(text + from, count, out + from);
        assert_int_equal(bytes, one_by_one(text + from, count, expected));
        assert_memory_equal(out + from, expected, bytes);
        assert_int_equal(out[from + 2 * count], 0xEE);
    }
}

/* A text is converted up to its first zero, and a zero follows. The same texts; every third one has
 * a zero somewhere, and is ASCII otherwise half of the time. */
static void test_texts(void **state)
{
    (void)state;
    static unsigned char text[LENGTH_MAX + 16], out[2 * LENGTH_MAX + 18], expected[2 * LENGTH_MAX];
    uint64_t random = 88172645463325252u;
    for (uint32_t i = 0; i < TEXTS; i++) {
        uint32_t count = i % (LENGTH_MAX + 1), from = i / (LENGTH_MAX + 1) % 16;
        memset(text, 0xC3, sizeof text);
        for (uint32_t j = 0; j < count; j++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            unsigned char mask = (random >> 32) % 64 < i % 5 ? 0xFF : 0x7F;
            text[from + j] = (unsigned char)((random & mask) ? random & mask : 'x');
        }
        if (count && i % 3 == 0)
            text[from + (random >> 40) % count] = 0;
        memset(out, 0xEE, sizeof out);
        const unsigned char *end = wr_utf16_from_text(text + from, count, out + from);
        uint32_t length = (uint32_t)strnlen((const char *)text + from, count);
        uint32_t bytes = wr_utf16_from_utf8(text + from, length, expected);
        assert_ptr_equal(end, out + from + bytes + 2);
        assert_memory_equal(out + from, expected, bytes);
        assert_true(out[from + bytes] == 0 && out[from + bytes + 1] == 0);
        assert_int_equal(out[from + 2 * count + 2], 0xEE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_zeros),
                                       cmocka_unit_test(test_bound), cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
