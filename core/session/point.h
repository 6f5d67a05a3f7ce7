/* Sequence points. */
#ifndef WR_SESSION_POINT_H
#define WR_SESSION_POINT_H

#include <stdbool.h>
#include <stdint.h>

struct weir_session;

/* Writes a sequence point at `ticks`, which no unread record of an introduced lane precedes, and
 * introduces the lanes that are new. Ticks of points rise. */
void wr_point_write(struct weir_session *session, uint64_t ticks);
/* Have all emitters left the pins that they were in at this call? Waits at most 1 ms. */
void wr_point_settle(struct weir_session *session);
/* Is there anything that the next point must report? */
bool wr_point_has_losses(struct weir_session *session);
/* Is so much written since the last point that a reader should not have to hold more? */
bool wr_point_is_due(const struct weir_session *session);

#endif
