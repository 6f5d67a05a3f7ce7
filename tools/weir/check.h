/* What the two files of `weir check` share. */
#ifndef WT_WEIR_CHECK_H
#define WT_WEIR_CHECK_H

#include "json.h"
#include "lost.h"
#include "map.h"
#include "tool.h"

struct gap_note {
    uint32_t thread; /* index */
    uint64_t after;  /* extended number */
    uint64_t count;
    uint64_t told; /* by Loss events, filled at the end */
    uint64_t offset;
};

struct loss_note {
    struct wt_loss loss;
    uint64_t offset;
};

/* Losses and introductions: promises of our own writer, held against the file at its end, because
 * only then it is known whether a provider Weir is in it. */
struct loss_check {
    struct gap_note *gaps;
    size_t gap_count, gap_capacity;
    struct loss_note *losses;
    size_t loss_count, loss_capacity;
    size_t gaps_at_point, losses_at_point; /* how many there were at the last sequence point */
    struct wt_map threads;                 /* capture thread -> index */
};

/* Told by the check of losses. */
typedef void (*wt_found)(void *context, enum wt_rule rule, uint64_t offset, const char *text);

void wt_loss_check_gap(struct loss_check *check, const struct wt_gap *gap);
void wt_loss_check_loss(struct loss_check *check, const struct wt_loss *loss, uint64_t offset);
void wt_loss_check_point(struct loss_check *check);

/* Holds losses against gaps. A truncated stream is held to it only up to its last point: a loss is
 * told before the point that follows it. */
void wt_loss_check_finish(struct loss_check *check, const struct wt_reader *reader, bool truncated,
                          wt_found found, void *context);
void wt_loss_check_fini(struct loss_check *check);

#endif
