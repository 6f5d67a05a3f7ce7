/*
 * A session: its configuration, its life, its drain.
 *
 *     INERT --start--> STARTING --start--> ENABLED --stop--> STOPPING --drain--> DRAINED --stop-->
 * CLOSED └────────────────start fails─────────────────────────────────────────────^
 *
 * The actor stands on the arrow. One thread makes each step: the one whose compare-and-swap on
 * `state` won. Who waits for a step sleeps on that word.
 */
#ifndef WR_SESSION_SESSION_H
#define WR_SESSION_SESSION_H

#include <pthread.h>
#include <weir/session.h>
#include "base/error.h"
#include "buffers/buffers.h"
#include "event/event.h"
#include "nettrace/writer.h"
#include "session/snapshot.h"
#include "stream/stream.h"

#define WR_NS_PER_MS     1000000u
#define WR_FILTERS_MAX   64
#define WR_SCRATCH_BYTES (2 * (WR_PAYLOAD_BYTES_MAX + UINT64_C(1)))

enum wr_session_state {
    WR_SESSION_INERT,
    WR_SESSION_STARTING,
    WR_SESSION_ENABLED,
    WR_SESSION_STOPPING,
    WR_SESSION_DRAINED,
    WR_SESSION_CLOSED,
};

enum wr_drain_go {
    WR_DRAIN_WAIT,
    WR_DRAIN_RUN,
    WR_DRAIN_GIVE_UP,
};

/* A loss that is to be told in a Weir/Loss event. */
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

/* The drain thread's own state. No other thread touches it, but for the counts that LOCK names. */
struct wr_drain {
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
    uint64_t capture_id;       /* of the drain thread */
    uint64_t thread_id;
    uint64_t own_number;
    uint64_t own_shown, own_listed; /* as a lane's */
    uint64_t own_ticks;
    uint64_t own_encoded, own_delivered; /* rundown events, as a lane's */
    struct wr_lane *touched;             /* lanes that have encoded since the last flush */
    bool error_is_told;                  /* of the sink */
    bool membarrier_error_is_told;
    struct wr_told_loss losses[WR_TOLD_LOSSES_MAX];
    uint32_t loss_count;
    uint64_t nested_told, no_segment_told; /* of the slot's unattributed losses */
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

struct weir_session {
    /* CONST after create */
    struct weir_session_config config;
    struct wr_filter filters[WR_FILTERS_MAX];
    struct wr_interest interest;
    void *allocation;
    size_t allocation_bytes;
    uint32_t generation;

    struct wr_u32 state;           /* enum wr_session_state; edge CLOSED */
    struct wr_u32 drain_go;        /* edge GO: enum wr_drain_go */
    struct wr_u32 drain_runs;      /* edge START: the header is in the buffer */
    struct wr_u32 stop_requested;  /* edge STOP */
    struct wr_u32 has_ended_early; /* edge EARLY: the sink has failed, or membarrier */
    struct wr_u32 drain_is_gone;   /* edge GONE: nothing of the session is touched after it */
    bool has_unwritten;            /* records came after the end was written */
    bool is_quarantined;           /* a pin or the drain outlived the deadline; never freed */
    bool is_drained;               /* the drain has ended the stream */
    uint32_t slot;
    uint64_t frequency_hz;
    pthread_t drain_thread;
    bool is_draining; /* single-threaded builds: the drain is in a look */

    struct wr_buffers buffers;
    struct wr_stream stream;
    struct wr_drain drain;
    struct wr_snapshot snapshot; /* OVERWRITE */
};

/* config.c: the host's configuration, with defaults for what its version of the struct lacks. */
enum weir_result wr_session_config_take(struct weir_session_config *own,
                                        const struct weir_session_config *host,
                                        struct weir_error *error);

/* config.c: copies and checks; fills filters. */
enum weir_result wr_session_configure(struct weir_session *session,
                                      const struct weir_session_config *config,
                                      struct weir_error *error);

/* config.c: exactly one place to write to, memory included. */
enum weir_result wr_sink_check(const struct weir_sink *sink, uint64_t memory_bytes_max,
                               struct weir_error *error);

/* Has membarrier failed under a session that needs it? Its events are off then, and a thread may be
 * inside whatever its pin says: what that thread could still touch is neither revoked nor freed,
 * and the session's slot not given out. */
static inline bool wr_session_is_lost(const struct weir_session *session)
{
    return session->buffers.has_plain_pins && wr_threads_membarrier_error() != 0;
}

/* session.c: sleeps until the word is not `value`; false if the deadline (monotonic) passed. */
bool wr_session_wait_while(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns);

/* The same between the host's hooks, if there is anything to wait for. */
bool wr_session_wait_hooked(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns);

/* drain_thread.c, or drain_poll.c in single-threaded builds: when the drain looks. */
enum weir_result wr_drain_start(struct weir_session *session, struct weir_error *error);
/* No emitter is inside any more: reads the rest and ends the stream. False if that is not done by
 * the deadline (monotonic). */
bool wr_drain_finish(struct weir_session *session, uint64_t deadline_ns);
/* Sees to it that the request for a snapshot is answered. */
void wr_drain_take_snapshot(struct weir_session *session);
/* Is the caller in a callback of the session's own drain? */
bool wr_drain_is_self(const struct weir_session *session);

/* drain.c: what it does then; in mode OVERWRITE, what recorder.c does. */
/* The header and the first point. */
void wr_drain_begin(struct weir_session *session);
/* One look. `is_timed`: the timer's, which meets every lane, idle ones and their losses too. */
void wr_drain_look(struct weir_session *session, bool is_timed);
/* Takes back the segments of lanes that have not moved since the last sweep; while others wait for
 * one, also those that have. */
void wr_drain_sweep(struct weir_session *session, bool others_wait);
/* BLOCK: takes back what is unused of all grants; true if there was any. */
bool wr_drain_revoke_grants(struct weir_session *session);
/* All emitters have left: whatever their stamps, everything is read, and the stream ended. */
void wr_drain_end(struct weir_session *session);
/* Reads a lane's records that are older than `limit` into the stream. True if it has younger ones.
 */
bool wr_drain_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit);
/* The session's lanes, and how many it has ever had. Only the drain removes lanes, and new ones
 * come before the first, so that the drain may follow `next` without the lock. */
struct wr_lane *wr_drain_lanes(struct weir_session *session, uint64_t *attached);
/* True once for each metadata id: it must be written now. */
bool wr_drain_first_use(struct wr_drain *drain, uint32_t metadata_id);
/* Hands the buffer to the sink; lanes that are finished go back. */
void wr_drain_flush(struct weir_session *session);
/* Is so much written since the last point that a reader should not have to hold more? */
bool wr_point_is_due(const struct weir_session *session);

/* The on_flush of the session's own sink: what it has not taken is lost. */
void wr_drain_settle(void *session, bool is_sent);
/* Reads what is left, and writes the rundown and the end. All emitters have left. */
void wr_drain_finish_stream(struct weir_session *session);
/* Passes over records of the lane's oldest segment that are older than `since`; they are told as
 * overwritten. Before the lane's first record is read. */
void wr_drain_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since);

/* point.c */
/* Notes a loss of `count` events after `*number`, which moves on. */
void wr_point_tell(struct weir_session *session, uint64_t capture_id, uint64_t *number,
                   enum weir_loss cause, uint64_t count);
/* Tells the losses before the lane's next record; false if they are so many that only a point can.
 */
bool wr_point_tell_gap(struct weir_session *session, struct wr_lane *lane, bool at_point);
/* Writes a sequence point at `ticks`, which no unread record of an introduced lane precedes, and
 * introduces the lanes that are new. Ticks of points rise. */
void wr_point_write(struct weir_session *session, uint64_t ticks);
/* Have all emitters left the pins that they were in at this call? Waits at most 1 ms. */
void wr_point_settle(struct weir_session *session);
void wr_point_own_event(struct weir_session *session, uint32_t metadata_id, uint64_t ticks,
                        const void *payload, uint32_t payload_bytes);
/* A gap mark: its extension word. */
void wr_point_tell_mark(struct weir_session *session, struct wr_lane *lane,
                        const unsigned char *extension);
/* Is there anything that the next point must tell? */
bool wr_point_has_losses(struct weir_session *session);
void wr_point_tell_own_loss(struct weir_session *session, enum weir_loss cause, uint64_t count);

/* step.c: a clock that steps back. Stamps are what the clock said; ticks are the stream's time,
 * which goes on. */
/* Reads the clock for the first time. Returns ticks. */
uint64_t wr_step_begin(struct weir_session *session);
/* Reads the clock at the beginning of a look. True if it has stepped back since the last one: what
 * was stamped before is to be read, up to `latest` ticks, and then wr_step_pass() to be called. */
bool wr_step_is_back(struct weir_session *session);
void wr_step_pass(struct weir_session *session, uint64_t latest);
/* OVERWRITE: both. The earlier segments are kept, and so is how to read their stamps. */
void wr_step_visit(struct weir_session *session);
/* The clock at this moment, and at the last look. */
uint64_t wr_step_ticks_now(const struct weir_session *session);
uint64_t wr_step_ticks_of_look(const struct weir_session *session);
/* May a record with this stamp be read now, before `limit`? Settles the lane's skew. */
bool wr_step_admits(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                    uint64_t limit);
/* Of most records, without a call: no step is in sight, and the record is neither late nor young.
 * At the end of the stream all go the long way. */
static inline bool wr_step_is_plain(const struct wr_drain *drain, const struct wr_lane *lane,
                                    uint64_t stamp, uint64_t limit)
{
    uint64_t ticks = stamp + drain->offset;
    return ticks < limit && ticks >= lane->last_ticks && ticks >= drain->point_ticks &&
           lane->skew == 0 && limit != UINT64_MAX && !drain->is_before_step;
}
/* The ticks of a stamp that was admitted. */
static inline uint64_t wr_step_ticks(const struct wr_drain *drain, const struct wr_lane *lane,
                                     uint64_t stamp)
{
    uint64_t ticks = stamp + drain->offset;
    return lane->skew < 0 && ticks < -(uint64_t)lane->skew ? 0 : ticks + (uint64_t)lane->skew;
}
/* The lane's oldest segment is about to be read. */
void wr_step_enter(struct weir_session *session, struct wr_lane *lane);
/* OVERWRITE: ticks of a stamp in a kept segment. */
uint64_t wr_step_ticks_kept(const struct weir_session *session, const struct wr_segment *segment,
                            uint64_t stamp);
/* Its thread has read the clock twice, and the second time it said less. */
void wr_step_tell_lane(struct weir_session *session, const struct wr_lane *lane, uint64_t by,
                       uint64_t ticks);
/* OVERWRITE: tells the steps before `limit` that the stream has not told. */
void wr_step_tell_kept(struct weir_session *session, uint64_t limit);
/* A record is older than the last sequence point. */
void wr_drain_count_late(struct weir_session *session, uint64_t ticks);

/* rundown.c */
void wr_rundown_run(struct weir_session *session);

/* The metadata of an event, before its first record. */
void wr_drain_describe(struct weir_session *session, const struct wr_event_definition *definition,
                       uint64_t ticks);

#endif
