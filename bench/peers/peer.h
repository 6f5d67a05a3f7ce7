/*
 * A peer: another way to get the same events out of the same threads, as a separate program.
 *
 * Each program defines one `struct peer` and nothing else. peer_main.c has the rest: the command
 * line, the threads, the clocks and the report, so that all peers do the same work. An event is
 * four 64-bit numbers: i, thread, i * 3, i ^ 0x5555. README.md has the configurations.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_PAYLOAD_BYTES   32u
#define PEER_THREADS_MAX     256u
#define PEER_BURST_EVENTS    10000u
#define PEER_BURST_PAUSE_MS  20u
#define PEER_UNKNOWN         UINT64_MAX /* a figure that this peer does not have */
#define PEER_EMIT(i, thread) (i), (thread), (i)*3, (i) ^ 0x5555

enum peer_case {
    PEER_BURST,     /* 10,000 events, a pause, 10,000 events, ... */
    PEER_SUSTAINED, /* all events without a pause */
    PEER_FLOOD      /* the same; the budget is too small for it */
};

struct peer_options {
    enum peer_case kind;
    uint64_t events; /* per thread */
    uint32_t threads;
    uint64_t budget_bytes; /* for all threads together; PEER_UNKNOWN with PEER_NO_BUDGET */
    const char *variant;   /* one of peer.variants */
    const char *output;    /* a folder for the delivered events; NULL: discarded */
    bool pins;
    bool json;
};

/* PEER_UNKNOWN for figures that are not known. */
struct peer_outcome {
    uint64_t delivered;
    uint64_t told_lost;    /* the loss that the peer itself reports */
    uint64_t bytes;        /* of the delivered events, at their destination */
    uint64_t buffer_bytes; /* the budget, rounded by the peer's own rules */
    const char *note;
};

/* Options that have no meaning for a peer, which it refuses. */
enum { PEER_NO_BUDGET = 1, PEER_NO_OUTPUT = 2 };

struct peer {
    const char *name;
    const char *const *variants; /* ends with NULL; the first is the default */
    /* Called on the main thread, before the emitting threads start and after they have ended. The
     * events are enabled when open returns. Both end the program with peer_fail() on an error. */
    void (*open)(const struct peer_options *options);
    void (*close)(struct peer_outcome *outcome);
    /* Emits the events `first` to `first + count - 1` of the thread, on that thread. */
    void (*emit)(uint32_t thread, uint64_t first, uint64_t count);
    /* Called on each emitting thread before the clock runs; may be NULL. */
    void (*prepare)(uint32_t thread);
    unsigned refuses; /* PEER_NO_... */
};

extern const struct peer peer;

/* Prints "peer-NAME: MESSAGE" on stderr and ends the program with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void peer_fail(const char *format, ...);

/* True if this variant is in use. */
bool peer_variant_is(const struct peer_options *options, const char *variant);

/* The path of a file in the output folder, in a buffer that the next call overwrites. */
const char *peer_output_path(const struct peer_options *options, const char *name);

#ifdef __cplusplus
}
#endif
#endif
