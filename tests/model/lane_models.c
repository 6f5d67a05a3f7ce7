/*
 * The models of the lane's edges. Thread 0 writes, the last thread drains or stops.
 */
#include "lane_models.h"
#include "lane_bench.h"
#include "lane/lane_read.h"
#include "lane/lane_write.h"
#include "lane/name.h"

/* --- PUBLISH: the drain reads a segment while it is written. --------------------------------- */

static void publish_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 1, 3);
    bench_open_first(0);
}

static void emit_two(void)
{
    bench_emit(0);
    bench_emit(0);
}

static void emit_other(void)
{
    bench_emit(1);
}

static void emit_three(void)
{
    emit_two();
    bench_emit(0);
}

static void emit_four(void)
{
    emit_two();
    emit_two();
}

static void look_once(void)
{
    bench_look(0);
}

static void look_twice(void)
{
    bench_look(0);
    bench_look(0);
}

/* --- CHAIN, OWN, RECYCLE: the writer changes segments; the drain reads them and gives them
 * back. */

static void handover_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 2, 1);
}

static void handover_two_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 2, 2, 1);
    bench_open_first(0);
}

/* --- LOST: a visible loss is placed behind the records before it. ---------------------------- */

static void lost_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 1, 1);
    bench_open_first(0);
}

static void lost_drain(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    uint64_t lost = wr_lane_lost(lane);
    bench_look(0);
    if (lost > 0)
        model_check(bench.writer[0].drained_count >= 1);
}

/* --- REVOKE: the drain takes the segment of a thread that seems idle. ------------------------ */

static void revoke_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 2, 2);
    bench_open_first(0);
}

static void revoke_setup_seq_cst(void)
{
    bench_prepare(PINS_SEQ_CST, 1, 2, 2);
    bench_open_first(0);
}

static void revoke_setup_broken(void)
{
    bench_prepare(PINS_BROKEN, 1, 2, 2);
    bench_open_first(0);
}

static void revoke_drain(void)
{
    bench_revoke(0);
    bench_look(0);
}

/* Segments of one record, so that a revocation can meet a segment that was just opened. */
static void revoke_open_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 2, 1);
    bench_open_first(0);
}

static void revoke_open_setup_seq_cst(void)
{
    bench_prepare(PINS_SEQ_CST, 1, 2, 1);
    bench_open_first(0);
}

/* An early version: revokes whatever is current after the barrier. The writer may have left the
 * segment whose end was set to 0 and opened another one, and nothing keeps it from writing
 * there. */
static void revoke_what_is_current(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    wr_lane_revoke_begin(lane);
    bench_barrier();
    if (wr_pin_is_inside(wr_pin_load(lane->thread)))
        return;
    void *current = wr_ptr_load_acquire(&lane->current);
    if (current == NULL || wr_lane_is_revoked(current))
        return;
    uint64_t commit = wr_u64_load_acquire(&((struct wr_segment *)current)->commit);
    if (wr_ptr_cas_acq_rel(&lane->current, &current, wr_lane_revoked(wr_commit_count(commit))))
        bench_look(0);
}

/* The second writer gets the segment that was revoked from the first. */
static void revoke_two_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 2, 1, 2);
    bench_open_first(0);
}

static void revoke_twice(void)
{
    bench_revoke(0);
    bench_revoke(0);
    bench_look(0);
}

static void emit_other_two(void)
{
    bench_emit(1);
    bench_emit(1);
}

/* --- READY: the drain meets a lane that has retired a segment. ------------------------------- */

static void look_ready_twice(void)
{
    bench_look_ready();
    bench_look_ready();
}

static void ready_two_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 2, 3, 1);
    bench_open_first(0);
    bench_open_first(1);
}

/* --- CHAIN: a record over two segments is published at once. --------------------------------- */

static void span_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 4, 2);
}

static void span_first_setup(void)
{
    span_setup();
    bench_open_first(0);
}

static void span_two_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 2, 4, 2);
    bench_open_first(0);
}

/* Three words: the last segment has room for one more record. */
static void emit_span_and_one(void)
{
    bench_emit_span(0, 3);
    bench_emit(0);
}

static void emit_span_between(void)
{
    bench_emit(0);
    emit_span_and_one();
}

/* Four words fill both segments. */
static void emit_full_span_and_one(void)
{
    bench_emit_span(0, 4);
    bench_emit(0);
}

static void emit_span(void)
{
    bench_emit_span(0, 3);
}

static void emit_span_other(void)
{
    bench_emit_span(1, 3);
}

static void emit_parts(void)
{
    bench_emit_parts(0, 3);
}

/* --- QUIESCE: once the mask is clear and the pins were waited for, no thread touches a lane. - */

static void quiesce_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 2, 1);
    bench_open_first(0);
}

static void quiesce_setup_seq_cst(void)
{
    bench_prepare(PINS_SEQ_CST, 1, 2, 1);
    bench_open_first(0);
}

static void quiesce_setup_broken(void)
{
    bench_prepare(PINS_BROKEN, 1, 2, 1);
    bench_open_first(0);
}

static void quiesce_two_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 2, 2, 1);
    bench_open_first(0);
    bench_open_first(1);
}

static void stop_two(void)
{
    bench_disable();
    model_check(bench_quiesce());
    for (uint32_t i = 0; i < 2; i++) {
        bench_look(i);
        model_check(bench.writer[i].drained_count == bench.writer[i].written_count);
    }
    bench_free_lane(0);
}

static void emit_first(void)
{
    bench_emit(0);
}

static void stop(void)
{
    bench_disable();
    model_check(bench_quiesce());
    bench_look(0);
    model_check(bench.writer[0].drained_count == bench.writer[0].written_count);
    bench_free_lane(0);
}

/* --- ATTACH: the slot goes to another session while a thread emits. -------------------------- */

static struct wr_buffers *next_buffers;

static void slot_setup_pins(enum pins pins)
{
    bench_prepare(pins, 1, 2, 2);
    bench_open_first(0);
    next_buffers = model_memory(sizeof *next_buffers);
    next_buffers->mode = &wr_mode_drop;
    next_buffers->segment_bytes = bench.segment_bytes;
    next_buffers->wake_at = UINT32_MAX;
    product_spare_lane(next_buffers);
}

static void slot_setup(void)
{
    slot_setup_pins(PINS_MEMBARRIER);
}

static void slot_setup_seq_cst(void)
{
    slot_setup_pins(PINS_SEQ_CST);
}

static void emit_slot_twice(void)
{
    bench_emit_slot(0);
    bench_emit_slot(0);
}

static void change_session(void)
{
    bench_disable();
    bench_quiesce();
    wr_ptr_store_release(wr_thread_lane(bench.writer[0].thread, 0), WR_LANE_NONE);
    bench_free_place(bench.writer[0].lane);
    model_free(bench.segment[0], bench.segment_bytes);
    bench_next_session(next_buffers);
}

/* --- EXIT: a thread ends while its session stops. -------------------------------------------- */

static void emit_and_exit(void)
{
    bench_emit(0);
    product_thread_exit(bench.writer[0].thread);
}

/* A writer may attach a lane until QUIESCE, and an exiting thread looks at `lanes`, not at the
 * mask. So the stopper clears the words after a first wait, and frees the lane after a second. */
static void stop_twice(void)
{
    bench_disable();
    bench_quiesce();
    wr_ptr_store_seq_cst(wr_thread_lane(bench.writer[0].thread, 0), WR_LANE_NONE);
    bench_quiesce();
    bench_free_lane(0);
}

static void stop_once(void)
{
    bench_disable();
    bench_quiesce();
    wr_ptr_store_seq_cst(wr_thread_lane(bench.writer[0].thread, 0), WR_LANE_NONE);
    bench_free_lane(0);
}

/* The drain releases a lane once its thread has left. After the thread has set `exited` it still
 * touches the lane to announce it, but inside a pin. It is not enough that the lane is off the
 * ready list: the drain may have taken it from there between those two steps. */
static void drain_exited(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    bench_look_ready();
    if (wr_u32_load_acquire(&lane->exited) == 0) /* edge EXIT.acquire */
        return;
    if (wr_pin_is_inside(wr_pin_load(lane->thread)))
        return;
    bench_look_ready();
    bench_free_place(lane);
}

static void drain_exited_early(void)
{
    struct wr_lane *lane = bench.writer[0].lane;
    bench_look_ready();
    if (wr_u32_load_acquire(&lane->exited) == 0)
        return;
    bench_look(0);
    if (wr_u32_load_acquire(&lane->queued) != 0)
        return;
    bench_free_place(lane);
}

/* --- THREAD: a record is reused once its thread and all its lanes have released it. ---------- */

static void record_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 1, 1);
}

static void let_go_and_reuse(uint32_t *own_word)
{
    struct wr_thread *thread = bench.writer[0].thread;
    wr_data_written(own_word, sizeof *own_word);
    wr_thread_lane_released(thread);
    struct wr_thread *taken = product_record_take();
    model_check(taken == NULL || taken == thread);
    if (taken != NULL)
        wr_data_written(taken->lanes, 2 * sizeof taken->lanes[0]);
}

static void record_thread(void)
{
    let_go_and_reuse((uint32_t *)(void *)wr_thread_lane(bench.writer[0].thread, 0));
}

static void record_drain(void)
{
    let_go_and_reuse((uint32_t *)(void *)wr_thread_lane(bench.writer[0].thread, 1));
}

/* Two threads come and go: each record has one owner, and none gets lost. */
static struct wr_thread *record_pair[2];

static void record_pair_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 1, 1);
    for (int i = 0; i < 2; i++) {
        record_pair[i] = model_memory(sizeof *record_pair[i]);
        product_record_list(record_pair[i]);
    }
}

static void record_come_and_go(void)
{
    struct wr_thread *thread = product_record_take();
    model_check(thread != NULL);
    wr_data_written(thread->lanes, sizeof thread->lanes[0]);
    wr_thread_lane_released(thread);
}

static void record_come_twice(void)
{
    record_come_and_go();
    record_come_and_go();
}

static void record_pair_check(void)
{
    model_check(product_record_take() && product_record_take());
}

/* --- ARRIVE, LANE: a thread takes two lanes, and the drain meets them. ----------------------- */

#define LANES 3u

static void lanes_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 1, 1); /* which already has one lane */
    for (uint32_t i = 1; i < LANES; i++)
        product_spare_lane(bench.buffers);
    wr_u32_store_relaxed(&bench.writer[0].thread->lane_count, 2 * LANES);
}

static void lanes_take(void)
{
    for (int i = 0; i < 2; i++)
        model_check(product_lane_take(bench.buffers, bench.writer[0].thread) != NULL);
}

static void lanes_release(void)
{
    for (int i = 0; i < 2; i++) {
        wr_buffers_welcome_locked(bench.buffers);
        struct wr_lane **link = &bench.buffers->lanes;
        while (*link && *link == bench.writer[0].lane)
            link = &(*link)->next;
        if (*link)
            product_lane_release(bench.buffers, link);
    }
}

static void lanes_check(void)
{
    uint32_t count = 0;
    wr_buffers_welcome_locked(bench.buffers);
    for (const struct wr_lane *lane = bench.buffers->lanes; lane; lane = lane->next)
        count++;
    const struct wr_lane *free = wr_ptr_load_relaxed(&bench.buffers->free_lanes);
    for (; free; free = free->next)
        count++;
    model_check(count == LANES);
}

/* --- RECORD: the list of records is walked while it grows. ----------------------------------- */

static struct wr_thread *fresh_record;

static void records_setup(void)
{
    bench_prepare(PINS_MEMBARRIER, 1, 1, 1);
    fresh_record = model_memory(sizeof *fresh_record);
}

static void records_grow(void)
{
    wr_data_written(&fresh_record->id, sizeof fresh_record->id);
    product_record_list(fresh_record);
}

static void record_visit(struct wr_thread *thread, void *count)
{
    wr_data_read(&thread->id, sizeof thread->id);
    ++*(uint32_t *)count;
}

static void records_walk(void)
{
    struct wr_quiesce quiesce = {0};
    uint32_t count = 0;
    wr_threads_each(record_visit, &count);
    model_check(wr_threads_quiesce(&quiesce, true, UINT64_MAX));
    model_outcome(count);
}

/* A thread that joins the list is inside its first pin, or finds the mask clear. */
static uint64_t *freed;

static void record_stop_setup(void)
{
    records_setup();
    freed = model_memory(sizeof *freed);
}

static void record_first_pin(void)
{
    product_record_list(fresh_record);
    uint64_t pin = bench_pin_enter(fresh_record);
    /* relaxed: the stopper's barrier orders it behind the pin */
    if (wr_u64_load_relaxed(bench.mask))
        wr_data_read(freed, sizeof *freed);
    wr_pin_leave(fresh_record, pin);
}

static void record_stop(void)
{
    bench_disable();
    model_check(bench_quiesce());
    wr_data_written(freed, sizeof *freed);
}

/* --- The lock of OVERWRITE is held for as long as the writer waits. -------------------------- */

static void overwrite_held_setup(void)
{
    overwrite_setup();
    product_timed(0, 1);
}

/* --- OVERWRITE. ------------------------------------------------------------------------------ */

static void overwrite_revoke_and_snapshot(void)
{
    overwrite_revoke();
    overwrite_snapshot();
}

/* --- ENROL, TURN. ---------------------------------------------------------------------------- */

static void turn_emit_four(void)
{
    emit_three();
    bench_emit(0);
}

static void turn_drain(void)
{
    turn_look();
    turn_look();
}

static void turn_drain_sweeps(void)
{
    turn_sweep();
    turn_look();
}

static void turn_drain_takes_back(void)
{
    turn_look();
    turn_sweep();
    turn_sweep();
}

static void turn_exit(void)
{
    product_thread_exit(bench.writer[0].thread);
}

/* --- NAME: a drain reads a thread's name while the thread changes it, twice: the second time in the
 * copy that may be being read. */

static struct wr_name *name;
static union wr_name_text name_read;
static uint32_t name_turn;
static bool name_is_read;

static void name_setup(void)
{
    name = model_memory(sizeof *name);
    model_name(name, "name");
    name_is_read = false;
}

static void name_change_twice(void)
{
    for (uint64_t turn = 1; turn <= 2; turn++) {
        union wr_name_text text;
        for (uint32_t i = 0; i < WR_THREAD_NAME_WORDS; i++)
            text.words[i] = turn;
        wr_name_write(name, &text);
    }
}

static void name_look(void)
{
    name_is_read = wr_name_read(name, &name_turn, &name_read);
}

static void name_check(void)
{
    for (uint32_t i = 0; name_is_read && i < WR_THREAD_NAME_WORDS; i++)
        model_check(name_read.words[i] == name_turn);
}

#define TWO(name, about, setup, writer, other, finish)                                 \
    {                                                                                  \
        .model = { name, about, 2, setup, {writer, other, NULL, NULL}, finish, false } \
    }
#define THREE(name, about, setup, first, second, third, finish)                         \
    {                                                                                   \
        .model = { name, about, 3, setup, {first, second, third, NULL}, finish, false } \
    }
#define DEEP(name, about, setup, writer, other, finish)                               \
    {                                                                                 \
        .model = {name, about, 2, setup, {writer, other, NULL, NULL}, finish, false}, \
        .is_deep = true                                                               \
    }
#define CANARY(name, about, setup, writer, other, finish)                            \
    {                                                                                \
        .model = {name, about, 2, setup, {writer, other, NULL, NULL}, finish, true}, \
        .must_fail = true                                                            \
    }
#define CANARY_THREE(name, about, setup, first, second, third)                      \
    {                                                                               \
        .model = {name, about, 3, setup, {first, second, third, NULL}, NULL, true}, \
        .must_fail = true                                                           \
    }

const struct lane_model lane_models[] = {
    TWO("publish", "three records in one segment, two looks", publish_setup, emit_three, look_twice,
        bench_check),
    TWO("handover", "three records over two segments of one, two looks", handover_setup, emit_three,
        look_twice, bench_check),
    THREE("handover_two", "a second writer takes the segment that the first has left",
          handover_two_setup, emit_two, emit_other, look_once, bench_check),
    TWO("lost", "one record, then losses", lost_setup, emit_three, lost_drain, bench_check),
    TWO("revoke", "plain pins and a membarrier", revoke_setup, emit_two, revoke_drain, bench_check),
    TWO("revoke_seq_cst", "seq_cst pins", revoke_setup_seq_cst, emit_two, revoke_drain,
        bench_check),
    TWO("revoke_open", "the writer opens a segment during a revocation", revoke_open_setup,
        emit_two, revoke_drain, bench_check),
    TWO("revoke_open_seq_cst", "the same with seq_cst pins", revoke_open_setup_seq_cst, emit_two,
        revoke_drain, bench_check),
    THREE("revoke_two", "a second writer takes the revoked segment", revoke_two_setup, emit_first,
          emit_other, revoke_drain, bench_check),
    TWO("ready", "a retired segment is announced", handover_setup, emit_three, look_ready_twice,
        bench_check_ready),
    THREE("ready_two", "two lanes on the ready list", ready_two_setup, emit_two, emit_other,
          look_ready_twice, bench_check_ready),
    TWO("span", "a record over two segments, then a small one", span_setup, emit_span_and_one,
        look_twice, bench_check),
    TWO("span_between", "the same after a small record", span_first_setup, emit_span_between,
        look_twice, bench_check),
    TWO("span_full", "a record fills two segments to the last byte", span_first_setup,
        emit_full_span_and_one, look_twice, bench_check),
    TWO("span_revoke", "the drain sweeps during a spanning record", span_first_setup,
        emit_span_and_one, revoke_drain, bench_check),
    TWO("span_ready", "the segments of a spanning record are announced", span_first_setup,
        emit_span_and_one, look_ready_twice, bench_check_ready),
    THREE("span_two", "two threads each need two of three free segments", span_two_setup, emit_span,
          emit_span_other, look_once, bench_check),
    TWO("quiesce", "one writer, one stop", quiesce_setup, emit_two, stop, NULL),
    TWO("quiesce_seq_cst", "the same with seq_cst pins", quiesce_setup_seq_cst, emit_two, stop,
        NULL),
    THREE("quiesce_two", "two writers, one stop", quiesce_two_setup, emit_first, emit_other,
          stop_two, NULL),
    TWO("slot", "the slot's next session meets a thread of the last one", slot_setup,
        emit_slot_twice, change_session, NULL),
    TWO("slot_seq_cst", "the same with seq_cst pins", slot_setup_seq_cst, emit_slot_twice,
        change_session, NULL),
    TWO("exit_stop", "a thread exits while its session stops", quiesce_setup, emit_and_exit,
        stop_twice, NULL),
    TWO("exit_stop_seq_cst", "the same with seq_cst pins", quiesce_setup_seq_cst, emit_and_exit,
        stop_twice, NULL),
    TWO("exit_drain", "the drain releases the lane of an exited thread", quiesce_setup,
        emit_and_exit, drain_exited, NULL),
    TWO("record", "a thread and its lane release the thread's record", record_setup, record_thread,
        record_drain, NULL),
    TWO("record_pair", "two threads take and give back records", record_pair_setup,
        record_come_twice, record_come_and_go, record_pair_check),
    TWO("lanes", "a thread takes lanes, the drain releases them", lanes_setup, lanes_take,
        lanes_release, lanes_check),
    TWO("record_stop", "a thread's first pin during a stop", record_stop_setup, record_first_pin,
        record_stop, NULL),
    TWO("records", "the list of records is walked while it grows", records_setup, records_grow,
        records_walk, NULL),
    DEEP("handover_deep", "four records over two segments of one, two looks", handover_setup,
         emit_four, look_twice, bench_check),
    DEEP("revoke_deep", "two sweeps over a busy lane", revoke_open_setup, emit_two, revoke_twice,
         bench_check),
    DEEP("revoke_open_deep", "the writer fills three segments while the drain sweeps",
         revoke_open_setup, emit_three, revoke_drain, bench_check),
    DEEP("revoke_open_seq_cst_deep", "the same with seq_cst pins", revoke_open_setup_seq_cst,
         emit_three, revoke_drain, bench_check),
    TWO("overwrite", "a snapshot reads while the writer changes segments", overwrite_setup,
        emit_three, overwrite_snapshot, overwrite_check),
    TWO("overwrite_lost", "the snapshot holds all segments", overwrite_one_setup, emit_three,
        overwrite_snapshot, overwrite_check),
    TWO("overwrite_held", "a snapshot holds the lock past the writer's patience",
        overwrite_held_setup, emit_three, overwrite_snapshot, overwrite_check),
    TWO("overwrite_two", "two writers recycle each other's segments", overwrite_two_setup,
        emit_three, emit_other_two, overwrite_check),
    TWO("overwrite_revoke", "the drain takes a segment that its thread may leave and reopen",
        overwrite_one_setup, emit_three, overwrite_revoke, overwrite_check),
    TWO("overwrite_revoke_seq_cst", "the same with seq_cst pins", overwrite_one_setup_seq_cst,
        emit_three, overwrite_revoke, overwrite_check),
    {.model = {.name = "overwrite_three",
               .about = "a snapshot reads while two writers recycle",
               .threads = 3,
               .setup = overwrite_three_setup,
               .run = {emit_two, emit_other_two, overwrite_snapshot},
               .finish = overwrite_check},
     .is_deep = true,
     .preemptions = 3},
    {.model = {.name = "overwrite_three_revoke",
               .about = "the same, and the drain visits a lane",
               .threads = 3,
               .setup = overwrite_two_setup,
               .run = {emit_two, emit_other_two, overwrite_revoke_and_snapshot},
               .finish = overwrite_check},
     .is_deep = true,
     .preemptions = 2},
    TWO("turn", "a thread is refused, served, and refused again", turn_setup, turn_emit_four,
        turn_drain, turn_check),
    THREE("turn_order", "two threads are refused", turn_two_setup, emit_two, emit_other, turn_look,
          turn_check),
    TWO("turn_back", "the drain takes back a grant that is about to be used", turn_granted_setup,
        emit_two, turn_drain_sweeps, turn_check),
    TWO("turn_exit", "a refused thread exits", turn_refused_setup, turn_exit, turn_release,
        turn_check),
    TWO("turn_taken_back", "a grant is given, met, taken back; its thread is refused again",
        turn_refused_setup, emit_two, turn_drain_takes_back, turn_check),
    THREE("turn_back_two", "the drain takes a grant back for another thread",
          turn_granted_two_setup, emit_first, emit_other, turn_sweep, turn_check),
    TWO("turn_exit_queued", "a refused thread exits while nothing is free", turn_queued_setup,
        turn_exit, turn_release, NULL),
    TWO("turn_asked", "a thread is asked to yield, and served when it hears", turn_left_setup,
        emit_two, turn_look, turn_check),
    TWO("turn_asked_again", "a thread is asked to yield once more when it hears", turn_left_setup,
        emit_two, turn_drain_sweeps, turn_check),
    TWO("turn_asked_exit", "a thread that is asked to yield exits", turn_left_setup, turn_exit,
        turn_drain_sweeps, turn_check),
    TWO("turn_exit_granted", "a thread exits while its grant is taken back", turn_granted_setup,
        turn_exit, turn_drain_sweeps, turn_check),
    TWO("thread_name", "a name changes while it is read", name_setup, name_change_twice, name_look,
        name_check),
    CANARY("canary_overwrite_revoke", "the drain ignores the opening of the segment",
           overwrite_one_setup, emit_three, overwrite_revoke_any, overwrite_check),
    CANARY("canary_overwrite_release", "the snapshot puts segments back before it has read them",
           overwrite_setup, emit_three, overwrite_snapshot_early, overwrite_check),
    CANARY("canary_revoke", "plain pins, no membarrier", revoke_setup_broken, emit_two,
           revoke_drain, bench_check),
    CANARY("canary_quiesce", "plain pins, no membarrier", quiesce_setup_broken, emit_two, stop,
           NULL),
    CANARY("canary_exit_stop", "only one wait for the pins", quiesce_setup, emit_and_exit,
           stop_once, NULL),
    CANARY("canary_exit_drain", "the drain releases an exited lane without looking at the pin",
           quiesce_setup, emit_and_exit, drain_exited_early, NULL),
    CANARY("canary_revoke_current", "the drain revokes whatever is current after the barrier",
           revoke_open_setup, emit_three, revoke_what_is_current, NULL),
    CANARY("canary_span_parts", "a record over two segments, published part by part", span_setup,
           emit_parts, look_twice, bench_check),
    CANARY_THREE("canary_segment_end", "`end` and the ownership word belong to the segment",
                 segment_end_setup, segment_end_writer, segment_end_other, segment_end_drain),
};

const size_t lane_model_count = sizeof lane_models / sizeof lane_models[0];
