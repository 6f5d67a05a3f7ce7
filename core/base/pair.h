/* Two words in a vector, where the compiler would otherwise load and compare one at a time. */
#ifndef WR_BASE_PAIR_H
#define WR_BASE_PAIR_H

#include <stdint.h>
#include <string.h>

typedef uint64_t wr_pair __attribute__((vector_size(16)));

static inline wr_pair wr_pair_at(const void *at)
{
    wr_pair words;
    memcpy(&words, at, sizeof words);
    return words;
}

#endif
