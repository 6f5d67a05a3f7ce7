/*
 * Providers and events as the library sees them, and the table of sessions that want them.
 */
#ifndef WR_EVENT_EVENT_H
#define WR_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/trace.h>
#include "lane/record.h"
#include "lane/thread.h"

struct wr_buffers;
struct wr_lane;
struct wr_record_out;

#define WR_FIELDS_MAX     64
#define WR_NAME_BYTES_MAX 255

/* record_bytes of an event whose size the payload decides: larger than any segment, so that the
 * fast path leaves it to the slow one without a test of its own. */
#define WR_RECORD_BYTES_VARIABLE (UINT32_MAX / 2)

/* What the drain needs to write an event's records. Kept for the life of the process. */
struct wr_event_definition {
    struct weir_event *event; /* LOCK(registry): NULL once its provider is gone */
    struct weir_event own;    /* for events defined at run time */
    const char *provider_name;
    struct weir_schema schema; /* own copies of name and fields */
    uint32_t index;
    uint32_t payload_bytes; /* if is_fixed */
    bool is_fixed;          /* no strings, no arrays */
    bool has_strings;       /* the drain converts */
    bool has_arrays;
    struct wr_event_definition *next; /* LOCK(registry): of the provider, or among the orphans */
};

/* By index; NULL if there is none. Any thread. */
const struct wr_event_definition *wr_event_definition(uint32_t index);

/* A bit that no session has, and that each mask has which names a session, once membarrier has
 * failed; 0 before. Such a mask is never a power of two, so that the fast path, whose pin nobody
 * can trust any more, leaves the event to the slow one, which enters a seq_cst pin. */
extern struct wr_u64 wr_mask_marker;

/* The parts of a provider specification: "Name[:keywords[:level]]". */
struct wr_filter {
    char name[WR_NAME_BYTES_MAX + 1];
    uint64_t keywords;
    uint8_t level;
};

/* What a session wants. */
struct wr_interest {
    const struct wr_filter *filters;
    uint32_t count;
};

bool wr_interest_wants(const struct wr_interest *interest,
                       const struct wr_event_definition *definition);

/* Is a provider of that name registered? */
bool wr_provider_exists(const char *name);

/* Gives the session a slot: WEIR_OK, WEIR_LIMIT or WEIR_BAD_STATE. `buffers` goes to
 * wr_buffers_by_slot, and learns whether its emitters may have plain pins. */
enum weir_result wr_registry_take_slot(struct wr_buffers *buffers, uint32_t *slot,
                                       struct weir_error *error);
/* Switches the slot's bit in the masks of the events that `interest` wants, or clears it in all. Of
 * a session with plain pins it stays clear once membarrier has failed. These wait at most
 * `limit_ns` for the registry's lock (UINT64_MAX: no limit); false: nothing has changed. */
void wr_registry_enable(uint32_t slot, const struct wr_interest *interest);
bool wr_registry_disable(uint32_t slot, uint64_t limit_ns);
/* After QUIESCE. */
bool wr_registry_give_slot(uint32_t slot, uint64_t limit_ns);
/* Runs the callbacks of providers whose wanted state has changed, outside all locks. What is not
 * run within the limit is left to the next call. */
void wr_registry_run_callbacks(uint64_t limit_ns);

/* The calling thread has left the callbacks of providers that it was in. */
void wr_registry_forget_calls(void);

/* Once per process, at the first call of any control function. */
void wr_init(void);
/* Raised in a forked child. Sessions of another generation are not touched. */
uint32_t wr_process_generation(void);

/* What a payload takes in a record. Strings and arrays are measured once: a host that changes a
 * string while it is emitted gets some bytes of each, never more bytes than there is room for. */
struct wr_payload_size {
    uint64_t
        bytes; /* more than WR_PAYLOAD_BYTES_MAX: the event would be larger than that in the file */
    uint32_t counts[WR_FIELDS_MAX]; /* of elements; set for fields of variable size */
};
void wr_payload_measure(const struct wr_event_definition *definition, const void *payload,
                        struct wr_payload_size *size);
/* Writes size->bytes, which are at most WR_PAYLOAD_BYTES_MAX. */
void wr_payload_write(const struct wr_event_definition *definition, const void *payload,
                      const struct wr_payload_size *size, unsigned char *out);
/* The same to where a record's bytes go, which may be several segments. */
void wr_payload_put(const struct wr_event_definition *definition, const void *payload,
                    const struct wr_payload_size *size, struct wr_record_out *out);

/* What wr_self.capture gets instead of a payload for values that do not match the schema. */
extern const unsigned char wr_payload_mismatch;

/* The paths of weir_emit() that are not hot; each does the whole job. */
bool wr_emit_slow(const struct weir_event *event, const void *payload);
bool wr_emit_pinned_slow(const struct weir_event *event, const void *payload);
bool wr_emit_no_segment_slow(const struct weir_event *event, struct wr_thread *thread,
                             struct wr_lane *lane, uint64_t pin, const void *payload);

/* One session's copy of an event whose record is larger than a segment. Inside the pin; `*ticks` is
 * 0 until the clock has been read. False: the loss is counted, or the attempt is blocked. */
bool wr_emit_span(struct wr_lane *lane, const struct wr_event_definition *definition,
                  const void *payload, const struct wr_payload_size *size, uint64_t *ticks);

#endif
