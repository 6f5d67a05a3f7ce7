/* What is wrong here must be found: a byte in the middle of the input is an index. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static volatile int table[128];
    if (size > 4 && bytes[0] == 'a' && bytes[3] == 'X')
        table[bytes[4]]++;
    return 0;
}
