/* Shared by the two files of `weir check`. */
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
    uint64_t told; /* as reported by Loss events, filled in at the end */
    uint64_t offset;
};

struct loss_note {
    struct wt_loss loss;
    uint64_t offset;
};

/* Losses and introductions: promises of our own writer, checked at the end of the file, because
 * only then is it known whether it has a provider Weir. */
struct loss_check {
    struct gap_note *gaps;
    size_t gap_count, gap_capacity;
    struct loss_note *losses;
    size_t loss_count, loss_capacity;
    size_t gaps_at_point, losses_at_point; /* counts at the last sequence point */
    struct wt_map threads;                 /* capture thread -> index */
};

/* Called for each finding of the loss check. */
typedef void (*wt_found)(void *context, enum wt_rule rule, uint64_t offset, const char *text);

void wt_loss_check_gap(struct loss_check *check, const struct wt_gap *gap);
void wt_loss_check_loss(struct loss_check *check, const struct wt_loss *loss, uint64_t offset);
void wt_loss_check_point(struct loss_check *check);

/* Compares losses with gaps. In a truncated stream only up to its last point: a loss is reported
 * before the point that follows it. */
void wt_loss_check_finish(struct loss_check *check, const struct wt_reader *reader, bool truncated,
                          wt_found found, void *context);
void wt_loss_check_fini(struct loss_check *check);

#endif
