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
 * EVENT(P, Name, id, version, level, keywords, fields...) has up to 16 fields, each (type, Name).
 * The emitter takes one argument for each field, and two for each array:
 *
 *     bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64    the number
 *     guid                                          const struct weir_guid *
 *     str                                           const char *, UTF-8, ends with 0; NULL is empty
 *     str16                                         const uint16_t *, UTF-16, ends with 0
 *     array_i8 .. array_u64                         pointer and uint32_t count; array_u8 for bytes
 *
 * To add a field, put it last and raise the version. To order an event against other threads, add
 * WEIR_EVENT_ORDERED to its level.
 *
 * Macros that the host defines before it includes this header may have any name of one or two
 * letters. The types above, and the names that the list itself uses, must not be macros.
 */
#ifndef WEIR_TRACE_H
#define WEIR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Field types. The values are the type codes of the nettrace format; arrays have bit 8 set. */
enum weir_type {
    WEIR_TYPE_bool = 3,
    WEIR_TYPE_i8 = 5,
    WEIR_TYPE_u8 = 6,
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
    WEIR_TYPE_array_i8 = 5 | 256,
    WEIR_TYPE_array_u8 = 6 | 256,
    WEIR_TYPE_array_i16 = 7 | 256,
    WEIR_TYPE_array_u16 = 8 | 256,
    WEIR_TYPE_array_i32 = 9 | 256,
    WEIR_TYPE_array_u32 = 10 | 256,
    WEIR_TYPE_array_i64 = 11 | 256,
    WEIR_TYPE_array_u64 = 12 | 256
};

/* 16 bytes in the order of the wire: the first three groups of the text form little-endian. */
struct weir_guid {
    uint8_t bytes[16];
};

/* An array of these is read in steps of its schema's field_bytes. */
struct weir_field {
    const char *name; /* UTF-8 */
    enum weir_type type;
};

/* What an event is. Names are UTF-8, up to 255 bytes. Start from WEIR_SCHEMA_INIT. */
struct weir_schema {
    size_t size; /* sizeof(struct weir_schema); see weir/session.h on sizes */
    const char *name;
    const struct weir_field *fields;
    uint32_t field_count; /* up to 64 */
    uint32_t field_bytes; /* sizeof(struct weir_field) */
    uint64_t keywords;    /* 0: wanted by every session that has the provider at this level */
    uint16_t event_id;    /* 1 to 65,535; with the provider, the identity of the event */
    uint8_t version;
    uint8_t level;       /* enum weir_level; with WEIR_EVENT_ORDERED or without */
    uint8_t opcode;      /* 0: taken from a name that ends in Start (1) or Stop (2) */
    uint8_t reserved[3]; /* 0 */
};

/* clang-format off */
#define WEIR_SCHEMA_INIT                                                                           \
    {                                                                                              \
        sizeof(struct weir_schema), WEIR_NULL_, WEIR_NULL_, 0, sizeof(struct weir_field), 0, 0, 0, \
            WEIR_LEVEL_INFO, 0, {0, 0, 0}                                                          \
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
    return __atomic_load_n(&event->enabled, __ATOMIC_RELAXED) != 0; /* relaxed: a hint */
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
 * bytes. */
#define WEIR_DECLARATION_VERSION 2u

/*
 * Called when the set of sessions that want the provider changes: `enabled`, and the union of their
 * levels and keywords. It is called without any lock of the library, one call at a time per
 * provider, on the thread that starts or stops a session or registers the provider; never on a
 * thread that is emitting, unless that starts or stops a session in its on_park. It may emit, and
 * start or stop sessions. It returns: it must not throw, jump, or end its thread; see
 * weir_thread_reset().
 *
 * A forked child's events are off and none of the parent's sessions is its own, but no callback is
 * called there: hooks that one has installed in the host stay installed. A child may ask
 * weir_event_is_enabled(), which is false for all events until it starts a session itself, and
 * remove such hooks; its own sessions call the callback as in a new process, with `enabled` set
 * first.
 */
typedef void (*weir_provider_callback)(void *context, bool enabled, uint8_t level,
                                       uint64_t keywords);

/*
 * Registers a declared provider; running sessions that asked for it get it at once.
 * `callback`, `provider` and `error` may be NULL. Any thread; takes the registry lock, for which it
 * waits as long as another such call has it; allocates.
 * WEIR_EXISTS: a provider of that name is registered (names are compared without case; "Weir" is
 * the library's own), or two events have one id. WEIR_BAD_ARGUMENT: an event is malformed, or the
 * declaration is of a newer version than the library.
 * WEIR_LIMIT, WEIR_NO_MEMORY.
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
 * Adds an event at run time. The schema is copied. The event lives as long as the process, so that
 * its records can be written after the provider is gone. Any thread; takes the registry lock;
 * allocates. WEIR_BAD_ARGUMENT, WEIR_EXISTS (the id is taken), WEIR_LIMIT, WEIR_NO_MEMORY.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_event_define(struct weir_provider *provider,
                                                           const struct weir_schema *schema,
                                                           struct weir_event **event,
                                                           struct weir_error *error);

/*
 * Unregisters or destroys a provider. Its events are off when the call returns, and no callback of
 * it runs or will run (unless called from inside that callback, which then is the last). The caller
 * makes sure that no thread is inside an emitter of a declared provider whose memory goes away.
 */
WEIR_API void weir_provider_destroy(struct weir_provider *provider);

/*
 * Writes an event to each session that wants it. `payload` is what the generated emitters build:
 * the fields in order without gaps, bool as uint32_t, guid inline, str and str16 as pointers,
 * arrays as pointer and uint32_t count; readable up to the next multiple of eight bytes.
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
 * not at all. It is no cancellation point. It does not use the host's allocator, except that
 * pthread_setspecific() does, once a thread, in a process with more than 31 thread-specific keys.
 */
WEIR_API bool weir_emit(const struct weir_event *event, const void *payload);

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

/* Waits until all earlier loads of the thread have their values, and keeps later instructions from
 * running ahead. Generated emitters and weir_event_emit() do this for ordered events; other callers
 * of weir_emit() do it themselves. Any thread; neither blocks nor allocates. */
static inline void weir_order(void)
{
#if defined(__x86_64__)
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

/* One value for weir_event_emit(). `count` is for arrays, in elements. */
struct weir_value {
    enum weir_type type;
    uint32_t count;
    union {
        bool boolean;
        int64_t signed_value;    /* i8 to i64 */
        uint64_t unsigned_value; /* u8 to u64 */
        double float_value;      /* f32 and f64 */
        const void *pointer;     /* str, str16, guid, arrays */
    };
};

/*
 * Writes an event from an array of values, for events defined at run time. Values whose number or
 * types differ from the schema are not written and counted as MISMATCH; so are those of a host
 * whose struct weir_value the library does not know. `value_bytes`: sizeof(struct weir_value).
 * Otherwise as weir_emit().
 */
WEIR_API bool weir_event_emit(const struct weir_event *event, const struct weir_value *values,
                              uint32_t count, uint32_t value_bytes);

/* ---- From here on: how the list becomes code. ------------------------------------------------

   No body here has a token of one or two letters that is not a parameter: a host's macro of that
   name would replace it. */

#define WEIR_PACKED_BYTES_MAX_ 40u
#define WEIR_INLINE_           static inline __attribute__((always_inline))

/* A payload in words. The compiler keeps it in registers: every index and shift is a constant. A
 * payload that passes through memory instead, field by field, would wait there: the processor
 * cannot forward several narrow stores to one load of a word. */
struct weir_packed_ {
    uint64_t word[WEIR_PACKED_BYTES_MAX_ / 8 + 1];
    size_t bytes;
};

/* Appends the low bytes of `value`. The other bytes are 0. */
WEIR_INLINE_ void weir_pack_(struct weir_packed_ *packed, uint64_t value, size_t bytes)
{
    size_t index = packed->bytes / 8, shift = packed->bytes % 8 * 8;
    packed->bytes += bytes;
    if (packed->bytes > WEIR_PACKED_BYTES_MAX_)
        return;
    packed->word[index] |= value << shift;
    if (shift + bytes * 8 > 64)
        packed->word[index + 1] |= value >> (64 - shift);
}

WEIR_INLINE_ void weir_pack_guid_(struct weir_packed_ *packed, const struct weir_guid *guid)
{
    uint64_t half[2];
    __builtin_memcpy(half, guid->bytes, sizeof half);
    weir_pack_(packed, half[0], sizeof half[0]);
    weir_pack_(packed, half[1], sizeof half[1]);
}

WEIR_INLINE_ uint64_t weir_bits_f32_(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

WEIR_INLINE_ uint64_t weir_bits_f64_(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

WEIR_INLINE_ bool weir_emit_packed_(const struct weir_event *event,
                                    const struct weir_packed_ *packed)
{
    const uint64_t *word = packed->word;
    switch ((packed->bytes + 7) / 8) {
    case 0:
        return weir_emit_words0(event);
    case 1:
        return weir_emit_words1(event, word[0]);
    case 2:
        return weir_emit_words2(event, word[0], word[1]);
    case 3:
        return weir_emit_words3(event, word[0], word[1], word[2]);
    case 4:
        return weir_emit_words4(event, word[0], word[1], word[2], word[3]);
    default:
        return weir_emit_words5(event, word[0], word[1], word[2], word[3], word[4]);
    }
}

/* clang-format off */
#define WEIR_CAT_(a, b) WEIR_CAT2_(a, b)
#define WEIR_CAT2_(a, b) a##b
#define WEIR_COMMA_() ,
#define WEIR_NOTHING_()

/* The 23rd argument, which follows the 6 + 16 that EVENT() takes with all fields. With fewer fields
 * it is a word that the caller has appended; with more it is a field, whose parentheses call the
 * probe, and the result is MANY. */
#define WEIR_PICK_(...) WEIR_PICK2_(WEIR_PICK3_(__VA_ARGS__))
#define WEIR_PICK2_(word) WEIR_PICK4_(WEIR_PROBE_ word, word, ~)
#define WEIR_PICK3_(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,...) w
#define WEIR_PICK4_(...) WEIR_PICK5_(__VA_ARGS__)
#define WEIR_PICK5_(a, b, ...) b
#define WEIR_PROBE_(...) ~, MANY

/* How many fields EVENT(P, Name, id, version, level, keywords, fields...) has: 0 to 16 or MANY, and
 * NONE, SOME or MANY. */
#define WEIR_FIELDS_(...) \
    WEIR_PICK_(__VA_ARGS__,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0,~)
#define WEIR_KIND_(...) \
    WEIR_PICK_(__VA_ARGS__,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,\
               SOME,SOME,NONE,~)

/* M on each field, with S() between them. */
#define WEIR_EACH_(M, S, ...) \
    WEIR_CAT_(WEIR_EACH_, WEIR_FIELDS_(__VA_ARGS__))(M, S, __VA_ARGS__)
#define WEIR_EACH_MANY(...)
#define WEIR_EACH_0(M,S,P,N,I,V,L,K)
#define WEIR_EACH_1(M,S,P,N,I,V,L,K,a) M a
#define WEIR_EACH_2(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_1(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_3(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_2(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_4(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_3(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_5(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_4(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_6(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_5(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_7(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_6(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_8(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_7(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_9(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_8(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_10(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_9(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_11(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_10(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_12(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_11(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_13(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_12(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_14(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_13(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_15(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_14(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_16(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_15(M,S,P,N,I,V,L,K,__VA_ARGS__)

/* Per type: parameter, member of the payload, assignment, and packing into words. A guid is copied, a
 * bool widened. What has a reference is not packed. */
#define WEIR_PARAM_(type, name)  WEIR_PARAM_##type(name)
#define WEIR_MEMBER_(type, name) WEIR_MEMBER_##type(name)
#define WEIR_STORE_(type, name)  WEIR_STORE_##type(name)
#define WEIR_PACK_(type, name)   WEIR_PACK_##type(name)
#define WEIR_FIELD_(type, name)  { #name, WEIR_TYPE_##type },
#define WEIR_STORE1_(name) weir_payload_.name = name;
#define WEIR_STORE2_(name) \
    weir_payload_.name = name; weir_payload_.weir_count_of_##name = weir_count_of_##name;
#define WEIR_PACK0_(name) weir_packed_.bytes += WEIR_PACKED_BYTES_MAX_ + 1;
#define WEIR_PACK1_(name) weir_pack_(&weir_packed_, name, sizeof name);
#ifndef __cplusplus /* In C before C23, `bool` is a macro for _Bool and arrives here expanded. */
#define WEIR_PARAM__Bool WEIR_PARAM_bool
#define WEIR_MEMBER__Bool WEIR_MEMBER_bool
#define WEIR_STORE__Bool WEIR_STORE_bool
#define WEIR_PACK__Bool WEIR_PACK_bool
#define WEIR_TYPE__Bool WEIR_TYPE_bool
#endif
#define WEIR_PARAM_bool(name) bool name
#define WEIR_MEMBER_bool(name) uint32_t name;
#define WEIR_STORE_bool(name) weir_payload_.name = name ? 1u : 0u;
#define WEIR_PACK_bool(name) weir_pack_(&weir_packed_, name ? 1u : 0u, sizeof(uint32_t));
#define WEIR_PARAM_guid(name) const struct weir_guid *name
#define WEIR_MEMBER_guid(name) struct weir_guid name;
#define WEIR_STORE_guid(name) weir_payload_.name = *name;
#define WEIR_PACK_guid(name) weir_pack_guid_(&weir_packed_, name);
#define WEIR_PARAM_i8(name) int8_t name
#define WEIR_MEMBER_i8(name) int8_t name;
#define WEIR_STORE_i8 WEIR_STORE1_
#define WEIR_PACK_i8(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint8_t, name), sizeof name);
#define WEIR_PARAM_u8(name) uint8_t name
#define WEIR_MEMBER_u8(name) uint8_t name;
#define WEIR_STORE_u8 WEIR_STORE1_
#define WEIR_PACK_u8 WEIR_PACK1_
#define WEIR_PARAM_i16(name) int16_t name
#define WEIR_MEMBER_i16(name) int16_t name;
#define WEIR_STORE_i16 WEIR_STORE1_
#define WEIR_PACK_i16(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint16_t, name), sizeof name);
#define WEIR_PARAM_u16(name) uint16_t name
#define WEIR_MEMBER_u16(name) uint16_t name;
#define WEIR_STORE_u16 WEIR_STORE1_
#define WEIR_PACK_u16 WEIR_PACK1_
#define WEIR_PARAM_i32(name) int32_t name
#define WEIR_MEMBER_i32(name) int32_t name;
#define WEIR_STORE_i32 WEIR_STORE1_
#define WEIR_PACK_i32(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint32_t, name), sizeof name);
#define WEIR_PARAM_u32(name) uint32_t name
#define WEIR_MEMBER_u32(name) uint32_t name;
#define WEIR_STORE_u32 WEIR_STORE1_
#define WEIR_PACK_u32 WEIR_PACK1_
#define WEIR_PARAM_i64(name) int64_t name
#define WEIR_MEMBER_i64(name) int64_t name;
#define WEIR_STORE_i64 WEIR_STORE1_
#define WEIR_PACK_i64(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint64_t, name), sizeof name);
#define WEIR_PARAM_u64(name) uint64_t name
#define WEIR_MEMBER_u64(name) uint64_t name;
#define WEIR_STORE_u64 WEIR_STORE1_
#define WEIR_PACK_u64 WEIR_PACK1_
#define WEIR_PARAM_f32(name) float name
#define WEIR_MEMBER_f32(name) float name;
#define WEIR_STORE_f32 WEIR_STORE1_
#define WEIR_PACK_f32(name) weir_pack_(&weir_packed_, weir_bits_f32_(name), sizeof name);
#define WEIR_PARAM_f64(name) double name
#define WEIR_MEMBER_f64(name) double name;
#define WEIR_STORE_f64 WEIR_STORE1_
#define WEIR_PACK_f64(name) weir_pack_(&weir_packed_, weir_bits_f64_(name), sizeof name);
#define WEIR_PARAM_str(name) const char *name
#define WEIR_MEMBER_str(name) const char *name;
#define WEIR_STORE_str WEIR_STORE1_
#define WEIR_PACK_str WEIR_PACK0_
#define WEIR_PARAM_str16(name) const uint16_t *name
#define WEIR_MEMBER_str16(name) const uint16_t *name;
#define WEIR_STORE_str16 WEIR_STORE1_
#define WEIR_PACK_str16 WEIR_PACK0_
#define WEIR_PARAM_array_i8(name) const int8_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i8(name) const int8_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i8 WEIR_STORE2_
#define WEIR_PACK_array_i8 WEIR_PACK0_
#define WEIR_PARAM_array_u8(name) const uint8_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u8(name) const uint8_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u8 WEIR_STORE2_
#define WEIR_PACK_array_u8 WEIR_PACK0_
#define WEIR_PARAM_array_i16(name) const int16_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i16(name) const int16_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i16 WEIR_STORE2_
#define WEIR_PACK_array_i16 WEIR_PACK0_
#define WEIR_PARAM_array_u16(name) const uint16_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u16(name) const uint16_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u16 WEIR_STORE2_
#define WEIR_PACK_array_u16 WEIR_PACK0_
#define WEIR_PARAM_array_i32(name) const int32_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i32(name) const int32_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i32 WEIR_STORE2_
#define WEIR_PACK_array_i32 WEIR_PACK0_
#define WEIR_PARAM_array_u32(name) const uint32_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u32(name) const uint32_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u32 WEIR_STORE2_
#define WEIR_PACK_array_u32 WEIR_PACK0_
#define WEIR_PARAM_array_i64(name) const int64_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i64(name) const int64_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i64 WEIR_STORE2_
#define WEIR_PACK_array_i64 WEIR_PACK0_
#define WEIR_PARAM_array_u64(name) const uint64_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u64(name) const uint64_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u64 WEIR_STORE2_
#define WEIR_PACK_array_u64 WEIR_PACK0_

#define WEIR_EVENT_(...) WEIR_CAT_(WEIR_EVENT_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)
#define WEIR_EVENT_NONE(P, N, ...) struct weir_event N;
#define WEIR_EVENT_SOME(P, N, ...) struct weir_event N;
#define WEIR_EVENT_MANY(P, N, ...) \
    struct weir_event N; WEIR_STATIC_ASSERT_(0, #P "_" #N ": an event has at most 16 fields");

#define WEIR_EMITTER_(...)                                                                     \
    __attribute__((unused)) static inline bool                                                 \
    WEIR_EMITTER_NAME_(__VA_ARGS__)(                                                        \
        WEIR_CAT_(WEIR_PARAMS_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__))                         \
    {                                                                                          \
        WEIR_CAT_(WEIR_BODY_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)                         \
    }
#define WEIR_EMITTER_NAME_(P, N, ...) P##_##N
#define WEIR_PARAMS_NONE(...) void
#define WEIR_PARAMS_SOME(...) WEIR_EACH_(WEIR_PARAM_, WEIR_COMMA_, __VA_ARGS__)
#define WEIR_PARAMS_MANY(...) void
#define WEIR_BODY_NONE(P, N, I, V, L, ...)                                                     \
    WEIR_ORDER_(L)                                                                             \
    return weir_emit_words0(&weir_events_##P.N);
#define WEIR_BODY_MANY(...) return false;

#define WEIR_FIELD_ARRAY_(...)                                                                 \
    static const struct weir_field WEIR_FIELDS_NAME_(__VA_ARGS__)[] = {                     \
        WEIR_EACH_(WEIR_FIELD_, WEIR_NOTHING_, __VA_ARGS__){ WEIR_NULL_, WEIR_TYPE_bool } };
#define WEIR_FIELDS_NAME_(P, N, ...) weir_fields_##P##_##N
#define WEIR_ORDER_(level) if (((level) & WEIR_EVENT_ORDERED) != 0) weir_order();
#define WEIR_BODY_SOME(P, N, I, V, L, ...)                                                     \
    struct weir_packed_ weir_packed_ = { { 0, 0, 0, 0, 0, 0 }, 0 };                            \
    WEIR_ORDER_(L)                                                                             \
    WEIR_EACH_(WEIR_PACK_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__)                          \
    if (weir_packed_.bytes <= WEIR_PACKED_BYTES_MAX_)                                          \
        return weir_emit_packed_(&weir_events_##P.N, &weir_packed_);                           \
    {                                                                                          \
        struct { WEIR_EACH_(WEIR_MEMBER_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__) }         \
            __attribute__((packed, aligned(8))) weir_payload_;                                 \
        WEIR_EACH_(WEIR_STORE_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__)                     \
        return weir_emit(&weir_events_##P.N, &weir_payload_);                                  \
    }

#define WEIR_SCHEMA_(P, N, number, version, level, keywords, ...)                              \
    { sizeof(struct weir_schema), #N, weir_fields_##P##_##N,                                   \
      sizeof weir_fields_##P##_##N / sizeof weir_fields_##P##_##N[0] - 1,                      \
      sizeof(struct weir_field), keywords, number, version, level, 0, { 0, 0, 0 } },
#define WEIR_SCHEMA_ARGUMENTS_(...) WEIR_SCHEMA_(__VA_ARGS__, ~)

/*
 * Declares the events of provider P, and an emitter P_Name(fields...) for each. The emitter does
 * not test whether the event is enabled; WEIR_EMIT does.
 *
 * The symbols that these two macros make are hidden, so that a site finds its event without a load
 * from a table. A provider therefore belongs to one program or shared library: the one that has
 * WEIR_PROVIDER_DEFINE. Another one cannot emit its events; it defines a provider with a name of
 * its own, or calls a function of the first.
 */
#define WEIR_PROVIDER(P, EVENTS)                                                               \
    struct weir_events_##P { EVENTS(WEIR_EVENT_, P) };                                         \
    extern __attribute__((visibility("hidden"))) struct weir_events_##P weir_events_##P;       \
    extern __attribute__((visibility("hidden")))                                               \
        const struct weir_provider_declaration weir_provider_##P;                              \
    _Pragma("GCC diagnostic push")                                                             \
    _Pragma("GCC diagnostic ignored \"-Wpacked\"") /* some payloads have no gaps anyway */     \
    EVENTS(WEIR_EMITTER_, P)                                                                   \
    _Pragma("GCC diagnostic pop")

/* Defines what WEIR_PROVIDER declared; the provider's name is #P. */
#define WEIR_PROVIDER_DEFINE(P, EVENTS)                                                        \
    struct weir_events_##P weir_events_##P;                                                    \
    EVENTS(WEIR_FIELD_ARRAY_, P)                                                               \
    static const struct weir_schema weir_schemas_##P[] = { EVENTS(WEIR_SCHEMA_ARGUMENTS_, P) };\
    const struct weir_provider_declaration weir_provider_##P = {                               \
        sizeof(struct weir_provider_declaration), WEIR_DECLARATION_VERSION,                    \
        sizeof weir_schemas_##P / sizeof weir_schemas_##P[0], sizeof(struct weir_event),       \
        sizeof(struct weir_schema), #P, &weir_events_##P, weir_schemas_##P };

/* WEIR_EMIT(P, Name, arguments...): emits if enabled; otherwise evaluates nothing. An event has up
 * to 32 arguments: two for each of 16 arrays. */
#define WEIR_EMIT(P, ...) WEIR_CAT_(WEIR_EMIT_, WEIR_ARGUMENTS_(__VA_ARGS__))(P, __VA_ARGS__)
#define WEIR_EMIT_NONE(P, N) (weir_event_is_enabled(&weir_events_##P.N) ? P##_##N() : false)
#define WEIR_EMIT_SOME(P, N, ...) \
    (weir_event_is_enabled(&weir_events_##P.N) ? P##_##N(__VA_ARGS__) : false)
#define WEIR_ARGUMENTS_(...) \
    WEIR_ARGUMENTS2_(__VA_ARGS__,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,  \
        SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,  \
        SOME,SOME,SOME,NONE,~)
#define WEIR_ARGUMENTS2_(N,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F,\
                         word,...) \
    word
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
