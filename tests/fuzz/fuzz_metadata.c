/* Metadata blocks: what they define decodes the payloads of the events that follow. */
#include "fuzz_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* Small numbers are counts, lengths and offsets; zeros end texts. */
    static const uint8_t payload[] = {2, 0, 1, 0, 4, 0, 2, 0, 'a', 0, 0, 0, 1, 2, 3, 0x80,
                                      0, 0, 8, 0, 2, 0, 3, 0, 'b', 0, 0, 0, 0, 0, 0, 0xFF};
    if (size == 0 || size > BODY_MAX)
        return 0;
    const bool is_6 = bytes[0] & FUZZ_VERSION_6;
    fuzz_start(is_6);
    fuzz_body(is_6, "MetadataBlock", BUILD6_METADATA, bytes + 1, size - 1);
    for (uint32_t id = 1; id <= 4; id++)
        for (uint32_t at = 0; at <= sizeof(payload); at += 8)
            fuzz_event(is_6, id, 0, payload + at, (uint32_t)sizeof(payload) - at);
    fuzz_point(is_6);
    fuzz_finish(is_6);
    return 0;
}
