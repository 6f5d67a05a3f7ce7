/* The server that tools attach to: dotnet-trace and others trace the script while it runs. */
#ifndef LUA_HOST_SERVE_H
#define LUA_HOST_SERVE_H

#include <stdbool.h>

/* Starts the server if `is_asked` or if the environment asks for it. False: it cannot be started, and
 * the reason is on stderr. */
bool serve_begin(bool is_asked, const char *program);

/* Is there a server? */
bool serve_is_on(void);

/* Holds the script until a tool that wants it held is ready. */
void serve_wait_for_resume(const char *program);

/* Ends the tools' sessions, and removes the socket. */
void serve_end(const char *program);

#endif
