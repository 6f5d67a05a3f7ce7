/* Between the files of `weir collect`, and for commands that trace a process on the way. */
#ifndef WT_WEIR_COLLECT_H
#define WT_WEIR_COLLECT_H

#include "options.h"

#include "providers.h"

#include <sys/types.h>

/* What the command line asks for. */
struct wt_collect_options {
    const char *caller; /* the name of the command that has them, for messages */
    pid_t pid;          /* 0: another way to find the process */
    const char *name;   /* NULL likewise */
    const char *port;
    char **command; /* with its arguments; NULL: none is started */
    struct wt_ipc_providers providers;
    bool names_providers; /* they are not the default */
    struct wt_ipc_collect collect;
    int64_t duration_ms; /* 0: no end */
    uint32_t answer_s;
    const char *output; /* NULL: a name of the process and the time */
    bool as_json;
    /* NULL, or asked each time that the stream stands still for a moment: does the file have all that
     * was wanted? Then the session ends. */
    bool (*has_all)(const char *file);
};

/* For a command's table of getopt_long() options, and the values it returns for them. */
enum {
    WT_OPTION_PID = 'p',
    WT_OPTION_NAME = 'n',
    WT_OPTION_PORT = 0x300,
    WT_OPTION_PROVIDERS,
    WT_OPTION_TIMEOUT,
    WT_OPTION_DURATION,
};
#define WT_COLLECT_LETTERS "p:n:"
#define WT_COLLECT_OPTIONS                                           \
    {"port", required_argument, NULL, WT_OPTION_PORT},               \
        {"providers", required_argument, NULL, WT_OPTION_PROVIDERS}, \
        {"timeout", required_argument, NULL, WT_OPTION_TIMEOUT},     \
    {                                                                \
        "duration", required_argument, NULL, WT_OPTION_DURATION      \
    }
#define WT_COLLECT_PROCESS_HELP                                                                    \
    "  -p PID             the process with this id\n"                                              \
    "  -n NAME            the only process with this name (see weir ps) or executable\n"           \
    "  --port PATH        the process that listens at this socket\n"                               \
    "  --providers LIST   Name[:keywords[:level[:arguments]]], separated by commas. Keywords\n"    \
    "                     are hexadecimal, with or without 0x, as those of dotnet-trace; the\n"    \
    "                     level is 0 to 5 or its name. What is empty or left out: all keywords,\n" \
    "                     level 5. Default: what dotnet-trace asks for by default, events\n"       \
    "                     and samples of the runtime. A host of Weir that has none of the\n"       \
    "                     providers may give its own default instead\n"
#define WT_COLLECT_TIMEOUT_HELP \
    "  --timeout S        give up when the process has not answered for S seconds; default 30\n"

/* The defaults. False after a message: no memory. */
bool wt_collect_options_init(struct wt_collect_options *options, const char *caller);

/* One of the options above, or json (j), output (o), mode (m) and budget (b), of commands that have
 * them. False after a message if the text is wrong. It must last. */
bool wt_collect_take_option(struct wt_collect_options *options, int option, const char *text);

/* A whole number from 1 to `max`; false after a message. */
bool wt_collect_parse_limited(const char *option, const char *text, uint64_t max, uint64_t *out);

/* How many of -p, -n and --port are set. */
int wt_collect_processes(const struct wt_collect_options *options);

void wt_collect_options_fini(struct wt_collect_options *options);

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
