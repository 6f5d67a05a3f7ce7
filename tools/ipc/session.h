/* A session of tracing in another process: it is started, the process is resumed, the stream is
 * read, and the session is stopped while the stream is read on. */
#ifndef WT_IPC_SESSION_H
#define WT_IPC_SESSION_H

#include "exchange.h"
#include "port.h"

/* In this order, without the ones that do not apply. ENDED and FAILED are final. */
enum wt_ipc_state {
    WT_IPC_STARTING, /* the Collect command has no reply yet */
    WT_IPC_RESUMING, /* the session runs; ResumeRuntime has no reply yet */
    WT_IPC_RUNNING,
    WT_IPC_STOPPING, /* StopTracing was sent, or is about to be; the stream goes on */
    WT_IPC_ENDED,    /* the stream was read to its end */
    WT_IPC_FAILED,
};

/* Takes bytes of the stream; false: they cannot be kept, and the session ends. */
typedef bool (*wt_ipc_write)(void *context, const void *bytes, size_t size);

struct wt_ipc_session;

/* Starts nothing yet. `port` must outlive the session. `answer_s`: for how long a command waits.
 * WT_IPC_ARGUMENT, WT_IPC_SYSTEM (no memory); then *out is NULL. */
bool wt_ipc_session_create(struct wt_ipc_session **out, struct wt_ipc_port *port,
                           const struct wt_ipc_collect *collect, uint32_t answer_s,
                           wt_ipc_write write, void *context, struct wt_ipc_error *error);

/*
 * Waits until something happens, `wake` becomes readable (-1: nothing to wake it) or `timeout_ms`
 * have passed, and does what there is to do. Returns the state.
 *
 * Fails if the process does not connect (WT_IPC_NOT_FOUND) and answer (WT_IPC_TIMEOUT) within
 * `answer_s` of a command; StopTracing may take longer as long as the stream moves. An error of
 * ResumeRuntime is one unless the process does not know the command. If StopTracing fails, the stream may still end by itself, for a moment.
 */
enum wt_ipc_state wt_ipc_session_turn(struct wt_ipc_session *session, int wake, int timeout_ms);

/* Asks for the end of the session: StopTracing, and the rest of the stream. Fails a session that
 * has not been started. */
void wt_ipc_session_stop(struct wt_ipc_session *session);

/* Bytes of the stream so far. */
uint64_t wt_ipc_session_bytes(const struct wt_ipc_session *session);

/* Why it failed. WT_IPC_SYSTEM without a text: `write` has refused bytes. */
const struct wt_ipc_error *wt_ipc_session_error(const struct wt_ipc_session *session);

/* Closes its connections, which also ends the session in the process. NULL is allowed. */
void wt_ipc_session_destroy(struct wt_ipc_session *session);

#endif
