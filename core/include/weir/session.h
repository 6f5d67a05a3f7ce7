/*
 * For code that controls tracing: sessions, their life and their figures.
 *
 * A session has a set of providers, a budget in bytes, and one sink. It is created inert, enabled
 * by start, and ended by stop, which writes everything that was recorded:
 *
 *     struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
 *     struct weir_session *session = NULL;
 *     struct weir_error error;
 *     config.providers = "MyVM:0xff:5";
 *     config.sink.file = "vm.nettrace";
 *     if (weir_session_create(&config, &session, &error) != WEIR_OK ||
 *         weir_session_start(session, &error) != WEIR_OK) {
 *         complain(error.text);
 *     } else {
 *         ...
 *         if (weir_session_stop(session, &error) != WEIR_OK)
 *             complain(error.text);
 *     }
 *     weir_session_destroy(session);
 *
 * The functions here disable cancellation of the calling thread until they return.
 *
 * When its budget is full, a session does what its mode says: drop the new event, park its thread
 * until there is room, or overwrite the oldest events. Losses are counted by cause and thread.
 *
 * A process that enters a sandbox should do so before it starts a session, or allow membarrier(2)
 * there. If the call is first refused while sessions run, the library can no longer tell which
 * threads are inside their memory, and these sessions end: their events are off, parked threads go
 * on (ABORTED), and on_error gets WEIR_SYSTEM once. The stop still writes the recorded events, and
 * then returns WEIR_SYSTEM; the session's memory, and its place among the 64, stay taken. A record
 * of an emitter that was inside at that moment may be missing from the stream and is then counted
 * as SINK_FAILED, or may follow a sequence point that it should precede, with that point's time.
 * Sessions that start later work as before, but each event costs them a locked instruction.
 * A sandbox must not kill the process either for what a session's thread does at any time: it opens
 * /proc/self/task/TID/comm for the names of threads, and goes on if that fails. HOSTS.md in
 * the sources lists the system calls.
 */
#ifndef WEIR_SESSION_H
#define WEIR_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/result.h>
#include <weir/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Structs that begin with a size grow at their end. The ..._INIT macros set the size to that of the
 * host's headers. A library that is newer than these headers accepts the smaller struct, with
 * defaults for the members that it lacks, and fills structs in up to the host's size. A size larger
 * than the library's own is refused (WEIR_BAD_ARGUMENT), and so is one smaller than that of 0.2.
 */

struct weir_session; /* opaque */

/* What happens to a new event when the budget is full. */
enum weir_mode {
    /* It is not written. The emitter never waits. */
    WEIR_MODE_DROP,
    /* Its thread is parked until there is room: nothing is lost while the sink is healthy. A wait
     * ends with a grant, after max_block_ns, with the session, or with its sink. Threads in a
     * no-block scope (weir/trace.h) drop instead. A library built with WEIR_SINGLE_THREADED refuses
     * this mode (WEIR_BAD_ARGUMENT). */
    WEIR_MODE_BLOCK,
    /* The oldest full segment of any thread makes room: the newest events are kept, in memory,
     * until weir_session_snapshot() or the stop writes them. */
    WEIR_MODE_OVERWRITE
};

/* The form of the stream. */
enum weir_format {
    WEIR_FORMAT_NETTRACE_4 = 0, /* V4; V5 where an event has arrays or an opcode */
    /* V6: threads with names and numbers of their own, names in UTF-8, activities as labels. For tools
     * with TraceEvent 3.1.23 or later. Tools that start a session by the server get V4. */
    WEIR_FORMAT_NETTRACE_6 = 6
};

/* BLOCK: how parked threads get room again. */
enum weir_wake {
    /* In order of arrival, several segments at a time; a thread that parks passes free segments to
     * the next one, so that the drain rarely wakes a thread. */
    WEIR_WAKE_RELAY,
    /* In order of arrival, one segment at a time; the drain wakes the head of the queue. */
    WEIR_WAKE_FIFO,
    /* One event for all: the first thread to run takes the segment. */
    WEIR_WAKE_AUTO_RESET
};

/* One wait of a thread in BLOCK. */
struct weir_park {
    size_t size;           /* of the library's struct */
    uint64_t parked_ns;    /* from the full budget to the grant, or until it was given up */
    uint64_t queue_number; /* of this wait among the session's, in order of arrival, from 1 */
    uint64_t grant_number; /* of its grant, in order, from 1; 0: given up. Grants that came too
                            * late have numbers that are left out */
    uint64_t grant_bytes;  /* segments granted, in bytes */
};

/* Takes bytes of the stream, in order; false fails the snapshot, or ends the session: its events
 * are switched off, parked threads go on, and the stop returns WEIR_IO. It may block, but a stop
 * waits for it only until its deadline. It runs on the session's drain thread, where all signals
 * but those of faults are blocked. Events that it emits are counted as NESTED, it may not stop its
 * session (WEIR_BAD_STATE), and destroy does nothing.
 */
typedef bool (*weir_write)(void *context, const void *bytes, size_t count);

/*
 * Where a stream goes. Start from WEIR_SINK_INIT and set exactly one of file, write and descriptor.
 * `file` is used during the call only. A session's configuration embeds this struct, so its size
 * never changes: new members take the place of reserved words.
 */
struct weir_sink {
    size_t size; /* sizeof(struct weir_sink) */
    /* A path; a relative one is of the directory at the call. A regular file that is there is
     * replaced: by a session when it starts, by a snapshot when it is whole. The new one is
     * readable by its owner only. */
    const char *file;
    weir_write write;
    void *context; /* of write */
    /* -1: none. Duplicated by the call; yours stays yours, and may be closed at any time after. The
     * duplicate shares its file's position and flags with it, and is closed when the stream ends.
     */
    int descriptor;
    uint32_t reserved_word; /* 0 */
    uint64_t reserved[3];   /* 0 */
};

/* clang-format off */
#define WEIR_SINK_INIT                                                                             \
    {                                                                                              \
        sizeof(struct weir_sink), WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, -1, 0, {0, 0, 0}             \
    }
/* clang-format on */

/*
 * What a session wants of one provider: the events of its keywords, up to its level, whose id is
 * admitted. Several entries may name the same provider; an event that one of them wants is wanted.
 * Start from WEIR_ENABLE_INIT, which wants all events.
 */
struct weir_enable {
    /* UTF-8, 1 to 255 bytes, compared without case; "*": every provider. */
    const char *provider;
    /* Events without one of these are not wanted; 0: of any keywords. An event with keywords 0 is
     * wanted whatever they are. Bits 44 to 47, which .NET's tools may set, are cleared first, unless
     * all bits are set: alone they are 0. */
    uint64_t keywords;
    /* UTF-8, up to 65,535 bytes; NULL: none. For the provider: usually "key=value;key=value". */
    const char *arguments;
    /* In any order, up to 65,536: the only ones that are wanted, or those that are not. An id
     * stands for all versions of its event. */
    const uint16_t *event_ids;
    uint32_t event_id_count;
    uint8_t level;          /* enum weir_level; 0: of any level */
    bool event_ids_allowed; /* the only ones, even if there are none; otherwise not these */
    uint8_t reserved[2];    /* 0 */
};

/* clang-format off */
#define WEIR_ENABLE_INIT {WEIR_NULL_, 0, WEIR_NULL_, WEIR_NULL_, 0, 0, false, {0, 0}}
/* clang-format on */

/*
 * All pointers are used during weir_session_create() only, except contexts and functions. Start
 * from WEIR_SESSION_CONFIG_INIT, which sets the sizes and the defaults.
 */
struct weir_session_config {
    size_t size; /* sizeof(struct weir_session_config) */

    /* What the session wants, as a text, or at the end of this struct as an array.
     * "Name[:keywords[:level[:arguments]]]", separated by commas, up to 1,000: keywords hexadecimal
     * or decimal, level 0 to 5; what is empty or left out is as in WEIR_ENABLE_INIT. Arguments with
     * a comma are written in double quotes, and double quotes in those twice. */
    const char *providers;

    /* Either the sink, or memory: the stream is kept in memory, up to memory_bytes_max bytes, for
     * weir_session_memory(). */
    struct weir_sink sink;
    uint64_t memory_bytes_max;

    uint64_t budget_bytes;  /* for records; default 16 MiB, at least two segments, up to 64 GiB */
    uint32_t segment_bytes; /* default 32 KiB; 4 KiB to 1 MiB, a power of two */
    uint32_t flush_ms;      /* events reach the sink within this; default 100, up to 60,000 */
    uint32_t stop_ms_max;   /* deadline of weir_session_stop(); default 5,000, up to 600,000 */
    enum weir_mode mode;    /* default DROP */
    enum weir_wake wake;    /* BLOCK: default RELAY */

    /* Unknown provider names are an error unless this is set; then they take effect when a provider
     * of that name is registered. */
    bool unknown_providers_allowed;
    /* For a host whose signal handlers suspend threads for long, or jump out of them
     * (weir_thread_reset()): blocks an emitting thread's signals while it changes segments, two
     * system calls each time, so that no handler interrupts it there. Without it, a thread that is
     * suspended there may hold a lock, and events that others emit meanwhile can be lost as FULL.
     * Signals that an instruction causes, such as SIGSEGV, are not blocked. */
    bool block_signals;
    /* DROP: a thread that waits for a segment, and meanwhile loses more than sixteen events, offers
     * its processor to other threads after the event (sched_yield); if the other threads that wait
     * outnumber half of the segments, it does so after the next four, too. Each sweep of the drain
     * (each millisecond, unless its sink blocks) starts the count again, and then the thread yields
     * after up to four events. Where threads that trace flat out outnumber the processors, the
     * drain and the threads that have segments otherwise hardly run, and as little as a tenth is
     * delivered. The drain yields, too, before it sleeps, while threads wait or if it has just served
     * some. Other programs that want these processors get more of them. With `no_yield` neither
     * does so; nor do threads in a no-block scope. */
    bool no_yield;
    uint8_t reserved; /* 0 */

    uint64_t max_block_ns; /* BLOCK: longest wait of one event, also for a lock that a suspended
                            * thread holds; 0: until stop or sink failure */
    uint64_t grant_bytes;  /* RELAY: most that one grant gives, from a segment to a quarter of the
                            * budget. 0, the default: found at run time from what a hand-off costs;
                            * a thread that need not wait then takes less. While others wait and
                            * more than half of the budget is free, a thread may have up to six
                            * grants before it waits behind them */

    /* Each callback gets its context as its first argument. */

    /* Called at stop, on the drain thread, after the last recorded event: emit the state that a
     * reader needs (names for ids, say). Any volume; nothing is lost while the sink takes it,
     * except an event that is larger than 65,535 bytes in the file (TOO_LARGE), such as one with a
     * string of 40,000 bytes, or whose values do not match (MISMATCH). Only this session gets the
     * events, and only those that it wants by provider, level and keywords. Use the emitters
     * P_Name(), not WEIR_EMIT: the events are already off. State that any session may need comes
     * from a source (weir_rundown_register()) instead. */
    void (*rundown)(void *context, struct weir_session *session);
    void *rundown_context;

    /* Called once per kind of failure outside a call: a sink that failed (WEIR_IO), or membarrier
     * that is no longer permitted (WEIR_SYSTEM). On the drain thread. */
    void (*on_error)(void *context, enum weir_result result, const char *text);
    void *on_error_context;

    /* BLOCK: called after each wait, on the thread that waited, inside its emit call. Events that
     * it emits are counted as NESTED, and until it returns the thread writes nothing. Several
     * threads may be in it at once. It may not stop or destroy its own session, which waits for all
     * of them (WEIR_BAD_STATE, at once; destroy does nothing). It may ask for figures, and create,
     * start, stop and destroy other sessions, and take their snapshots: what a provider's callback
     * emits during such a call is nested too. */
    void (*on_park)(void *context, const struct weir_park *park);
    void *on_park_context;

    /* The host's allocator; both or none. Used by create and destroy only, never while tracing. */
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory, size_t bytes);
    void *allocator_context;

    /* What the session wants, if `providers` is NULL: up to 1,000 entries. */
    const struct weir_enable *enables;
    uint32_t enable_count;
    uint32_t enable_bytes; /* sizeof(struct weir_enable), from one entry to the next */

    const char *name; /* for weir_session_list(): UTF-8, up to 255 bytes; NULL: none */

    /* What the process's sources of rundown (weir/trace.h) get; 0: none of them runs. They run at
     * the stop and in snapshots, and with `rundown_at_start` also in weir_session_start(), which then
     * returns when the drain has taken all of it. So the names are in the file too if it ends early,
     * because the process was killed or the disk is full; a source that is too slow for that can see
     * the moment. Clear it if the thread that starts the session also reads the stream. With
     * OVERWRITE it has no effect: what the start writes would be overwritten. */
    uint64_t rundown_keywords; /* default WEIR_RUNDOWN_KEYWORDS */
    bool rundown_at_start;     /* default true */
    /* BLOCK: a stop first disables the events and lets the threads that wait at that moment write
     * theirs, for up to half of stop_ms_max. Threads in the host's `after` hook (weir_park_hooks) are
     * waited for too. Without it, and for threads that are still waiting then, the stop ends the
     * waits, and each of these threads loses its event (ABORTED). */
    bool stop_serves_waiting;
    uint8_t reserved_end[6]; /* 0 */

    /* The events have no stacks (weir/context.h), and no memory is reserved for them. */
    bool no_stacks;
    uint8_t format;        /* enum weir_format; default 0 */
    uint8_t reserved_6[2]; /* 0 */
    /* Memory to remember the stacks that the stream has since the last sequence point, so that each
     * is written once: 64 KiB to 1 GiB. 0: 1 MiB if the process has a hook for stacks when the session
     * is created, otherwise none. A stack that cannot be remembered is written again, never lost. */
    uint32_t stack_bytes;
};

/* What .NET's tools ask for if nothing else is said: collector 0x1, loader 0x8, jitted code 0x10,
 * precompiled code 0x20, the end of a rundown 0x100, maps of jitted code 0x20000, and bit 31 for
 * threads that change hands. */
#define WEIR_RUNDOWN_KEYWORDS 0x80020139u

/* clang-format off */
#define WEIR_SESSION_CONFIG_INIT                                                                   \
    {                                                                                              \
        sizeof(struct weir_session_config), WEIR_NULL_, WEIR_SINK_INIT, 0, 16u << 20, 32768, 100,  \
            5000, WEIR_MODE_DROP, WEIR_WAKE_RELAY, false, false, false, 0, 0, 0, WEIR_NULL_,       \
            WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, WEIR_NULL_,    \
            WEIR_NULL_, WEIR_NULL_, 0, sizeof(struct weir_enable), WEIR_NULL_,                     \
            WEIR_RUNDOWN_KEYWORDS, true, false, {0, 0, 0, 0, 0, 0}, false, 0, {0, 0}, 0            \
    }
/* clang-format on */

/* The same values from a function, for assignments. */
static inline struct weir_sink weir_sink_init(void)
{
    struct weir_sink sink = WEIR_SINK_INIT;
    return sink;
}

static inline struct weir_session_config weir_session_config_init(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    return config;
}

/*
 * Checks the configuration, reserves the memory and opens the sink (a file under a temporary name).
 * Nothing is enabled, no thread is started, no callback runs. Any thread; may block on the file
 * system. `error` may be NULL. WEIR_BAD_ARGUMENT (a field; a descriptor that is not open),
 * WEIR_NOT_FOUND (provider), WEIR_IO (the file cannot be created, or no more descriptors are
 * available), WEIR_NO_MEMORY.
 */
WEIR_NODISCARD WEIR_API enum weir_result
weir_session_create(const struct weir_session_config *config, struct weir_session **session,
                    struct weir_error *error);

/*
 * Starts the drain thread, waits until it runs, then enables the events, then calls the providers'
 * callbacks, then runs the rundown, if it is asked for at the start. Any thread. Blocks up to 20 ms
 * in a process that has just started, while the clock is measured, and later 1 ms, while it is
 * checked that the counter has not been set. A plug-in that links the static library stays loaded
 * from then on; one that was linked without -z nodelete calls dlopen() for that. WEIR_BAD_STATE
 * (not inert), WEIR_LIMIT (64 sessions run), WEIR_SYSTEM (no thread), WEIR_IO (the file could not
 * take its name).
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_start(struct weir_session *session,
                                                            struct weir_error *error);

/*
 * Disables the events, waits for emitters that are inside, drains, runs the rundown, ends the
 * stream. BLOCK: also ends the waits of parked threads (see stop_serves_waiting). Returns within
 * stop_ms_max. Any thread, a provider callback too; not the session's own write, rundown, on_error
 * or on_park callback (WEIR_BAD_STATE, also before the start). A second stop waits for the first
 * and returns the same. WEIR_OK if the stream is whole, events lost or not (see
 * weir_session_stats). WEIR_IO if the sink failed, or an emitter was so late that its events are
 * not in the stream. WEIR_TIMEOUT if the drain or an emitter is not done, or a suspended thread
 * holds a lock that the stop needs: the session's memory is kept, and another stop takes up what
 * is left. WEIR_SYSTEM if membarrier has failed under the session (see the top): its stream is
 * ended, and another stop returns the same. `error`, which may be NULL, says what failed: the
 * system's reason, or which part is not done.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_stop(struct weir_session *session,
                                                           struct weir_error *error);

/*
 * For hosts without threads (the library built with WEIR_SINGLE_THREADED): does one round of the
 * drain thread's work: reads the recorded events and, every flush_ms, hands them to the sink, which
 * may block. Call it often enough that the budget does not fill: events that find no room are
 * dropped. In OVERWRITE it reads nothing until a snapshot or the stop, and the oldest events are
 * overwritten. NULL: for all sessions that weir_configure() or the environment has started. Do not
 * call it in a callback of the library. WEIR_BAD_STATE if the session does not run, WEIR_IO once
 * its sink has failed. `error` may be NULL. In other builds it does nothing and returns WEIR_OK.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_poll(struct weir_session *session,
                                                           struct weir_error *error);

/*
 * Stops the session if it runs and frees it. NULL is allowed. In a forked child it only closes the
 * child's copies of the descriptors of the parent's session, which would keep the reader of a pipe
 * from seeing its end. The caller makes sure that no other call uses the session, except those by
 * id.
 *
 * WEIR_BAD_STATE in the session's own callbacks, and as long as weir_session_start() has not
 * returned, in the callback of a provider that it calls, say: nothing was done. WEIR_TIMEOUT,
 * WEIR_SYSTEM as weir_session_stop(): the memory is kept for good. Otherwise WEIR_OK; whether the
 * stream is whole says weir_session_stop().
 */
WEIR_API enum weir_result weir_session_destroy(struct weir_session *session);

/*
 * Replaces what a running session wants. No event that is wanted before and after is missed; one
 * that is not wanted any more may still be written by a thread that is inside its emitter.
 * `enables` is an array of enable_count entries, each of enable_bytes, sizeof(struct weir_enable),
 * as in the session's configuration. Then calls the providers' callbacks. Any thread but the
 * drain's. WEIR_BAD_ARGUMENT, WEIR_NOT_FOUND and WEIR_NO_MEMORY as weir_session_create();
 * WEIR_BAD_STATE (the session does not run, or its sink has failed). `error` may be NULL.
 */
WEIR_NODISCARD WEIR_API enum weir_result
weir_session_update(struct weir_session *session, const struct weir_enable *enables,
                    uint32_t enable_count, uint32_t enable_bytes, struct weir_error *error);

/*
 * Starts the sessions that `text` describes, separated by bars. Each is a list of providers, as in
 * the configuration's `providers`, and then options, each after a semicolon:
 *
 *     MyVM:0x1:5,Jit;file=/tmp/vm-%p.nettrace;mode=block;budget=1M|*;mode=overwrite;name=recorder
 *
 *     file=PATH               %p stands for the process's id; default weir-%p.nettrace, and
 *                             weir-%p-2.nettrace for the next session without one
 *     mode=drop|block|overwrite, wake=relay|fifo|auto-reset
 *     budget=BYTES, segment=BYTES              with K, M or G
 *     flush_ms=N, stop_ms=N, max_block_ms=N    stop_ms is the configuration's stop_ms_max
 *     rundown=KEYWORDS, rundown_at_start=0|1, stacks=0|1, format=4|6
 *     name=TEXT               for the list; default: the file
 *
 * Arguments of providers and values that contain a semicolon, a comma or a bar are written in
 * double quotes, and double quotes in those twice. A session has each option at most once. What is
 * left out has the configuration's default; unknown providers are waited for.
 *
 * If the text is wrong or a session cannot be created, none is started: WEIR_BAD_ARGUMENT with the
 * position and what was expected there, or a result of weir_session_create(). If one of several
 * cannot be started, the others run. The sessions are the library's: weir_session_list() has them,
 * weir_session_stop_id() may stop them, and exit() stops them, each within its stop_ms_max; a
 * failure is then one line on stderr. The exit calls no park hooks, but rundown sources: a host
 * whose runtime ends before that stops these sessions itself, by the list. In single-threaded
 * builds, weir_session_poll(NULL) polls them. Threads and blocking as weir_session_start();
 * allocates.
 *
 * NULL: the sessions of the environment. The first registration of a provider starts them too, and
 * then a failure is one line on stderr; of both, the first one in a process does it, and a later
 * call does nothing but wait for it. A forked child has none of its parent's sessions, and starts
 * those of the environment only if it calls this. A process with more privileges than its user
 * ignores its environment. If several copies of the library are in the process, the one that was
 * loaded first reads the environment, the executable's own before all others. In the others this
 * returns WEIR_EXISTS, with a text that names both; and if it was not called before, their first
 * registration of a provider puts that text on stderr, in one line. The variables, of which each set
 * describes its own sessions:
 *
 *     WEIR_SESSION                       a text as above
 *     DOTNET_EnableEventPipe             1: one session, described by the following
 *     DOTNET_EventPipeConfig             providers, with hexadecimal keywords, all if left out;
 *                                        default: every provider
 *     DOTNET_EventPipeOutputPath         {pid} stands for the process's id; default trace.nettrace
 *     DOTNET_EventPipeCircularMB         budget in MB, hexadecimal; default 400
 *     DOTNET_EventPipeBufferingMode      0 (default): drop; 1: block
 *     DOTNET_EventPipeRundown            1 (default), or 0: none
 *     DOTNET_EventPipeOutputStreaming    0 and 1 both stream
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_configure(const char *text, struct weir_error *error);

/* Figures of a session, or of one thread in it: attempted = written + the sum of lost, and of
 * lost_other. Only causes are ever added. */
struct weir_counts {
    uint64_t attempted;
    uint64_t written;
    uint64_t lost[WEIR_LOSS_COUNT];
};

/* Start from WEIR_STATS_INIT. */
struct weir_stats {
    size_t size;         /* in: sizeof(struct weir_stats) */
    uint32_t lost_count; /* in: WEIR_LOSS_COUNT of the host's headers */
    uint32_t reserved;
    uint64_t budget_bytes;
    uint64_t budget_bytes_used;
    uint64_t reserved_bytes; /* beside the budget: lanes, encode buffer, tables */
    uint64_t bytes_sent;     /* to the sink */
    uint64_t sequence_points;
    /* Records that the drain found only after a sequence point that should have followed them, and
     * that have its time: of threads that were preempted inside an event, and the first one of a
     * thread behind a step of its clock that the library has not seen for all threads. And those
     * whose stamp was the caller's, and too old or in the future: see weir_emit_at(). */
    uint64_t late_records;
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

    uint64_t lost_other; /* for causes that the host's headers do not have yet */
    /* System calls that woke the drain before its time: half of the budget was full, or threads
     * waited for room. In a steady flow the drain comes by itself before that. */
    uint64_t drain_wakes;
    /* Stacks that were cut: the host's hook or a context had more addresses than fit, or none. */
    uint64_t stacks_cut;
    struct weir_counts counts; /* last, since the number of causes grows */
};

/* clang-format off */
#define WEIR_STATS_INIT                                                                            \
    {                                                                                              \
        sizeof(struct weir_stats), WEIR_LOSS_COUNT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, 0, 0, 0, {0, 0, {0}}                                                                \
    }
/* clang-format on */

/* Figures so far; while emitters run, those of one moment per thread. Any thread; takes the
 * session's locks for a walk over its lanes; emitters that have a lane do not wait for it.
 * Filled in only if the result is WEIR_OK. Does not allocate. WEIR_BAD_ARGUMENT (an argument is
 * NULL, or a size or count is not one of a known version), WEIR_BAD_STATE (a session of the process
 * before fork), WEIR_TIMEOUT if a lock is not free within stop_ms_max, because a thread that holds
 * it is suspended. */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_stats(struct weir_session *session,
                                                            struct weir_stats *stats);

struct weir_thread_stats {
    uint64_t thread_id;        /* of the system */
    uint64_t capture_thread;   /* of the stream; never reused */
    uint64_t lost_other;       /* as in struct weir_stats */
    struct weir_counts counts; /* last, since the number of causes grows */
};

/* An array for the figures of threads. Start from WEIR_THREAD_TABLE_INIT. */
struct weir_thread_table {
    size_t size;           /* in: sizeof(struct weir_thread_table) */
    uint32_t thread_bytes; /* in: sizeof(struct weir_thread_stats), from one thread to the next */
    uint32_t lost_count;   /* in: WEIR_LOSS_COUNT of the host's headers */
    struct weir_thread_stats *threads; /* in: the array; NULL if threads_max is 0 */
    uint32_t threads_max;              /* in: how many it has room for */
    uint32_t thread_count; /* out: threads that have not exited; may be more than threads_max */
};

/* clang-format off */
#define WEIR_THREAD_TABLE_INIT                                                                     \
    {                                                                                              \
        sizeof(struct weir_thread_table), sizeof(struct weir_thread_stats), WEIR_LOSS_COUNT,       \
            WEIR_NULL_, 0, 0                                                                       \
    }
/* clang-format on */

/* Figures of up to threads_max threads that have not exited. Threads, locks and errors as
 * weir_session_stats(). */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_thread_stats(struct weir_session *session,
                                                                   struct weir_thread_table *table);

/*
 * A number of the session in this process: never 0, and never given out again. NULL: 0. Any thread;
 * neither blocks nor allocates.
 */
WEIR_API uint64_t weir_session_id(const struct weir_session *session);

/* weir_session_stop() for those who did not create the session, and do not know whether it has been
 * destroyed: then it returns WEIR_NOT_FOUND. A destroy waits until such a call, or
 * weir_session_list(), does not need the session any more, up to the session's stop_ms_max. */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_stop_id(uint64_t session_id,
                                                              struct weir_error *error);

enum weir_session_state {
    WEIR_SESSION_CREATED, /* or being started */
    WEIR_SESSION_RUNNING,
    WEIR_SESSION_STOPPED /* or being stopped */
};

enum weir_sink_kind { WEIR_SINK_FILE, WEIR_SINK_DESCRIPTOR, WEIR_SINK_WRITE, WEIR_SINK_MEMORY };

struct weir_session_info {
    uint64_t session_id;
    uint64_t budget_bytes; /* up to `written` as in struct weir_stats */
    uint64_t budget_bytes_used;
    uint64_t bytes_sent;
    uint64_t parked_now;
    uint64_t attempted;
    uint64_t written;
    uint64_t lost; /* the sum of all causes */
    enum weir_mode mode;
    enum weir_sink_kind sink;
    enum weir_session_state state;
    uint32_t reserved;
    char name[256]; /* empty: none */
};

/* An array for sessions. Start from WEIR_SESSION_TABLE_INIT. */
struct weir_session_table {
    size_t size;            /* in: sizeof(struct weir_session_table) */
    uint32_t session_bytes; /* in: sizeof(struct weir_session_info), from one to the next */
    uint32_t reserved;      /* 0 */
    struct weir_session_info *sessions; /* in: the array; NULL if sessions_max is 0 */
    uint32_t sessions_max;              /* in: how many it has room for */
    uint32_t session_count;             /* out: may be more than sessions_max */
};

/* clang-format off */
#define WEIR_SESSION_TABLE_INIT                                                                    \
    {                                                                                              \
        sizeof(struct weir_session_table), sizeof(struct weir_session_info), 0, WEIR_NULL_, 0, 0   \
    }
/* clang-format on */

/*
 * The sessions of this process that are not destroyed, whoever created them, by ascending id. Any
 * thread. Sessions may come and go meanwhile. Takes the locks of each in turn, as
 * weir_session_stats(). Does not allocate. WEIR_BAD_ARGUMENT (the table is NULL, or not of a known
 * version), WEIR_TIMEOUT as for weir_session_stats().
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_list(struct weir_session_table *table);

/*
 * Writes what a running session of mode OVERWRITE keeps, as a whole nettrace stream of its own: the
 * events of the last `last_ns` nanoseconds before the call (0: all that is kept). Emitters go on
 * meanwhile. What is written is still kept, and until the sink has it it cannot be overwritten:
 * what makes room is younger, and an emitter that finds nothing drops its event, counted as FULL.
 * The session's own sink gets nothing of it. The sources of rundown run at its end; the
 * configuration's own `rundown` does not.
 *
 * The snapshot is consistent: it holds each thread's events and losses up to one instant. Events
 * that were overwritten, and those older than `last_ns`, are reported as OVERWRITTEN. Whatever the
 * clock does, all that was kept at the call is in the file; `last_ns` goes by each thread's own
 * stamps, and events behind a step back that only their thread has seen are not left out. The
 * losses of threads that are gone, and that have no event left, are reported as those of the
 * library's own thread. An emitter that is interrupted in the middle of an event for more than 1 ms
 * may keep this one event for the next snapshot.
 *
 * Any thread, but not the session's own callbacks (WEIR_BAD_STATE). Blocks until the sink has taken
 * everything; the drain thread does the writing. Memory is allocated by create only. `error` may be
 * NULL. WEIR_BAD_ARGUMENT (no sink, or two; a descriptor that is not open), WEIR_BAD_STATE (not
 * OVERWRITE, or not running), WEIR_BUSY (one at a time: another snapshot of this session is being
 * written), WEIR_IO (the sink failed; the session is not affected).
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_snapshot(struct weir_session *session,
                                                               const struct weir_sink *sink,
                                                               uint64_t last_ns,
                                                               struct weir_error *error);

/*
 * For a host with a global lock, or with a collector that waits until all threads are at a safe
 * point: functions that are called around each wait of the library, so that a waiting thread does
 * not hold up the others. `before` lets go of the lock, or enters the safe region. `after` takes
 * the lock back, or leaves the region; it may block for as long as a whole collection takes.
 *
 * They are called around each wait of an emitting thread for room in a BLOCK session, and around
 * the waits of weir_session_start, weir_session_stop, weir_session_stop_id, weir_session_destroy,
 * weir_session_snapshot, weir_configure, weir_provider_destroy, weir_server_start,
 * weir_server_wait_for_resume, weir_server_stop and, as they may start the sessions of the
 * environment, weir_provider_register and weir_provider_create for other threads. They are not
 * called for an event or a call that does not wait, nor for the short locks of the library; not in
 * a no-block scope, where no event waits, and a control call waits without them; not on the
 * library's own threads, except the server's one that calls the providers' callbacks; and never in
 * single-threaded builds.
 *
 * They are called on the thread that waits, inside its call but without any lock of the library,
 * and also on threads that do not have the host's lock: the hooks have to know. Each `before` is
 * followed by exactly one `after` of the same hooks on the same thread, however the wait ends. Both
 * must return. They may emit, which is counted as nested, but must not call anything else of the
 * library. errno is kept, and cancellation is disabled meanwhile. A child that is forked in a hook
 * of an event leaves the call without having written, with its `after` if that is still due, and
 * cannot trace; one that is forked in a hook of a control call must exec or _exit.
 *
 * `before` should be short: its thread is in the session's queue already, and in FIFO order others
 * wait behind it. `after` may be long, because its thread keeps nothing meanwhile:
 *
 *  - Room that was granted to it goes to others, if they have to wait while the drain sweeps twice.
 *    When the thread is back, it takes room that is free or that threads still in `after` have;
 *    only if there is none does it wait again, at the end of the queue. FIFO and RELAY therefore
 *    keep the order of arrival among threads whose `after` is short.
 *  - A stop of the session does not wait for it, unless the session has stop_serves_waiting. If
 *    the stop goes on without it, its event is lost as ABORTED.
 *
 * max_block_ns counts the time in which an event waits for room, in all of its waits together,
 * without the hooks. The `after` of a stop is not part of stop_ms_max. on_park is called between
 * the hooks, and what it calls waits without them.
 *
 * In CPython the hooks are PyEval_SaveThread and PyEval_RestoreThread, with the state kept per
 * thread and PyGILState_Check to see whether there is anything to let go of; in OCaml
 * caml_enter_blocking_section and caml_leave_blocking_section; in Ruby what
 * rb_thread_call_without_gvl does before and after its function.
 */
struct weir_park_hooks {
    size_t size; /* sizeof(struct weir_park_hooks) */
    void (*before)(void *context);
    void (*after)(void *context);
    void *context;
};

/* clang-format off */
#define WEIR_PARK_HOOKS_INIT                                               \
    {                                                                      \
        sizeof(struct weir_park_hooks), WEIR_NULL_, WEIR_NULL_, WEIR_NULL_ \
    }
/* clang-format on */

/*
 * Sets the hooks of the process, in place of those before; NULL removes them. At any time, on any
 * thread; does not block; keeps a copy, allocated from the C library and never freed, one for each
 * different set of hooks. Waits that have begun end with the hooks that they began with, or
 * without: functions and context must stay valid until all sessions that run at the call have been
 * stopped and all control calls that are under way have returned, and best for good.
 * WEIR_BAD_ARGUMENT (the size is not a known one, or a function is NULL), WEIR_NO_MEMORY.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_park_hooks_set(const struct weir_park_hooks *hooks);

/* The stream of a stopped session with a memory sink; valid until destroy. Any thread; neither
 * blocks nor allocates. WEIR_BAD_ARGUMENT (an argument is NULL, or the session has another sink),
 * WEIR_BAD_STATE (it is not stopped). */
WEIR_NODISCARD WEIR_API enum weir_result weir_session_memory(struct weir_session *session,
                                                             const void **bytes, uint64_t *count);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_SESSION_
#include <weir/disabled.h>
#endif
#endif
