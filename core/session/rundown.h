/*
 * Rundown: what the sources of the process, and at the stop the host's own callback, emit for one
 * session. It does not pass through lanes.
 *
 * At the stop and in a snapshot it runs on the drain thread, which encodes each event at once; so
 * does a greeting. At the start it runs on the thread that starts the session, while the drain goes
 * on: a source may need a lock of a thread that is parked. Its events are collected in a box, which
 * the drain empties:
 *
 *     EMPTY --starter--> FULL --drain--> EMPTY, and at the end of the session CLOSED
 */
#ifndef WR_SESSION_RUNDOWN_H
#define WR_SESSION_RUNDOWN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"

struct weir_session;

enum wr_box_state {
    WR_BOX_EMPTY,
    WR_BOX_FULL,
    WR_BOX_CLOSED,
};

struct wr_rundown_box {
    struct wr_u32 state; /* enum wr_box_state; edges OFFER, TAKEN */
    /* The starter's while it is EMPTY, the drain's while it is FULL. */
    unsigned char *bytes; /* pages; NULL: no rundown at the start, or it is over */
    uint32_t used;
    uint32_t count; /* events, lost ones included */
    struct wr_u64 reserved_bytes;
};

/* Pages of a box: what collects while the drain sleeps. The models set another size. */
#ifndef WR_BOX_BYTES
#define WR_BOX_BYTES (UINT64_C(256) << 10)
#endif

/* At the creation of a session: the pages for its start. False if there is no memory. */
bool wr_rundown_reserve_box(struct weir_session *session);
/* Unmaps the box, if that was not done before. A start does it at its end, unless it has left the box to
 * the drain; then it is done when the session is destroyed. */
void wr_rundown_release_box(struct weir_session *session);
/* When the stream has begun, before any event is on: Weir/Session and the greeting of a server's
 * session (wr_session_set_greeting()), with a point behind them. */
void wr_rundown_greet(struct weir_session *session);
/* On the starter's thread, when the session's events are on. */
void wr_rundown_at_start(struct weir_session *session);
/* In a look: takes what the starter offers. The events get the time `ticks`. */
void wr_rundown_take(struct weir_session *session, uint64_t ticks);
/* In a snapshot, after what was kept. Ends it with a point, if there was anything to write. */
void wr_rundown_in_snapshot(struct weir_session *session);
/* At the end: what the starter has offered last, and then the rundown of the stop. */
void wr_rundown_at_stop(struct weir_session *session);

#endif
