/*
 * The models of an emitter and the drain's looks in mode DROP: the product's weir_emit() and drain,
 * with a clock that moves (memory.c). Thread 0 emits; the other thread looks or stops.
 */
#include "lane_models.h"
#include "session_bench.h"

static void emit_twice(void)
{
    session_emit();
    session_emit();
}

static void look(void)
{
    wr_drain_look(session_bench.session, false);
}

static void look_twice(void)
{
    look();
    look();
}

static void look_timed(void)
{
    wr_drain_look(session_bench.session, true);
}

/* Call in finish(). Ends the stream. No record is older than a point before it. */
static void check_in_order(void)
{
    wr_drain_end(session_bench.session);
    model_check(session_bench.session->drain.late_records == 0);
    session_check_counts();
}

/* The same, and the drain has not mistaken anything for a step of the clock. */
static void check_no_step(void)
{
    const struct weir_session *session = session_bench.session;
    check_in_order();
    model_check(session->drain.offset == 0);
    for (const struct wr_lane *lane = session->buffers.lanes; lane; lane = lane->next)
        model_check(lane->skew == 0);
}

/* --- The clock. It shows 0 until it starts. -------------------------------------------------- */

static void clock_begins(void)
{
    static const uint64_t times[] = {100, 200};
    model_clock(times, 2);
}

/* Leaps further than a record's ticks can hold, into the bits of its event index. */
static void clock_leaps(void)
{
    static const uint64_t times[] = {100, (UINT64_C(2) << WR_RECORD_TICK_BITS) + 100};
    model_clock(times, 2);
}

/* --- A lane that the drain has not met holds nothing older than the horizon. ----------------- */

static void new_setup(void)
{
    session_prepare_drop(true, 1, 2, false);
    clock_begins();
}

/* --- Nor does a lane that it has read, unless its thread is inside a pin. -------------------- */

/* Gives the drain a reason to write a point. */
static void settle_setup_pins(bool fast)
{
    session_prepare_drop(fast, 1, 2, true);
    session_emit_before(0);
    clock_begins();
}

static void settle_setup(void)
{
    settle_setup_pins(true);
}

static void settle_setup_seq_cst(void)
{
    settle_setup_pins(false);
}

static void leap_setup(void)
{
    session_prepare_drop(true, 1, 2, true);
    session_emit_before(0);
    clock_leaps();
}

/* --- The sweep takes the segment of a thread that has not moved since the last one. ---------- */

static void sweep_setup_pins(bool fast)
{
    session_prepare_drop(fast, 1, 2, true);
    /* If no thread waits, the drain takes idle segments back only where there are many threads. */
    wr_u32_store_relaxed(&session_bench.session->buffers.lanes_now, UINT32_MAX);
    session_emit_before(0);
    look_timed();
    clock_begins();
}

static void sweep_setup(void)
{
    sweep_setup_pins(true);
}

static void sweep_setup_seq_cst(void)
{
    sweep_setup_pins(false);
}

static void sweep_and_look(void)
{
    wr_drain_sweep(session_bench.session, false);
    look();
}

/* --- The stop. ------------------------------------------------------------------------------- */

static void stop_setup(void)
{
    session_prepare_drop(true, 1, 2, true);
}

static void stop_setup_seq_cst(void)
{
    session_prepare_drop(false, 1, 2, true);
}

/* The slot goes to another session, and this session's lane is freed. */
static void change_setup(void)
{
    stop_setup();
    session_prepare_next();
}

/* The thread's handler emits. */
static void nested_setup(void)
{
    stop_setup();
    model_handler(0, session_emit_nested);
}

static void nested_setup_seq_cst(void)
{
    stop_setup_seq_cst();
    model_handler(0, session_emit_nested);
}

static void nested_new_setup(void)
{
    session_prepare_drop(true, 1, 2, false);
    model_handler(0, session_emit_nested);
}

static void variable_setup(void)
{
    nested_setup();
    session_variable();
}

static void variable_sweep_setup(void)
{
    sweep_setup();
    session_variable();
}

/* --- Membarrier fails. ----------------------------------------------------------------------- */

static void late_setup(void)
{
    session_prepare_late(2, true);
}

static void late_new_setup(void)
{
    session_prepare_late(2, false);
}

/* The handler may take the first event's place in the lane before its thread enters the pin. */
static void late_nested_setup(void)
{
    late_setup();
    model_handler(0, session_emit_nested);
}

static void late_nested_new_setup(void)
{
    late_new_setup();
    model_handler(0, session_emit_nested);
}

static void emit_and_exit(void)
{
    session_emit();
    session_thread_exit();
}

static void refused_sweep_setup(void)
{
    sweep_setup();
    product_membarrier_fails();
}

#define TWO(name_, about_, setup_, first, second, finish_) \
    .model = {.name = name_,                               \
              .about = about_,                             \
              .threads = 2,                                \
              .setup = setup_,                             \
              .run = {first, second},                      \
              .finish = finish_}

/* A model is deep if the sweep misses nothing without it. */
const struct lane_model look_models[] = {
    {TWO("look_new", "a thread's first event, two looks", new_setup, session_emit, look_twice,
         check_no_step),
     .is_large = true},
    {TWO("look_settle", "an event while a point is written", settle_setup, session_emit, look_timed,
         check_no_step),
     .is_large = true},
    {TWO("look_settle_seq_cst", "the same with seq_cst pins", settle_setup_seq_cst, session_emit,
         look_timed, check_no_step),
     .is_large = true},
    {TWO("look_leap", "the clock leaps further than a record can express", leap_setup, session_emit,
         look, check_in_order),
     .is_deep = true},
    {TWO("look_sweep", "an event while the drain takes the thread's segment", sweep_setup,
         session_emit, sweep_and_look, check_in_order),
     .is_deep = true},
    {TWO("look_sweep_seq_cst", "the same with seq_cst pins", sweep_setup_seq_cst, session_emit,
         sweep_and_look, check_in_order),
     .is_deep = true},
    {TWO("stop_emit", "a thread emits twice, stop", stop_setup, emit_twice, session_stop_alone,
         session_check),
     .is_deep = true},
    {TWO("stop_emit_seq_cst", "the same with seq_cst pins", stop_setup_seq_cst, emit_twice,
         session_stop_alone, session_check)},
    {TWO("stop_change", "the slot's next session meets a thread of the last one", change_setup,
         emit_twice, session_change, NULL),
     .is_deep = true},
    {TWO("stop_late", "a thread is inside its pin when the stream ends", stop_setup, session_emit,
         session_stop_late, session_check_read)},
    {TWO("stop_tries", "a thread emits twice, a stop in tries", stop_setup, emit_twice,
         session_stop_in_tries, session_check),
     .is_deep = true},
    {TWO("stop_nested", "a handler emits at any point of an emit, stop", nested_setup, session_emit,
         session_stop_alone, session_check),
     .is_deep = true},
    {TWO("stop_nested_seq_cst", "the same with seq_cst pins", nested_setup_seq_cst, session_emit,
         session_stop_alone, session_check)},
    {TWO("stop_nested_new", "the same at any point of a thread's first event", nested_new_setup,
         session_emit, session_stop_alone, session_check),
     .is_deep = true},
    {TWO("stop_variable", "a handler emits at any point of an emit of variable size, stop",
         variable_setup, session_emit, session_stop_alone, session_check),
     .is_deep = true},
    {TWO("look_sweep_variable", "an event of variable size while the drain takes the segment",
         variable_sweep_setup, session_emit, sweep_and_look, check_in_order),
     .is_deep = true},
    {TWO("late", "a session after membarrier has failed: a thread emits twice, stop", late_setup,
         emit_twice, session_stop_alone, session_check)},
    {TWO("late_new", "the same, and the thread is new to the session", late_new_setup, emit_twice,
         session_stop_alone, session_check)},
    {TWO("late_exit", "the same, and it exits", late_new_setup, emit_and_exit, session_stop_alone,
         session_check)},
    {TWO("late_nested", "the same, and a handler emits at any point of an emit", late_nested_setup,
         session_emit, session_stop_alone, session_check)},
    {TWO("late_nested_new", "the same at any point of a thread's first event",
         late_nested_new_setup, session_emit, session_stop_alone, session_check)},
    {TWO("refused_sweep", "membarrier fails in a sweep during an event", refused_sweep_setup,
         session_emit, sweep_and_look, session_check_counts),
     .is_large = true},
};

const size_t look_model_count = sizeof look_models / sizeof look_models[0];
