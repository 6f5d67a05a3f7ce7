/* Events that carry more than their payload: see weir/context.h. */
#ifndef WR_SESSION_WITH_H
#define WR_SESSION_WITH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "lane/record.h"
#include "session/stacks.h"

struct weir_session;
struct wr_drain;
struct wr_event_definition;
struct wr_lane;

/* Writes the event of a record, with its stack if the stream does not have it yet. `flags`: of the
 * record's extension; `bytes`: what goes with the event, and then its payload. */
void wr_with_write(struct weir_session *session, struct wr_lane *lane,
                   const struct wr_event_definition *definition, uint64_t flags,
                   const unsigned char *bytes, uint32_t byte_count, uint64_t ticks);

/* Writes `count` new stacks of one form (the low half of their heads), one every `stride` bytes, at most
 * as many as a group of records has. Uses the scratch memory. */
void wr_with_stacks_write(struct wr_drain *drain, uint32_t first_id, const unsigned char *stack,
                          uint32_t stride, uint32_t count);

/* Bytes of the thread and the activities, in front of a record's stack and payload. */
static inline uint32_t wr_with_ids_bytes(uint64_t flags)
{
    return (flags & WR_RECORD_THREAD ? 8u : 0) + (flags & WR_RECORD_ACTIVITY ? 16u : 0) +
           (flags & WR_RECORD_RELATED ? 16u : 0);
}

static inline bool wr_with_ids_are_same(const unsigned char *left, const unsigned char *right,
                                        uint32_t bytes)
{
    while (bytes && memcmp(left + bytes - 8, right + bytes - 8, 8) == 0)
        bytes -= 8;
    return bytes == 0;
}

#endif
