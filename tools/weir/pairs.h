/* Events that belong together, as a cause and its effect: weir check --pairs. */
#ifndef WT_WEIR_PAIRS_H
#define WT_WEIR_PAIRS_H

#include "check.h"

/* One event: the value of its field, its time, and where it is in the file. */
struct wt_half {
    uint64_t value;
    int64_t time;
    uint64_t offset;
};

struct wt_side {
    const char *event_name;
    struct wt_half *halves;
    size_t count, capacity;
    bool is_defined; /* with an integer field of that name */
};

struct wt_pairs {
    const char *provider_name; /* NULL: no pairs are checked */
    const char *field_name;
    struct wt_side sides[2];
    int *fields; /* by metadata index: 1 + the index of the field; 0: the event is none of them */
    unsigned char *side_of; /* by metadata index */
    size_t field_capacity, side_capacity;

    /* The result. A value that one side has twice belongs to no pair. */
    uint64_t pairs, reversed, single, repeated;
    int64_t worst_ticks;
};

/* False after a message if the text is not PROVIDER/FIRST,SECOND:FIELD with two different events, or
 * if a pair was given before. Cuts the text into words, which must last as long as `pairs`. */
bool wt_pairs_parse(struct wt_pairs *pairs, char *text);
void wt_pairs_define(struct wt_pairs *pairs, const struct wt_metadata *metadata);
void wt_pairs_add(struct wt_pairs *pairs, const struct wt_event *event);
/* Call only if pairs are checked. Matches the halves, and reports each pair whose second event is older
 * than its first. False after a message if the trace does not define both events with such a field. */
bool wt_pairs_finish(struct wt_pairs *pairs, wt_found found, void *context);
void wt_pairs_fini(struct wt_pairs *pairs);

#endif
