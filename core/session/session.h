/*
 * A session: its configuration and its life. drain.h, snapshot.h: what it consists of besides.
 *
 *     INERT -start-> STARTING -start-> ENABLED -stop-> STOPPING -drain-> DRAINED -stop-> CLOSED
 *                       |                                                                  ^
 *                       +------------------------- start fails ----------------------------+
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
#include "session/drain.h"
#include "session/snapshot.h"
#include "stream/stream.h"

#define WR_FILTERS_MAX 64

enum wr_session_state {
    WR_SESSION_INERT,
    WR_SESSION_STARTING,
    WR_SESSION_ENABLED,
    WR_SESSION_STOPPING,
    WR_SESSION_DRAINED,
    WR_SESSION_CLOSED,
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

/* The session's lanes, as wr_buffers_lanes(); while a stream is cut, the lanes of that. */
static inline struct wr_lane *wr_session_lanes(struct weir_session *session, uint64_t *attached)
{
    if (!session->drain.stream_is_cut)
        return wr_buffers_lanes(&session->buffers, attached);
    *attached = session->drain.stream_attached;
    return session->drain.stream_lanes;
}

/* session.c: sleeps until the word is not `value`; false if the deadline (monotonic) passed. */
bool wr_session_wait_while(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns);

/* The same between the host's hooks, if there is anything to wait for. */
bool wr_session_wait_hooked(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns);

#endif
