/*
 * The events that weir-stress and the benchmarks flood a session with, and the loop that emits
 * them.
 *
 * The loop is C in a separate file, so that the benchmarks run exactly the same one. A payload is
 * made from the emitter's index, its counter and the seed alone, so that a reader can check that it
 * is whole:
 *
 *     0 bytes         empty: only the stream's own numbers can be checked
 *     8 to 24 bytes   index and counter in one word, checksum, random number
 *     32 to 512       index, counter, checksum, random number, and words that follow from it
 *     more            the four words, and bytes of a pool from an offset that is random
 */
#ifndef STRESS_BRIM_KERNEL_H
#define STRESS_BRIM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/trace.h>

#define BRIM_PROVIDER_NAME     "Brim"
#define BRIM_PAYLOAD_BYTES_MAX 65528u
#define BRIM_EVENTS_MAX        (UINT64_C(1) << 47) /* the counter of small payloads */
/* Most bytes of an event in the stream besides its payload, except for the first of a block. */
#define BRIM_STREAM_BYTES_BESIDE 6u

/* One emitting thread. */
struct brim_emitter {
    /* CONST */
    struct weir_event *event;
    uint32_t index;
    uint32_t payload_bytes;
    uint64_t seed;

    /* WRITER */
    uint64_t counter;       /* attempts: the counter of the next event */
    uint64_t lost_since_ns; /* start of the current run of losses; 0: the last event was written */
    uint64_t loss_ns_max;   /* longest run of losses, up to the next written event */

    /* WRITER; other threads read it at any time, so it has its own cache lines */
    _Alignas(128) uint64_t written;
    uint64_t attempted; /* updated after each call of brim_emit(), not after each event */
    char padding[112];
};

/* Adds an event with this payload to the provider, which the first call registers. The bytes of
 * large payloads come from the first call's seed. Not from two threads at a time. NULL with the
 * reason in `error` if that fails. */
struct weir_event *brim_event_define(uint64_t payload_bytes, uint64_t seed,
                                     struct weir_error *error);

/* Bytes of an event's record in a segment. */
uint32_t brim_record_bytes(uint64_t payload_bytes);

/* Emits `count` events; returns how many were written. */
uint64_t brim_emit(struct brim_emitter *emitter, uint64_t count);

/* Ends a run of losses that still lasts. */
void brim_emitter_end(struct brim_emitter *emitter);

/* Any thread. */
static inline uint64_t brim_written(const struct brim_emitter *emitter)
{
    return __atomic_load_n(&emitter->written, __ATOMIC_RELAXED);
}

static inline uint64_t brim_attempted(const struct brim_emitter *emitter)
{
    return __atomic_load_n(&emitter->attempted, __ATOMIC_RELAXED);
}

/* Decodes a payload from the stream: false if it is not one of ours, or not whole. A payload of 0
 * bytes has nothing to decode: false. */
bool brim_payload_read(const void *payload, uint32_t bytes, uint64_t seed, uint64_t *index,
                       uint64_t *counter);

#endif
