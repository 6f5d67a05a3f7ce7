/*
 * Turns of DROP under the explorer: core/buffers/mode_drop.c as it is, with what a look, a sweep
 * and a release of the drain do with it (session/drain.c).
 */
#include "lane_bench.h"

#include "buffers/mode_drop.h"

static bool has_forgotten; /* per execution: the drain has released the first lane */

static void prepare(uint32_t writers, uint32_t segments)
{
    bench_prepare(PINS_SEQ_CST, writers, segments, 1);
    bench.buffers->yields = true;
    has_forgotten = false;
    model_name(&bench.buffers->turns.enrolled, "enrolled");
    model_name(&bench.buffers->turns.waiting, "waiting");
    for (uint32_t i = 0; i < writers; i++)
        model_name(&wr_place_of(bench.writer[i].lane)->credit, i ? "credit1" : "credit0");
}

void turn_setup(void)
{
    prepare(1, 1);
}

/* The first writer has the segment, which is full. */
void turn_two_setup(void)
{
    prepare(2, 1);
    bench_emit(0);
}

/* The first writer has been refused. */
void turn_refused_setup(void)
{
    prepare(1, 1);
    bench_emit(0);
    bench_emit(0);
}

/* The first writer has been granted a segment; a sweep has met the unused grant. */
void turn_granted_setup(void)
{
    turn_refused_setup();
    bench_look(0);
    wr_mode_drop.serve(bench.buffers);
    wr_mode_drop.sweep(bench.writer[0].lane);
}

/* The same, and the second writer has been refused. */
void turn_granted_two_setup(void)
{
    turn_two_setup();
    bench_emit(0);
    bench_look(0);
    wr_mode_drop.serve(bench.buffers);
    wr_mode_drop.sweep(bench.writer[0].lane);
    bench_emit(1);
}

/* The second writer has the segment, and the first has been refused. */
void turn_queued_setup(void)
{
    prepare(2, 1);
    bench_emit(1);
    bench_emit(0);
}

/* The same, and the second one has left its segment: the next look serves the first. */
void turn_left_setup(void)
{
    turn_queued_setup();
    wr_buffers_retire(bench.writer[1].lane);
    /* The next refusal clears ASKED. */
    wr_place_of(bench.writer[0].lane)->refusals = WR_TURN_FLAT_OUT - 1;
}

void turn_look(void)
{
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane; i++)
        bench_look(i);
    wr_mode_drop.serve(bench.buffers);
}

void turn_sweep(void)
{
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane; i++)
        wr_mode_drop.sweep(bench.writer[i].lane);
    wr_mode_drop.serve(bench.buffers);
}

/* lanes_release() of drain.c: once the thread has exited, only the drain accesses the lane. */
void turn_release(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    bench_look_ready();
    wr_mode_drop.serve(bench.buffers);
    if (wr_u32_load_acquire(&lane->exited) == 0 || wr_pin_is_inside(wr_pin_load(lane->thread)))
        return; /* edge EXIT.acquire */
    bench_look_ready();
    model_check(wr_mode_drop.finish(lane));
    has_forgotten = true;
    /* No link to a released lane is left. */
    const struct wr_turns *turns = &bench.buffers->turns;
    model_check(turns->first == NULL && turns->last == NULL);
    model_check(wr_ptr_load_relaxed(&turns->enrolled) == NULL);
}

static uint32_t chained(struct wr_lane *lane)
{
    uint32_t count = 0;
    for (struct wr_segment *segment = lane->oldest; segment; segment = segment->newer)
        count++;
    for (struct wr_segment *segment = wr_ptr_load_acquire(&lane->opened); segment;
         segment = segment->older)
        count++;
    return count;
}

/* Those of a lane: in its hand, granted, or not read yet. Adds 1 to `waiting` if it waits. */
static uint32_t segments_of(struct wr_lane *lane, uint32_t *waiting)
{
    void *word = wr_ptr_load_relaxed(&wr_place_of(lane)->credit);
    uint32_t count = chained(lane);
    if ((uintptr_t)word & 1)
        ++*waiting;
    else
        for (const struct wr_segment *segment = word; segment; segment = segment->newer)
            count++;
    return count;
}

static uint32_t free_segments(void)
{
    uint32_t count = 0;
    while (wr_free_list_take(NULL))
        count++;
    return count;
}

/* Each segment is in exactly one place; a lane waits only if none is free. */
void turn_check(void)
{
    uint32_t waiting = 0, count = bench.buffers->turns.gathered_count;
    if (!has_forgotten)
        bench_check();
    wr_mode_drop.serve(bench.buffers);
    for (uint32_t i = 0; i < WRITERS_MAX && bench.writer[i].lane; i++)
        count += segments_of(bench.writer[i].lane, &waiting);
    uint32_t free = free_segments();
    model_check(count + free == bench.segment_count);
    model_check(waiting == 0 || free == 0);
    model_check(wr_u32_load_relaxed(&bench.buffers->turns.waiting) == waiting);
}
