/*
 * Mode OVERWRITE under the explorer: core/buffers/mode_overwrite.c as it is, with what a snapshot
 * and a visit of the drain do with it (session/snapshot.c, session/recorder.c).
 */
#include "lane_bench.h"

#include <string.h>
#include "lane/lane_read.h"
#include "lane/lane_write.h"

static void prepare(enum pins pins, uint32_t writers, uint32_t segments)
{
    bench_prepare(pins, writers, 1, 1);
    struct wr_buffers *buffers = bench.buffers;
    buffers->arena = model_memory(segments * bench.segment_bytes);
    buffers->segment_count = segments;
    buffers->mode = &wr_mode_overwrite;
    buffers->overwrite.turn = 1;
    model_name(&buffers->overwrite.lock, "overwrite lock");
    model_name(&buffers->overwrite.spare, "spare");
    for (uint32_t i = 0; i < writers; i++)
        model_name(&bench.writer[i].lane->is_due, "due");
    for (uint32_t i = 0; i < segments; i++) {
        struct wr_segment *segment = (void *)(buffers->arena + (uint64_t)i * bench.segment_bytes);
        model_name(&segment->commit, i ? "segment1.commit" : "segment0.commit");
    }
}

void overwrite_setup(void)
{
    prepare(PINS_MEMBARRIER, 1, 2);
}

void overwrite_one_setup(void)
{
    prepare(PINS_MEMBARRIER, 1, 1);
}

void overwrite_one_setup_seq_cst(void)
{
    prepare(PINS_SEQ_CST, 1, 1);
}

void overwrite_two_setup(void)
{
    prepare(PINS_MEMBARRIER, 2, 2);
}

void overwrite_three_setup(void)
{
    prepare(PINS_MEMBARRIER, 2, 3);
}

/* --- A snapshot. ----------------------------------------------------------------------------- */

static void chain_append(struct wr_segment *segment)
{
    struct wr_lane *lane = segment->lane;
    segment->newer = NULL;
    if (lane->newest)
        lane->newest->newer = segment;
    else
        lane->oldest = segment;
    lane->newest = segment;
}

static void chains_build(struct wr_segment_list held)
{
    for (struct wr_segment *segment = held.first; segment; segment = segment->full_next)
        chain_append(segment);
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane; i++) {
        struct wr_segment *current = wr_overwrite_current(bench.writer[i].lane);
        if (current)
            chain_append(current);
    }
    struct wr_segment_list late = wr_overwrite_late(bench.buffers);
    struct wr_segment *segment = late.first;
    for (uint32_t i = 0; i < late.count; i++) {
        if (segment->lane->newest != segment)
            chain_append(segment);
        if (segment != late.last)
            segment = segment->full_next;
    }
}

/* Checks that each record has the number of its attempt, counted from the segment's header. */
static uint32_t records_read(struct wr_segment *segment, uint64_t commit)
{
    uint32_t count = 0;
    wr_data_read(segment, offsetof(struct wr_segment, newer));
    for (uint32_t at = WR_SEGMENT_HEADER_BYTES; at < wr_commit_offset(commit); at += RECORD_BYTES) {
        uint64_t number;
        wr_data_read((const unsigned char *)segment + at, RECORD_BYTES);
        memcpy(&number, (const unsigned char *)segment + at, sizeof number);
        model_check(number == segment->first_number + count);
        count++;
    }
    model_check(count == wr_commit_count(commit));
    return count;
}

static void lane_read(struct wr_lane *lane)
{
    uint64_t lost[WR_LANE_CAUSES], attempts = wr_mode_overwrite.attempts(lane, lost), last = 0;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        attempts += lost[cause];
    bool is_final = true;
    while (lane->oldest && is_final) {
        struct wr_segment *segment = lane->oldest;
        uint64_t commit = wr_lane_readable(lane, &is_final);
        model_check(segment->first_number > last);
        uint32_t count = records_read(segment, commit);
        last = segment->first_number + count - 1;
        if (is_final)
            wr_lane_unchain(lane);
    }
    /* Losses and gone records that were reported lie behind the records that were met, or before
     * one of them: a record that was not met is younger. */
    if (lane->oldest)
        model_check(attempts <= last + 1 || lane->oldest->first_number > attempts);
    lane->oldest = lane->newest = NULL;
}

static void read_all(void)
{
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane; i++)
        lane_read(bench.writer[i].lane);
}

void overwrite_snapshot(void)
{
    struct wr_segment_list held = wr_overwrite_hold(bench.buffers);
    chains_build(held);
    read_all();
    wr_overwrite_release(bench.buffers, held);
}

void overwrite_snapshot_early(void)
{
    struct wr_segment_list held = wr_overwrite_hold(bench.buffers);
    chains_build(held);
    wr_overwrite_release(bench.buffers, held);
    read_all();
}

/* --- A visit. -------------------------------------------------------------------------------- */

/* The thread that has won the segment may write anything to it. */
static void poison(struct wr_segment *segment)
{
    wr_data_written(segment->records, RECORD_BYTES);
}

void overwrite_revoke(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    struct wr_segment_view view = wr_overwrite_visit(lane);
    if (!view.segment)
        return;
    wr_lane_revoke_begin(lane);
    bench_barrier();
    wr_overwrite_revoke(lane, view.segment, view.opening);
}

/* Wrong on purpose: ignores the opening. The segment may be the lane's current one for the second
 * time, with an end that was not cleared. */
void overwrite_revoke_any(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    struct wr_segment_view view = wr_overwrite_visit(lane);
    if (!view.segment)
        return;
    wr_lane_revoke_begin(lane);
    bench_barrier();
    uint64_t opening = wr_overwrite_visit(lane).opening;
    if (opening && wr_overwrite_revoke(lane, view.segment, opening))
        poison(view.segment);
}

/* --- The end. -------------------------------------------------------------------------------- */

void overwrite_check(void)
{
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane; i++) {
        struct writer *writer = &bench.writer[i];
        uint64_t kept, overwritten;
        model_check(wr_mode_overwrite.counts(writer->lane, &kept, &overwritten, UINT64_MAX));
        model_check(kept + overwritten == writer->written_count);
        model_check(kept + overwritten + wr_lane_lost(writer->lane) == writer->attempts);
    }
    overwrite_snapshot();
}
