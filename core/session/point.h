/* Sequence points. */
#ifndef WR_SESSION_POINT_H
#define WR_SESSION_POINT_H

#include <stdbool.h>
#include <stdint.h>

struct weir_session;

/* Writes a sequence point at `ticks`, and introduces new lanes. No unread record of an introduced
 * lane may be older than `ticks`, except late ones. The ticks of points rise. */
void wr_point_write(struct weir_session *session, uint64_t ticks);
/* Waits until all emitters have left the pins that they were in at this call; at most 1 ms, and no
 * longer once half the budget is full. */
void wr_point_settle(struct weir_session *session);
/* Is there anything that the next point must report? */
bool wr_point_has_losses(struct weir_session *session);
/* Has the stream grown so much since the last point that a reader should not have to hold more? */
bool wr_point_is_due(const struct weir_session *session);
/* The time, at most `limit`, at which a point must stand so that few enough threads have events in
 * front of it: a reader of V4 or V5 may keep the events of no more than 5,000 threads until the
 * next point. */
uint64_t wr_point_slice(struct weir_session *session, uint64_t limit);
/* True if there are so many threads that records may have to be read in slices of time. */
bool wr_point_is_crowded(const struct weir_session *session);

/* V6: says that nothing of the threads follows; behind the last point. */
void wr_point_remove_all(struct weir_session *session);

#endif
