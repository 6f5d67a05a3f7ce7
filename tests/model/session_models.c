/*
 * The models of a whole session with the product's emit_slow.c, buffers, gate, drain and stop. Mode
 * BLOCK, except where it says DROP.
 */
#include <string.h>
#include "lane_models.h"
#include "session_bench.h"

static void exit_setup(void)
{
    session_prepare(WEIR_WAKE_RELAY, true, 1, 1, 1);
}

static void emit_and_exit(void)
{
    session_emit();
    session_thread_exit();
}

static void emit_twice(void)
{
    session_emit();
    session_emit();
}

static void two_setup(enum weir_wake wake, bool fast)
{
    session_prepare(wake, fast, 2, 1, 1);
}

static void teardown_setup(void)
{
    two_setup(WEIR_WAKE_RELAY, true);
}

static void teardown_relay_setup(void)
{
    two_setup(WEIR_WAKE_RELAY, false);
}

static void teardown_fifo_setup(void)
{
    two_setup(WEIR_WAKE_FIFO, false);
}

static void teardown_auto_reset_setup(void)
{
    two_setup(WEIR_WAKE_AUTO_RESET, false);
}

/* The first thread got both segments, and gives one back when it exits. */
static void granted_setup(void)
{
    session_prepare(WEIR_WAKE_RELAY, false, 2, 2, 2);
    session_emit_before(0);
}

static void failing_setup(void)
{
    exit_setup();
    product_sink_fails();
}

static void early_setup(void)
{
    exit_setup();
    wr_registry_disable(0, UINT64_MAX);
}

/* A thread holds the only segment; it has written to it and is idle. */
static void idle_setup(enum weir_wake wake)
{
    session_prepare(wake, false, 3, 1, 1);
    memset(product_self(DRAIN_THREAD), 0, sizeof *product_self(DRAIN_THREAD));
    session_emit_before(2);
}

static void idle_relay_setup(void)
{
    idle_setup(WEIR_WAKE_RELAY);
}

static void idle_fifo_setup(void)
{
    idle_setup(WEIR_WAKE_FIFO);
}

static void idle_auto_reset_setup(void)
{
    idle_setup(WEIR_WAKE_AUTO_RESET);
}

/* DROP: an idle thread holds the only segment. */
static void turns_setup(void)
{
    session_prepare_brim(false, 3, 1);
    memset(product_self(DRAIN_THREAD), 0, sizeof *product_self(DRAIN_THREAD));
    session_emit_before(2);
}

/* The same; that idle thread was also refused, so its turn comes first, and it does not use it. */
static void turns_unused_setup(void)
{
    turns_setup();
    session_emit_before(2);
}

static void clock_setup(void)
{
    session_prepare_clock(WEIR_WAKE_RELAY, false, 1, 1);
}

static void clock_two_setup(void)
{
    session_prepare_clock(WEIR_WAKE_FIFO, false, 1, 2);
}

static void refused_setup(void)
{
    session_prepare(WEIR_WAKE_RELAY, true, 2, 1, 1);
    product_membarrier_fails();
}

/* The host has hooks; a thread inside them is in no count. */
static void outside_setup(void)
{
    exit_setup();
    session_hooks();
}

static void outside_seq_cst_setup(void)
{
    session_prepare(WEIR_WAKE_RELAY, false, 1, 1, 1);
    session_hooks();
}

static void hooks_setup(void)
{
    memset(&session_bench, 0, sizeof session_bench);
    product_reset();
    session_hooks();
}

static void exit_seq_cst_setup(void)
{
    session_prepare(WEIR_WAKE_RELAY, false, 1, 1, 1);
}

static void linger_setup(void)
{
    exit_setup();
    session_lingers();
}

static void linger_seq_cst_setup(void)
{
    exit_seq_cst_setup();
    session_lingers();
}

static void linger_two_setup(void)
{
    teardown_relay_setup();
    session_lingers();
}

static void linger_outside_setup(void)
{
    outside_setup();
    session_lingers();
}

/* The stopper, the second thread, may stop waiting for the others at any time. */
static void linger_ends_setup(void)
{
    linger_seq_cst_setup();
    product_timed(1, 1);
}

static void bell_setup(void)
{
    exit_seq_cst_setup();
    product_own_bell(&session_bench.session->buffers.bell);
}

static void rundown_setup(void)
{
    session_prepare_rundown(false);
}

static void rundown_drain_setup(void)
{
    session_prepare_rundown(true);
}

/* Between the two events it waits for the drain. */
static void emit_twice_and_stop(void)
{
    emit_twice();
    session_stop();
}

#define THREE_OF(name_, about_, setup_, first, second, third, finish_) \
    .model = {.name = name_,                                           \
              .about = about_,                                         \
              .threads = 3,                                            \
              .setup = setup_,                                         \
              .run = {first, second, third},                           \
              .finish = finish_}
#define THREE(name_, about_, setup_, first, second, third) \
    THREE_OF(name_, about_, setup_, first, second, third, session_check)
#define TWO_OF(name_, about_, setup_, first, second, finish_) \
    .model = {.name = name_,                                  \
              .about = about_,                                \
              .threads = 2,                                   \
              .setup = setup_,                                \
              .run = {first, second},                         \
              .finish = finish_}
#define TWO(name_, about_, setup_, first, second) \
    TWO_OF(name_, about_, setup_, first, second, session_check)

#define IDLE(name_, about_, setup_)                                                              \
    THREE_OF(name_, about_, setup_, session_emit_and_tell, session_emit_and_stop, session_drain, \
             session_check_in_time),                                                             \
        .is_large = true, .preemptions = 1

const struct lane_model session_models[] = {
    {TWO("teardown_one", "a thread emits twice, one segment, stop", exit_setup, emit_twice,
         session_stop_alone)},
    {TWO("teardown_tries", "a thread emits twice, one segment, a stop in tries", exit_setup,
         emit_twice, session_stop_in_tries),
     .is_deep = true},
    {TWO("teardown_exit_tries", "a thread emits and exits, a stop in tries", exit_seq_cst_setup,
         emit_and_exit, session_stop_in_tries)},
    {THREE("teardown_relay", "two threads emit, one segment, stop; seq_cst pins",
           teardown_relay_setup, session_emit, session_emit, session_stop_alone),
     .is_large = true},
    {THREE("teardown_fifo", "the same", teardown_fifo_setup, session_emit, session_emit,
           session_stop_alone),
     .is_large = true},
    {THREE("teardown_auto_reset", "the same", teardown_auto_reset_setup, session_emit, session_emit,
           session_stop_alone),
     .is_large = true},
    {THREE("teardown_granted", "a thread is granted what another gives back, stop", granted_setup,
           session_thread_exit, session_emit, session_stop_alone),
     .is_deep = true},
    {THREE("teardown_deep", "the same with plain pins and a membarrier", teardown_setup,
           session_emit, session_emit, session_stop_alone),
     .is_deep = true, .preemptions = 2},
    {TWO("teardown_exit", "a thread emits and exits, stop", exit_setup, emit_and_exit,
         session_stop_alone),
     .is_large = true},
    {TWO("teardown_exit_seq_cst", "the same with seq_cst pins", exit_seq_cst_setup, emit_and_exit,
         session_stop_alone)},
    {THREE("exit", "a thread emits and exits, drain, stop", exit_setup, emit_and_exit,
           session_drain, session_stop),
     .is_large = true, .preemptions = 1},
    {THREE("exit_seq_cst", "the same with seq_cst pins", exit_seq_cst_setup, emit_and_exit,
           session_drain, session_stop),
     .is_large = true, .preemptions = 1},
    {THREE("exit_deep", "the same with plain pins", exit_setup, emit_and_exit, session_drain,
           session_stop),
     .is_deep = true, .is_long = true, .preemptions = 2},
    {THREE("wait", "a thread emits twice, drain, stop", exit_setup, emit_twice, session_drain,
           session_stop),
     .is_large = true, .preemptions = 1},
    {THREE("wait_seq_cst", "the same with seq_cst pins", exit_seq_cst_setup, emit_twice,
           session_drain, session_stop),
     .is_large = true, .preemptions = 1},
    {THREE("wait_deep", "the same with plain pins", exit_setup, emit_twice, session_drain,
           session_stop),
     .is_deep = true, .is_long = true, .preemptions = 2},
    {TWO("bell", "a thread emits twice, and stops; the drain sleeps until it is rung", bell_setup,
         emit_twice_and_stop, session_drain),
     .is_deep = true, .preemptions = 2},
    {THREE("sink_fails", "the sink fails while a thread is parked, stop", failing_setup, emit_twice,
           session_drain, session_stop),
     .is_large = true, .preemptions = 1},
    {IDLE("idle_relay", "two threads wait for what an idle thread holds", idle_relay_setup)},
    {IDLE("idle_fifo", "the same", idle_fifo_setup)},
    {IDLE("idle_auto_reset", "the same", idle_auto_reset_setup)},
    {THREE_OF("turns", "two threads are refused; DROP", turns_setup, session_emit_in_turn_and_tell,
              session_emit_in_turn_and_stop, session_drain, session_check_in_time),
     .is_large = true, .preemptions = 1},
    {THREE_OF("turns_unused", "the same, and a third thread does not use its turn; DROP",
              turns_unused_setup, session_emit_in_turn_and_tell, session_emit_in_turn_and_stop,
              session_drain, session_check_in_time),
     .is_large = true, .preemptions = 1},
    {THREE_OF("idle_deep", "two threads wait for what an idle thread holds", idle_fifo_setup,
              session_emit_and_tell, session_emit_and_stop, session_drain, session_check_in_time),
     .is_deep = true, .is_long = true, .preemptions = 2},
    {THREE("clock_back", "a thread emits three times, one segment; the clock steps back",
           clock_setup, session_emit_all_and_stop, session_step_back, session_drain),
     .is_large = true, .preemptions = 1},
    {THREE("clock_back_two", "the same with two segments", clock_two_setup,
           session_emit_all_and_stop, session_step_back, session_drain),
     .is_large = true, .preemptions = 1},
    {THREE("clock_leap", "the clock leaps", clock_setup, session_emit_all_and_stop, session_leap,
           session_drain),
     .is_large = true, .preemptions = 1},
    {THREE("clock_back_deep", "the clock steps back, two segments", clock_two_setup,
           session_emit_all_and_stop, session_step_back, session_drain),
     .is_deep = true, .is_long = true, .preemptions = 2},
    {THREE_OF("refused", "membarrier fails while two threads emit; one segment", refused_setup,
              session_emit_and_tell, session_emit_and_stop_lost, session_drain, session_check_lost),
     .is_large = true, .preemptions = 1},
    {TWO("outside_stop", "a thread with hooks emits twice; a read, then a stop", outside_setup,
         emit_twice, session_drain_and_stop_alone)},
    {TWO("outside_stop_seq_cst", "the same with seq_cst pins", outside_seq_cst_setup, emit_twice,
         session_drain_and_stop_alone)},
    {TWO_OF("linger", "a thread emits twice, one segment; a stop that serves it", linger_setup,
            emit_twice, session_stop_serving, session_check_served),
     .is_large = true},
    {TWO_OF("linger_seq_cst", "the same with seq_cst pins, and a read before the stop",
            linger_seq_cst_setup, emit_twice, session_drain_and_stop_serving,
            session_check_served)},
    {THREE_OF("linger_two", "the same with two threads that emit once; seq_cst pins",
              linger_two_setup, session_emit, session_emit, session_stop_serving,
              session_check_served),
     .is_large = true, .preemptions = 2},
    {TWO_OF("linger_outside", "the same with a thread that has hooks", linger_outside_setup,
            emit_twice, session_stop_serving, session_check_served),
     .is_large = true},
    {TWO("linger_ends",
         "a read, then a stop that may send the thread away at any time; seq_cst pins",
         linger_ends_setup, emit_twice, session_drain_and_stop_alone)},
    {THREE_OF("linger_drain", "a thread emits twice, drain, a stop that serves the thread",
              linger_setup, emit_twice, session_drain, session_stop, session_check_served),
     .is_large = true, .preemptions = 1},
    {.model = {.name = "hooks",
               .about = "two threads set the same hooks; one of them has called hooks before",
               .threads = 2,
               .setup = hooks_setup,
               .run = {session_set_hooks, session_wait_and_set_hooks}}},
    {.model = {.name = "rundown",
               .about = "a rundown at the start in three boxes, a look that takes one, and the end",
               .threads = 2,
               .setup = rundown_setup,
               .run = {session_rundown, session_take_and_end},
               .finish = session_check_rundown},
     .is_large = true},
    {.model = {.name = "rundown_stuck",
               .about = "the start does not wait for a drain that takes nothing until the end",
               .threads = 2,
               .setup = session_prepare_rundown_stuck,
               .run = {session_rundown, session_end_late},
               .finish = session_check_rundown},
     .is_large = true},
    {.model = {.name = "rundown_ring",
               .about = "a rundown at the start, and then a stop; drain",
               .threads = 2,
               .setup = rundown_drain_setup,
               .run = {session_rundown_and_stop, session_drain},
               .finish = session_check_rundown_in_time},
     .is_large = true,
     .preemptions = 2},
    {THREE_OF("rundown_stop", "a rundown at the start, drain, stop", rundown_drain_setup,
              session_rundown, session_stop_and_wait, session_drain, session_check_rundown),
     .is_large = true, .preemptions = 1},
    {.model = {.name = "early",
               .about = "the sink fails before the event is enabled",
               .threads = 2,
               .setup = early_setup,
               .run = {session_start_late, session_fail},
               .finish = session_check_off}},
};

const size_t session_model_count = sizeof session_models / sizeof session_models[0];
