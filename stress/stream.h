/*
 * Decodes the stream of a session with the reader of tools/, which shares no code with the writer,
 * and checks what holds for every stream, whatever was emitted:
 *
 *  - it is whole, and breaks no rule that the reader knows;
 *  - per capture thread, numbers rise and times do not fall;
 *  - before a sequence point nothing is later than the point, after it nothing is older;
 *  - the Weir/Loss events cover the gaps in the numbers exactly, in place and size;
 *  - a thread is introduced with number 1, so its attempts are its last number minus 1.
 */
#ifndef STRESS_STREAM_H
#define STRESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/session.h>
#include "trace.h"

struct hs_capture {
    uint64_t id;
    uint64_t thread_id; /* of its first event; 0 if it has none */
    uint64_t events;
    uint64_t last_number;
    uint64_t lost; /* as counted by the gaps */
    uint64_t lost_by_cause[WEIR_LOSS_COUNT];
    int64_t last_time;
    bool is_named; /* by a Weir/ThreadName event */
};

/* An event of the provider Stress. */
struct hs_event {
    const struct hs_capture *capture;
    uint32_t id;
    uint64_t number;
    int64_t time;
    int64_t point_time; /* of the last sequence point before it */
    const uint8_t *payload;
    uint32_t payload_bytes;
};

/* A run of numbers without records. */
struct hs_range {
    uint64_t capture;
    uint64_t after;
    uint64_t count;
};

struct hs_ranges {
    struct hs_range *rows;
    size_t count, capacity;
};

struct hs_stream {
    struct hs_capture *captures; /* by id; the drain thread's is among them */
    size_t capture_count, capture_capacity, recent;
    struct hs_ranges gaps, losses; /* after reading: sorted, and joined where they touch */
    uint64_t events;               /* of the provider Stress */
    uint64_t loss_events;
    uint64_t steps, steps_of_threads; /* Weir/ClockStep events: of all threads, and of one */
    uint64_t step_ticks;              /* the sum of the former */
    uint64_t lost_by_cause[WEIR_LOSS_COUNT];
    uint64_t points;
    uint64_t bytes;
    int64_t frequency, sync_ticks;
    int64_t latest, point_time;
    void (*on_event)(void *context, const struct hs_event *event);
    void *context;
};

/* Reads the stream of a stopped session; `on_event` may be NULL. False if a check failed. */
bool hs_stream_read(struct hs_stream *stream, const struct hs_trace *trace,
                    void (*on_event)(void *context, const struct hs_event *event), void *context);
void hs_stream_free(struct hs_stream *stream);

/* NULL if there is none. */
const struct hs_capture *hs_stream_capture(const struct hs_stream *stream, uint64_t id);

#endif
