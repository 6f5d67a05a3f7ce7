/* Activity ids that are paths: the bytes of .NET's, and ids that are none. */
#include "fields.h"
#include "test.h"

#define CHECKSUM 0x599D99ADu

/* The id of a path: 12 bytes of it, and a checksum, which also has the process if that is not 0. */
static void make(uint8_t id[16], const uint8_t path[12], uint32_t process)
{
    uint32_t words[4];
    memcpy(words, path, 12);
    words[3] = (words[0] + words[1] + words[2] + CHECKSUM) ^ process;
    memcpy(id, words, 16);
}

static void expect(const char *wanted, const uint8_t path[12])
{
    static const uint32_t processes[] = {0, 1, 4242, 0x7FFFFFFF};
    for (unsigned i = 0; i < 4; i++) {
        uint8_t id[16];
        char text[WT_ACTIVITY_TEXT_BYTES];
        make(id, path, processes[i]);
        EXPECT(wt_activity_text(id, processes[i], text));
        EXPECT_TEXT(text, wanted);
    }
}

/* A number up to 10 is a nibble; others have a code of C to F and 1 to 4 bytes. Behind a code in
 * the high nibble of a byte, the low one belongs to a number of one byte, and is unused before
 * others. */
static void test_numbers(void)
{
    expect("//1", (const uint8_t[12]){0x10});
    expect("//1/2/10", (const uint8_t[12]){0x12, 0xA0});
    expect("//1/255/3", (const uint8_t[12]){0x1C, 0xFF, 0x30});
    expect("//291/4", (const uint8_t[12]){0xC1, 0x23, 0x40});
    expect("//15/4", (const uint8_t[12]){0xC0, 0x0F, 0x40});
    expect("//4660/5", (const uint8_t[12]){0xD0, 0x34, 0x12, 0x50});
    expect("//1/4660", (const uint8_t[12]){0x1D, 0x34, 0x12});
    expect("//1193046", (const uint8_t[12]){0xE0, 0x56, 0x34, 0x12});
    expect("//305419896/1", (const uint8_t[12]){0xF0, 0x78, 0x56, 0x34, 0x12, 0x10});
    expect("//1$2", (const uint8_t[12]){0x1B, 0x20});
    expect("//1$255", (const uint8_t[12]){0x1B, 0xC0, 0xFF});
}

/* Up to .NET 9, a number of 12 bits has a zero byte too many, unless nothing follows. */
static void test_byte_too_many(void)
{
    expect("//291/4", (const uint8_t[12]){0xC1, 0x23, 0x00, 0x40});
    expect("//291", (const uint8_t[12]){0xC1, 0x23});
    expect("//35", (const uint8_t[12]){0xC0, 0x23, 0x00, 0x40});
}

/* No path ends within its 12 bytes: what does not fit is not there. */
static void test_full(void)
{
    expect("//1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1",
           (const uint8_t[12]){0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                               0x11});
    expect("//1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/0",
           (const uint8_t[12]){0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                               0x1F});
    expect("//1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/256",
           (const uint8_t[12]){0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                               0xC1});
    expect("//1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/291",
           (const uint8_t[12]){0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0xC1,
                               0x23});
}

/* Of any bytes with the right checksum, the text has its room. */
static void test_any(void)
{
    uint32_t state = 1;
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t path[12], id[16];
        char text[WT_ACTIVITY_TEXT_BYTES];
        for (unsigned at = 0; at < 12; at++) {
            state = state * 1103515245 + 12345;
            path[at] = (uint8_t)(state >> 16 | (i % 2 ? 0xB0 : 0));
        }
        path[0] |= 0x10;
        make(id, path, 0);
        EXPECT(wt_activity_text(id, 0, text));
        EXPECT(strlen(text) < WT_ACTIVITY_TEXT_BYTES);
    }
}

static void test_no_path(void)
{
    char text[WT_ACTIVITY_TEXT_BYTES];
    uint8_t id[16];
    make(id, (const uint8_t[12]){0x10}, 0);
    id[15] ^= 0x80;
    EXPECT(!wt_activity_text(id, 0, text));
    EXPECT(!wt_activity_text(id, 4242, text));
    make(id, (const uint8_t[12]){0x10}, 4242);
    EXPECT(!wt_activity_text(id, 4243, text));
    make(id, (const uint8_t[12]){0, 0, 0, 0, 0x10}, 0);
    EXPECT(!wt_activity_text(id, 0, text));
}

int main(void)
{
    test_numbers();
    test_byte_too_many();
    test_full();
    test_any();
    test_no_path();
    return 0;
}
