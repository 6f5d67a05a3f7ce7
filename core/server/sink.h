/* The sink of a tool's session: its connection. */
#ifndef WR_SERVER_SINK_H
#define WR_SERVER_SINK_H

#include "server/server.h"

/* The session's write and on_error, with the connection as context. On its drain thread. */
bool wr_sink_write(void *connection, const void *bytes, size_t count);
void wr_sink_failed(void *connection, enum weir_result result, const char *text);

#endif
