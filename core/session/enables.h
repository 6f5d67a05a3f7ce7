/* What a session wants: from the host's text or array to filters of our own. */
#ifndef WR_SESSION_ENABLES_H
#define WR_SESSION_ENABLES_H

#include "session/session.h"

/* Gives one reference. WEIR_BAD_ARGUMENT, WEIR_NOT_FOUND, WEIR_NO_MEMORY. */
enum weir_result wr_enables_take(const struct weir_session_config *config,
                                 struct wr_interest **interest, struct weir_error *error);

#endif
