/*
 * Result codes of the control functions, and the causes of losses. Emit functions return a bool:
 * events that are not written are counted by cause, and weir_last_loss() returns the last cause.
 */
#ifndef WEIR_RESULT_H
#define WEIR_RESULT_H

#include <stddef.h>

/* For the headers' own macros. */
#ifdef __cplusplus
#define WEIR_NULL_              nullptr
#define WEIR_STATIC_ASSERT_     static_assert
#define WEIR_CAST_(type, value) static_cast<type>(value)
#else
#define WEIR_NULL_              NULL
#define WEIR_STATIC_ASSERT_     _Static_assert
#define WEIR_CAST_(type, value) ((type)(value))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Hosts define nothing here. The library's own objects for static use are compiled with
 * WEIR_API_HIDDEN, and the linker takes the stricter of the two: a program or plug-in that links
 * the library statically does not export it, and its calls cannot go to another copy. */
#if defined(WEIR_DISABLE)
#define WEIR_API __attribute__((unused)) static inline
#elif defined(__GNUC__) && defined(WEIR_API_HIDDEN)
#define WEIR_API __attribute__((visibility("hidden")))
#elif defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

/* The compiler warns if the result is ignored. */
#if (defined(__cplusplus) && __cplusplus >= 201703L) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L)
#define WEIR_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define WEIR_NODISCARD __attribute__((warn_unused_result))
#else
#define WEIR_NODISCARD
#endif

enum weir_result {
    WEIR_OK = 0,
    WEIR_BAD_ARGUMENT, /* an argument or a configuration field is invalid; see the text */
    WEIR_NO_MEMORY,    /* no memory or address space is available */
    WEIR_BAD_STATE,    /* the object is not in a state that allows the call */
    WEIR_NOT_FOUND,    /* a provider named in a configuration does not exist */
    WEIR_EXISTS,       /* a provider, a version of an event, a server or a copy is there already */
    WEIR_LIMIT,        /* 64 sessions or 16,383 events are in use */
    WEIR_IO,           /* the sink failed; the text holds the system's reason */
    WEIR_TIMEOUT,      /* the deadline passed; the rest goes on in the background */
    WEIR_SYSTEM,       /* the system refuses a thread, or membarrier; the text holds the reason */
    WEIR_BUSY          /* another call does the same for the same object; try again later */
};

/* The detail behind a result code, from functions that take one: what was wrong and what to do. Set
 * only on failure. Its size never changes. */
struct weir_error {
    char text[256];
};

/* Why an event is not in the file. Weir/Loss events have these names, without the prefix. */
enum weir_loss {
    WEIR_LOSS_FULL, /* the budget was full */
    /* Emitted from within the library: by a signal handler that interrupted it, or by a callback
     * that it runs: a sink's write function, on_error, on_park. Or interrupted by a handler that
     * jumped out of it: weir_thread_reset(). */
    WEIR_LOSS_NESTED,
    /* Larger than half of the budget (what its segments hold, 256 bytes less than their size), or
     * than 65,535 bytes in the file; a UTF-8 string counts its bytes twice and two, the most that
     * it may take there. */
    WEIR_LOSS_TOO_LARGE,
    WEIR_LOSS_NO_SEGMENT,  /* the budget was full, and the thread has not held a segment yet */
    WEIR_LOSS_MISMATCH,    /* the values given do not match the event's schema */
    WEIR_LOSS_ABORTED,     /* BLOCK: no room, and the session ended or its sink failed */
    WEIR_LOSS_DEADLINE,    /* BLOCK: parked for max_block_ns */
    WEIR_LOSS_SINK_FAILED, /* recorded, but the sink had failed, or the end was written */
    WEIR_LOSS_OVERWRITTEN, /* OVERWRITE: recorded, then gone to make room for newer ones */
    WEIR_LOSS_COUNT
};

/* The name of a cause as it stands in the file, such as "FULL"; NULL if out of range. */
WEIR_API const char *weir_loss_name(enum weir_loss cause);

/* Why this thread's most recent emit failed, in any session. Call it after an emit function has
 * returned false for an enabled event; the value is unspecified before. Any thread, any context;
 * neither blocks nor allocates. */
WEIR_API enum weir_loss weir_last_loss(void);

/* A short name of a result code, such as "bad argument", its own for each; "unknown result" for any
 * other number, such as a code of a later version. Never NULL. Any thread, any context; neither
 * blocks nor allocates. */
WEIR_API const char *weir_result_text(enum weir_result result);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_RESULT_
#include <weir/disabled.h>
#endif
#endif
