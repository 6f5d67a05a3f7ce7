/* Between the files of `weir collect`. */
#ifndef WT_WEIR_COLLECT_H
#define WT_WEIR_COLLECT_H

#include "tool.h"

#include "providers.h"

#include <sys/types.h>

/* What the command line asks for. */
struct wt_collect_options {
    pid_t pid;        /* 0: another way to find the process */
    const char *name; /* NULL likewise */
    const char *port;
    char **command; /* with its arguments; NULL: none is started */
    struct wt_ipc_providers providers;
    struct wt_ipc_collect collect;
    int64_t duration_ms; /* 0: no end */
    uint32_t answer_s;
    const char *output; /* NULL: a name of the process and the time */
};

/* What came of it, for the summary. */
struct wt_collect_trace {
    char *file;      /* NULL: no session was started, and the reason has been printed */
    bool has_failed; /* the session did not end well; the reason has been printed */
    pid_t pid;       /* 0: not known */
    char name[64];   /* of the process */
    int child_code;  /* exit code of the command, 128 + N for signal N; -1: none was started */
};

/* Traces until the session ends. Prints messages and progress. */
void wt_collect_run(const struct wt_collect_options *options, struct wt_collect_trace *trace);

#endif
