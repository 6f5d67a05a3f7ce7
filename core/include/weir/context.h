/*
 * What goes with an event beside its fields: the activity that it belongs to, a stack, and the
 * thread that it is about. weir/trace.h includes this header.
 *
 *     struct weir_activity request = WEIR_ACTIVITY_INIT;
 *     weir_activity_start(&request);          // a child of the thread's current activity
 *     WEIR_EMIT(MyVM, RequestStart, url);     // carries the activity's id, and its parent's
 *     work();                                 // and so do all events of this thread, until
 *     WEIR_EMIT(MyVM, RequestStop, status);
 *     weir_activity_stop(&request);
 *
 *     struct weir_context sample = WEIR_CONTEXT_INIT;
 *     sample.thread_id = sampled->tid;        // one thread records for another
 *     sample.stack = addresses;
 *     sample.stack_count = count;
 *     WEIR_EMIT_WITH(&sample, MyVM, Sample, why);
 *
 * Contexts are the host's memory. A thread has a chain of them, newest first; a coroutine that
 * moves between threads takes its chain along (weir_context_swap()). An event of a thread without
 * a context costs what it costs without this header. With a context it takes the longer way of an
 * event that several sessions want.
 *
 * A rundown's events carry nothing of this.
 */
#ifndef WEIR_CONTEXT_H
#define WEIR_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/result.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A thread that jumps out of an emit (weir_thread_reset()) has the chain that it had, and so may have
 * contexts of frames that are gone: weir_context_swap() gives it another one. */

/* 16 bytes in the order of the wire: the first three groups of the text form little-endian. */
struct weir_guid {
    uint8_t bytes[16];
};

struct weir_activity;

/* Start from WEIR_CONTEXT_INIT. The library reads a context, and what it points to, in each emit of
 * the thread while the context is in its chain. */
struct weir_context {
    size_t size; /* sizeof(struct weir_context) */
    /* The event's activity; NULL: the one of the next context in the chain that has one. */
    const struct weir_guid *activity_id;
    /* Goes with events while this context is the newest; NULL: none. If the context is that of a
     * weir_activity, only with events whose opcode is 1, or whose name ends in Start. */
    const struct weir_guid *related_activity_id;
    /* The system's id of the thread that the events are about, for tools; 0: the next context's, or
     * the thread that emits. Numbers and losses remain those of the thread that emits. */
    uint64_t thread_id;
    /* Goes with events while this context is the newest: addresses, the innermost first, or other
     * numbers, whose names are in the host's rundown. They must stay as they are during an emit;
     * a signal handler must not change them either. */
    const uint64_t *stack;
    uint32_t stack_count; /* of addresses; those beyond 1,000 are cut */
    uint32_t reserved;    /* 0 */
    /* The library's, while the context is in a chain; before that NULL. */
    struct weir_context *next;
    struct weir_activity *activity;
};

/* clang-format off */
#define WEIR_CONTEXT_INIT \
    {sizeof(struct weir_context), WEIR_NULL_, WEIR_NULL_, 0, WEIR_NULL_, 0, 0, WEIR_NULL_, WEIR_NULL_}
/* clang-format on */

/*
 * Puts a context in front of the calling thread's chain, until the matching weir_context_pop().
 * A context is in one chain at a time. An event of a signal handler that interrupts the thread
 * meanwhile belongs to the chain too. Any thread that belongs to the host, but no signal handler; does
 * not wait. The thread's first call may map a page; if there is no memory, the call does nothing.
 */
WEIR_API void weir_context_push(struct weir_context *context);

/* Takes the newest context out of the thread's chain; nothing if the chain is empty. Threads as
 * weir_context_push(). */
WEIR_API void weir_context_pop(void);

/* Replaces the thread's whole chain and returns the one before; NULL is the empty chain. For hosts
 * that switch coroutines or tasks. Threads as weir_context_push(). */
WEIR_API struct weir_context *weir_context_swap(struct weir_context *newest);

/* An activity: something that starts and stops, and whose events belong together, on whatever
 * thread they are. Start from WEIR_ACTIVITY_INIT; all members are the library's. `guid`, its id, may
 * be read from start to stop. */
struct weir_activity {
    struct weir_context context; /* in the chain of the thread that works on it */
    struct weir_guid guid;
    uint32_t children; /* that were started */
    uint32_t path_bytes;
    struct weir_activity *parent;
};

/* clang-format off */
#define WEIR_ACTIVITY_INIT {WEIR_CONTEXT_INIT, {{0}}, 0, 0, WEIR_NULL_}
/* clang-format on */

/*
 * Starts an activity, and pushes its context. It is a child of the newest activity in the thread's
 * chain, or a new root. Its id is a path of numbers as .NET's are, "/1/n" for a root and one number
 * more for a child, so that .NET's viewers show the tree. A path that has no room in 12 bytes
 * continues with a number that is unique below the last ancestor that left room for it.
 * `activity` and its ancestors stay where they are until it is stopped. An activity is in the chain of
 * one thread at a time, which alone starts children of it; other threads that work for it push a
 * context with its id.
 * Threads as weir_context_push().
 */
WEIR_API void weir_activity_start(struct weir_activity *activity);

/* Takes the activity's context out of the thread's chain, with those in front of it, which were not
 * popped. Nothing if it is not in the chain. Threads as weir_context_push(). */
WEIR_API void weir_activity_stop(struct weir_activity *activity);

/*
 * How the library gets a stack for the events that are declared to have one: WEIR_EVENT_STACK, added
 * to the event's level. `capture` writes up to `max` addresses of the calling thread, the innermost
 * first, and returns how many. It is called before the event's stamp is taken, outside the library's
 * locks and pins, on the thread that emits, and in any context that the host emits such an event in,
 * signal handlers included. It may take its time, but events that it emits carry no stack. It is not
 * called while no session wants the event together with its stack. It must not end its thread.
 *
 * A count of 0 or below gives an event without a stack, and one above `max` counts as `max`; both are
 * counted (stacks_cut in weir/session.h).
 */
struct weir_stack_hook {
    size_t size; /* sizeof(struct weir_stack_hook) */
    int32_t (*capture)(void *context, uint64_t *addresses, int32_t max);
    void *context;
    uint32_t frames_max; /* `max`: 1 to 512, default 100 */
    uint32_t reserved;   /* 0 */
};

/* clang-format off */
#define WEIR_STACK_HOOK_INIT {sizeof(struct weir_stack_hook), WEIR_NULL_, WEIR_NULL_, 100, 0}
/* clang-format on */

/* Sets the hook; NULL removes it. The struct is copied, and the copy is kept for good, since a thread
 * may be in the old hook. Any thread; does not wait; allocates. WEIR_BAD_ARGUMENT (no function, or
 * frames_max), WEIR_NO_MEMORY. */
WEIR_API enum weir_result weir_stack_hook_set(const struct weir_stack_hook *hook);

struct weir_event;

/* weir_emit(), weir/trace.h, with a stack from the hook. The generated emitters P_Name() of events with
 * WEIR_EVENT_STACK call it, and so does weir_event_emit(); emitters that take a stamp or a session do
 * not. Without a hook, or if the thread's newest context has a stack, it is weir_emit(). The addresses
 * are on the caller's stack, 4 KiB. */
WEIR_API bool weir_emit_stack(const struct weir_event *event, const void *payload);

/* weir_emit() with a context for this event alone, as if it were the newest of the thread's chain; it
 * is in no chain, so it may be constant. With the hook's stack if the event is declared to have one and
 * the context has none. The generated emitters P_Name_with(context, fields...) call it, and
 * WEIR_EMIT_WITH does. */
WEIR_API bool weir_emit_with(const struct weir_event *event, const void *payload,
                             const struct weir_context *context);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_CONTEXT_
#include <weir/disabled.h>
#endif
#endif
