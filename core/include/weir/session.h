/*
 * For code that controls tracing: sessions, their life and their figures.
 *
 * A session has a set of providers, a budget in bytes, and one sink. It is created inert, enabled
 * by start, and ended by stop, which writes everything that was recorded:
 *
 *     struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
 *     config.providers = "MyVM:0xff:5";
 *     config.file = "vm.nettrace";
 *     struct weir_session *session;
 *     if (weir_session_create(&config, &session, &error) == WEIR_OK &&
 *         weir_session_start(session, &error) == WEIR_OK) { ... weir_session_stop(session); }
 *     weir_session_destroy(session);
 *
 * The functions here disable cancellation of the calling thread until they return.
 *
 * When its budget is full, a session does what its mode says: drop the new event, park its thread
 * until there is room, or overwrite the oldest events. What is lost is counted by cause and thread.
 */
#ifndef WEIR_SESSION_H
#define WEIR_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/result.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_session; /* opaque */

/* What happens to a new event when the budget is full. */
enum weir_mode {
    /* It is not written. The emitter never waits. */
    WEIR_MODE_DROP,
    /* Its thread is parked until there is room: nothing is lost while the sink is healthy. A wait
     * ends with a grant, after max_block_ns, with the session, or with its sink. Threads in a
     * no-block scope (weir/trace.h) drop instead. */
    WEIR_MODE_BLOCK,
    /* The oldest full segment of any thread makes room: the newest events are kept, in memory,
     * until weir_snapshot() or the stop writes them. */
    WEIR_MODE_OVERWRITE
};

/* BLOCK: how parked threads get room again. */
enum weir_wake {
    /* In order of arrival, several segments at a time; a thread that parks hands on what is free,
     * so that the drain rarely wakes anybody. */
    WEIR_WAKE_RELAY,
    /* In order of arrival, one segment at a time; the drain wakes the head of the queue. */
    WEIR_WAKE_FIFO,
    /* One event for all: any thread may take the segment, whoever comes first. */
    WEIR_WAKE_AUTO_RESET
};

/* Parts of RELAY to be switched off, to measure what each is worth. Without hand-on, spinning and
 * cap, and with grant_bytes set, what is left is a plain quantum hand-off. */
enum weir_wake_flags {
    WEIR_WAKE_NO_HAND_ON = 1, /* a thread that parks leaves waking others to the drain */
    WEIR_WAKE_NO_SPIN = 2,    /* the head of the queue does not wait awake */
    WEIR_WAKE_NO_CAP = 4      /* any number of granted threads may run at once */
};

/* One wait of a thread in BLOCK. */
struct weir_park {
    uint64_t parked_ns;    /* from the full budget to the grant, or until it was given up */
    uint64_t queue_number; /* of this wait among the session's, in order of arrival, from 1 */
    uint64_t grant_number; /* of its grant, in order, from 1; 0: given up */
    uint64_t grant_bytes;  /* segments granted, in bytes */
};

/* Takes bytes of the stream, in order; false fails the snapshot, or ends the session: its events
 * are switched off, parked threads go on, and the stop returns WEIR_IO. It may block, but a stop
 * waits for it only until its deadline. It runs on the session's drain thread. */
typedef bool (*weir_write)(void *context, const void *bytes, size_t count);

/*
 * All pointers are used during weir_session_create() only, except contexts and functions. Start
 * from WEIR_SESSION_CONFIG_INIT, which sets the size and the defaults. Exactly one of file, fd,
 * write and memory_bytes_max names the sink.
 */
struct weir_session_config {
    size_t size; /* sizeof(struct weir_session_config) */

    /* "Name[:keywords[:level]]", separated by commas: keywords hexadecimal or decimal (default
     * all), level 0 to 5 (default 5, verbose). */
    const char *providers;
    /* Unknown provider names are an error unless this is set; then they take effect when a provider
     * of that name is registered. */
    bool unknown_providers_allowed;

    /* A path. An existing regular file is replaced by a successful start; the new one is readable
     * by its owner only. */
    const char *file;
    int fd; /* -1: none; stays open, owned by the caller */
    weir_write write;
    void *write_context;
    uint64_t memory_bytes_max; /* keep the stream in memory, up to this; weir_session_memory() */

    enum weir_mode mode;   /* default DROP */
    uint64_t max_block_ns; /* BLOCK: longest wait of one event, also for a lock that a suspended
                            * thread holds; 0: until stop or sink failure */
    enum weir_wake wake;   /* BLOCK: default RELAY */
    uint32_t wake_flags;   /* RELAY: enum weir_wake_flags; default 0 */
    uint64_t grant_bytes;  /* RELAY: most that one grant gives, from a segment to a quarter of the
                            * budget; 0, the default: found at run time */

    uint64_t budget_bytes;  /* for records; default 16 MiB, at least two segments, up to 64 GiB */
    uint32_t segment_bytes; /* default 32 KiB; 4 KiB to 1 MiB, a power of two */
    uint32_t flush_ms;      /* what was recorded reaches the sink within this; default 100 */
    uint32_t stop_ms_max;   /* deadline of weir_session_stop(); default 5,000 */

    /* Called at stop, on the drain thread, after the last recorded event: emit the state that a
     * reader needs (names for ids, say). Any volume; nothing is lost; only this session gets it,
     * and only events that it wants by provider, level and keywords. Use the emitters P_Name(), not
     * WEIR_EMIT: the events are already off. */
    void (*rundown)(struct weir_session *session, void *context);
    void *rundown_context;

    /* Told once per kind of failure outside a call: a failed sink, say. On the drain thread. */
    void (*on_error)(void *context, enum weir_result result, const char *text);
    void *on_error_context;

    /* BLOCK: told of each wait, after it, on the thread that waited, inside its emit call: what it
     * emits is counted as nested, and while it takes its time the thread does not write. */
    void (*on_park)(void *context, const struct weir_park *park);
    void *on_park_context;

    /* The host's allocator; both or none. Used by create and destroy only, never while tracing. */
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory, size_t bytes);
    void *allocator_context;

    /* For a host whose signal handlers suspend threads for long, or jump out of them
     * (weir_thread_reset()): blocks an emitting thread's signals while it changes segments, two
     * system calls each time, so that no handler interrupts it there. Without it, a thread that is
     * suspended there may hold a lock, and what others emit meanwhile can be lost as FULL. Signals
     * that an instruction causes, such as SIGSEGV, are not blocked. */
    bool block_signals;
};

#define WEIR_SESSION_CONFIG_DEFAULT_BUDGET (16u << 20)
#ifdef __cplusplus
#define WEIR_SESSION_CONFIG_INIT weir_session_config_init()
#else
#define WEIR_SESSION_CONFIG_INIT                                                    \
    {                                                                               \
        .size = sizeof(struct weir_session_config), .fd = -1,                       \
        .budget_bytes = WEIR_SESSION_CONFIG_DEFAULT_BUDGET, .segment_bytes = 32768, \
        .flush_ms = 100, .stop_ms_max = 5000                                        \
    }
#endif

/* The same as a function, for C++ and for bindings. */
static inline struct weir_session_config weir_session_config_init(void)
{
    struct weir_session_config config;
    __builtin_memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.fd = -1;
    config.budget_bytes = WEIR_SESSION_CONFIG_DEFAULT_BUDGET;
    config.segment_bytes = 32768;
    config.flush_ms = 100;
    config.stop_ms_max = 5000;
    return config;
}

/*
 * Checks the configuration, reserves the memory and opens the sink (a file under a temporary name).
 * Nothing is enabled, no thread is started, no callback runs. Any thread; may block on the file
 * system. `error` may be NULL. WEIR_BAD_ARGUMENT, WEIR_NOT_FOUND (provider), WEIR_IO,
 * WEIR_NO_MEMORY.
 */
WEIR_API enum weir_result weir_session_create(const struct weir_session_config *config,
                                              struct weir_session **session,
                                              struct weir_error *error);

/*
 * Starts the drain thread, waits until it runs, then enables the events, then calls the providers'
 * callbacks. Any thread. Blocks up to 20 ms in a process that has just started, while the clock is
 * measured. WEIR_BAD_STATE (not inert), WEIR_LIMIT (64 sessions run), WEIR_SYSTEM (no thread),
 * WEIR_IO (the file could not take its name).
 */
WEIR_API enum weir_result weir_session_start(struct weir_session *session,
                                             struct weir_error *error);

/*
 * Disables the events, waits for emitters that are inside, drains, runs the rundown, ends the
 * stream. Returns within stop_ms_max. Any thread, a provider callback too; not the rundown or
 * on_error callback (WEIR_BAD_STATE). A second stop waits for the first and returns the same.
 * WEIR_OK if the stream is whole, events lost or not (see weir_session_stats). WEIR_IO if the sink
 * failed, or an emitter was so late that its events are not in the stream. WEIR_TIMEOUT if the
 * drain or an emitter is not done, or a suspended thread holds a lock that the stop needs: the
 * session's memory is kept, and another stop takes up what is left.
 */
WEIR_API enum weir_result weir_session_stop(struct weir_session *session);

/*
 * For hosts without threads (the library built with WEIR_SINGLE_THREADED): does what the drain
 * thread does elsewhere, once: reads what was recorded and, every flush_ms, hands it to the sink,
 * which may block. To be called often enough that the budget does not fill: what finds no room
 * meanwhile is dropped. Not in a callback of the library. WEIR_BAD_STATE if the session does not
 * run, WEIR_IO once its sink has failed. In other builds it does nothing and returns WEIR_OK.
 */
WEIR_API enum weir_result weir_poll(struct weir_session *session);

/* Stops the session if it runs and frees it. NULL is allowed. If the stop times out the memory is
 * kept for good. Does nothing in the session's own callbacks. The caller sees to it that no other
 * call uses the session. */
WEIR_API void weir_session_destroy(struct weir_session *session);

/* Figures of a session, or of one thread in it: attempted = written + the sum of lost. */
struct weir_counts {
    uint64_t attempted;
    uint64_t written;
    uint64_t lost[WEIR_LOSS_COUNT];
};

struct weir_stats {
    size_t size; /* in: sizeof(struct weir_stats) */
    struct weir_counts counts;
    uint64_t budget_bytes;
    uint64_t budget_bytes_used;
    uint64_t reserved_bytes; /* beside the budget: lanes, encode buffer, tables */
    uint64_t bytes_sent;     /* to the sink */
    uint64_t sequence_points;
    uint64_t late_records; /* met after a point that should have followed them */
    uint64_t threads_seen;

    /* BLOCK */
    uint64_t parks;           /* waits that were begun */
    uint64_t parked_ns;       /* sum of those that have ended */
    uint64_t parked_ns_max;   /* the longest */
    uint64_t parked_now;      /* threads that wait at this moment */
    uint64_t grants;          /* to threads that waited or found room at once */
    uint64_t grant_bytes;     /* their sum */
    uint64_t grant_bytes_now; /* what a grant gives at most at this moment */
    uint64_t wakes;           /* system calls that woke an emitting thread */
};

/* Figures so far; while emitters run, those of one moment per thread. Any thread; takes the
 * session's locks for a walk over its lanes; emitters that have a lane do not wait for it.
 * WEIR_TIMEOUT if a lock is not free within stop_ms_max, because a thread that holds it is
 * suspended. */
WEIR_API enum weir_result weir_session_stats(struct weir_session *session,
                                             struct weir_stats *stats);

struct weir_thread_stats {
    uint64_t thread_id;      /* of the system */
    uint64_t capture_thread; /* of the stream; never reused */
    struct weir_counts counts;
};

/* Figures of up to `max` threads that have not exited; `count` receives how many there are. Blocks
 * and fails as weir_session_stats(). */
WEIR_API enum weir_result weir_session_thread_stats(struct weir_session *session,
                                                    struct weir_thread_stats *threads, uint32_t max,
                                                    uint32_t *count);

/*
 * OVERWRITE: where a snapshot goes. Start from WEIR_SINK_INIT; exactly one of file, fd and write
 * names the sink. `file` is used during the call only.
 */
struct weir_sink {
    size_t size; /* sizeof(struct weir_sink) */
    /* A path. A regular file appears there, in the place of an older one, when the snapshot is
     * whole; it is readable by its owner only. */
    const char *file;
    int fd; /* -1: none; stays open, owned by the caller */
    weir_write write;
    void *write_context;
};

#ifdef __cplusplus
#define WEIR_SINK_INIT weir_sink_init()
#else
#define WEIR_SINK_INIT                              \
    {                                               \
        .size = sizeof(struct weir_sink), .fd = -1, \
    }
#endif

/* The same as a function, for C++ and for bindings. */
static inline struct weir_sink weir_sink_init(void)
{
    struct weir_sink sink;
    __builtin_memset(&sink, 0, sizeof sink);
    sink.size = sizeof sink;
    sink.fd = -1;
    return sink;
}

/*
 * Writes what a running session of mode OVERWRITE keeps, as a whole nettrace stream of its own: the
 * events of the last `last_ns` nanoseconds before the call (0: all that is kept). Emitters go on
 * meanwhile. What is written is still kept, and until the call returns it cannot be overwritten:
 * what makes room is younger, and an emitter that finds nothing drops its event, counted as FULL.
 * The session's own sink gets nothing of it, and no rundown runs.
 *
 * All threads are cut at one moment. For each of them the file's events and the losses told in it
 * are all that it attempted up to its cut; events that were overwritten, and those older than
 * `last_ns`, are told as OVERWRITTEN. The losses of threads that are gone, and of whom nothing is
 * kept, are told as those of the library's own thread. An emitter that is interrupted in the middle
 * of an event for more than 1 ms may keep this one event for the next snapshot.
 *
 * Any thread, but not the session's own callbacks (WEIR_BAD_STATE). Blocks until the sink has taken
 * everything; the drain thread does the writing. Memory is allocated by create only. `error` may be
 * NULL. WEIR_BAD_ARGUMENT (no sink, or two), WEIR_BAD_STATE (not OVERWRITE, or not running),
 * WEIR_BUSY (one at a time: another snapshot of this session is being written), WEIR_IO (the sink
 * failed; the session is none the worse).
 */
WEIR_API enum weir_result weir_snapshot(struct weir_session *session, const struct weir_sink *sink,
                                        uint64_t last_ns, struct weir_error *error);

/* The stream of a stopped session with a memory sink; valid until destroy. */
WEIR_API enum weir_result weir_session_memory(struct weir_session *session, const void **bytes,
                                              uint64_t *count);

/* The library's version, such as "0.1.0". */
WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif
#endif
