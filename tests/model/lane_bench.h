/*
 * Shared by the lane models: one session with a few small segments, writers that emit numbered
 * records through the product's code, and a drain that must meet each record once, in order.
 *
 * Two things imitate the product and its memory orders: the word of an event's mask (edge ENABLE)
 * with the sequence of steps of weir_emit(), and what a drain does with a lane.
 */
#ifndef MODEL_LANE_BENCH_H
#define MODEL_LANE_BENCH_H

#include "lane/lane_write.h"
#include "product.h"

#define RECORD_BYTES 8u
#define WRITERS_MAX  2
#define RECORDS_MAX  8
#define WORDS_MAX    4

enum pins {
    PINS_MEMBARRIER, /* plain pins; the other side issues a membarrier */
    PINS_SEQ_CST,    /* seq_cst pins; no membarrier */
    PINS_BROKEN,     /* plain pins and no membarrier: for canaries */
};

/* Enters the pin as emit() of emit.c does; returns its number. */
static inline uint64_t bench_pin_enter(struct wr_thread *thread)
{
    uint64_t pin = wr_u64_load_relaxed(&thread->pin); /* relaxed: only this thread stores it */
    wr_pin_enter_from(thread, pin);
    return pin + 1;
}

struct writer {
    struct wr_thread *thread;
    struct wr_lane *lane;
    uint32_t attempts; /* attempts that found the event enabled */
    uint64_t written[RECORDS_MAX];
    uint32_t written_count;
    uint64_t drained[RECORDS_MAX];
    uint32_t drained_count;
};

struct bench {
    enum pins pins;
    uint32_t segment_bytes;
    uint32_t segment_count;
    struct wr_u64 *mask;
    struct wr_buffers *buffers;
    struct wr_segment *segment[SEGMENTS_MAX];
    struct writer writer[WRITERS_MAX];
};

extern struct bench bench;

/* Call in setup(). Segments of `records` records each, all free; writers without a segment. */
void bench_prepare(enum pins pins, uint32_t writers, uint32_t segments, uint32_t records);
/* Call in setup(). Gives the writer its first segment; the drain has met it. */
void bench_open_first(uint32_t writer);

/* Writer: emits one record or counts a loss. */
void bench_emit(uint32_t writer);
/* Writer: emits one record of `words` words, which needs two segments, or counts a loss. */
void bench_emit_span(uint32_t writer, uint32_t words);
/* The same, wrong on purpose: publishes the parts one by one. */
void bench_emit_parts(uint32_t writer, uint32_t words);
/* Drain: checks that the spanning record that begins at `offset` is whole. Returns its number. */
uint64_t bench_join(const struct wr_segment *segment, uint64_t commit, uint32_t offset);
#define SPAN_MARK (UINT64_C(1) << 63) /* in the first word, before word count and number */
/* Writer: emits one record to whatever session has the slot. */
void bench_emit_slot(uint32_t writer);

/* Drain: */
void bench_look(uint32_t writer);
void bench_look_ready(void);
void bench_barrier(void);
void bench_revoke(uint32_t writer);

/* Stopper: */
void bench_disable(void);
bool bench_quiesce(void);
void bench_free_place(struct wr_lane *lane);
void bench_free_lane(uint32_t writer); /* and the segments */
void bench_next_session(struct wr_buffers *buffers);

/* overwrite_bench.c: mode OVERWRITE, segments of one record. */
void overwrite_setup(void);             /* two segments */
void overwrite_one_setup(void);         /* one */
void overwrite_one_setup_seq_cst(void); /* the same with seq_cst pins */
void overwrite_two_setup(void);         /* two writers */
void overwrite_three_setup(void);       /* two writers, three segments */
void overwrite_snapshot(void);
void overwrite_snapshot_early(void);
void overwrite_revoke(void);
void overwrite_revoke_any(void);
void overwrite_check(void);

/* turn_bench.c: turns of DROP, segments of one record. */
void turn_setup(void);             /* one writer, one segment */
void turn_two_setup(void);         /* two writers; the first has the only segment */
void turn_refused_setup(void);     /* one that was refused */
void turn_granted_setup(void);     /* one writer, granted a segment; a sweep has met the grant */
void turn_granted_two_setup(void); /* the same, and a second writer that was refused */
void turn_queued_setup(void);      /* one writer that was refused; a second one has the segment */
void turn_left_setup(void);        /* the same, and the second one has left it */
void turn_look(void);
void turn_sweep(void);
void turn_release(void);
void turn_check(void);

/* canary_segment_end.c */
void segment_end_setup(void);
void segment_end_writer(void);
void segment_end_drain(void);
void segment_end_other(void);

/* Call in finish(). Reads what is left; checks that each written record was drained once, in
 * order. */
void bench_check(void);
/* The same, but finds segments only by the ready list and a last look at current segments. */
void bench_check_ready(void);

#endif
