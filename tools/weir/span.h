/* The options --from and --to: a part of a trace by time. */
#ifndef WT_WEIR_SPAN_H
#define WT_WEIR_SPAN_H

#include "reader.h"

/* In nanoseconds since the start of the trace, as events are printed. All zeros is the whole. */
struct wt_span {
    bool has_from, has_to;
    int64_t from_ns, to_ns;
};

/* Takes the seconds of one of the options, such as 1.25; false after a message. */
bool wt_span_take(struct wt_span *span, bool is_from, const char *text);

/* For a trace handler: restricts the reading. Does nothing for the whole; complains if the trace
 * has no clock. */
void wt_span_apply(const struct wt_span *span, struct wt_reader *reader,
                   const struct wt_trace_info *info);

#endif
