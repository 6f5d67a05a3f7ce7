/*
 * Allocations that fail. The linker (FAILING_WRAPS in tests/CMakeLists.txt) replaces the system's
 * functions with those in failing.c, for the library and for the test: the allocator's, those that
 * map pages, and pthread_create().
 */
#ifndef TESTS_UNIT_FAILING_H
#define TESTS_UNIT_FAILING_H

#include <stdint.h>

enum failing_threads {
    FAILING_NONE,
    FAILING_ALL,
    FAILING_CALLER, /* the thread that calls failing_begin() */
    FAILING_OTHERS
};

#define FAILING_NEVER UINT64_MAX

/* From now on the allocations of these threads are counted, and the one with this index, from 0,
 * fails. */
void failing_begin(uint64_t index, enum failing_threads threads);
/* Returns how many were counted. From now on none fails. */
uint64_t failing_end(void);

/* What has been allocated and not been given back. */
struct failing_held {
    int64_t blocks;
    int64_t mapped_bytes;
};
struct failing_held failing_held(void);

#endif
