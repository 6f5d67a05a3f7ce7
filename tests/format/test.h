/* A minimal test framework: a failed expectation prints its place and ends the program. */
#ifndef FORMAT_TEST_H
#define FORMAT_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

#define EXPECT_EQUAL(actual, wanted)                                                           \
    do {                                                                                       \
        long long actual_ = (long long)(actual), wanted_ = (long long)(wanted);                \
        if (actual_ != wanted_) {                                                              \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual, \
                    actual_, wanted_);                                                         \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

#define EXPECT_TEXT(actual, wanted)                                                                \
    do {                                                                                           \
        if (strcmp((actual), (wanted)) != 0) {                                                     \
            fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #actual, \
                    (actual), (wanted));                                                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
