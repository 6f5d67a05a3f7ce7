/* Lets a signal end the process only after an action has run, on a thread and not in a handler. */
#ifndef LUA_HOST_STOPPER_H
#define LUA_HOST_STOPPER_H

#include <stdbool.h>

/* Starts the thread and handles SIGTERM, SIGHUP, SIGPIPE and SIGINT, except those that are ignored.
 * At the first of them `action` runs on the thread, while the other threads continue; then the
 * process dies of that signal. */
bool stopper_begin(void (*action)(void));

/* The handler, for code that handles one of these signals itself for a while and then restores it;
 * SIG_DFL before begin and after end. */
void (*stopper_handler(void))(int);

/* Does not return if a signal has come. */
void stopper_give_way(void);

/* Restores the default action of the signals and ends the thread. Does not return if a signal came
 * first. */
void stopper_end(void);

#endif
