/* Reading: the records of a lane's segments become events of the stream. */
#ifndef WR_SESSION_READ_H
#define WR_SESSION_READ_H

#include <stdbool.h>
#include <stdint.h>

struct weir_session;
struct wr_lane;

/* Writes a lane's records that are older than `limit` to the stream. True if records are left that
 * cannot be written now: younger ones, ones behind a gap that only a point can report, or, while
 * the lane has a skew, those beyond one budget of segments. */
bool wr_read_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit);
/* Skips records of the lane's oldest segment that are older than `since`, and reports them as
 * overwritten. Called before the lane's first record is read. */
void wr_read_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since);

#endif
