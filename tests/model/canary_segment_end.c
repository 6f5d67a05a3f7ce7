/*
 * Why `end` and the ownership word belong to the lane and not to the segment. This protocol has
 * them in the segment, and is wrong although its pins and its barrier are right: a writer loads the
 * pointer, loses the segment to a revocation, and then finds the `end` that the segment's next
 * owner has set.
 */
#include "lane_bench.h"

#include <string.h>

enum { WRITING = 1, TAKEN = 2, ROOM = 64 };

static struct {
    struct wr_u64 *pin;
    struct wr_u32 *end;   /* of the one segment */
    struct wr_u32 *state; /* of the one segment */
    struct wr_u32 *free;
    unsigned char *records;
} at;

void segment_end_setup(void)
{
    memset(&at, 0, sizeof at);
    at.pin = model_memory(sizeof *at.pin);
    at.end = model_memory(sizeof *at.end);
    at.state = model_memory(sizeof *at.state);
    at.free = model_memory(sizeof *at.free);
    at.records = model_memory(ROOM);
    model_name(at.pin, "pin0");
    model_name(at.end, "segment.end");
    model_name(at.state, "segment.state");
    model_name(at.free, "free");
    model_name(at.records, "records");
    wr_u32_store_relaxed(at.end, ROOM);
    wr_u32_store_relaxed(at.state, WRITING);
}

/* The writer whose lane still points at the segment. */
void segment_end_writer(void)
{
    wr_u64_store_relaxed(at.pin, 1);
    if (wr_u32_load_acquire(at.end) != 0)
        wr_data_written(at.records, RECORD_BYTES);
    wr_u64_store_release(at.pin, 2);
}

void segment_end_drain(void)
{
    uint32_t seen = WRITING;
    wr_u32_store_relaxed(at.end, 0);
    model_membarrier();
    if ((wr_u64_load_acquire(at.pin) & 1) != 0)
        return;
    if (!wr_u32_cas_acq_rel(at.state, &seen, TAKEN))
        return;
    wr_data_read(at.records, RECORD_BYTES);
    wr_u32_store_release(at.free, 1);
}

/* The writer of another lane, which takes the segment from the free list. */
void segment_end_other(void)
{
    if (wr_u32_exchange_acq_rel(at.free, 0) == 0)
        return;
    wr_u32_store_relaxed(at.state, WRITING);
    wr_u32_store_release(at.end, ROOM);
    wr_data_written(at.records, RECORD_BYTES);
}
