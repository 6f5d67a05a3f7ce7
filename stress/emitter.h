/*
 * The oracle of the stress programs. An emitter is a source of events on one thread (its normal
 * code, or one of its signal handlers). It counts its own attempts, and records for each whether
 * the emit call returned true. The decoded stream is checked against these records, not against the
 * library's counters; those are compared too.
 *
 * Each event carries its emitter, its counter, a length and a checksum over a pseudo-random
 * payload.
 */
#ifndef STRESS_EMITTER_H
#define STRESS_EMITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/weir.h>
#include "stream.h"
#include "trace.h"

#define STRESS_EVENTS(EVENT, P)                                                              \
    EVENT(P, Fixed, 1, 0, WEIR_LEVEL_INFO, 0, (u32, Emitter), (u64, Counter), (u32, Length), \
          (u64, Sum), (u64, First), (u64, Second))                                           \
    EVENT(P, Text, 2, 0, WEIR_LEVEL_INFO, 0, (u32, Emitter), (u64, Counter), (u32, Length),  \
          (u64, Sum), (str, Text))                                                           \
    EVENT(P, Bytes, 3, 0, WEIR_LEVEL_INFO, 0, (u32, Emitter), (u64, Counter), (u32, Length), \
          (u64, Sum), (array_u8, Data))
WEIR_PROVIDER(Stress, STRESS_EVENTS)

enum hs_shape {
    HS_FIXED,
    HS_TEXT,
    HS_BYTES,
    HS_TOO_LARGE, /* never written, however much room there is */
    HS_MISMATCH,  /* never written: the values do not match the schema */
    HS_LARGE,     /* text or bytes of any size, up to the file's limit and beyond */
    HS_CLOCK,     /* fixed; First and Second are the clocks just before, see struct hs_clocks */
    HS_MIX,       /* mostly fixed, mixed with all the others */
};

#define HS_SCRATCH_BYTES 65536u

/* Largest payload of a record in such a session: what half of its segments hold. */
uint32_t hs_large_max(uint64_t budget_bytes, uint32_t segment_bytes);

struct hs_emitter {
    uint32_t index;
    bool is_shared; /* another emitter is on the same thread: the two share the stream's numbers */
    bool is_visiting; /* used on several threads, one after the other */
    bool is_stamping; /* half of its events have stamps of its own, of which many are odd */
    uint64_t capture; /* capture id of its thread; 0: not known */
    uint64_t capacity;
    uint64_t attempts;
    uint64_t written;
    uint64_t too_large, mismatches;
    uint64_t large;         /* of HS_LARGE, how many were written */
    uint32_t large_max;     /* of HS_LARGE, largest payload that the session accepts; 0: no limit */
    unsigned char *scratch; /* for HS_LARGE, HS_SCRATCH_BYTES long */
    void (*around)(bool begins); /* called around each call into the library; may be NULL */
    uint64_t *is_written;        /* a bit per counter; NULL: not recorded */
    uint64_t *is_seen;           /* likewise, set by the decoder */
    uint64_t seen;
    uint64_t next_seen; /* the least counter that may come next on this thread */
};

/* Registers the provider. Once per process, after hs_init(). */
void hs_emitters_init(void);

/* `count` emitters for up to `capacity` attempts each, numbered from 0. */
struct hs_emitter *hs_emitters_new(uint32_t count, uint64_t capacity);
void hs_emitters_reset(struct hs_emitter *emitters, uint32_t count);
void hs_emitters_free(struct hs_emitter *emitters, uint32_t count);

/* The fields of an HS_CLOCK event. */
struct hs_clocks {
    uint64_t monotonic_ns;
    uint64_t counter; /* the processor's; 0 if there is none that we know */
};
struct hs_clocks hs_event_clocks(const struct hs_event *event);
/* The emitter of any event, and its counter; all ones if the event is not ours. */
uint32_t hs_event_emitter(const struct hs_event *event);
uint64_t hs_event_counter(const struct hs_event *event);
/* True if the checksum agrees. */
bool hs_event_is_intact(const struct hs_event *event);

/* One attempt. False if it was lost, or if the capacity is used up (then there was no attempt). In
 * a signal handler only HS_FIXED and HS_BYTES. */
bool hs_emit(struct hs_emitter *emitter, enum hs_shape shape);

/* In between, the calling thread's events have an activity: their records have more than their payload,
 * and the drain takes them in groups. */
void hs_activity_begin(void);
void hs_activity_end(void);

/* Gets the calling thread's capture id, and compares its statistics with the emitter's counts. */
void hs_emitter_settle(struct hs_emitter *emitter, const struct hs_trace *trace);

/* Takes one decoded event: for hs_stream_read(). */
struct hs_oracle {
    struct hs_emitter *emitters;
    uint32_t count;
};
void hs_oracle_event(void *oracle, const struct hs_event *event);

/* Call it after reading: checks that each written record was read exactly once, and that each loss
 * is accounted for by thread, cause and session. */
void hs_oracle_verify(const struct hs_oracle *oracle, const struct hs_stream *stream,
                      const struct hs_trace *trace);

/* Reads the stream of a stopped session, verifies it against the emitters, adds the usual figures,
 * and frees it. */
void hs_oracle_run(struct hs_emitter *emitters, uint32_t count, const struct hs_trace *trace);

#endif
