/* For benchmarks and stress programs, which link the static library: a BLOCK session of strategy
 * RELAY without some of its parts. Not for hosts. */
#ifndef WR_SESSION_ABLATION_H
#define WR_SESSION_ABLATION_H

#include "wait/ablation.h"

struct weir_session;

/* Between create and start. `flags`: of enum wr_wake_flags. */
void wr_session_ablate(struct weir_session *session, uint32_t flags);

#endif
