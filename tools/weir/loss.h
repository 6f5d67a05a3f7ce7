/* The Weir/Loss event: why numbers are missing. The format itself knows gaps, but no causes. */
#ifndef WT_WEIR_LOSS_H
#define WT_WEIR_LOSS_H

#include "reader.h"

/* The single list of causes, in the order of reports. The last one is for names that this program
 * does not know; tests/api/tree.py checks that it knows those of the library. */
#define WT_CAUSES(X) \
    X(FULL)          \
    X(NESTED)        \
    X(TOO_LARGE)     \
    X(NO_SEGMENT)    \
    X(MISMATCH)      \
    X(OVERWRITTEN)   \
    X(ABORTED)       \
    X(DEADLINE)      \
    X(SINK_FAILED)   \
    X(OTHER)

#define WT_CAUSE_ROW_(name) WT_CAUSE_##name,
enum wt_cause { WT_CAUSES(WT_CAUSE_ROW_) WT_CAUSE_COUNT };

const char *wt_cause_name(enum wt_cause cause);

/* Where the fields of a Loss definition are. */
struct wt_loss_fields {
    bool is_loss; /* provider Weir, event Loss */
    bool usable;  /* the four fields are there with their types */
    int capture_thread, after, cause, count;
};

struct wt_loss {
    uint64_t capture_thread;
    uint32_t after;
    enum wt_cause cause;
    uint64_t count;
};

bool wt_is_weir(const struct wt_metadata *metadata);
struct wt_loss_fields wt_loss_bind(const struct wt_metadata *metadata);

/* False if the payload does not hold the fields. */
bool wt_loss_read(const struct wt_loss_fields *fields, const struct wt_event *event,
                  struct wt_loss *loss);

#endif
