/*
 * A forked child of a process that traces: what it must still be able to do.
 */
#ifndef STRESS_CHILD_H
#define STRESS_CHILD_H

#include <sys/types.h>

enum hs_child_end {
    HS_CHILD_SESSION, /* runs a session of its own, then _exit() */
    HS_CHILD_EXIT,    /* exit() */
    HS_CHILD_LEAVE,   /* _exit() */
    HS_CHILD_EXEC,
    HS_CHILD_ENDS
};
/* In the child: emits, then ends that way; the status is 0 if all was well. */
void hs_child_end(enum hs_child_end end) __attribute__((noreturn));

/* In the child: emits (nobody wants it), runs a session of its own to its end, checks its stream,
 * and exits with 0 or 1. */
void hs_child_main(void) __attribute__((noreturn));

/* In the parent: waits, kills it after the deadline, and checks that it was well. The text says
 * which child it was. */
void hs_child_wait(pid_t child, int ms_max, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
