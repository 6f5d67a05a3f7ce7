#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry that libFuzzer calls; aborts if something is wrong. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
