/* The host's rundown, at the end of a session. */
#ifndef WR_SESSION_RUNDOWN_H
#define WR_SESSION_RUNDOWN_H

struct weir_session;

void wr_rundown_run(struct weir_session *session);

#endif
