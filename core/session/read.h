/* Reading: the records of a lane's segments become events of the stream. */
#ifndef WR_SESSION_READ_H
#define WR_SESSION_READ_H

#include <stdbool.h>
#include <stdint.h>

struct weir_session;
struct wr_lane;

/* Reads a lane's records that are older than `limit` into the stream. True if it has younger ones.
 */
bool wr_read_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit);
/* Passes over records of the lane's oldest segment that are older than `since`; they are reported
 * as overwritten. Before the lane's first record is read. */
void wr_read_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since);

#endif
