/*
 * For code that emits events.
 *
 * A provider's events stand in one list. From it come the events, their metadata and one
 * type-checked emitter function each; there is no generator and no build step.
 *
 *     #define MYVM_EVENTS(EVENT, P)                                                              \
 *         EVENT(P, GCStart, 1, 0, WEIR_LEVEL_INFO, 0x1, (u32, Generation), (u64, HeapBytes))     \
 *         EVENT(P, Loaded, 2, 0, WEIR_LEVEL_INFO, 0x2, (str, Name), (array_i32, Lines))
 *     WEIR_PROVIDER(MyVM, MYVM_EVENTS)           // in a header, or in each file that emits
 *     WEIR_PROVIDER_DEFINE(MyVM, MYVM_EVENTS)    // in exactly one C or C++ file
 *
 *     weir_provider_register(&weir_provider_MyVM, NULL, NULL, NULL, NULL);
 *     WEIR_EMIT(MyVM, GCStart, generation, heap_bytes());  // arguments evaluated only if enabled
 *
 *     uint64_t now = weir_clock();                         // one reading of the clock for several
 *     WEIR_EMIT_AT(now, MyVM, GCStart, generation, heap_bytes());
 *
 *     WEIR_EMIT_TO(change->session_id, MyVM, Loaded, name, lines, 3); // to one session
 *
 * EVENT(P, Name, id, version, level, keywords, fields...) has up to 16 fields, each (type, Name).
 * The emitter takes one argument for each field, and two for each array, strn and raw:
 *
 *     bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64    the number
 *     bool8                                         bool, one byte in the file instead of four
 *     enum(u8, Name), of any integer type or bool8  the number, whose values have names
 *     guid                                          const struct weir_guid *
 *     str                                           const char *, UTF-8, ends with 0; NULL is empty
 *     strn                                          const char * and size_t: UTF-8 and its bytes
 *     str16                                         const uint16_t *, UTF-16, ends with 0
 *     array_i8 .. array_u64                         pointer and uint32_t count; array_u8 for bytes
 *     struct(Name)                                  const struct weir_struct_Name *
 *     array_struct(Name), without strings or arrays pointer to these structs and uint32_t count
 *     raw, one at most and the last field           const void * and size_t: bytes as they are
 *
 * (opcode, N) among the fields is no field: it sets the event's opcode, a constant from 0 to 255. It
 * stands there once at most, and the emitter has no argument for it. Without it, and with 0, the
 * opcode comes from the name: 1 if it ends in Start, 2 if it ends in Stop, otherwise 0.
 *
 *     EVENT(P, Sweep, 6, 0, WEIR_LEVEL_INFO, 0x1, (opcode, 10), (u32, Generation))
 *
 * The bytes of a raw field end the payload, without a count in front. The format has no word for
 * them: the file describes the fields before it, all readers read those, and the tools of Weir show
 * the bytes by the field's name. In the file an event with nothing but a raw field has no fields.
 * With all other fields, the bytes are at most 65,533.
 * Add WEIR_EVENT_UNDESCRIBED to the level of an event if the file must describe none of its fields.
 *
 * In the file all strings are alike, UTF-16 up to a zero. Each byte that is not UTF-8 is U+FFFD
 * there, and so is each zero within a strn; the largest has 32,766 bytes.
 *
 * Names for the values of an integer field are a list too. In the file the field stays a number,
 * for any reader, and the tools of Weir show it by name. They show a bool8 as false or true, others
 * as 0 or 1.
 *
 *     #define MYVM_CAUSES(VALUE) VALUE(Allocation, 0) VALUE(Explicit, 1)
 *     WEIR_ENUM(Cause, MYVM_CAUSES)              // in front of WEIR_PROVIDER_DEFINE
 *     EVENT(P, Collected, 3, 0, WEIR_LEVEL_INFO, 0x1, (enum(u8, Cause), Why))
 *
 * A struct of fields is a list, too. WEIR_STRUCT makes struct weir_struct_Name of it, with the fields
 * in order and without gaps, as a payload has them. In the file it is an object with these fields.
 *
 *     #define MYVM_NODE(FIELD) FIELD(u64, Address) FIELD(u32, Edges)
 *     WEIR_STRUCT(Node, MYVM_NODE)               // in front of WEIR_PROVIDER, wherever that is
 *     EVENT(P, Nodes, 4, 0, WEIR_LEVEL_INFO, 0x1, (u32, Index), (array_struct(Node), Nodes))
 *
 * To add a field, put it last and raise the version: some readers read all versions of an event by
 * one list of fields. A list may have several versions of an event, with one id and different
 * names. To order an event against other threads, add WEIR_EVENT_ORDERED to its level.
 *
 * A plug-in that is not linked with the library gets its functions from the host: weir/plugin.h.
 *
 * To compile a program without tracing, define WEIR_DISABLE in all of its files: the compiler still
 * checks the arguments of WEIR_EMIT, but nothing evaluates them, and neither the events nor the
 * library is in the program. weir/disabled.h says what the functions then do.
 *
 * Macros that the host defines before it includes this header may have any name of one or two
 * letters. The types above, and the names that the list itself uses, must not be macros. The
 * provider's name may be one, such as `linux`: it is not expanded where it stands in these macros.
 */
#ifndef WEIR_TRACE_H
#define WEIR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/context.h>
#include <weir/result.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of the .NET and ETW world: a session with level L receives the events up to L. */
enum weir_level {
    WEIR_LEVEL_ALWAYS = 0,
    WEIR_LEVEL_CRITICAL = 1,
    WEIR_LEVEL_ERROR = 2,
    WEIR_LEVEL_WARNING = 3,
    WEIR_LEVEL_INFO = 4,
    WEIR_LEVEL_VERBOSE = 5
};

/*
 * Added to the level of an event: WEIR_LEVEL_INFO | WEIR_EVENT_ORDERED. The event's stamp is read
 * after all earlier loads of the thread have their values.
 *
 * Stamps of one thread never fall. Between threads, a processor may read its counter before an
 * earlier load has its value: if one thread emits Send and releases a flag, and another one
 * acquires the flag and emits Recv, then Recv may be stamped up to a few hundred nanoseconds before
 * Send. An ordered Recv is not. So declare those events ordered that follow from what another
 * thread has done: a lock taken, a task started, a message received. On x86 it costs one lfence.
 */
#define WEIR_EVENT_ORDERED 0x80

/* Added to the level of an event: it gets a stack from the host's hook (weir/context.h). */
#define WEIR_EVENT_STACK 0x40

/*
 * Added to the level of an event: WEIR_LEVEL_INFO | WEIR_EVENT_UNDESCRIBED. The file has the event's
 * provider, id, version and name, but not its fields: readers see a payload of bytes. For events
 * that readers know by provider and id, such as those of .NET's runtime, whose descriptions they
 * would not expect. Values have no names, either.
 */
#define WEIR_EVENT_UNDESCRIBED 0x20

/* Field types. The values are the type codes of the nettrace format; arrays have bit 8 set. */
enum weir_type {
    WEIR_TYPE_object = 1, /* has fields: struct weir_object */
    WEIR_TYPE_bool = 3,
    WEIR_TYPE_i8 = 5,
    WEIR_TYPE_u8 = 6,
    WEIR_TYPE_bool8 = 6 | 2048,
    WEIR_TYPE_raw = 6 | 4096,
    WEIR_TYPE_i16 = 7,
    WEIR_TYPE_u16 = 8,
    WEIR_TYPE_i32 = 9,
    WEIR_TYPE_u32 = 10,
    WEIR_TYPE_i64 = 11,
    WEIR_TYPE_u64 = 12,
    WEIR_TYPE_f32 = 13,
    WEIR_TYPE_f64 = 14,
    WEIR_TYPE_guid = 17,
    WEIR_TYPE_str = 18,
    WEIR_TYPE_str16 = 18 | 512,
    WEIR_TYPE_strn = 18 | 1024,
    WEIR_TYPE_array_object = 1 | 256,
    WEIR_TYPE_array_i8 = 5 | 256,
    WEIR_TYPE_array_u8 = 6 | 256,
    WEIR_TYPE_array_i16 = 7 | 256,
    WEIR_TYPE_array_u16 = 8 | 256,
    WEIR_TYPE_array_i32 = 9 | 256,
    WEIR_TYPE_array_u32 = 10 | 256,
    WEIR_TYPE_array_i64 = 11 | 256,
    WEIR_TYPE_array_u64 = 12 | 256
};

/* An array of these is read in steps of its schema's field_bytes. */
struct weir_field {
    const char *name; /* UTF-8 */
    enum weir_type type;
};

/*
 * The fields of an object, or of each element of an array of objects. All of it is copied when the
 * event is defined. Objects may be in objects, 4 deep; an event has up to 64 fields, with those of
 * its objects. The elements of an array have a fixed size: no strings, arrays or raw bytes. An
 * integer in an object has no names for its values, and no boolean of one byte is shown as one.
 */
struct weir_object {
    size_t size; /* sizeof(struct weir_object) */
    const struct weir_field *fields;
    uint32_t field_count; /* from 1 on */
    uint32_t field_bytes; /* sizeof(struct weir_field) */
    /* NULL, or of each of these fields that is an object or an array of them, in order. */
    const struct weir_object *const *objects;
};

#define WEIR_OBJECT_INIT                                                                 \
    {                                                                                    \
        sizeof(struct weir_object), WEIR_NULL_, 0, sizeof(struct weir_field), WEIR_NULL_ \
    }

/* A value of an integer field, and its name: UTF-8, 1 to 255 bytes without a semicolon. */
struct weir_enum_value {
    const char *name;
    int64_t value; /* of a u64, the same 64 bits */
};

/* Names for the values of a field; WEIR_ENUM() makes one. All of it is copied when the event is
 * defined. The names together with their numbers have room in 65,535 bytes of the file, where each
 * byte of UTF-8 counts as two. */
struct weir_enum {
    size_t size; /* sizeof(struct weir_enum) */
    const char *name;
    const struct weir_enum_value *values;
    uint32_t value_count;
    uint32_t value_bytes; /* sizeof(struct weir_enum_value) */
};

/* What an event is. Names are UTF-8, up to 255 bytes. Start from WEIR_SCHEMA_INIT. */
struct weir_schema {
    size_t size; /* sizeof(struct weir_schema); see weir/session.h on sizes */
    const char *name;
    const struct weir_field *fields;
    uint32_t field_count; /* up to 64 */
    uint32_t field_bytes; /* sizeof(struct weir_field) */
    uint64_t keywords;    /* 0: wanted by every session that has the provider at this level */
    uint16_t event_id;    /* any; provider, id and version are the event's identity */
    uint8_t version;      /* of the fields; a provider may have several versions of an event */
    uint8_t level;        /* enum weir_level, plus WEIR_EVENT_ORDERED, _STACK, _UNDESCRIBED */
    uint8_t opcode;       /* 0: taken from a name that ends in Start (1) or Stop (2) */
    uint8_t reserved[3];  /* 0 */
    /* NULL, or for each field the names of its values, or NULL. */
    const struct weir_enum *const *enums;
    /* NULL, or of each field that is an object or an array of them, in order, its fields. */
    const struct weir_object *const *objects;
};

/* clang-format off */
#define WEIR_SCHEMA_INIT                                                                           \
    {                                                                                              \
        sizeof(struct weir_schema), WEIR_NULL_, WEIR_NULL_, 0, sizeof(struct weir_field), 0, 0, 0, \
            WEIR_LEVEL_INFO, 0, {0, 0, 0}, WEIR_NULL_, WEIR_NULL_                                  \
    }
/* clang-format on */

/* An event as the emitter sees it. Written by the library only; `enabled` has a bit per session
 * that wants the event. Reading it says only whether to enter: the library decides again. All other
 * members are private, and may differ in the next version. */
struct weir_event {
    uint64_t enabled;
    uint64_t header;       /* of the event's records, without the time */
    uint32_t record_bytes; /* of a record with a payload of fixed size */
    uint32_t route;        /* where a thread finds its lane, if one session wants the event */
};

/* True if any session wants the event. Any thread, any context; one relaxed load. A host may ask
 * this once after a start to install only the hooks that are wanted. */
static inline bool weir_event_is_enabled(const struct weir_event *event)
{
#ifdef WEIR_DISABLE
    return event == WEIR_NULL_ && false; /* a constant */
#else
    return __atomic_load_n(&event->enabled, __ATOMIC_RELAXED) != 0; /* relaxed: a hint */
#endif
}

/*
 * A scope in which the calling thread must not be parked: an event that finds no room in a BLOCK
 * session is dropped and counted there, as FULL, or as NO_SEGMENT if the thread has not held a
 * segment of that session yet. For code that holds a lock which the reader of the
 * stream needs, for allocator hooks, for callbacks of others. Scopes nest; each begin has its end
 * on the same thread. Any thread; neither blocks nor allocates.
 */
WEIR_API void weir_no_block_begin(void);
WEIR_API void weir_no_block_end(void);

struct weir_provider; /* opaque */

/* What WEIR_PROVIDER_DEFINE compiles into a host. The sizes say how far apart the elements of its
 * arrays are, so that a library with larger structs finds them. */
struct weir_provider_declaration {
    size_t size;      /* sizeof(struct weir_provider_declaration) */
    uint32_t version; /* WEIR_DECLARATION_VERSION */
    uint32_t event_count;
    uint32_t event_bytes;  /* sizeof(struct weir_event) */
    uint32_t schema_bytes; /* sizeof(struct weir_schema) */
    const char *name;
    void *events;        /* event_count of struct weir_event, which the library writes */
    const void *schemas; /* event_count of struct weir_schema */
};

/* The version of the emitters' inline code: how they read an event's `enabled`, and how they pass
 * the payload. 1: weir_emit() for all events. 2: weir_emit_wordsN() for fixed payloads of up to 40
 * bytes; and emitters that take a stamp, with weir_emit_wordsN_at() and weir_emit_at(). */
#define WEIR_DECLARATION_VERSION 2u

/*
 * Called when the set of sessions that want the provider changes: `enabled`, and the union of their
 * levels and keywords, once for each change. It is called without any lock
 * of the library, one call at a time per provider, on the thread that starts, updates or stops a
 * session or registers the provider; never on a thread that is emitting, unless that starts or stops
 * a session in its on_park. What it causes itself it is told of after it has returned. It may emit
 * any amount, create, start, stop and destroy sessions, and providers, its own too; but a session
 * that is still being started is not destroyed (WEIR_BAD_STATE). It returns: it must not throw,
 * jump, or end its thread; see weir_thread_reset().
 *
 * A forked child's events are off and none of the parent's sessions is its own, but no callback is
 * called there: hooks that one has installed in the host stay installed. A child may ask
 * weir_event_is_enabled(), which is false for all events until it starts a session itself, and
 * remove such hooks; its own sessions call the callback as in a new process, with `enabled` set
 * first.
 */
typedef void (*weir_provider_callback)(void *context, bool enabled, uint8_t level,
                                       uint64_t keywords);

/* What a session has begun to do. */
enum weir_change {
    WEIR_CHANGE_ENABLED, /* to want the provider */
    WEIR_CHANGE_UPDATED, /* to want something else of it: weir_session_update() */
    WEIR_CHANGE_DISABLED /* not to want it any more */
};

/* What a provider's watcher is told of. */
struct weir_provider_change {
    size_t size;         /* of the library's struct */
    uint64_t session_id; /* weir_session_id() */
    /* What this session wants of the provider: the union of its entries that name it, and the first
     * arguments among them (NULL: none), valid until the watcher returns. Keywords and level are
     * never 0, which stands for all in an entry; after DISABLED they are, and there are no
     * arguments. */
    uint64_t keywords;
    const char *arguments;
    uint64_t union_keywords; /* of the sessions that it was told of; 0: none wants the provider */
    enum weir_change what;
    uint8_t level;
    uint8_t union_level;
    bool is_enabled; /* does any of them want the provider? */
    uint8_t reserved;
};

/*
 * A callback that is told of each session: called when the keywords, the level or the arguments that
 * one of them has for the provider have changed, and when it begins or ceases to want it. An action
 * that a keyword asks for, such as a collection of garbage, is due in ENABLED only. Each call tells
 * the latest state: of a session that has started and ended before it could be told of, nothing.
 * Changes of one session come in their order, and in general those of all do; if sessions come and
 * go while the watcher runs, an end may be told after a later start. Otherwise as
 * weir_provider_callback.
 */
typedef void (*weir_provider_watcher)(void *context, const struct weir_provider_change *change);

/*
 * Registers a declared provider; running sessions that asked for it get it at once. The first
 * registration in a process starts the sessions of its environment, if there are any: with
 * everything that weir_configure() in weir/session.h does, and a line on stderr if that fails, or
 * if the process has an earlier copy of the library.
 * `callback`, `provider` and `error` may be NULL. Any thread; takes the registry lock, for which it
 * waits as long as another such call has it; allocates.
 * WEIR_EXISTS: a provider of that name is registered (names are compared without case; "Weir" is
 * the library's own), or two events have one id and version. WEIR_BAD_ARGUMENT: an event is
 * malformed, or the declaration is of a newer version than the library. WEIR_LIMIT, WEIR_NO_MEMORY.
 */
WEIR_NODISCARD WEIR_API enum weir_result
weir_provider_register(const struct weir_provider_declaration *declaration,
                       weir_provider_callback callback, void *context,
                       struct weir_provider **provider, struct weir_error *error);

/*
 * Creates a provider without events; weir_event_define() adds them. `name`: UTF-8, 1 to 255 bytes,
 * copied. Threads, blocking and errors as weir_provider_register().
 */
WEIR_NODISCARD WEIR_API enum weir_result
weir_provider_create(const char *name, weir_provider_callback callback, void *context,
                     struct weir_provider **provider, struct weir_error *error);

/*
 * Gives a provider a watcher, in place of a callback. It is called at once for each session that
 * wants the provider, in the order in which they started. Threads and blocking as
 * weir_provider_register(); `error` may be NULL. WEIR_BAD_ARGUMENT (NULL), WEIR_EXISTS (it has a
 * callback or a watcher), WEIR_NO_MEMORY.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_provider_watch(struct weir_provider *provider,
                                                             weir_provider_watcher watcher,
                                                             void *context,
                                                             struct weir_error *error);

/* When a rundown runs. */
enum weir_rundown_moment {
    WEIR_RUNDOWN_START,    /* the session's events are on, and its configuration asks for it */
    WEIR_RUNDOWN_SNAPSHOT, /* a snapshot of the session is being written */
    WEIR_RUNDOWN_STOP      /* the session's events are off, and all of them are written */
};

/* What a source is asked for. */
struct weir_rundown {
    size_t size;         /* of the library's struct */
    uint64_t session_id; /* weir_session_id() */
    uint64_t keywords;   /* the session's rundown_keywords, never 0 */
    enum weir_rundown_moment moment;
    uint32_t reserved;
};

/*
 * A source of rundown: emits the state that a reader needs to make sense of the events, such as
 * names for ids, as far as the keywords ask for it. The first 32 bits mean what they mean in .NET:
 * 0x8 loader, 0x10 jitted code, and so on.
 *
 * Events that it emits go to this session only, whether the session names their provider or not, on
 * the library's own capture thread. It uses the emitters P_Name(), not WEIR_EMIT, since the events
 * may be off. Any volume; in every mode nothing is lost while the sink takes it, except an event
 * that is larger than 65,535 bytes in the file (TOO_LARGE) or whose values do not match (MISMATCH).
 * At a stop and in a snapshot it runs on the session's drain thread. At a start it runs on the thread
 * that starts the session, after the callbacks, and the session goes on meanwhile, so it may take
 * locks of threads that are parked; what it emits after the session has ended is counted as ABORTED.
 *
 * Several sessions may call it at once, and one may at its stop while the call of its start goes on.
 * It may create, start and stop other sessions, but not stop its own (at a start it may), and destroy
 * its provider. It must not throw, jump, or end its thread. A child that it forks cannot trace.
 */
typedef void (*weir_rundown_source)(void *context, const struct weir_rundown *rundown);

/*
 * Gives a provider a source of rundown, one at most, until it is destroyed. The sources run in the
 * order of their registration, at the stop of each session whose rundown_keywords are not 0, in its
 * snapshots, and at its start unless its configuration says otherwise. Any thread; takes the
 * registry lock; does not allocate. `error` may be NULL. WEIR_BAD_ARGUMENT (NULL), WEIR_EXISTS (it
 * has one).
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_rundown_register(struct weir_provider *provider,
                                                               weir_rundown_source source,
                                                               void *context,
                                                               struct weir_error *error);

/*
 * What the sessions together want of a provider: the union of their levels and keywords, both 0 if
 * none wants it. For code that decides by level and keywords, such as a logger, before it has an
 * event at hand. Written by the library only; both words are final before the provider's callback
 * or watcher is called, and before the call that starts, updates or stops the session
 * returns.
 */
struct weir_status {
    uint64_t level; /* of enum weir_level, never 0 if a session wants the provider */
    uint64_t keywords;
};

/* May a session want an event of this level and these keywords (0: any)? Without the two words of
 * one moment, and without event ids, so true says only whether to go on: the event decides. Any
 * thread, any context; two relaxed loads, one if nothing is wanted. */
static inline bool weir_status_wants(const struct weir_status *status, uint8_t level,
                                     uint64_t keywords)
{
    /* relaxed, twice: hints */
    uint64_t wanted = __atomic_load_n(&status->keywords, __ATOMIC_RELAXED);
    return wanted != 0 && (keywords == 0 || (keywords & wanted) != 0) &&
           (level & (WEIR_EVENT_UNDESCRIBED - 1u)) <=
               __atomic_load_n(&status->level, __ATOMIC_RELAXED);
}

/* The provider's words, valid until weir_provider_destroy() is called. Any thread; neither blocks
 * nor allocates. NULL for NULL. */
WEIR_API const struct weir_status *weir_provider_status(const struct weir_provider *provider);

/*
 * Adds an event at run time. The schema is copied. The event lives as long as the process, so that
 * its records can be written after the provider is gone. Any thread; takes the registry lock;
 * allocates. WEIR_BAD_ARGUMENT, WEIR_EXISTS (the provider has this id in this version), WEIR_LIMIT,
 * WEIR_NO_MEMORY.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_event_define(struct weir_provider *provider,
                                                           const struct weir_schema *schema,
                                                           struct weir_event **event,
                                                           struct weir_error *error);

/*
 * Unregisters or destroys a provider. Its events are off when the call returns, and neither callback
 * nor rundown source of it runs or will run (unless called from inside one, which then is the last).
 * It waits for a source that runs, and so for a sink that the source's events have to wait for. The
 * caller makes sure that no thread is inside an emitter of a declared provider whose memory goes
 * away, or reads the provider's status.
 */
WEIR_API void weir_provider_destroy(struct weir_provider *provider);

/*
 * Writes an event to each session that wants it. `payload` is what the generated emitters build:
 * the fields in order without gaps, bool as uint32_t, bool8 as uint8_t, guid inline, str and str16
 * as pointers, arrays, strn and raw as pointer and uint32_t count, an object as its fields; readable
 * up to the next multiple of eight bytes. The elements of an array of objects are read as the file
 * will have them: their fields in order without gaps.
 *
 * Returns true if each session that wants the event has it; false if none wants it or one could
 * not take it (the loss is counted there by cause). Any thread; from a signal handler too. Within
 * the library (a handler that interrupted it, or one of a session's callbacks, the rundown apart)
 * the event is not written and counted as NESTED. It does not wait for the drain: one call, one
 * clock read, one copy a session. A thread's first event in a session may map a page. In an
 * OVERWRITE session, if another thread holds the lock that a change of segments needs and does not
 * run, because it is suspended or preempted, the event waits at most 1 ms in all, and is counted as
 * FULL, or NO_SEGMENT if the thread has none yet; until that thread goes on, further events do not
 * wait again. In a BLOCK session the same wait lasts up to max_block_ns, and in a no-block scope
 * not at all. In a DROP session, a few events of a thread that has no segment, and loses more than
 * sixteen a millisecond, end with a sched_yield() (see `no_yield` of the session); none does if
 * that is set, or in a no-block scope. It is no cancellation point. It does not use the host's
 * allocator, except that pthread_setspecific() does, once a thread, in a process with more than 31
 * thread-specific keys.
 */
WEIR_API bool weir_emit(const struct weir_event *event, const void *payload);

/*
 * weir_emit() to one session, by its weir_session_id(): for what only this session has asked for,
 * such as a walk of the heap or its counters. The event is not seen by any other. False, and nothing
 * is counted, if there is no such session or it does not want the event. In the rundown of another
 * session it is counted as NESTED. The generated emitters P_Name_to(session_id, fields...) call it,
 * and WEIR_EMIT_TO does. It takes the longer way of an event that several sessions want, or whose
 * thread has no segment yet.
 */
WEIR_API bool weir_session_emit(uint64_t session_id, const struct weir_event *event,
                                const void *payload);

/*
 * weir_emit() for payloads of fixed size of up to 40 bytes, which travel in registers: the bytes
 * that weir_emit() would read, eight to a word, the first in the lowest bits. For generated
 * emitters: the number of words must be that of the event's payload, because nothing tests it.
 */
WEIR_API bool weir_emit_words0(const struct weir_event *event);
WEIR_API bool weir_emit_words1(const struct weir_event *event, uint64_t word0);
WEIR_API bool weir_emit_words2(const struct weir_event *event, uint64_t word0, uint64_t word1);
WEIR_API bool weir_emit_words3(const struct weir_event *event, uint64_t word0, uint64_t word1,
                               uint64_t word2);
WEIR_API bool weir_emit_words4(const struct weir_event *event, uint64_t word0, uint64_t word1,
                               uint64_t word2, uint64_t word3);
WEIR_API bool weir_emit_words5(const struct weir_event *event, uint64_t word0, uint64_t word1,
                               uint64_t word2, uint64_t word3, uint64_t word4);

/*
 * Reads the clock that stamps events, for emitters that take a stamp. The unit is the clock's own:
 * the ticks of the processor's counter where it is invariant, otherwise nanoseconds. 0 before the
 * process has called a control function; no event is enabled then. Stamps of one thread do not
 * fall. Those of different threads compare as those of unordered events; see WEIR_EVENT_ORDERED.
 * Any thread, also in a signal handler; neither blocks nor allocates. Takes as long as reading the
 * clock, which is about 90 % of what an event costs.
 */
WEIR_API uint64_t weir_clock(void);

/*
 * weir_emit() with a stamp of the caller's: a value of weir_clock() in this process. For a host
 * that has read the clock already, for several events at one time, or for spans whose end is the
 * next one's begin. The clock is not read, unless the event begins a segment, about once for a
 * hundred events.
 *
 * Times in the stream do not fall, neither those of a thread nor across a sequence point. So a
 * stamp that is older than the thread's last event in the session, or than the last point, is
 * replaced by the later of those two times. The drain writes a point about every flush_ms, and one
 * that introduces each new thread: a stamp that is kept for long may come too late, and so may the
 * one of a thread's first event. A stamp in the future is replaced by the time of the look in which
 * the drain reads the event, or by that of the thread's next event without a stamp, if it is
 * earlier. Both are counted as `late_records` (weir/session.h), whatever the number was, and
 * nothing else follows from it: no event is lost, and none that the library has stamped is moved,
 * except that it may share the time of an event in front of it whose stamp lay in the future and
 * has been reached by then.
 *
 * An event that waited for room has the same stamp as before, and so has one in several sessions.
 * After a step of the clock, older stamps are odd like any others. An ordered event does not wait
 * for earlier loads if it gets a stamp: call weir_order() before weir_clock().
 *
 * Otherwise as weir_emit().
 */
WEIR_API bool weir_emit_at(const struct weir_event *event, uint64_t stamp, const void *payload);

/* The same for payloads of fixed size of up to 32 bytes, as weir_emit_wordsN(). */
WEIR_API bool weir_emit_words0_at(const struct weir_event *event, uint64_t stamp);
WEIR_API bool weir_emit_words1_at(const struct weir_event *event, uint64_t stamp, uint64_t word0);
WEIR_API bool weir_emit_words2_at(const struct weir_event *event, uint64_t stamp, uint64_t word0,
                                  uint64_t word1);
WEIR_API bool weir_emit_words3_at(const struct weir_event *event, uint64_t stamp, uint64_t word0,
                                  uint64_t word1, uint64_t word2);
WEIR_API bool weir_emit_words4_at(const struct weir_event *event, uint64_t stamp, uint64_t word0,
                                  uint64_t word1, uint64_t word2, uint64_t word3);

/* Waits until all earlier loads of the thread have their values, and keeps later instructions from
 * running ahead. Generated emitters and weir_event_emit() do this for ordered events; other callers
 * of weir_emit() do it themselves. Any thread; neither blocks nor allocates. */
static inline void weir_order(void)
{
#if defined(WEIR_DISABLE)
#elif defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb ishld\n\tisb" : : : "memory");
#endif /* elsewhere stamps come from the system's clock, whose reading is ordered */
}

/*
 * Mends the calling thread after a jump out of an emit: a signal handler that left it by
 * siglongjmp(), or by an exception or pthread_exit() that unwinds through it. Without this call the
 * thread counts as inside for ever: its events are counted as NESTED, and no stop succeeds. Call it
 * after the jump, when nothing that was interrupted goes on; a second call does nothing.
 *
 * The unfinished event is counted as NESTED in each session that does not have it; what it held
 * goes back; if the thread was parked, its wait ends. A jump from before the event's first store or
 * from behind its last one counts nothing. Between the store that publishes a record and the one
 * that leaves the library, a few instructions later, an event is written and counted as lost too,
 * and so may be one that was dropped; and an event that was for one session counts in all of the
 * thread's, if it has several.
 *
 * Sessions with handlers that jump set `block_signals` (weir/session.h): otherwise a jump may leave
 * a lock behind. A handler of a fault in the memory of an event's strings may jump in any session.
 * Not for jumps out of control calls, nor for the library's own threads, on which it does nothing.
 * A provider's callback must not be left by a jump or an exception; if it was, this call lets the
 * provider be called again. No-block scopes are the caller's to end. Any thread; waits for locks as
 * long as an emit does.
 */
WEIR_API void weir_thread_reset(void);

/*
 * Names the calling thread in all traces from then on, of sessions that run and of later ones. Without
 * this call, or with NULL or "", it has the name that the system has for it, as pthread_setname_np()
 * sets it. `name`: UTF-8, copied, cut to 47 bytes at the end of a character; bytes that are not UTF-8
 * become U+FFFD in the trace. The system's name stays as it is. A forked child's thread keeps its
 * name. Tools show the name that a thread had last.
 *
 * Any thread that belongs to the host, but no signal handler. Does not use the host's allocator: as a
 * thread's first event does, the first call may map a page, and wait up to 1 ms for a thread that does
 * so too; later ones do not wait. Only in a plug-in that could be unloaded does a thread's first call
 * also ask the loader to keep it, which allocates. WEIR_NO_MEMORY; WEIR_BAD_STATE: in a callback on a
 * session's own thread.
 */
WEIR_API enum weir_result weir_thread_name_set(const char *name);

/* One value for weir_event_emit(). `count`: of an array's elements, of the bytes of a strn or of raw,
 * or of the values of an object, which are an array of struct weir_value at `pointer`. An array of
 * objects has at `pointer` what weir_emit() says. */
struct weir_value {
    enum weir_type type;
    uint32_t count;
    union {
        bool boolean;            /* bool and bool8 */
        int64_t signed_value;    /* i8 to i64 */
        uint64_t unsigned_value; /* u8 to u64 */
        double float_value;      /* f32 and f64 */
        const void *pointer;     /* str, str16, strn, guid, arrays, raw, object */
    };
};

/*
 * Writes an event from an array of values, for events defined at run time. Values whose number or
 * types differ from the schema, those of objects too, are not written and counted as MISMATCH; so
 * are those of a host whose struct weir_value the library does not know. `value_bytes`:
 * sizeof(struct weir_value).
 * Otherwise as weir_emit().
 */
WEIR_API bool weir_event_emit(const struct weir_event *event, const struct weir_value *values,
                              uint32_t count, uint32_t value_bytes);

/* The same with a stamp of the caller's: see weir_emit_at(). */
WEIR_API bool weir_event_emit_at(const struct weir_event *event, uint64_t stamp,
                                 const struct weir_value *values, uint32_t count,
                                 uint32_t value_bytes);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_TRACE_
#include <weir/disabled.h>
#endif
#ifdef WEIR_PLUGIN /* the emitters go through the plug-in's table */
#include <weir/plugin.h>
#endif
#include <weir/emitters.h>

#endif
