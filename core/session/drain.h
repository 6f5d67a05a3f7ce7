/*
 * The drain: its state, its operations, and when they run.
 */
#ifndef WR_SESSION_DRAIN_H
#define WR_SESSION_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "base/lines.h"
#include "lane/record.h"
#include "lane/track.h"
#include "nettrace/writer.h"
#include "session/abouts.h"
#include "session/stacks.h"

struct weir_session;
struct wr_lane;

#define WR_SCRATCH_BYTES  (2 * (WR_PAYLOAD_BYTES_MAX + UINT64_C(1)) + WR_RECORD_WITH_BYTES_MAX)
#define WR_SCRATCH_JOINED (WR_PAYLOAD_BYTES_MAX + UINT64_C(1))

enum wr_drain_go {
    WR_DRAIN_WAIT,
    WR_DRAIN_RUN,
    WR_DRAIN_GIVE_UP,
};

/* A loss not yet written as a Weir/Loss event. */
struct wr_told_loss {
    uint64_t capture_id;
    uint64_t after;
    uint64_t count;
    enum weir_loss cause;
};

#define WR_TOLD_LOSSES_MAX         256
#define WR_LOSS_METADATA_ID        (WR_EVENT_INDEX_MAX + 1)
#define WR_CLOCK_STEP_METADATA_ID  (WR_EVENT_INDEX_MAX + 2)
#define WR_SESSION_METADATA_ID     (WR_EVENT_INDEX_MAX + 3)
#define WR_THREAD_NAME_METADATA_ID (WR_EVENT_INDEX_MAX + 4)
#define WR_ENUM_METADATA_ID        (WR_EVENT_INDEX_MAX + 5)

/* A step back of the clock. OVERWRITE keeps the last ones, because it may keep older segments. */
struct wr_clock_step {
    uint64_t ticks;         /* when it was found, in the stream's time */
    uint64_t by;            /* ticks that the offset grew by */
    uint64_t offset;        /* the offset for stamps from before the step */
    uint64_t clock;         /* the first reading of the clock after the step */
    uint64_t opened_before; /* openings of segments that certainly precede the step ... */
    uint64_t opened_by_now; /* ... and openings when it was found */
};

#define WR_CLOCK_STEPS_MAX 16

/* How a drain works: it reads continuously (drain.c), or only for a recorder's snapshots and last
 * stream (recorder.c, step.c). */
struct wr_drain_way {
    /* As wr_drain_begin(), wr_drain_look() and wr_drain_end(). */
    void (*begin)(struct weir_session *session);
    void (*look)(struct weir_session *session, bool is_timed);
    void (*end)(struct weir_session *session);
    /* Called before the first record of the lane's oldest segment is read. */
    void (*enter)(struct weir_session *session, struct wr_lane *lane);
    /* As wr_step_admits(). */
    bool (*admits)(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                   uint64_t limit);
    /* As wr_given_admits(). */
    bool (*admits_given)(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                         uint64_t bound, uint64_t limit, uint64_t *ticks);
    /* The number of records missing from the stream before the lane's oldest segment. */
    uint64_t (*gone_before)(const struct wr_lane *lane);
};

/* What is known of the record with a stamp of the caller's that is being read. */
struct wr_given {
    uint64_t ticks;     /* its time in the stream */
    uint64_t bound;     /* OVERWRITE: the latest time of records in front of `bound_end` */
    uint32_t bound_end; /* an offset in the segment; 0: not looked for yet */
};

/* The drain thread's own state. Other threads read only the counts marked LOCK. */
struct wr_drain {
    const struct wr_drain_way *way; /* CONST after wr_drain_begin() */
    struct wr_nettrace nettrace;
    struct wr_stacks stacks; /* since the last sequence point */
    struct wr_abouts abouts; /* V6: the threads that events are about */
    unsigned char *scratch;  /* pages for two payloads: one with converted strings; one joined
                                  from several segments, or the rundown's */
    uint64_t offset;         /* added to stamps, so that the stream's time never steps back */
    uint64_t clock_ticks;    /* the clock at the last look; less at the next one means a step */
    uint64_t clock_ns;       /* CLOCK_MONOTONIC at that look, if stamps are the counter's */
    uint64_t expected_ticks; /* the stream time expected at that look */
    bool is_before_step;     /* only records stamped before a step of the clock are read */
    uint64_t end_ticks;      /* the stream's time when all emitters had left */
    struct wr_given given;
    uint64_t horizon;          /* every record stamped before it was read, except late ones */
    uint64_t point_ticks;      /* the time of the last sequence point */
    uint64_t point_offset;     /* the stream's length after that point */
    uint64_t lanes_introduced; /* buffers.lanes_attached at that point */
    uint64_t timer_ns;         /* single-threaded builds: when the next timed look is due */
    uint64_t found_ns;         /* drain_thread.c: when the last look that found events began */
    uint64_t flow_ns;          /* drain_thread.c: when a quarter of the budget will be full */
    struct wr_lines_way lines; /* from the threads' caches to the drain's */
    uint64_t names_ns;         /* when the system was last asked for the names of threads */
    uint32_t names_passed;     /* how many active threads it has been asked for, of more */
    uint64_t sweep_ns;         /* when segments were last swept for threads that wait */
    uint64_t bytes_read;       /* bytes of records */
    bool takes_all;            /* rundown: a source's events pass, whatever the session wants */
    bool lanes_are_told;       /* a snapshot has all it gets of its lanes: points repeat their
                                * numbers */
    bool has_news;             /* events were written since the last point */
    bool has_finished;         /* some lanes will be released at the next flush */
    struct wr_track self;      /* the drain's own capture thread: rundown, losses, steps */
    struct wr_lane *touched;   /* lanes with records encoded since the last flush */
    bool error_is_told;        /* the sink's error was reported */
    bool membarrier_error_is_told;
    struct wr_told_loss losses[WR_TOLD_LOSSES_MAX];
    uint32_t loss_count;
    struct wr_nettrace_thread_number rows[WR_NETTRACE_POINT_ROWS];
    uint32_t row_count;
    /* OVERWRITE: while `stream_is_cut`, the stream has the lanes from `stream_lanes` on, and none
     * that came later. `stream_attached` is the number of lanes ever attached at that moment. */
    bool stream_is_cut;
    struct wr_lane *stream_lanes;
    uint64_t stream_attached;
    uint64_t stream_cut; /* records stamped later are not in the stream */
    struct wr_clock_step steps[WR_CLOCK_STEPS_MAX];
    uint32_t step_count, steps_told;
    uint64_t openings; /* segments opened when the clock was last read */
    unsigned char metadata_written[(WR_ENUM_METADATA_ID + 1 + 7) / 8];

    struct weir_counts own; /* LOCK(buffers.lock): rundown events, and losses without a lane */
    uint64_t stacks_cut;    /* LOCK */
    uint64_t late_records;  /* LOCK */
    uint64_t points;        /* LOCK */
    uint64_t bytes_sent;    /* LOCK */
};

/* --- drain_thread.c, or drain_poll.c in single-threaded builds: when the drain looks. -------- */

enum weir_result wr_drain_start(struct weir_session *session, struct weir_error *error);
/* Makes the drain read the rest and end the stream. Called when no emitter is inside, or the wait
 * for them has timed out. False if the drain is not done by the deadline (monotonic). */
bool wr_drain_finish(struct weir_session *session, uint64_t deadline_ns);
/* Has the drain take what the session's starter offers (rundown.h), soon. */
void wr_drain_take_rundown(struct weir_session *session);
/* Has the drain answer the request for a snapshot, and waits for the answer. */
void wr_drain_take_snapshot(struct weir_session *session);
/* Is the caller in a callback of the session's own drain? */
bool wr_drain_is_self(const struct weir_session *session);

/* --- drain.c: what a look does. -------------------------------------------------------------- */

/* A stream begins, of the session's format. `buffer` has WR_NETTRACE_BUFFER_BYTES. */
void wr_drain_stream_init(struct weir_session *session, struct wr_stream *stream, void *buffer);

/* Begins the session's stream: the header and the first point. A recorder writes neither yet. */
void wr_drain_begin(struct weir_session *session);
/* One look. `is_timed`: the timer's look, which visits every lane, idle ones included. */
void wr_drain_look(struct weir_session *session, bool is_timed);
/* Revokes segments that were current at the last sweep too and got no record since. While others
 * wait for a segment, revokes those with new records as well. The mode may do more with each lane
 * (`sweep` in mode.h). */
void wr_drain_sweep(struct weir_session *session, bool others_wait);
/* Reads everything, whatever its stamps, and ends the stream. All emitters have left, or the stop
 * has given up waiting for them. */
void wr_drain_end(struct weir_session *session);
/* Passes the buffer to the sink, and releases finished lanes. */
void wr_drain_flush(struct weir_session *session);

/* on_flush of the session's own sink: counts what the sink has not taken as lost. */
void wr_drain_settle(void *session, bool is_sent);
/* Reads what is left, and writes the rundown and the end. For wr_drain_end() only. */
void wr_drain_finish_stream(struct weir_session *session);
#endif
