/* The options --from and --to: a part of a trace by time. */
#ifndef WT_WEIR_SPAN_H
#define WT_WEIR_SPAN_H

#include "reader.h"

/* For a command's table of getopt_long() options, and the values it returns for them. */
enum { WT_OPTION_FROM = 0x200, WT_OPTION_TO };
#define WT_SPAN_OPTIONS                                \
    {"from", required_argument, NULL, WT_OPTION_FROM}, \
    {                                                  \
        "to", required_argument, NULL, WT_OPTION_TO    \
    }
#define WT_SPAN_HELP                                                                       \
    "  --from S       only events from S seconds after the start of the trace on (1.25)\n" \
    "  --to S         only events before S\n"
/* For a command that restricts the reading. */
#define WT_SPAN_READ_HELP                                                                  \
    "                 Of a file, only what this part needs is read, and losses before a\n" \
    "                 thread's first event in it may be unknown\n"

/* In nanoseconds since the start of the trace, as events are printed. All zeros is the whole. */
struct wt_span {
    bool has_from, has_to;
    int64_t from_ns, to_ns;
};

/* Takes the seconds of one of the options, such as 1.25; false after a message. */
bool wt_span_take(struct wt_span *span, int option, const char *text);

bool wt_span_is_set(const struct wt_span *span);

/* For a trace handler: restricts the reading. Does nothing for the whole; complains if the trace
 * has no clock. */
void wt_span_apply(const struct wt_span *span, struct wt_reader *reader,
                   const struct wt_trace_info *info);

#endif
