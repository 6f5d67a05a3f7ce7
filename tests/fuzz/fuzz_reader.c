/* The reader on arbitrary bytes, of any version. */
#include "fuzz.h"
#include "fuzz_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_stream(bytes, size);
    return 0;
}
