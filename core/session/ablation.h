/* Switches off parts of RELAY in a BLOCK session. For benchmarks and stress programs, which link
 * the static library; not for hosts. */
#ifndef WR_SESSION_ABLATION_H
#define WR_SESSION_ABLATION_H

#include "wait/ablation.h"

struct weir_session;

/* Called between create and start. `flags`: of enum wr_wake_flags. */
void wr_session_ablate(struct weir_session *session, uint32_t flags);

#endif
