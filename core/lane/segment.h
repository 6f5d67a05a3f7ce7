/*
 * A segment: a fixed-size piece of a session's arena that holds records of one lane.
 *
 *   free list --take (RECYCLE)--> current of a lane --retire, revoke (OWN)--> read out
 *       ^                                                                        |
 *       +----------------------------- give (RECYCLE) ---------------------------+
 *
 * `commit` holds two numbers in one word, so that a single release store publishes and counts a
 * record. The low half is the offset, from the start of the segment, of the first byte behind the
 * records. The high half is the number of records below that offset.
 */
#ifndef WR_LANE_SEGMENT_H
#define WR_LANE_SEGMENT_H

#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "lane/loss.h"

struct wr_lane;

/* Room for a struct ck_fifo_mpmc_entry: ck headers stay in .c files. */
struct wr_free_node {
    _Alignas(16) void *words[4];
};

struct wr_segment {
    /* WRITER until CHAIN publishes the segment; then CONST until it is given back */
    struct wr_segment *older;             /* the next older segment on `opened` */
    uint64_t base_ticks;                  /* record times count from here */
    uint64_t given_base;                  /* stamps of callers count from here: wr_given_base() */
    uint64_t first_number;                /* attempt number of the first record, from 1 */
    uint64_t lost_before[WR_LANE_CAUSES]; /* the lane's losses before the first record */
    uint32_t records_at; /* offset of the first record: bytes before it belong to a record that
                            began in an older segment (lane_span.h) */

    /* DRAIN while the segment is published; at other times whoever owns it */
    struct wr_segment *newer;       /* the lane's chain, oldest first; or a list of the owner */
    struct wr_free_node *free_node; /* whoever takes or gives it; see buffers/free_list.h */

    WR_ALIGNED_LINE struct wr_u64 commit; /* WRITER; edge PUBLISH */
    /* ANY: the free list may use this node for another segment; not on the writer's cache line */
    _Alignas(64) struct wr_free_node node;

    /* LOCK(overwrite), see buffers/mode_overwrite.h, which has no use for `node` */
    struct wr_lane *lane;         /* the lane that wrote the records */
    struct wr_segment *full_next; /* the next younger one of the session's full segments */
    uint64_t opening;             /* unique in the session, from 1 */

    WR_ALIGNED_LINE unsigned char records[];
};

static inline uint64_t wr_segment_lost_before(const struct wr_segment *segment)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lost += segment->lost_before[cause];
    return lost;
}

#define WR_SEGMENT_HEADER_BYTES ((uint32_t)sizeof(struct wr_segment))
#define WR_SEGMENT_BYTES_MIN    4096u
#define WR_SEGMENT_BYTES_MAX    (1u << 20)

_Static_assert(sizeof(struct wr_segment) == UINT64_C(2) * WR_LINE,
               "read-mostly line, writer's line, records");

static inline uint32_t wr_commit_offset(uint64_t commit)
{
    return (uint32_t)commit;
}

static inline uint32_t wr_commit_count(uint64_t commit)
{
    return (uint32_t)(commit >> 32);
}

#define WR_COMMIT_ONE_RECORD (UINT64_C(1) << 32)

#endif
