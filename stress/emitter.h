/*
 * The oracle of the stress programs. An emitter is a source of events on one thread (its normal
 * code, or one of its signal handlers). It counts its attempts by itself, and notes for each
 * whether the emit call said "written". The decoded stream is then held against these notes, never
 * against the library's counters; those are compared too.
 *
 * Each event carries emitter, own counter, length and a checksum over a pseudo-random payload.
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
    HS_TOO_LARGE, /* never written, whatever the room */
    HS_MISMATCH,  /* likewise: the values do not match the schema */
    HS_LARGE,     /* text or bytes of any size up to what the file takes, and beyond */
    HS_CLOCK,     /* fixed; First and Second are the clocks just before, see struct hs_clocks */
    HS_MIX,       /* mostly fixed, with all of the others */
};

#define HS_SCRATCH_BYTES 65536u

/* The most that a record's payload may be in such a session: what half of its segments hold. */
uint32_t hs_large_max(uint64_t budget_bytes, uint32_t segment_bytes);

struct hs_emitter {
    uint32_t index;
    bool
        is_shared; /* another emitter is on the same thread: the stream's numbers are not its own */
    bool is_visiting; /* it is used on several threads, one after the other */
    uint64_t capture; /* of its thread in the stream; 0: not known */
    uint64_t capacity;
    uint64_t attempts;
    uint64_t written;
    uint64_t too_large, mismatches;
    uint64_t large;         /* of HS_LARGE, how many were written */
    uint32_t large_max;     /* of HS_LARGE, what the session takes in a record's payload; 0: all */
    unsigned char *scratch; /* HS_LARGE needs it: HS_SCRATCH_BYTES */
    void (*around)(bool begins); /* called before and after the library is; NULL: nothing */
    uint64_t *is_written;        /* a bit per own counter; NULL: not noted */
    uint64_t *is_seen;           /* likewise, by the decoder */
    uint64_t seen;
    uint64_t next_seen; /* the least own counter that may come next on this thread */
};

/* Registers the provider. Once per process, after hs_init(). */
void hs_emitters_init(void);

/* `count` emitters for up to `capacity` attempts each, numbered from 0. */
struct hs_emitter *hs_emitters_new(uint32_t count, uint64_t capacity);
void hs_emitters_reset(struct hs_emitter *emitters, uint32_t count);
void hs_emitters_free(struct hs_emitter *emitters, uint32_t count);

/* Of an HS_CLOCK event. */
struct hs_clocks {
    uint64_t monotonic_ns;
    uint64_t counter; /* the processor's; 0 where there is none that we know */
};
struct hs_clocks hs_event_clocks(const struct hs_event *event);
/* Of any event: who emitted it, and its own counter; all ones if it is no event of ours. */
uint32_t hs_event_emitter(const struct hs_event *event);
uint64_t hs_event_counter(const struct hs_event *event);
/* Does its checksum agree? */
bool hs_event_is_intact(const struct hs_event *event);

/* One attempt. False if it was lost, or if the capacity is used up (then there was no attempt).
 * From a signal handler only HS_FIXED and HS_BYTES. */
bool hs_emit(struct hs_emitter *emitter, enum hs_shape shape);

/* Asks for the calling thread's capture id, and checks its statistics against its own counts. */
void hs_emitter_settle(struct hs_emitter *emitter, const struct hs_trace *trace);

/* Takes one decoded event: for hs_stream_read(). */
struct hs_oracle {
    struct hs_emitter *emitters;
    uint32_t count;
};
void hs_oracle_event(void *oracle, const struct hs_event *event);

/* After the reading: every written record was there once, every loss is accounted per thread, cause
 * and session. */
void hs_oracle_verify(const struct hs_oracle *oracle, const struct hs_stream *stream,
                      const struct hs_trace *trace);

/* Reads the stream of a stopped session against the emitters, adds the usual figures, and frees it.
 */
void hs_oracle_run(struct hs_emitter *emitters, uint32_t count, const struct hs_trace *trace);

#endif
