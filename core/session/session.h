/*
 * A session: its configuration and its life. See also drain.h and snapshot.h.
 *
 *     INERT -start-> STARTING -start-> ENABLED -stop-> STOPPING -drain-> DRAINED -stop-> CLOSED
 *                       |                               ^    |                             ^
 *                       |                              stop stop                           |
 *                       |                               |    v                             |
 *                       |                               HALTED                             |
 *                       +------------------------- start fails ----------------------------+
 *
 * Each arrow names the function or thread that makes the step. A start and a stop begin with a
 * compare-and-swap on `state`, so one thread wins. Threads that wait for a step sleep on that word.
 * A stop that times out ends in HALTED, and the next one continues. A stop that is polled stays in
 * STOPPING between its tries. In CLOSED nothing changes any more, so any thread may read the outcome.
 */
#ifndef WR_SESSION_SESSION_H
#define WR_SESSION_SESSION_H

#include <pthread.h>
#include <weir/session.h>
#include "base/error.h"
#include "buffers/buffers.h"
#include "event/event.h"
#include "session/drain.h"
#include "session/rundown.h"
#include "session/snapshot.h"
#include "stream/stream.h"

/* How far the stop has come. A stop that has timed out or is polled goes on from here. */
struct wr_stop_progress {
    uint64_t linger_by_ns;    /* until then the threads that wait are served; 0: not set */
    struct wr_quiesce linger; /* begun only when the events are off */
    bool has_lingered;        /* those that still wait are sent away */
    uint64_t leave_by_ns; /* then the stream is ended, even if an emitter is inside; 0: not set */
    struct wr_quiesce quiesce; /* begun only when the events are off */
    bool have_left;            /* no emitter is inside or parked */
    bool are_detached;         /* no thread has a pointer to a lane */
};

#define WR_BUDGET_BYTES_MAX (UINT64_C(64) << 30)
#define WR_STOP_MS_MAX      600000u

enum wr_session_state {
    WR_SESSION_INERT,
    WR_SESSION_STARTING,
    WR_SESSION_ENABLED,
    WR_SESSION_STOPPING,
    WR_SESSION_DRAINED,
    WR_SESSION_CLOSED,
    WR_SESSION_HALTED, /* the last stop was not completed: must not be freed */
};

struct weir_session {
    /* CONST after create */
    struct weir_session_config config;
    struct wr_interest *interest; /* LOCK(registry); after the events are off, CONST */
    void *allocation;
    size_t allocation_bytes;
    uint32_t generation;
    enum weir_sink_kind sink_kind;
    char name[WR_NAME_BYTES_MAX + 1];
    uint64_t id;
    void (*greet)(void); /* wr_session_set_greeting() */
    uint64_t requested_bytes;

    /* LOCK(registry) */
    struct weir_session *next;
    struct weir_session *next_configured; /* before the start, of those created together */
    uint32_t users;                       /* calls by id that use the session */
    bool is_starting; /* weir_session_start() has not returned: it may be calling providers */
    pthread_t starter;

    struct wr_u32 state;           /* enum wr_session_state; edge CLOSED */
    struct wr_u32 drain_go;        /* edge GO: enum wr_drain_go */
    struct wr_u32 drain_runs;      /* edge START: the drain has begun its stream */
    struct wr_u32 stop_requested;  /* edge STOP */
    struct wr_u32 has_ended_early; /* edge EARLY: the sink or membarrier has failed */
    struct wr_u32 drain_is_gone;   /* edge GONE: the drain's last access to the session */
    bool has_unwritten;            /* some records were published after the end was written */
    bool is_drained;               /* the drain has ended the stream */
    struct wr_stop_progress stop;  /* of the thread that has set STOPPING */
    bool is_polled;                /* wr_session_stop_try() has set STOPPING; its thread's */
    uint32_t slot;
    uint64_t frequency_hz;
    pthread_t drain_thread;
    bool is_draining; /* single-threaded builds: the drain is in a look */

    struct wr_buffers buffers;
    struct wr_stream stream;
    struct wr_drain drain;
    struct wr_snapshot snapshot; /* OVERWRITE */
    struct wr_rundown_box box;
};

/* Has a stop ended, whether completed or not? */
static inline bool wr_session_is_stopped(const struct weir_session *session)
{
    return wr_u32_load_acquire(&session->state) >= WR_SESSION_CLOSED; /* edge CLOSED.acquire */
}

/* config.c: the host's configuration, with defaults for fields that its headers did not have. */
enum weir_result wr_session_config_take(struct weir_session_config *own,
                                        const struct weir_session_config *host,
                                        struct weir_error *error);

/* config.c: checks the configuration, copies it into the session, and into `interest`. */
enum weir_result wr_session_configure(struct weir_session *session,
                                      const struct weir_session_config *config,
                                      struct weir_error *error);

/* config.c: checks that exactly one destination is set, memory included. */
enum weir_result wr_sink_check(const struct weir_sink *sink, uint64_t memory_bytes_max,
                               struct weir_error *error);

/* Has membarrier failed under a session that needs it? Its events are then off, and a thread may be
 * inside whatever its pin shows. Nothing that such a thread could touch is revoked or freed, and
 * the session's slot stays taken. */
static inline bool wr_session_is_lost(const struct weir_session *session)
{
    return session->buffers.has_plain_pins && wr_threads_membarrier_error() != 0;
}

/* The session's lanes, as wr_buffers_lanes(); while `stream_is_cut`, only the stream's lanes. */
static inline struct wr_lane *wr_session_lanes(struct weir_session *session, uint64_t *attached)
{
    if (!session->drain.stream_is_cut)
        return wr_buffers_lanes(&session->buffers, attached);
    *attached = session->drain.stream_attached;
    return session->drain.stream_lanes;
}

/* sessions.c: puts the session into the process's list, and gives it its id. */
void wr_sessions_add(struct weir_session *session);
/* Takes it out, and waits for the calls by id that use it. False if they do not end by then. */
bool wr_sessions_remove(struct weir_session *session, uint64_t deadline_ns);

void wr_sessions_set_starting(struct weir_session *session, bool is_starting);
/* Not if the caller is the thread that started the session, and has jumped out of a callback. */
bool wr_sessions_is_starting(struct weir_session *session);

/* How many bytes a segment of the running session has; 0 if there is none with this id. */
uint32_t wr_sessions_segment_bytes(uint64_t session_id);

/* session.c: for a session that is not started yet. Its stream begins with the event Weir/Session,
 * which gives the budget that was asked for, and with what `greet` emits on the drain thread. The
 * greeting is in the stream whatever the session wants, and needs no room in the budget. The start
 * waits for it, and for the sink too if it does not fit the encode buffer. Not in mode OVERWRITE,
 * whose stream begins at the end. */
void wr_session_set_greeting(struct weir_session *session, void (*greet)(void),
                             uint64_t requested_bytes);

struct wr_stop {
    uint64_t deadline_ns;                /* 0: it was refused */
    const struct weir_park_hooks *hooks; /* whose after is due */
};

/* session.c: stops the session. wr_session_stop_end(), which does not need the session any more,
 * calls the host's after hook and the providers. */
enum weir_result wr_session_stop(struct weir_session *session, struct wr_stop *stop,
                                 struct weir_error *error);
void wr_session_stop_end(const struct wr_stop *stop);

/* session.c: begins a stop, or goes on with the one that it has begun. Waits for nothing: not for a
 * lock, not for an emitter, not for the sink, nor for another thread's stop, and calls no hook.
 * WEIR_BUSY: not done, call again, within milliseconds and on the same thread; until then the
 * session stays STOPPING. Otherwise as weir_session_stop(), except that no provider has been called:
 * the caller goes on with weir_session_destroy(), which calls them, or with
 * wr_registry_run_callbacks(). From `deadline_ns` (monotonic) on it gives up if it is not done:
 * WEIR_TIMEOUT, after which this function and the others continue. */
enum weir_result wr_session_stop_try(struct weir_session *session, uint64_t deadline_ns,
                                     struct weir_error *error);

/* session.c: sleeps while the word is `value`. False if the deadline (monotonic) passed first. */
bool wr_session_wait_while(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns);

/* The same, between the host's hooks if it has to wait. */
bool wr_session_wait_hooked(const struct wr_u32 *word, uint32_t value, uint64_t deadline_ns);

#endif
