/* Stack blocks, and label blocks of version 6: events use their first, their second and the last
 * possible one, before and after the point that ends their life. */
#include "fuzz_body.h"

static void add_events(bool is_6)
{
    static const uint32_t ids[] = {1, 2, UINT32_MAX};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        fuzz_event(is_6, 1, ids[i], NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0 || size > BODY_MAX)
        return 0;
    const bool is_6 = bytes[0] & FUZZ_VERSION_6;
    fuzz_start(is_6);
    if (is_6)
        build6_plain_metadata(&stream, 1, "Plain");
    else
        build_plain_metadata(&stream, 1, "Plain");
    fuzz_body(is_6, "StackBlock", bytes[0] & FUZZ_LABELS ? BUILD6_LABEL : BUILD6_STACK, bytes + 1,
              size - 1);
    add_events(is_6);
    fuzz_point(is_6);
    add_events(is_6);
    fuzz_finish(is_6);
    return 0;
}
