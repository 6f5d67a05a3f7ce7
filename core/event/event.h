/*
 * Providers and events inside the library, and what sessions want of them.
 */
#ifndef WR_EVENT_EVENT_H
#define WR_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/trace.h>
#include "buffers/mode.h"
#include "lane/record.h"
#include "lane/thread.h"
#include "nettrace/types.h"

struct wr_buffers;
struct wr_lane;
struct wr_record_out;
struct wr_segment;
struct wr_extra;
struct wr_with;

#define WR_FIELDS_MAX     64
#define WR_NAME_BYTES_MAX 255

/* record_bytes of an event of variable size: larger than any segment, so the fast path hands the
 * event to the slow path without a separate test. */
#define WR_RECORD_BYTES_VARIABLE (UINT32_MAX / 2)

/* The names of a field's values, as payload of Weir/Enum. */
struct wr_enum_event {
    uint32_t payload_bytes;
    unsigned char payload[];
};

/* What the drain needs to write an event's records. Lives until the process ends. */
struct wr_event_definition {
    struct weir_event *event; /* LOCK(registry): NULL once its provider is gone */
    struct weir_event own;    /* for events defined at run time */
    const char *provider_name;
    unsigned long provider_hash; /* of the name */
    struct weir_schema schema;   /* owns its name and fields */
    uint32_t index;
    uint32_t payload_bytes;   /* valid if is_fixed */
    uint32_t described_count; /* of the fields: the file describes the first ones, or none */
    bool is_ordered;          /* its stamp is read after all earlier loads */
    bool is_described;
    bool has_stack;    /* the host's hook gives it one */
    bool is_start;     /* of an activity, by its opcode or its name */
    bool is_fixed;     /* no strings, no arrays, no raw bytes */
    bool is_converted; /* it has strings or raw bytes, which a record has in another form */
    bool has_arrays;   /* among the fields that are described */
    struct wr_payload_step *steps; /* owned */
    struct wr_enum_event **enums;  /* owned; one for each field, or NULL; NULL: none has names */
    /* LOCK(registry): the provider's next definition, or the next orphan. */
    struct wr_event_definition *next;
};

/* An array of WR_EVENT_INDEX_MAX + 1 struct wr_ptr, in pages that are mapped for the first definition:
 * edge DEFINE; entries never change. */
extern struct wr_ptr wr_definitions
    __attribute__((visibility("hidden"))); /* no load of its address */

/* Finds a definition by index; NULL if there is none. Any thread. */
const struct wr_event_definition *wr_event_definition(uint32_t index);

/* The definition of an event; NULL if the event is not registered. */
static inline const struct wr_event_definition *wr_definition_of(const struct weir_event *event)
{
    return wr_event_definition(wr_record_event_index(event->header));
}

/* The same without a call, for a registered event. */
static inline const struct wr_event_definition *wr_definition_here(const struct weir_event *event)
{
    const struct wr_ptr *table = wr_ptr_load_acquire(&wr_definitions);
    /* edge DEFINE.acquire */
    return wr_ptr_load_acquire(&table[event->header >> WR_RECORD_TICK_BITS]);
}

/* Stores which sessions want the event, and its route. Without a route all events go by the mask, so
 * a thread that emits twice never sees the old state after the new one, whichever words it loads. */
static inline void wr_event_enable(struct weir_event *event, uint64_t mask)
{
    bool is_single = mask != 0 && (mask & (mask - 1)) == 0;
    /* relaxed: it publishes nothing, and the mask's store follows in release order */
    wr_route_store_relaxed(&event->route, WR_ROUTE_NONE);
    /* edges ENABLE.release, QUIESCE: these stores, then the load of the pins */
    wr_mask_store_seq_cst(&event->enabled, mask);
    if (is_single) /* edge ENABLE.release */
        wr_route_store_release(&event->route, (uint32_t)wr_route((uint32_t)__builtin_ctzll(mask)));
}

/* 0 until membarrier fails. From then on a bit that no session has and that each mask which names a
 * session contains. An event with such a mask has no route, so the fast path, whose pin can no longer
 * be trusted, leaves the event to the slow path, which enters a seq_cst pin. */
extern struct wr_u64 wr_mask_marker;

/* Inside the pin: the sessions that want the event. */
static inline uint64_t wr_event_mask(const struct weir_event *event)
{
    /* edges ENABLE.acquire, QUIESCE */
    return wr_mask_load_seq_cst(&event->enabled);
}

/* Call this only after a mask has been loaded: a mask that names a session with seq_cst pins
 * contains the marker. */
static inline uint64_t wr_event_marker(void)
{
    /* relaxed: edge ENABLE publishes it with the mask */
    return wr_u64_load_relaxed(&wr_mask_marker);
}

/* The ids of the sessions in the slots, from before their bits are in any mask. */
extern struct wr_u64 wr_slot_ids[WR_SESSIONS_MAX];

/* A bit for each slot whose session is being stopped and first lets the threads that wait write their
 * events. Together with the mask it says whether an event that has waited is still wanted. */
extern struct wr_u64 wr_slots_lingering;

/* Does a session want both the event and stacks? A hint. */
bool wr_slots_want_stacks(const struct weir_event *event);

/* Call under the registry's lock. */
static inline void wr_lingering_store(uint32_t slot, bool lingers)
{
    uint64_t bit = UINT64_C(1) << slot;
    uint64_t slots = wr_u64_load_relaxed(&wr_slots_lingering); /* relaxed: stored under the lock */
    /* edge QUIESCE: when the bit is cleared, this store, then the load of the pins */
    wr_u64_store_seq_cst(&wr_slots_lingering, lingers ? slots | bit : slots & ~bit);
}

/* Masks that were stored, for tests: a start stores those of the events that it enables, and no
 * others. Under the registry's lock. */
extern uint64_t wr_masks_stored;

/* The events that a session wants of one provider, or of all. */
struct wr_filter {
    const char *name;
    unsigned long name_hash;
    uint64_t keywords;         /* never 0 */
    const char *arguments;     /* NULL: none */
    const uint16_t *event_ids; /* ascending */
    uint32_t event_id_count;
    uint8_t level; /* 1 to 5 */
    bool is_for_all;
    bool ids_are_allowed; /* only these events; otherwise all but these */
};

/* The events that a session wants: those that one of its filters lets through. Never changed.
 * A session holds a reference, and so does each provider whose callback was told of it. */
struct wr_interest {
    uint32_t references; /* LOCK(registry), as the next one */
    uint32_t count;      /* CONST, as the filters */
    struct wr_interest *next_dead;
    struct wr_filter filters[]; /* what they point to follows in memory */
};

bool wr_interest_wants(const struct wr_interest *interest,
                       const struct wr_event_definition *definition);
/* Gives back a reference. Takes the registry's lock. */
void wr_interest_release(struct wr_interest *interest);

/* The registry's lock, which also guards the list of sessions. Signals are blocked while it is held,
 * so that no handler suspends the thread with it. Waits at most `limit_ns` (UINT64_MAX: no limit).
 * False: the lock was not free in time. */
bool wr_registry_lock_for(uint64_t limit_ns);
void wr_registry_lock(void);
void wr_registry_unlock(void);

/* 1 to WR_NAME_BYTES_MAX bytes. */
bool wr_name_is_valid(const char *name);
/* FNV-1a over the lower-cased name. */
unsigned long wr_name_hash(const char *name);
bool wr_provider_exists(const char *name);

/* Gives the session a slot, and stores its id in wr_slot_ids and `buffers` in wr_buffers_by_slot.
 * Records in `buffers` whether the session's emitters may have plain pins. Returns WEIR_OK,
 * WEIR_LIMIT or WEIR_BAD_STATE. */
enum weir_result wr_registry_take_slot(struct wr_buffers *buffers, uint64_t session_id,
                                       uint32_t *slot, struct weir_error *error);
/* Sets the slot's bit in the masks of the events that `interest` wants and clears it in all others.
 * Once membarrier has failed, the bit of a session with plain pins stays clear. */
void wr_registry_enable(uint32_t slot, struct wr_interest *interest);
/* The same for a session that is enabled: replaces `*interest`, and the session's reference to it.
 * False: the session is not enabled, and nothing has changed. */
bool wr_registry_update(uint32_t slot, struct wr_interest **interest, struct wr_interest *new);
/* The same with no interest. Like the next two functions, waits at most `limit_ns` for the
 * registry's lock (UINT64_MAX: no limit), and returns false if it changed nothing. */
bool wr_registry_disable(uint32_t slot, uint64_t limit_ns);
/* Sets or clears the slot's bit in wr_slots_lingering. */
bool wr_registry_linger(uint32_t slot, bool lingers, uint64_t limit_ns);
/* Call only after QUIESCE. */
bool wr_registry_give_slot(uint32_t slot, uint64_t limit_ns);
/* Runs the callbacks of providers of which a session wants something else than before, outside all
 * locks. Leaves those that do not run within the limit to the next call. */
void wr_registry_run_callbacks(uint64_t limit_ns);

/* Calls the sources of rundown one after the other, outside all locks, in the order in which they
 * were registered. */
void wr_sources_run(const struct weir_rundown *rundown);

/* Records that the calling thread has left all provider callbacks that it was in. */
void wr_registry_forget_calls(void);

/* Starts the sessions of the environment, at the first call in a process: session/environment.c. */
void wr_environment_read(void);

/* Initializes the library at the first call of any control function. */
void wr_init(void);
/* Raised in each forked child. A process does not touch sessions of another generation. */
uint32_t wr_process_generation(void);

/* The size of a payload in a record. Strings and arrays are measured once: if the host changes a
 * string while it is emitted, the record gets a mixture of both, but never more bytes than it has
 * room for. */
struct wr_payload_size {
    /* If more than WR_PAYLOAD_BYTES_MAX, the event would be larger than that in the file. */
    uint64_t bytes;
    uint32_t counts[WR_FIELDS_MAX]; /* elements of each string and array */
};
void wr_payload_measure(const struct wr_event_definition *definition, const void *payload,
                        struct wr_payload_size *size);
/* Writes size->bytes bytes, which must be at most WR_PAYLOAD_BYTES_MAX. */
void wr_payload_write(const struct wr_event_definition *definition, const void *payload,
                      const struct wr_payload_size *size, unsigned char *out);
/* The same, for a record that may lie in several segments. */
void wr_payload_put(const struct wr_event_definition *definition, const void *payload,
                    const struct wr_payload_size *size, struct wr_record_out *out);

/* What wr_self.capture gets as payload if the values do not match the schema. */
extern const unsigned char wr_payload_mismatch;

/* An event's stamp: the caller's, or `ticks` is 0 until the clock has been read. That happens once
 * for all sessions, and again after a wait. */
struct wr_stamp {
    uint64_t ticks;
    bool is_given; /* it is the caller's */
};
#define WR_STAMP_UNREAD ((struct wr_stamp){.ticks = 0, .is_given = false})

/* Continues with an event whose record does not fit, or has no fixed size, in the room that its
 * lane's segment has. Pinned. */
bool wr_emit_unfit(const struct weir_event *event, const void *payload, struct wr_lane *lane,
                   uint64_t commit, struct wr_segment *segment);

/* The slow paths of an event; each does the whole job. Those with `pinned` continue inside the pin,
 * which they leave. */
bool wr_emit_slow(const struct weir_event *event, const void *payload);
bool wr_emit_pinned_slow(const struct weir_event *event, const void *payload);
/* The same with what goes with the event. */
bool wr_emit_extra(const struct weir_event *event, const void *payload,
                   const struct wr_extra *extra);
/* The same for a payload in words, of which the event uses as many as it has. */
bool wr_emit_words_slow(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c,
                        uint64_t d, uint64_t e);
bool wr_emit_pinned_words0(const struct weir_event *event);
bool wr_emit_pinned_words1(const struct weir_event *event, uint64_t a);
bool wr_emit_pinned_words2(const struct weir_event *event, uint64_t a, uint64_t b);
bool wr_emit_pinned_words3(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c);
bool wr_emit_pinned_words4(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d);
bool wr_emit_pinned_words5(const struct weir_event *event, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d, uint64_t e);
/* The same with a stamp of the caller's. */
bool wr_emit_at_slow(const struct weir_event *event, uint64_t stamp, const void *payload);
bool wr_emit_at_pinned_slow(const struct weir_event *event, uint64_t stamp, const void *payload);
bool wr_emit_words_at_slow(const struct weir_event *event, uint64_t stamp, uint64_t a, uint64_t b,
                           uint64_t c, uint64_t d);
bool wr_emit_words_at_pinned_slow(const struct weir_event *event, uint64_t stamp, uint64_t a,
                                  uint64_t b, uint64_t c, uint64_t d);
/* The sessions in `mask` have not got the event yet. `is_written`: one of the others has it; the caller knows
 * of those that have dropped it. */
bool wr_emit_to_others(const struct weir_event *event, const void *payload, uint64_t mask,
                       struct wr_stamp stamp, bool is_written);

/* Counts an event whose values do not match its schema as lost, in each session that wants it, as
 * the event's other losses are counted. False. */
bool wr_emit_mismatch(const struct weir_event *event);

/* Writes one session's copy of an event, in the segment's room behind `commit`. Call inside the pin.
 * `flags`: what goes with it in this session (event/with.h). */
void wr_record_write(struct wr_segment *segment, uint64_t commit,
                     const struct wr_event_definition *definition, const void *payload,
                     const struct wr_payload_size *size, const struct wr_with *with, uint64_t flags,
                     const struct wr_stamp *stamp);
/* The same for a record that is larger than a segment. */
enum wr_room wr_emit_span(struct wr_lane *lane, const struct wr_event_definition *definition,
                          const void *payload, const struct wr_payload_size *size,
                          const struct wr_with *with, uint64_t flags, struct wr_stamp *stamp);

#endif
