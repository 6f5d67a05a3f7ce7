/* Reading: the records of a lane's segments become events of the stream. */
#ifndef WR_SESSION_READ_H
#define WR_SESSION_READ_H

#include <stdbool.h>
#include <stdint.h>

struct wr_buffers;
struct weir_session;
struct wr_lane;

/* Takes new segments into the lane's chain if it has none. */
void wr_read_take_opened(struct wr_buffers *buffers, struct wr_lane *lane);
/* About when the lane's next record was written, in the stream's time; UINT64_MAX if there is none.
 */
uint64_t wr_read_next_ticks(struct weir_session *session, struct wr_lane *lane);
/* Writes a lane's records that are older than `limit` to the stream. True if records are left that
 * cannot be written now: younger ones, ones behind a gap that only a point can report, or, while
 * the lane has a skew, those beyond one budget of segments. */
bool wr_read_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit);
/* Skips records of the lane's oldest segment that are older than `since`, and reports them as
 * overwritten. Called before the lane's first record is read. */
void wr_read_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since);

#endif
