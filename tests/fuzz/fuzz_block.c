/* Event blocks: the events have definitions, stacks, labels and threads, and some give names. */
#include "fuzz_body.h"

static struct build fields;

/* Those of the seeds: Tick is 1 in most of them, and Enum 2. */
static void define4(void)
{
    fields.size = 0;
    build_u32(&fields, 3);
    build_field(&fields, 10, "n");
    build_field(&fields, 18, "s");
    build_field(&fields, 14, "d");
    build_metadata(&stream, 1, "Tick", fields.bytes, fields.size);
    build_names(&stream, 2, 3);
}

static void define6(void)
{
    static const char types[] = "\3\0\3\0\1n\x14\4\0\1s\x13\x17\3\0\1b\x1A";
    build6_plain_metadata(&stream, 1, "Plain");
    build6_metadata(&stream, 2, "Tick", types, sizeof(types) - 1, "\x08\4", 2);
}

static void add_stacks(bool is_6)
{
    static const uint8_t stacks[] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
                                     8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t labels[] = {1, 0, 0, 0, 2, 0, 0, 0, 0x84, 1, 2, 3, 4, 5, 6, 7, 8, 0x89, 1};
    fuzz_body(is_6, "StackBlock", BUILD6_STACK, stacks, sizeof(stacks));
    if (is_6)
        fuzz_body(is_6, NULL, BUILD6_LABEL, labels, sizeof(labels));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0 || size > BODY_MAX)
        return 0;
    const bool is_6 = bytes[0] & FUZZ_VERSION_6;
    fuzz_start(is_6);
    if (is_6)
        define6();
    else
        define4();
    add_stacks(is_6);
    fuzz_body(is_6, "EventBlock", BUILD6_EVENT, bytes + 1, size - 1);
    fuzz_event(is_6, 1, 1, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0", 14);
    fuzz_point(is_6);
    fuzz_finish(is_6);
    return 0;
}
