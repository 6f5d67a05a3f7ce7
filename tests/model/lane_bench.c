#include "lane_bench.h"

#include <string.h>
#include "buffers/place.h"
#include "lane/lane_read.h"
#include "lane/lane_write.h"

struct bench bench;

static const char *const segment_names[SEGMENTS_MAX] = {"segment0", "segment1", "segment2",
                                                        "segment3"};
static const char *const commit_names[SEGMENTS_MAX] = {"segment0.commit", "segment1.commit",
                                                       "segment2.commit", "segment3.commit"};
static const char *const pin_names[WRITERS_MAX] = {"pin0", "pin1"};
static const char *const current_names[WRITERS_MAX] = {"current0", "current1"};
static const char *const end_names[WRITERS_MAX] = {"end0", "end1"};
static const char *const opened_names[WRITERS_MAX] = {"opened0", "opened1"};
static const char *const queued_names[WRITERS_MAX] = {"queued0", "queued1"};
static const char *const exited_names[WRITERS_MAX] = {"exited0", "exited1"};

static void prepare_segments(uint32_t segments, uint32_t records)
{
    bench.segment_bytes = WR_SEGMENT_HEADER_BYTES + records * RECORD_BYTES;
    bench.segment_count = segments;
    for (uint32_t i = 0; i < segments; i++) {
        bench.segment[i] = model_memory(bench.segment_bytes);
        model_name(bench.segment[i], segment_names[i]);
        model_name(&bench.segment[i]->commit, commit_names[i]);
    }
    product_free_list(bench.segment, segments, bench.segment_bytes);
}

static void prepare_writer(uint32_t index)
{
    struct writer *writer = &bench.writer[index];
    writer->thread = model_memory(sizeof *writer->thread);
    if (index > 0)
        writer->thread->next = bench.writer[index - 1].thread;
    wr_thread_forget_lanes(writer->thread);
    wr_u32_store_relaxed(&writer->thread->lane_count, 1);
    writer->lane = product_attach(bench.buffers, writer->thread);
    model_name(&writer->thread->pin, pin_names[index]);
    model_name(&writer->thread->lanes, "lanes");
    model_name(&writer->lane->current, current_names[index]);
    model_name(&writer->lane->end, end_names[index]);
    model_name(&writer->lane->opened, opened_names[index]);
    model_name(&writer->lane->lost, "lost");
    model_name(&writer->lane->queued, queued_names[index]);
    model_name(&writer->lane->exited, exited_names[index]);
}

void bench_prepare(enum pins pins, uint32_t writers, uint32_t segments, uint32_t records)
{
    memset(&bench, 0, sizeof bench);
    bench.pins = pins;
    product_reset();
    prepare_segments(segments, records);
    bench.mask = model_memory(sizeof *bench.mask);
    model_name(bench.mask, "mask");
    wr_u64_store_relaxed(bench.mask, 1);
    bench.buffers = model_memory(sizeof *bench.buffers);
    bench.buffers->mode = &wr_mode_drop;
    bench.buffers->segment_bytes = bench.segment_bytes;
    bench.buffers->segment_count = segments;
    wr_u32_store_relaxed(&bench.buffers->carved, segments); /* all are on the free list */
    bench.buffers->wake_at = UINT32_MAX;
    wr_u32_store_relaxed(&bench.buffers->free_list.count, UINT32_MAX / 2); /* the take decides */
    model_name(&bench.buffers->ready, "ready");
    model_name(&bench.buffers->retired, "retired");
    for (uint32_t i = 0; i < writers; i++)
        prepare_writer(i);
    product_threads(bench.writer[writers - 1].thread, pins == PINS_MEMBARRIER);
}

void bench_open_first(uint32_t writer)
{
    struct wr_lane *lane = bench.writer[writer].lane;
    wr_lane_open(lane, wr_free_list_take(NULL), bench.segment_bytes, 0);
    wr_lane_take_opened(lane);
}

static uint64_t load_mask(void)
{
    return wr_u64_load_seq_cst(bench.mask); /* edges ENABLE.acquire, QUIESCE */
}

static void write_record(struct wr_segment *segment, uint64_t commit, uint64_t number)
{
    unsigned char *record = wr_segment_cursor(segment, commit);
    model_check(wr_commit_offset(commit) + RECORD_BYTES <= bench.segment_bytes);
    wr_data_written(record, RECORD_BYTES);
    memcpy(record, &number, sizeof number);
    wr_segment_commit(segment, commit, RECORD_BYTES);
}

/* weir_emit() of emit.c. */
void bench_emit(uint32_t index)
{
    struct writer *writer = &bench.writer[index];
    uint64_t pin = bench.pins == PINS_SEQ_CST ? wr_pin_enter_seq_cst(writer->thread)
                                              : bench_pin_enter(writer->thread);
    if (load_mask() != 0) {
        uint64_t commit, number = ++writer->attempts;
        struct wr_lane *lane = wr_buffers_lane(writer->thread, 0);
        model_check(lane == writer->lane);
        struct wr_segment *segment;
        if (wr_buffers_room(lane, RECORD_BYTES, &segment, &commit) == WR_ROOM) {
            write_record(segment, commit, number);
            writer->written[writer->written_count++] = number;
        }
    }
    wr_pin_leave(writer->thread, pin);
}

void bench_emit_slot(uint32_t index)
{
    struct wr_thread *thread = bench.writer[index].thread;
    uint64_t pin =
        bench.pins == PINS_SEQ_CST ? wr_pin_enter_seq_cst(thread) : bench_pin_enter(thread);
    if (load_mask() != 0) {
        uint64_t commit;
        struct wr_lane *lane = wr_buffers_lane(thread, 0);
        model_check(lane != NULL);
        wr_data_read(&lane->buffers, sizeof lane->buffers);
        struct wr_segment *segment;
        if (wr_buffers_room(lane, RECORD_BYTES, &segment, &commit) == WR_ROOM)
            write_record(segment, commit, 1);
    }
    wr_pin_leave(thread, pin);
}

/* The writer's count of attempts equals the drain's. */
static void check_first_number(const struct writer *writer, const struct wr_segment *segment)
{
    uint64_t number = 1 + writer->drained_count;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        number += segment->lost_before[cause];
    model_check(segment->first_number == number);
}

static void read_records(struct writer *writer, struct wr_segment *segment, uint64_t commit)
{
    struct wr_lane *lane = writer->lane;
    if (lane->read_offset == 0)
        lane->read_offset = segment->records_at;
    if (lane->read_count == 0)
        check_first_number(writer, segment);
    while (lane->read_offset < wr_commit_offset(commit)) {
        const unsigned char *record = (const unsigned char *)segment + lane->read_offset;
        uint64_t number;
        wr_data_read(record, RECORD_BYTES);
        memcpy(&number, record, sizeof number);
        bool spans = (number & SPAN_MARK) != 0;
        if (spans)
            number = bench_join(segment, commit, lane->read_offset);
        model_check(writer->drained_count < RECORDS_MAX);
        writer->drained[writer->drained_count++] = number;
        lane->read_offset = spans ? wr_commit_offset(commit) : lane->read_offset + RECORD_BYTES;
        lane->read_count++;
    }
    model_check(lane->read_offset == wr_commit_offset(commit));
    model_check(lane->read_count == wr_commit_count(commit));
}

/* Poisons the segment: its next owner will write to it, so no other thread may still read or write
 * it (product.h). */
static void give(struct wr_segment *segment)
{
    memset(segment->records, 0xff, bench.segment_bytes - WR_SEGMENT_HEADER_BYTES);
    bench.buffers->mode->give(bench.buffers, segment);
}

/* wr_read_lane(): reads what is readable and gives back finished segments. */
void bench_look(uint32_t index)
{
    struct writer *writer = &bench.writer[index];
    struct wr_lane *lane = writer->lane;
    for (;;) {
        if (lane->oldest == NULL)
            wr_lane_take_opened(lane);
        if (lane->oldest == NULL)
            return;
        bool is_final;
        uint64_t commit = wr_lane_readable(lane, &is_final);
        read_records(writer, lane->oldest, commit);
        if (!is_final)
            return;
        give(wr_lane_unchain(lane));
    }
}

/* read_ready() of drain.c. */
void bench_look_ready(void)
{
    struct wr_lane *lane = wr_buffers_take_ready(bench.buffers);
    while (lane != NULL) {
        wr_data_read(&lane->ready_next, sizeof lane->ready_next);
        struct wr_lane *next = lane->ready_next;
        wr_buffers_accept_ready(lane);
        for (uint32_t i = 0; i < WRITERS_MAX; i++)
            if (bench.writer[i].lane == lane)
                bench_look(i);
        lane = next;
    }
}

void bench_barrier(void)
{
    if (bench.pins == PINS_MEMBARRIER)
        model_membarrier();
}

/* The sweep of a lane that has not moved: revokes its segment, reads it, and gives it back. */
void bench_revoke(uint32_t index)
{
    struct wr_lane *lane = bench.writer[index].lane;
    if (lane->oldest == NULL || lane->oldest != lane->newest)
        return;
    wr_lane_revoke_begin(lane);
    bench_barrier();
    if (wr_lane_revoke_finish(lane))
        bench_look(index);
}

void bench_disable(void)
{
    wr_u64_store_seq_cst(bench.mask, 0); /* edge QUIESCE: this store, then the loads of the pins */
}

bool bench_quiesce(void)
{
    struct wr_quiesce quiesce = {0};
    return wr_threads_quiesce(&quiesce, bench.pins == PINS_MEMBARRIER, UINT64_MAX);
}

void bench_free_place(struct wr_lane *lane)
{
    model_free(wr_place_of(lane), sizeof(struct wr_place));
}

void bench_free_lane(uint32_t index)
{
    bench_free_place(bench.writer[index].lane);
    for (uint32_t i = 0; i < bench.segment_count; i++)
        model_free(bench.segment[i], bench.segment_bytes);
}

/* Gives the slot to another session: wr_registry_take_slot(), wr_registry_enable(). */
void bench_next_session(struct wr_buffers *buffers)
{
    wr_ptr_store_release(&wr_buffers_by_slot[0], buffers); /* edge ENABLE */
    wr_u64_store_seq_cst(bench.mask, 1);                   /* edge ENABLE.release */
}

static void check_writer(const struct writer *writer)
{
    model_check(writer->drained_count == writer->written_count);
    for (uint32_t r = 0; r < writer->written_count; r++)
        model_check(writer->drained[r] == writer->written[r]);
    model_check(writer->written_count + wr_lane_lost(writer->lane) == writer->attempts);
}

void bench_check(void)
{
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane != NULL; i++) {
        bench_look(i);
        check_writer(&bench.writer[i]);
    }
}

void bench_check_ready(void)
{
    bench_look_ready();
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane != NULL; i++) {
        const struct wr_lane *lane = bench.writer[i].lane;
        /* Only the current segment may be unannounced. */
        const struct wr_segment *current = wr_ptr_load_relaxed(&lane->current);
        const struct wr_segment *opened = wr_ptr_load_relaxed(&lane->opened);
        model_check(opened == NULL || (opened == current && opened->older == NULL));
        model_check(lane->oldest == NULL || lane->oldest == current);
        bench_look(i);
        check_writer(&bench.writer[i]);
    }
}
