/* Events that carry more than their payload: see weir/context.h. */
#ifndef WR_SESSION_WITH_H
#define WR_SESSION_WITH_H

#include <stdint.h>

struct weir_session;
struct wr_event_definition;
struct wr_lane;

/* Writes the event of a record, with its stack if the stream does not have it yet. `flags`: of the
 * record's extension; `bytes`: what goes with the event, and then its payload. */
void wr_with_write(struct weir_session *session, struct wr_lane *lane,
                   const struct wr_event_definition *definition, uint64_t flags,
                   const unsigned char *bytes, uint32_t byte_count, uint64_t ticks);

#endif
