/* What the stream of a tool's session begins with. */
#ifndef WR_SERVER_GREETING_H
#define WR_SERVER_GREETING_H

#include "base/error.h"

/* Registers the provider of the greeting; once in a process. */
enum weir_result wr_greeting_register(struct weir_error *error);
/* On the session's drain thread, which encodes what it emits. */
void wr_greet(void);

#endif
