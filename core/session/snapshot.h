/*
 * Mode OVERWRITE: what the drain does instead of draining, and how a snapshot is asked for.
 *
 * The thread that calls weir_session_snapshot() opens the sink and leaves a request; the drain
 * thread does the writing, with the buffers of its own that the final stream is written with too.
 *
 *     NONE --caller--> OPENING --caller--> ASKED --drain--> ANSWERED --caller--> NONE
 */
#ifndef WR_SESSION_SNAPSHOT_H
#define WR_SESSION_SNAPSHOT_H

#include "base/atomic.h"
#include "stream/stream.h"

struct weir_session;
struct wr_drain_way;
struct wr_lane;

enum wr_snapshot_state {
    WR_SNAPSHOT_NONE,
    WR_SNAPSHOT_OPENING,
    WR_SNAPSHOT_ASKED,
    WR_SNAPSHOT_ANSWERED,
};

struct wr_snapshot {
    struct wr_u32 state; /* enum wr_snapshot_state; stored under LOCK(buffers.lock); edge ANSWER */
    bool is_open;        /* LOCK(buffers.lock): the drain answers requests */

    /* Of whoever made the last step: caller, drain, caller. */
    struct wr_stream stream;
    uint64_t last_ns;
    enum weir_result result;
    struct weir_error error;

    /* DRAIN */
    uint64_t sync_ticks; /* the anchor of all streams of the session, from before its events */
    uint64_t realtime_ns;
    uint64_t start_ticks; /* no event is older */
};

/* snapshot.c */
/* Answers a request if there is one. */
void wr_snapshot_answer(struct weir_session *session);
/* From here on requests are refused; one that waits is. */
void wr_snapshot_close(struct weir_session *session);
/* Writes what is kept, and the rundown, into the session's own sink. */
void wr_snapshot_last(struct weir_session *session);

/* recorder.c: how a recorder's drain works. */
extern const struct wr_drain_way wr_recorder;
/* Adds losses that no lane can carry to the session's figures. */
void wr_recorder_fold(struct weir_session *session);

#endif
