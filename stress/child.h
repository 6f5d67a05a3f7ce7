/*
 * What a forked child of a traced process must still be able to do.
 */
#ifndef STRESS_CHILD_H
#define STRESS_CHILD_H

#include <sys/types.h>

enum hs_child_end {
    HS_CHILD_SESSION, /* runs a new session, then _exit() */
    HS_CHILD_EXIT,    /* exit() */
    HS_CHILD_LEAVE,   /* _exit() */
    HS_CHILD_EXEC,
    HS_CHILD_ENDS
};
/* In the child: emits, then ends in the given way; the status is 0 if all checks held. */
void hs_child_end(enum hs_child_end end) __attribute__((noreturn));

/* In the child: emits (no session wants the event), runs a new session to its end, checks its
 * stream, and exits with 0 or 1. */
void hs_child_main(void) __attribute__((noreturn));

/* In the parent: waits, kills the child after the deadline, and checks its status. The text says
 * which child it was. */
void hs_child_wait(pid_t child, int ms_max, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
