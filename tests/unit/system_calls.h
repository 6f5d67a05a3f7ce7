/*
 * System calls of the server that fail. The linker (SYSTEM_CALL_WRAPS in CMakeLists.txt) replaces
 * them with those in system_calls.c, for the library and for the test.
 */
#ifndef TESTS_UNIT_SYSTEM_CALLS_H
#define TESTS_UNIT_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum system_call {
    SYSTEM_SOCKET,
    SYSTEM_BIND,
    SYSTEM_LISTEN,
    SYSTEM_CONNECT,
    SYSTEM_ACCEPT,
    SYSTEM_GETSOCKOPT,
    SYSTEM_EVENTFD,
    SYSTEM_POLL,
    SYSTEM_SEND,
    SYSTEM_RECV
};

struct system_fault {
    enum system_call call;
    int error;      /* 0: it sends or receives one byte */
    uint64_t index; /* the first of these calls that fails, from 0 */
    uint64_t times; /* how many fail */
};

/* The calls of this thread are the test's own: they are not counted, and do not fail. */
extern _Thread_local bool system_is_test;

/* `fault` is used until the end. */
void system_fault_begin(const struct system_fault *fault);
/* Returns how many of these calls there were. */
uint64_t system_fault_end(void);

#endif
