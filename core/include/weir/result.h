/*
 * Result codes of the control functions. Emit functions return a bool instead; what they did not
 * write is counted by cause (see weir/session.h).
 */
#ifndef WEIR_RESULT_H
#define WEIR_RESULT_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

enum weir_result {
    WEIR_OK = 0,
    WEIR_BAD_ARGUMENT, /* an argument or a configuration field is invalid; see the text */
    WEIR_NO_MEMORY,    /* memory or address space could not be had */
    WEIR_BAD_STATE,    /* the object is not in a state that allows the call */
    WEIR_NOT_FOUND,    /* a provider named in a configuration does not exist */
    WEIR_EXISTS,       /* a provider or an event id is already taken */
    WEIR_LIMIT,        /* 64 sessions or 32,767 events are in use */
    WEIR_IO,           /* the sink failed; the text holds the system's reason */
    WEIR_TIMEOUT,      /* the deadline passed; what is left goes on in the background */
    WEIR_SYSTEM        /* a thread could not be started; the text holds the reason */
};

/* The detail behind a result code: what was wrong and what to do. Filled only on failure. */
struct weir_error {
    char text[256];
};

/* A short name of a result code, such as "bad argument". Never NULL. Any thread; does not block or
 * allocate. */
WEIR_API const char *weir_result_text(enum weir_result result);

#ifdef __cplusplus
}
#endif
#endif
