/*
 * The models of the gate: threads 0 and 1 ask, thread 2 is the drain or the closer.
 *
 * Bounds: two askers with one or two attempts each (a single asker: three); up to three of eight
 * segments in play; one drain that gives each segment once and then serves waiters until both are
 * done. If a thread sleeps for ever, the explorer reports a deadlock.
 */
#include <weir/session.h>
#include "gate_bench.h"
#include "lane_models.h"
#include "wait/ablation.h"

enum { GRANT_OF_TWO = 2 };

/* --- PARK: no thread sleeps for ever while something is free. -------------------------------- */

static void auto_reset_setup(void)
{
    gate_prepare(WEIR_WAKE_AUTO_RESET, 0, 1, 2);
}

static void fifo_setup(void)
{
    gate_prepare(WEIR_WAKE_FIFO, 0, 1, 2);
}

static void relay_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN | WR_WAKE_NO_CAP, 1, 2);
}

/* The head of the queue spins, and is roused for that. */
static void relay_spin_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_CAP, 1, 2);
}

/* A waiting thread checks now and then whether any waiter could be served. */
static void recheck(void)
{
    gate_bench.buffers->max_block_ns = 0;
    product_timed(0, 1);
}

static void auto_reset_recheck_setup(void)
{
    auto_reset_setup();
    recheck();
}

static void fifo_recheck_setup(void)
{
    fifo_setup();
    recheck();
}

static void relay_recheck_setup(void)
{
    relay_setup();
    recheck();
}

static void get_one(void)
{
    model_check(gate_get(1));
}

static void get_two_at_once(void)
{
    model_check(gate_get(2));
}

static void give_two(void)
{
    gate_give(1);
    gate_give(1);
}

static void give_three(void)
{
    give_two();
    gate_give(1);
}

/* --- RELAY's cap never keeps a thread waiting for ever. -------------------------------------- */

/* One processor besides the drain's: the first thread that is granted fills the cap. */
static void relay_cap_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN, 1, 2);
    gate_bell();
}

static bool is_not_zero(uint64_t value, uint64_t argument)
{
    (void)argument;
    return value != 0;
}

/* Holds its segment and computes until the other thread is served. */
static void get_and_compute(void)
{
    uint32_t self = model_self();
    model_check(gate_get(1));
    wr_u32_store_release(&gate_bench.served[self], 1);
    model_wait_until_u32(&gate_bench.served[1 - self], is_not_zero, 0);
    gate_done();
}

static void give_two_and_attend(void)
{
    give_two();
    gate_attend();
}

/* A thread that asks again while another one waits passes on what is free. */
static void relay_hand_on_setup(void)
{
    relay_cap_setup();
    gate_hold(0);
}

static void get_once(void)
{
    model_check(gate_get(1));
    gate_done();
}

/* --- GRANT: units do not leak, and the next waiter is served. -------------------------------- */

/* Thread 0 may reach its deadline at any time. */
static void auto_reset_timed_setup(void)
{
    auto_reset_setup();
    product_timed(0, 1);
}

static void fifo_timed_setup(void)
{
    fifo_setup();
    product_timed(0, 1);
}

static void relay_timed_setup(void)
{
    relay_setup();
    product_timed(0, 1);
}

static void get_and_return(void)
{
    gate_get(1);
    gate_return();
}

static void get_two_and_return(void)
{
    gate_get(2);
    gate_return();
}

static void give_one(void)
{
    gate_give(1);
}

/* The first attempt may end at its deadline although it was signaled. One of the two that follow
 * waits. */
static void fifo_one_timed_setup(void)
{
    gate_prepare(WEIR_WAKE_FIFO, 0, 1, 1);
    product_timed(0, 1);
}

static void get_again_behind_deadline(void)
{
    if (gate_get(1))
        return;
    model_check(gate_get(1));
    model_check(gate_get(1));
}

/* A grant is two segments; the unused one goes back when its thread exits. */
static void relay_grant_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN, 2, 2);
}

static void get_and_exit(void)
{
    model_check(gate_get(1));
    gate_exit();
}

static void give_pair(void)
{
    gate_give(2);
}

static void relay_grant_one_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN, 2, 1);
}

/* Or the unused one is used, or taken back. */
static void get_again_and_exit(void)
{
    model_check(gate_get(1));
    gate_return();
    model_check(gate_get(1));
    gate_return();
    gate_exit();
}

static void give_pair_and_revoke(void)
{
    gate_give(2);
    gate_revoke();
}

/* In a no-block scope a thread does not wait, not even for the lock. */
static void try_one(void)
{
    gate_try();
    gate_return();
}

/* --- ABORT: each attempt is served or lost exactly once. ------------------------------------- */

static void may_get(void)
{
    gate_get(1);
}

/* The masks are clear: a grant that arrives now is sent back. */
static void auto_reset_unwanted_setup(void)
{
    gate_prepare(WEIR_WAKE_AUTO_RESET, 0, 1, 1);
    gate_bench.is_wanted = false;
}

static void fifo_unwanted_setup(void)
{
    gate_prepare(WEIR_WAKE_FIFO, 0, 1, 1);
    gate_bench.is_wanted = false;
}

static void relay_unwanted_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN, 1, 1);
    gate_bench.is_wanted = false;
}

/* A single thread, which needs two segments. */
static void auto_reset_one_setup(void)
{
    gate_prepare(WEIR_WAKE_AUTO_RESET, 0, 1, 1);
}

static void fifo_one_setup(void)
{
    gate_prepare(WEIR_WAKE_FIFO, 0, 1, 1);
}

static void relay_one_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN, 1, 1);
}

static void may_get_two(void)
{
    gate_get(2);
}

static void may_get_twice(void)
{
    gate_get(1);
    gate_get(1);
}

static void close_only(void)
{
    gate_abort();
}

static void give_and_abort(void)
{
    gate_give(1);
    gate_abort();
    gate_wait_unparked();
}

static void abort_all(void)
{
    gate_abort();
    gate_wait_unparked();
}

/* --- OUTSIDE: a thread in the host's hook keeps nothing that others need. -------------------- */

static void be_busy(void)
{
    product_pass_ns(GATE_HOOK_NS);
}

static void say(uint32_t number)
{
    wr_u32_store_release(&gate_bench.served[number], 1);
}

static void await(uint32_t number)
{
    model_wait_until_u32(&gate_bench.served[number], is_not_zero, 0);
}

static void be_busy_until_other_is_served(void)
{
    be_busy();
    say(0);
    await(1);
}

static void outside_auto_reset_setup(void)
{
    auto_reset_setup();
    gate_hooks(be_busy, be_busy_until_other_is_served);
}

static void outside_fifo_setup(void)
{
    fifo_setup();
    gate_hooks(be_busy, be_busy_until_other_is_served);
}

static void outside_relay_setup(void)
{
    relay_setup();
    gate_hooks(be_busy, be_busy_until_other_is_served);
}

static void get_hooked(void)
{
    model_check(gate_get_hooked(1));
    gate_return();
    say(0);
}

static void get_and_say(void)
{
    model_check(gate_get(1));
    gate_return();
    say(1);
}

static void give_one_and_sweep(void)
{
    gate_give(1);
    gate_sweep();
}

static void give_one_and_sweep_first(void)
{
    gate_give(1);
    await(0);
    gate_sweep();
}

/* Thread 0's grant may arrive after it has used up its time. It loses the grant for good and asks
 * again. */
static void outside_timed_setup(void)
{
    outside_relay_setup();
    product_timed(0, 2);
}

static void get_keep_and_say(void)
{
    model_check(gate_get(1));
    say(1);
}

static void may_get_hooked(void)
{
    gate_get_hooked(1);
    gate_return();
    say(0);
}

/* One processor besides the drain's, and a drain that only gives. */
static void outside_cap_setup(void)
{
    relay_cap_setup();
    gate_hooks(be_busy, be_busy_until_other_is_served);
}

static void get_hooked_and_exit(void)
{
    model_check(gate_get_hooked(1));
    gate_exit();
}

static void get_exit_and_say(void)
{
    model_check(gate_get(1));
    gate_exit();
    say(1);
}

/* The first thread outside loses its grant. The other thread then has it outside and stays there
 * until the first one is served, which takes the grant back. Words of `served`: one per thread, set
 * when it is outside or served; from SERVED on, one per thread, set when it is served; ANYBODY
 * counts both. */
enum { SERVED = 2, ANYBODY = 4 };

static void be_busy_and_take_back(void)
{
    uint32_t self = model_self();
    be_busy();
    say(self);
    bool is_first = wr_u32_add_acq_rel(&gate_bench.served[ANYBODY], 1) == 0;
    await(is_first ? 1 - self : SERVED + 1 - self);
}

static void take_back_setup(void)
{
    relay_setup();
    gate_bench.served = model_memory((ANYBODY + 1) * (uint32_t)sizeof *gate_bench.served);
    gate_hooks(be_busy, be_busy_and_take_back);
}

static void get_hooked_and_say_all(void)
{
    uint32_t self = model_self();
    model_check(gate_get_hooked(1));
    gate_return();
    say(SERVED + self);
    say(self);
    wr_u32_add_acq_rel(&gate_bench.served[ANYBODY], 1);
}

static void give_one_and_sweep_any(void)
{
    gate_give(1);
    await(ANYBODY);
    gate_sweep();
}

/* Each thread may lose its grant to the other and take it back. */
static void reclaim_setup(void)
{
    relay_setup();
    gate_hooks(be_busy, be_busy);
}

static void get_two_hooked(void)
{
    model_check(gate_get_hooked(2));
    gate_return();
}

static void get_one_hooked(void)
{
    model_check(gate_get_hooked(1));
    gate_return();
}

static void give_two_and_sweep(void)
{
    give_two();
    gate_sweep();
}

/* The stop does not wait for a thread in a hook; that thread waits for the stop. */
static void outside_abort_setup(void)
{
    gate_prepare(WEIR_WAKE_RELAY, WR_WAKE_NO_SPIN, 2, 1);
    gate_bench.served = model_memory(2 * (uint32_t)sizeof *gate_bench.served);
    gate_hooks(be_busy, be_busy_until_other_is_served);
}

static void may_get_hooked_and_exit(void)
{
    gate_get_hooked(1);
    gate_return();
    gate_exit();
}

static void give_abort_and_say(void)
{
    give_and_abort();
    say(1);
}

static void outside_unwanted_setup(void)
{
    outside_abort_setup();
    gate_bench.is_wanted = false;
    gate_hooks(be_busy, be_busy);
}

/* Exactly one of the two counts the loss: the thread that comes back and cannot have the lock, or
 * the closer that holds it. */
static void may_get_hooked_twice(void)
{
    gate_get_hooked(1);
    gate_return();
    may_get_hooked_and_exit();
}

static void outside_abort_timed_setup(void)
{
    outside_abort_setup();
    gate_hooks(be_busy, be_busy);
    product_timed(0, 2);
}

/* A thread leaves its wait and exits while another one is granting it something. Then the drain
 * releases its lane, and the next owner clears it. */
static void may_get_exit_and_say(void)
{
    gate_get(1);
    gate_return();
    gate_exit();
    say(0);
}

static void finish_first(void)
{
    struct wr_place *place = gate_bench.asker[0].place;
    await(0);
    if (wr_mode_block.finish(&place->lane))
        wr_data_written(&place->waiter, sizeof place->waiter);
}

#define THREE(name_, about_, setup_, first, second, drain) \
    .model = {.name = name_,                               \
              .about = about_,                             \
              .threads = 3,                                \
              .setup = setup_,                             \
              .run = {first, second, drain},               \
              .finish = gate_check}
#define TWO(name_, about_, setup_, asker, closer) \
    .model = {.name = name_,                      \
              .about = about_,                    \
              .threads = 2,                       \
              .setup = setup_,                    \
              .run = {asker, closer},             \
              .finish = gate_check}

const struct lane_model gate_models[] = {
    {THREE("park_auto_reset", "two threads wait, two segments come one by one", auto_reset_setup,
           get_one, get_one, give_two)},
    {THREE("park_fifo", "the same", fifo_setup, get_one, get_one, give_two)},
    {THREE("park_relay", "the same", relay_setup, get_one, get_one, give_two)},
    {THREE("park_relay_spin", "the same; the head waits awake", relay_spin_setup, get_one, get_one,
           give_two)},
    {THREE("park_recheck_auto_reset", "the same; one thread checks by itself",
           auto_reset_recheck_setup, get_one, get_one, give_two),
     .is_large = true},
    {THREE("park_recheck_fifo", "the same", fifo_recheck_setup, get_one, get_one, give_two),
     .is_large = true},
    {THREE("park_recheck_relay", "the same", relay_recheck_setup, get_one, get_one, give_two),
     .is_large = true},
    {THREE("park_large_auto_reset", "one thread needs two segments", auto_reset_setup,
           get_two_at_once, get_one, give_three)},
    {THREE("park_large_fifo", "the same", fifo_setup, get_two_at_once, get_one, give_three),
     .is_large = true},
    {THREE("park_large_relay", "the same", relay_setup, get_two_at_once, get_one, give_three)},
    {THREE("relay_cap", "a holder computes until the other one is served", relay_cap_setup,
           get_and_compute, get_and_compute, give_two_and_attend),
     .is_large = true},
    {THREE("relay_hand_on", "a thread parks while another waits", relay_hand_on_setup, get_once,
           get_once, give_two_and_attend),
     .is_large = true},

    {THREE("grant_auto_reset", "one waits with a deadline; one segment for both",
           auto_reset_timed_setup, get_and_return, get_one, give_one)},
    {THREE("grant_fifo", "the same", fifo_timed_setup, get_and_return, get_one, give_one)},
    {THREE("grant_relay", "the same", relay_timed_setup, get_and_return, get_one, give_one)},
    {TWO("grant_again_fifo", "a deadline after the signal, then another wait", fifo_one_timed_setup,
         get_again_behind_deadline, give_two)},
    {THREE("grant_large_auto_reset", "a thread that gathers reaches its deadline",
           auto_reset_timed_setup, get_two_and_return, get_one, give_two)},
    {THREE("grant_large_fifo", "the same", fifo_timed_setup, get_two_and_return, get_one, give_two),
     .is_large = true},
    {THREE("grant_large_relay", "the same", relay_timed_setup, get_two_and_return, get_one,
           give_two)},
    {THREE("grant_exit", "one grant of two segments serves both threads", relay_grant_setup,
           get_and_exit, get_and_exit, give_pair)},
    {TWO("grant_revoke", "a grant is used while the drain takes it back", relay_grant_one_setup,
         get_again_and_exit, give_pair_and_revoke)},
    {THREE("grant_revoke_two", "the same while another thread waits", relay_grant_setup,
           get_again_and_exit, get_and_exit, give_pair_and_revoke),
     .is_deep = true, .is_long = true},
    {THREE("grant_try", "one thread asks in a no-block scope", fifo_setup, get_and_return, try_one,
           give_one)},

    {THREE("outside_auto_reset", "the other thread gets what a thread in a hook was granted",
           outside_auto_reset_setup, get_hooked, get_and_say, give_one_and_sweep_first)},
    {THREE("outside_fifo", "the same", outside_fifo_setup, get_hooked, get_and_say,
           give_one_and_sweep_first)},
    {THREE("outside_relay", "the same", outside_relay_setup, get_hooked, get_and_say,
           give_one_and_sweep_first)},
    {THREE("outside_timed", "the same with a deadline", outside_timed_setup, may_get_hooked,
           get_keep_and_say, give_one_and_sweep_first)},
    {THREE("outside_cap", "a thread in a hook does not count as running", outside_cap_setup,
           get_hooked_and_exit, get_exit_and_say, give_two)},
    {THREE("outside_take_back", "a thread takes back what another one holds in its hook",
           take_back_setup, get_hooked_and_say_all, get_hooked_and_say_all,
           give_one_and_sweep_any)},
    {THREE("outside_reclaim", "two threads in hooks need the same segment", reclaim_setup,
           get_two_hooked, get_one_hooked, give_two_and_sweep),
     .is_large = true, .preemptions = 4},
    {TWO("outside_abort", "the gate closes while a thread is in a hook", outside_abort_setup,
         may_get_hooked_and_exit, give_abort_and_say)},
    {TWO("outside_abort_timed", "the same with a deadline", outside_abort_timed_setup,
         may_get_hooked_twice, give_and_abort)},
    {TWO("outside_left", "the same, and a sweep", outside_abort_timed_setup,
         may_get_hooked_and_exit, give_one_and_sweep)},
    {TWO("outside_late", "the mask is clear when the thread comes back", outside_unwanted_setup,
         may_get_hooked_and_exit, give_and_abort)},

    {THREE("left_finish", "a thread leaves its wait and exits while it is granted something",
           relay_timed_setup, may_get_exit_and_say, give_one, finish_first)},

    {THREE("abort_auto_reset", "two threads wait, or are about to", auto_reset_setup, may_get,
           may_get, abort_all),
     .is_large = true},
    {THREE("abort_fifo", "the same", fifo_setup, may_get, may_get, abort_all)},
    {THREE("abort_relay", "the same", relay_setup, may_get, may_get, abort_all)},
    {THREE("abort_timed_auto_reset", "the same with a deadline", auto_reset_timed_setup, may_get,
           may_get, abort_all),
     .is_large = true},
    {THREE("abort_timed_fifo", "the same", fifo_timed_setup, may_get, may_get, abort_all),
     .is_large = true},
    {THREE("abort_timed_relay", "the same", relay_timed_setup, may_get, may_get, abort_all),
     .is_large = true},
    {TWO("abort_late_auto_reset", "a grant arrives after the mask was cleared",
         auto_reset_unwanted_setup, may_get, give_and_abort)},
    {TWO("abort_late_fifo", "the same", fifo_unwanted_setup, may_get, give_and_abort)},
    {TWO("abort_late_relay", "the same", relay_unwanted_setup, may_get, give_and_abort)},
    {TWO("abort_large_auto_reset", "a waiter has gathered one of two segments",
         auto_reset_one_setup, may_get_two, give_and_abort)},
    {TWO("abort_large_fifo", "the same", fifo_one_setup, may_get_two, give_and_abort)},
    {TWO("abort_large_relay", "the same", relay_one_setup, may_get_two, give_and_abort)},
    {TWO("abort_again", "an aborted thread asks again", relay_one_setup, may_get_twice, abort_all)},
    {THREE("abort_twice", "the drain closes the gate, then the stop does", relay_one_setup, may_get,
           close_only, abort_all)},
    {TWO("abort_grant_one", "a segment comes, then the gate closes", auto_reset_one_setup, may_get,
         give_and_abort)},
    {THREE("abort_grant_auto_reset", "a segment comes, then the gate closes", auto_reset_setup,
           may_get, may_get, give_and_abort),
     .is_deep = true, .preemptions = 2},
    {THREE("abort_grant_fifo", "the same", fifo_setup, may_get, may_get, give_and_abort),
     .is_deep = true, .is_long = true},
    {THREE("abort_grant_relay", "the same", relay_setup, may_get, may_get, give_and_abort),
     .is_large = true},
};

const size_t gate_model_count = sizeof gate_models / sizeof gate_models[0];
