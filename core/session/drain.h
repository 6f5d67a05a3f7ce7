/*
 * The drain: what it knows, how it works, and when.
 */
#ifndef WR_SESSION_DRAIN_H
#define WR_SESSION_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "lane/record.h"
#include "lane/track.h"
#include "nettrace/writer.h"

struct weir_session;
struct wr_lane;

#define WR_NS_PER_MS     1000000u
#define WR_SCRATCH_BYTES (2 * (WR_PAYLOAD_BYTES_MAX + UINT64_C(1)))

enum wr_drain_go {
    WR_DRAIN_WAIT,
    WR_DRAIN_RUN,
    WR_DRAIN_GIVE_UP,
};

/* A loss that is to be reported in a Weir/Loss event. */
struct wr_told_loss {
    uint64_t capture_id;
    uint64_t after;
    uint64_t count;
    enum weir_loss cause;
};

#define WR_TOLD_LOSSES_MAX        256
#define WR_LOSS_METADATA_ID       (WR_EVENT_INDEX_MAX + 1)
#define WR_CLOCK_STEP_METADATA_ID (WR_EVENT_INDEX_MAX + 2)

/* A step back of the clock. OVERWRITE keeps the last ones: its segments may be from before them. */
struct wr_clock_step {
    uint64_t ticks;         /* when, in the stream's time */
    uint64_t by;            /* ticks that the offset grew by */
    uint64_t offset;        /* of stamps from before it */
    uint64_t clock;         /* the first reading after it */
    uint64_t opened_before; /* segments that were opened before it for certain ... */
    uint64_t opened_by_now; /* ... and when it was found */
};

#define WR_CLOCK_STEPS_MAX 16

/* How a drain works: as events come (drain.c), or when a recorder is asked for them (recorder.c,
 * step.c). */
struct wr_drain_way {
    /* As wr_drain_begin(), wr_drain_look() and wr_drain_end(). */
    void (*begin)(struct weir_session *session);
    void (*look)(struct weir_session *session, bool is_timed);
    void (*end)(struct weir_session *session);
    /* The lane's oldest segment is about to be read. */
    void (*enter)(struct weir_session *session, struct wr_lane *lane);
    /* As wr_step_admits(). */
    bool (*admits)(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                   uint64_t limit);
    /* Records before the lane's oldest segment that are not in the stream. */
    uint64_t (*gone_before)(const struct wr_lane *lane);
};

/* The drain thread's own state. No other thread touches it, but for the counts that LOCK names. */
struct wr_drain {
    const struct wr_drain_way *way; /* CONST after wr_drain_begin() */
    struct wr_nettrace nettrace;
    unsigned char *scratch;    /* a payload with converted strings, and one that was joined from
                                  several segments, or the rundown's; pages */
    uint64_t offset;           /* what the stream adds to the clock, so that it never steps back */
    uint64_t clock_ticks;      /* the clock at the last look; it has stepped if it says less */
    uint64_t clock_ns;         /* CLOCK_MONOTONIC then, where that is another one */
    uint64_t expected_ticks;   /* what the clock should have come to by then */
    bool is_before_step;       /* only what was stamped before a step of the clock is read */
    uint64_t end_ticks;        /* the stream's time when all emitters had left */
    uint64_t horizon;          /* everything stamped before it has been met, but for late records */
    uint64_t point_ticks;      /* of the last sequence point */
    uint64_t point_ns;         /* when it was written */
    uint64_t point_offset;     /* of the stream, behind it */
    uint64_t lanes_introduced; /* of buffers.lanes_attached */
    uint64_t timer_ns;         /* single-threaded builds: when the next timed look is due */
    uint64_t sweep_ns;         /* when segments were last taken for threads that wait */
    uint64_t bytes_read;       /* of records */
    bool has_news;             /* since the last point */
    bool has_finished;         /* lanes that go back at the next flush */
    struct wr_track self;      /* the drain's own capture thread: rundown, losses, steps */
    struct wr_lane *touched;   /* lanes that have encoded since the last flush */
    bool error_is_told;        /* of the sink */
    bool membarrier_error_is_told;
    struct wr_told_loss losses[WR_TOLD_LOSSES_MAX];
    uint32_t loss_count;
    struct wr_nettrace_thread_number rows[WR_NETTRACE_POINT_ROWS];
    uint32_t row_count;
    /* OVERWRITE: the stream that is being written has these lanes, the first of them and the number
     * of all that there had been, and not those that came later. */
    bool stream_is_cut;
    struct wr_lane *stream_lanes;
    uint64_t stream_attached;
    uint64_t stream_cut; /* what is stamped later is not in it */
    struct wr_clock_step steps[WR_CLOCK_STEPS_MAX];
    uint32_t step_count, steps_told;
    uint64_t openings; /* of segments, when the clock was last read */
    unsigned char metadata_written[(WR_CLOCK_STEP_METADATA_ID + 1 + 7) / 8];

    struct weir_counts own; /* LOCK(buffers.lock): rundown, and losses without a lane */
    uint64_t late_records;  /* LOCK */
    uint64_t points;        /* LOCK */
    uint64_t bytes_sent;    /* LOCK */
};

/* --- drain_thread.c, or drain_poll.c in single-threaded builds: when the drain looks. -------- */

enum weir_result wr_drain_start(struct weir_session *session, struct weir_error *error);
/* No emitter is inside any more: reads the rest and ends the stream. False if that is not done by
 * the deadline (monotonic). */
bool wr_drain_finish(struct weir_session *session, uint64_t deadline_ns);
/* Sees to it that the request for a snapshot is answered. */
void wr_drain_take_snapshot(struct weir_session *session);
/* Is the caller in a callback of the session's own drain? */
bool wr_drain_is_self(const struct weir_session *session);

/* --- drain.c: what it does then, in its way. ------------------------------------------------- */

/* The header and the first point. */
void wr_drain_begin(struct weir_session *session);
/* One look. `is_timed`: the timer's, which meets every lane, idle ones and their losses too. */
void wr_drain_look(struct weir_session *session, bool is_timed);
/* Takes back the segments of lanes that have not moved since the last sweep; while others wait for
 * one, also those that have. */
void wr_drain_sweep(struct weir_session *session, bool others_wait);
/* All emitters have left: whatever their stamps, everything is read, and the stream ended. */
void wr_drain_end(struct weir_session *session);
/* Hands the buffer to the sink; lanes that are finished go back. */
void wr_drain_flush(struct weir_session *session);

/* The on_flush of the session's own sink: what it has not taken is lost. */
void wr_drain_settle(void *session, bool is_sent);
/* Reads what is left, and writes the rundown and the end. All emitters have left. */
void wr_drain_finish_stream(struct weir_session *session);
#endif
