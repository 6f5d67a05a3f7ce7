/*
 * Mode OVERWRITE: what the drain does instead of draining, and how a snapshot is requested.
 *
 * The thread that calls weir_session_snapshot() opens the sink and leaves a request. The drain
 * thread writes the snapshot, with the same private buffers that it uses for the last stream.
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

    /* Owned by the caller from OPENING, by the drain from ASKED, by the caller from ANSWERED. */
    struct wr_stream stream;
    uint64_t last_ns;
    enum weir_result result;
    struct weir_error error;

    /* DRAIN */
    uint64_t sync_ticks; /* the clock pair of all streams, read before the session's first event */
    uint64_t realtime_ns;
    uint64_t start_ticks; /* no event is older */
};

/* snapshot.c */
/* Answers a pending request, if there is one. */
void wr_snapshot_answer(struct weir_session *session);
/* Refuses a pending request and all later ones. */
void wr_snapshot_close(struct weir_session *session);
/* Writes the kept records and the rundown to the session's own sink. */
void wr_snapshot_last(struct weir_session *session);

/* recorder.c: how a recorder's drain works. */
extern const struct wr_drain_way wr_recorder;
/* Adds new losses that belong to no lane to the session's figures. */
void wr_recorder_fold(struct weir_session *session);

#endif
