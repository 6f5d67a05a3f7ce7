/*
 * The life of the sessions: the command line's, started before the Lua state exists, those of the
 * environment, and those of tools that the server lets in. They are stopped on every exit path that
 * leaves time for it.
 *
 *     the script ends, an error, os.exit     trace_finish()
 *     exit() by a C module                   an exit handler
 *     SIGTERM, SIGHUP, SIGPIPE; SIGINT where a thread that waits for them: a session must not be
 *     the interpreter does not handle it     stopped in a signal handler. Then the signal is raised
 *                                            again, with its default action
 *
 * Not on SIGKILL, _exit() or a crash.
 */
#ifndef LUA_HOST_TRACE_H
#define LUA_HOST_TRACE_H

struct options;

/* The handler for signals that end the process: SIG_DFL, or, while tracing, one that stops the
 * sessions first. */
void (*trace_fatal_handler(void))(int);

/* Starts tracing and the server, if they are asked for, and watches for the end if anybody traces or
 * may. Returns 0, or the exit status after printing the reason on stderr. */
int trace_start(const struct options *options, const char *program);

/* Stops tracing if it is on. Returns the exit status: `status`, but 1 instead of 0 if the command
 * line's trace is not whole. */
int trace_finish(int status);

#endif
