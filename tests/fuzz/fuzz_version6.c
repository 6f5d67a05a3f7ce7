/* The reader on arbitrary blocks of version 6: the header and the Trace block are in front of them,
 * so that every input reaches a block. */
#include "fuzz.h"
#include "fuzz_stream.h"

#include <string.h>

#define BODY_SIZE  40u /* of a Trace block without keys */
#define START_SIZE (20u + 4 + BODY_SIZE)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* 2026-01-15 is tick 1024 of a clock of 1 GHz; pointers have 8 bytes. */
    static const uint8_t start[START_SIZE] = {
        'N',      'e',         't',         't',         'r',
        'a',      'c',         'e',         [12] = 6,    [20] = BODY_SIZE,
        [23] = 1, [24] = 0xEA, [25] = 7,    [26] = 1,    [30] = 15,
        [41] = 4, [49] = 0xCA, [50] = 0x9A, [51] = 0x3B, [56] = 8};
    uint8_t *stream = malloc(START_SIZE + size);
    if (!stream)
        abort();
    memcpy(stream, start, START_SIZE);
    if (size)
        memcpy(stream + START_SIZE, bytes, size);
    fuzz_stream(stream, START_SIZE + size);
    free(stream);
    return 0;
}
