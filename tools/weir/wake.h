/* Signals as bytes of a pipe, so that a program that polls learns of them one after the other. */
#ifndef WT_WEIR_WAKE_H
#define WT_WEIR_WAKE_H

#include <stdbool.h>

struct wt_wake_signal {
    int number;     /* 0: none */
    bool is_direct; /* sent to this process by another one, not by the terminal to all of them */
};

/* Takes over SIGINT, SIGTERM, SIGHUP and SIGCHLD; of these, the first three stay ignored if they
 * are. False with errno if there is no descriptor; then the program has to end. Call it once. */
bool wt_wake_init(void);

/* Signals do again what they did before. */
void wt_wake_fini(void);

/* Readable when there is a signal. */
int wt_wake_fd(void);

/* The next signal; does not wait. */
struct wt_wake_signal wt_wake_take(void);

/* Waits for one, up to `timeout_ms`; -1: without end. */
struct wt_wake_signal wt_wake_wait(int timeout_ms);

#endif
