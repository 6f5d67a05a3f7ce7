/* Stamps of callers: which time of the stream their records get. */
#ifndef WR_SESSION_GIVEN_H
#define WR_SESSION_GIVEN_H

#include <stdbool.h>
#include <stdint.h>
#include "lane/lane.h"

struct weir_session;

/* May a record with this stamp be read now, before `limit`? `ticks` receives its time in the
 * stream. It was written no later than `bound`, in the stream's time; the first needs that only for
 * a stamp that is not below the limit. The second is for OVERWRITE: a record of a kept segment. */
bool wr_given_admits(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                     uint64_t bound, uint64_t limit, uint64_t *ticks);
bool wr_given_admits_kept(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                          uint64_t bound, uint64_t limit, uint64_t *ticks);
/* The time in the stream of an event of the rundown. */
uint64_t wr_given_now(struct weir_session *session, const struct wr_track *track, uint64_t stamp);

#endif
