"""Wrong variants of the product: each must be found by a model.

    mutants.py CORE OUT    writes to OUT all wake strategies of CORE and the other sources that have
                           mutants, with each changed statement behind a test of model_mutant, and
                           their list, mutants.inc

A mutant whose statement is no longer in its source is listed as gone. The build goes on, and the test
reports the mutant.
"""
import shutil
import sys
from pathlib import Path

GATE, OUTSIDE, AUTO_RESET = "wait/gate.c", "wait/outside.c", "wait/wait_auto_reset.c"
FIFO, RELAY = "wait/wait_fifo.c", "wait/wait_relay.c"
BLOCK, EMIT, STOP = "buffers/mode_block.c", "event/emit_slow.c", "session/session.c"
DRAIN, STEP, HOOKS = "session/drain_thread.c", "session/step.c", "event/hooks.c"
HOT, CLOCK = "event/emit.c", "base/counter.h"
BUFFERS, FREE, BELL = "buffers/buffers.c", "buffers/free_list.c", "wait/bell.c"
LOOK, POINT, RUNDOWN = "session/drain.c", "session/point.c", "session/rundown.c"
TURN, THREADS = "buffers/mode_drop.c", "lane/threads.c"
CALLS, SLOTS, PROVIDERS = "event/callbacks.c", "event/slots.c", "event/providers.c"

SERVE_GIVE = "wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);"


def edit(path, old, new, after=""):
    """Replaces the statement `old`: the first one behind `after`, if that is given."""
    return path, old, "{ if (MUTANT_ON) {\n%s\n} else {\n%s\n} }" % (new, old), after


def expression(path, old, new, after=""):
    """The same for an expression, or for anything that cannot be in a block: `new` tests MUTANT_ON itself."""
    return path, old, new, after


# Name, what is wrong, the model that finds it, the edits.
MUTANTS = [
    ("grant_in_two_steps", "a grant loads the word and then stores it", "park_relay",
     [edit(GATE, "before = wr_u32_exchange_acq_rel(&waiter->word, word);",
           "before = wr_u32_load_acquire(&waiter->word);\n"
           "wr_u32_store_release(&waiter->word, word);")]),
    ("asleep_by_store", "a waiter stores ASLEEP", "park_relay",
     [edit(GATE, "wr_u32_cas_acq_rel(&waiter->word, &word, WR_WAITER_ASLEEP);",
           "wr_u32_store_release(&waiter->word, WR_WAITER_ASLEEP);")]),
    ("signal_only_asleep", "a signal does not reach a thread that is about to sleep", "park_fifo",
     [edit(FIFO, "before = wr_u32_exchange_acq_rel(&head->word, WR_WAITER_GRANTED);",
           "before = WR_WAITER_ASLEEP;\n"
           "wr_u32_cas_acq_rel(&head->word, &before, WR_WAITER_GRANTED);")]),
    ("give_without_serving", "units come back and no waiter is served", "park_fifo",
     [edit(GATE, SERVE_GIVE, "(void)wakes;", after="bool wr_gate_give(")]),
    ("event_set_once", "a thread that takes one of two units does not set the event again", "park_auto_reset",
     [edit(AUTO_RESET, SERVE_GIVE, "(void)wakes;", after="static bool take(")]),
    ("signal_not_passed_on", "the next head is not signaled after one has taken its units", "park_fifo",
     [edit(FIFO, SERVE_GIVE, "(void)wakes;", after="static bool take(")]),
    ("signal_lost_at_deadline", "a head that leaves at its deadline does not pass its signal on", "grant_fifo",
     [edit(GATE, SERVE_GIVE, "(void)wakes;", after="static enum wr_waited give_up(")]),
    ("gathered_lost_at_deadline", "a waiter that leaves at its deadline keeps what it has gathered",
     "grant_large_relay",
     [edit(GATE, "wr_gate_remove(gate, waiter);", "wr_gate_unlink(gate, waiter);",
           after="static enum wr_waited give_up(")]),
    ("deadline_before_grant", "a waiter leaves at its deadline although its grant is on the way", "grant_relay",
     [edit(GATE, "return is_queued ? WR_WAITED_DEADLINE : leave(gate, waiter);", "return WR_WAITED_DEADLINE;",
           after="static enum wr_waited give_up(")]),
    ("no_rule_5", "going idle does not lift the cap", "relay_cap",
     [edit(RELAY, "return gate->running < gate->cap || (gate->flags & WR_WAKE_NO_CAP) || drain_is_away(gate) ||\n"
                  "           (why == WR_SERVE_IDLE && idle_lifts_cap(gate));",
           "return gate->running < gate->cap || (gate->flags & WR_WAKE_NO_CAP) || drain_is_away(gate);"),
      edit(RELAY, "    if (why == WR_SERVE_IDLE && is_still(gate))\n        wr_gate_all_rest(gate);\n", "")]),
    ("quiet_for_ever", "the drain sleeps past waiters if somebody may take what is free", "idle_fifo",
     [edit(BLOCK, "return wr_gate_parked(&buffers->gate) ? WR_ATTENTION_SOON : WR_ATTENTION_NONE;", "return WR_ATTENTION_NONE;")]),
    ("no_sweep", "the drain takes nothing back from idle threads", "idle_relay",
     [edit(DRAIN, "wr_drain_sweep(session, true);", "(void)session;", after="static uint64_t attend(")]),
    ("park_without_ring", "a thread that parks does not ring the drain", "idle_relay",
     [edit(BLOCK, "if (place->waiter.must_ring)\n        wr_bell_ring(&place->lane.buffers->bell);", "(void)place;")]),
    ("grant_by_store", "a grant is stored, though its thread may have exited", "turn_exit",
     [edit(TURN, "if (wr_ptr_cas_release(&place->credit, &word, first))\n            return true;",
           "wr_ptr_store_release(&place->credit, first);\nreturn true;")]),
    ("grant_once", "a grant fails if the thread has just heard that it should yield", "turn_asked",
     [expression(TURN, "while (is_waiting(word))", "for (int tries = 0; is_waiting(word) && !(MUTANT_ON && tries); tries++)",
                 after="static bool word_grant(")]),
    ("hear_by_store", "a thread that hears stores over its grant", "turn_asked",
     [edit(TURN, "wr_ptr_cas_relaxed(&place->credit, &word, heard);", "wr_ptr_store_release(&place->credit, heard);")]),
    ("ask_by_store", "the drain asks a thread that has exited", "turn_asked_exit",
     [edit(TURN, "wr_ptr_cas_relaxed(&place->credit, &word, asked(word));", "wr_ptr_store_release(&place->credit, asked(word));")]),
    ("grant_before_unlinking", "a lane is granted segments before it leaves the queue", "turn",
     [edit(TURN, "queue_remove(turns, place);", "(void)0;", after="static void grant("),
      edit(TURN, "wr_u32_add_acq_rel(&turns->waiting, UINT32_MAX);",
           "queue_remove(turns, place);\nwr_u32_add_acq_rel(&turns->waiting, UINT32_MAX);",
           after="static void grant(")]),
    ("take_in_two_steps", "a grant is loaded and then cleared", "turn_back_two",
     [edit(TURN, "return wr_ptr_exchange_acq_rel(&place->credit, NULL);",
           "void *word = wr_ptr_load_acquire(&place->credit);\n"
           "wr_ptr_store_release(&place->credit, NULL);\n"
           "return word;")]),
    ("back_in_two_steps", "a grant is taken back by a store", "turn_back_two",
     [edit(TURN, "if (is_old && wr_ptr_cas_release(&place->credit, &word, NULL))\n"
                 "        free_give(lane->buffers, word, UINT32_MAX);",
           "if (is_old) {\nwr_ptr_store_release(&place->credit, NULL);\n"
           "free_give(lane->buffers, word, UINT32_MAX);\n}")]),
    ("exit_keeps_grant", "an exiting thread keeps its grant", "turn_exit_granted",
     [edit(TURN, "give_back(buffers, word, place->needed);", "(void)place;", after="static void exit_lane(")]),
    ("exit_counts_as_waiting", "an exited thread counts as one that waits", "turn_exit",
     [edit(TURN, "wr_u32_add_acq_rel(&buffers->turns.waiting, UINT32_MAX);", "(void)buffers;",
           after="static void exit_lane(")]),
    ("release_in_queue", "a lane is released that is still in the queue", "turn_exit_queued",
     [edit(TURN, "queue_remove(turns, wr_place_of(lane));", "(void)turns;", after="static bool finish(")]),
    ("enrol_without_ring", "a lane that enrols does not ring the drain", "turns",
     [edit(TURN, "if (others == 0)\n        wr_bell_ring(&buffers->bell);", "(void)others;")]),
    ("turns_unattended", "the drain does not attend to lanes that wait for their turn", "turns",
     [edit(TURN, "return has_waiting(buffers) ? WR_ATTENTION_STUCK : WR_ATTENTION_NONE;", "return WR_ATTENTION_NONE;")]),
    ("exit_keeps_credit", "an exiting thread keeps what it holds unused", "grant_exit",
     [edit(BLOCK, "if (credit)\n        give(place, credit, limit_ns);", "(void)credit;",
           after="static void give_credit(")]),
    ("exit_runs_on", "an exited thread counts as running", "grant_exit",
     [edit(BLOCK, "wr_gate_rest(&place->lane.buffers->gate, &place->waiter, limit_ns);", "(void)place;",
           after="static void give_credit(")]),
    ("credit_in_two_steps", "the credit is loaded and then cleared", "grant_revoke",
     [edit(BLOCK, "return wr_ptr_exchange_acq_rel(&place->credit, NULL);",
           "void *credit = wr_ptr_load_acquire(&place->credit);\n"
           "wr_ptr_store_release(&place->credit, NULL);\n"
           "return credit;")]),
    ("late_grant_kept", "a grant that is no longer wanted is not sent back", "abort_late_relay",
     [edit(BLOCK, "send_back(place, gate);", "(void)send_back;")]),
    ("abort_only_asleep", "the closer does not abort a thread that is about to sleep", "abort_relay",
     [edit(GATE, "wr_waiter_set(waiter, WR_WAITER_ABORTED);",
           "uint32_t asleep = WR_WAITER_ASLEEP;\n"
           "if (wr_u32_cas_acq_rel(&waiter->word, &asleep, WR_WAITER_ABORTED))\n"
           "    wr_os_futex_wake(&waiter->word, 1);", after="void wr_gate_abort(")]),
    ("abort_sets_event", "the closer sets the event, which the first thread to leave resets", "abort_auto_reset",
     [edit(GATE, "wr_u32_exchange_acq_rel(&gate->event, WR_GATE_EVENT_CLOSED);",
           "wr_u32_exchange_acq_rel(&gate->event, WR_GATE_EVENT_SET);"),
      edit(AUTO_RESET, "if (event == WR_GATE_EVENT_CLOSED) /* the waiter's own word follows, if it is not set yet */\n"
                       "            return wr_waiter_sleep(gate, waiter, deadline_ns);",
           "if (wr_u32_load_acquire(&waiter->word) == WR_WAITER_ABORTED)\n"
           "            return WR_WAITED_ABORTED;")]),
    ("abort_overwritten", "a signaled head stores AWAKE over its abort", "abort_late_fifo",
     [edit(FIFO, "wr_u32_cas_acq_rel(&waiter->word, &signaled, WR_WAITER_AWAKE);",
           "(void)signaled;\nwr_u32_store_release(&waiter->word, WR_WAITER_AWAKE);")]),
    ("gathered_lost_at_close", "the closer does not take back what a waiter has gathered", "abort_large_relay",
     [edit(GATE, "wr_gate_remove(gate, waiter);", "wr_gate_unlink(gate, waiter);", after="bool wr_gate_close(")]),
    ("left_counted_twice", "the closer counts the loss of a waiter that has left", "abort_timed_relay",
     [edit(GATE, "if (!wr_waiter_stay(waiter))\n            continue;", "(void)wr_waiter_stay;", after="bool wr_gate_close(")]),
    ("left_units_lost", "a grant that its thread does not take is not given back", "grant_relay",
     [edit(GATE, "wr_gate_give(gate, units, UINT64_MAX);", "(void)units;", after="void wr_gate_wake_all(")]),
    ("left_by_store", "a waiter leaves although its grant has arrived", "grant_relay",
     [edit(GATE, "if (!wr_u32_cas_acq_rel(&waiter->word, word, WR_WAITER_LEFT))\n        return false;",
           "(void)word;\nwr_u32_store_release(&waiter->word, WR_WAITER_LEFT);")]),
    ("left_outside", "a thread that is late after its hook stays on the list outside", "outside_left",
     [edit(OUTSIDE, "outside_remove(gate, waiter);\n        wr_gate_units_leave(gate, waiter);\n        wr_waiter_release(waiter);",
           "(void)0;")]),
    ("left_outside_counted_twice", "the closer counts the loss of a thread that was late after its hook",
     "outside_abort_timed",
     [edit(OUTSIDE, "if (wr_waiter_stay(waiter))\n            lose(waiter);", "lose(waiter);")]),
    ("left_finished", "a lane goes to another thread while it is being granted something", "left_finish",
     [expression(GATE, "return !wr_waiter_has_left(waiter);", "return MUTANT_ON || !wr_waiter_has_left(waiter);")]),
    ("loss_counted_twice", "the aborted thread counts its loss as well", "abort_relay",
     [edit(BLOCK, "*wr_self_last_loss() = WEIR_LOSS_ABORTED;", "wr_lane_lose(lane, WEIR_LOSS_ABORTED);",
           after="static bool resume_blocked(")]),
    ("loss_not_counted", "no thread counts the loss at a deadline", "abort_timed_relay",
     [edit(BLOCK, "wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);", "(void)lane;",
           after="static bool resume_blocked(")]),
    ("loss_after_abort", "the closer counts the loss when the thread may already count its next one", "abort_again",
     [edit(BLOCK, "wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);",
           "(void)0;", after="static bool send_away("),
      edit(BLOCK, "wr_gate_abort(&buffers->gate, waiter);",
           "wr_gate_abort(&buffers->gate, waiter);\n"
           "wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);",
           after="static bool send_away(")]),
    ("unpark_first", "a thread leaves before its last touch of the gate", "abort_relay",
     [edit(BLOCK, "wr_gate_unpark(gate);", "(void)gate;", after="static bool resume_blocked("),
      edit(BLOCK, "place->is_parked = false;", "wr_gate_unpark(gate);\nplace->is_parked = false;",
           after="static bool resume_blocked(")]),
    ("unpark_without_wake", "the last thread to leave does not wake the stopper", "abort_relay",
     [edit(GATE, "if (wr_u32_add_acq_rel(parked, UINT32_MAX) == (WR_GATE_IS_AWAITED | 1))\n"
                 "        wr_os_futex_wake(parked, 1);",
           "wr_u32_add_acq_rel(parked, UINT32_MAX);")]),
    ("stop_without_unparked", "a stop does not wait for threads that were parked", "teardown_relay",
     [edit(STOP, "have_left &= session->buffers.mode->wait_away(&session->buffers, until_ns);", "(void)until_ns;")]),
    ("stop_without_abort", "a stop does not abort parked threads", "teardown_one",
     [edit(STOP, "is_done = session->buffers.mode->send_away(&session->buffers, ns_until(until_ns));", "is_done = true;",
           after="static bool abort_parked(")]),
    ("mask_of_before", "a thread that wakes does not load the mask again", "teardown_granted",
     [edit(EMIT, "return mode->resume(lane, waited, is_wanted(attempt->event, slot));",
           "return mode->resume(lane, waited, true);")]),
    ("resume_outside_pin", "a thread that wakes does not pin again", "teardown_granted",
     [edit(EMIT, "pin_enter(thread);", "(void)thread;",
           after="static bool wait_for_room(")]),

    # A stop that serves the threads that wait.
    ("lingering_unseen", "a thread that is served looks at the mask only", "linger_seq_cst",
     [edit(EMIT, "slots |= wr_u64_load_seq_cst(&wr_slots_lingering);", "(void)slots;")]),
    ("lingering_before_mask", "a thread that is served looks at the mask last", "linger_seq_cst",
     [expression(EMIT, "uint64_t slots = mask_of(event, 0);",
                 "uint64_t early = MUTANT_ON ? wr_u64_load_seq_cst(&wr_slots_lingering) : 0;\n"
                 "uint64_t slots = mask_of(event, 0);"),
      edit(EMIT, "slots |= wr_u64_load_seq_cst(&wr_slots_lingering);", "slots |= early;")]),
    ("lingering_set_late", "the masks are cleared before the threads that wait are let in", "linger_seq_cst",
     [expression(STOP, "return wr_registry_linger(session->slot, true, ns_until(until_ns)) &&",
                 "return (!MUTANT_ON || wr_registry_disable(session->slot, ns_until(until_ns))) &&\n"
                 "       wr_registry_linger(session->slot, true, ns_until(until_ns)) &&")]),
    ("lingering_cleared_late", "threads are let in until the stop has waited for the pins", "linger_ends",
     [edit(STOP, "return stop->has_lingered = wr_registry_linger(session->slot, false, ns_until(until_ns));",
           "return stop->has_lingered = true;"),
      edit(STOP, "have_left &= session->buffers.mode->wait_away(&session->buffers, until_ns);",
           "have_left &= session->buffers.mode->wait_away(&session->buffers, until_ns);\n"
           "(void)wr_registry_linger(session->slot, false, ns_until(until_ns));")]),
    ("linger_without_pins", "a stop that serves does not wait for threads that are about to wait", "linger_seq_cst",
     [expression(STOP, "return wr_threads_quiesce(&session->stop.linger, buffers->has_plain_pins, until_ns) &&",
                 "return (MUTANT_ON || wr_threads_quiesce(&session->stop.linger, buffers->has_plain_pins, until_ns)) &&")]),
    ("linger_without_parked", "a stop that serves does not wait for parked threads", "linger_seq_cst",
     [expression(STOP, "buffers->mode->wait_served(buffers, until_ns);",
                 "(MUTANT_ON || buffers->mode->wait_served(buffers, until_ns));")]),
    ("linger_without_outside", "a stop that serves does not wait for threads in a hook", "linger_outside",
     [edit(BLOCK, "if (has_none_outside(buffers, deadline_ns))\n            return true;",
           "(void)has_none_outside;\nreturn true;")]),

    # What an emitter and the drain's looks rely on.
    ("route_before_pin", "the route is loaded before the pin is entered", "stop_emit",
     [expression(HOT, "wr_pin_enter_from(thread, pin);",
                 "uint32_t early = MUTANT_ON ? wr_route_load_seq_cst(&event->route) : 0;\n"
                 "wr_pin_enter_from(thread, pin);"),
      expression(HOT, "uint32_t route = wr_route_load_seq_cst(&event->route);",
                 "uint32_t route = MUTANT_ON ? early : wr_route_load_seq_cst(&event->route);")]),
    ("pin_not_tested", "a handler that interrupts the fast path writes a record", "stop_nested",
     [edit(HOT, "if (WR_UNLIKELY(wr_pin_is_inside(pin)))\n        return slow(event, payload, is_given, stamp, words, a, b, c, d, e);", "(void)0;")]),
    ("long_ticks", "ticks that do not fit into 48 bits are written", "look_leap",
     [edit(HOT, "if (WR_UNLIKELY(ticks > WR_RECORD_TICK_MAX))\n        return pinned_slow(event, payload, is_given, ticks + segment->given_base, words, a, b, c, d,\n"
                "                           e);", "(void)ticks;")]),
    ("nested_without_pin", "a nested event is counted outside a pin", "stop_nested",
     [edit(EMIT, "pin = wr_pin_enter_seq_cst(thread);", "(void)pin;", after="static bool emit_nested("),
      edit(EMIT, "wr_pin_leave(thread, pin);", "(void)pin;", after="static bool emit_nested(")]),
    ("stamp_before_pin", "without a membarrier, the stamp may be read before the pin is visible",
     "look_settle_seq_cst", [edit(EMIT, "(void)wr_clock_ticks_ordered();", "(void)thread;")]),
    ("sweep_without_barrier", "the sweep has no membarrier", "look_sweep",
     [edit(LOOK, "if (!wr_threads_barrier(session->buffers.has_plain_pins)) /* edge REVOKE */\n        return;",
           "(void)first;", after="void wr_drain_sweep(")]),
    ("settle_without_barrier", "the wait for emitters has no membarrier", "look_settle",
     [edit(POINT, "if (!wr_threads_barrier(session->buffers.has_plain_pins))\n        return;", "(void)first;",
           after="void wr_point_settle(")]),
    ("no_settle", "a look does not wait for emitters that are inside their pins", "look_settle",
     [edit(LOOK, "wr_point_settle(session);", "(void)session;", after="static void read_all(")]),
    ("lanes_before_clock", "new lanes are looked for before the horizon is read", "look_new",
     [expression(LOOK, "struct wr_drain *drain = &session->drain;",
                 "struct wr_drain *drain = &session->drain;\n"
                 "bool early = MUTANT_ON && has_new_lanes(session);",
                 after="static void look("),
      expression(LOOK, "if (has_new_lanes(session))", "if (MUTANT_ON ? early : has_new_lanes(session))",
                 after="static void look(")]),
    ("attach_without_clock", "a lane is attached without an ordered reading of the clock", "look_new",
     [edit(BUFFERS, "(void)wr_clock_ticks_ordered();", "(void)lane;", after="static struct wr_lane *lane_attach(")]),
    ("clock_without_fences", "the ordered reading of the clock has no fences", "look_new",
     [expression(CLOCK, "_mm_mfence();\n    _mm_lfence();\n    uint64_t ticks = __rdtsc();\n    _mm_lfence();",
                 "if (!MUTANT_ON) {\n_mm_mfence();\n_mm_lfence();\n}\nuint64_t ticks = __rdtsc();\n"
                 "if (!MUTANT_ON)\n_mm_lfence();")]),
    ("clock_ahead", "an ordered reading of the clock may be executed before what precedes it", "look_new",
     [edit(CLOCK, "_mm_lfence();", "(void)0;", after="_mm_mfence();")]),
    ("clock_behind", "what follows an ordered reading of the clock may overtake it",
     "look_settle_seq_cst",
     [edit(CLOCK, "_mm_lfence();", "(void)ticks;", after="uint64_t ticks = __rdtsc();")]),
    ("no_retry", "a free list is taken for empty as soon as ck says so", "free_list",
     [expression(FREE, "while (ck_pr_load_ptr(&fifo->head.generation) != generation);",
                 "while (!MUTANT_ON && ck_pr_load_ptr(&fifo->head.generation) != generation);")]),
    ("ticket_behind_look", "the drain takes its ticket after it has looked", "bell",
     [expression(DRAIN, "wr_bell_wait(&session->buffers.bell, ticket, due_ns - now);",
                 "wr_bell_wait(&session->buffers.bell,\n"
                 "MUTANT_ON ? wr_bell_ticket(&session->buffers.bell) : ticket, due_ns - now);")]),
    ("ring_without_wake", "a ring does not wake a sleeping drain", "bell",
     [edit(BELL, "wr_os_futex_wake_all((struct wr_u32 *)(uintptr_t)word);", "(void)word;")]),
    ("unwritten_not_counted", "records after the end of the stream count as written", "stop_late",
     [edit(STOP, "lane->sink_failed += left;", "(void)left;", after="static bool lane_count_unwritten(")]),
    ("wait_for_the_clock", "records stamped before a step back wait until the clock has caught up", "clock_back",
     [edit(STEP, "return drain->clock_ticks < last;", "return false;"),
      edit(STEP, "bring_back(drain, lane, stamp, ticks, limit);", "return false;",
           after="static bool admit_skewed(")]),

    # What holds without membarrier, and in the host's hooks.
    ("plain_pin_kept", "without membarrier a thread stays in the pin of the fast path", "late",
     [edit(EMIT, "wr_self.pending = pin_again(thread, event);", "(void)pin_again;")]),
    ("mask_of_the_plain_pin", "a thread that pins again does not load the mask again", "late",
     [edit(EMIT, "wr_self.pending = pin_again(thread, event);", "(void)pin_again(thread, event);")]),
    ("nested_in_plain_pin", "a handler's event relies on the plain pin of the emit that it interrupted", "late_nested",
     [edit(EMIT, "wr_u64_store_seq_cst(&thread->pin, pin);", "(void)pin;")]),
    ("sweep_without_membarrier", "a sweep takes segments although its membarrier has failed", "refused_sweep",
     [edit(LOOK, "if (!wr_threads_barrier(session->buffers.has_plain_pins)) /* edge REVOKE */\n        return;",
           "(void)wr_threads_barrier(session->buffers.has_plain_pins);", after="void wr_drain_sweep(")]),
    ("hook_skipped_on_abort", "an aborted thread does not call the after hook", "outside_stop",
     [edit(EMIT, "wr_hooks_after(hooks);", "if (waited == WR_WAITED_GRANTED)\n    wr_hooks_after(hooks);")]),
    ("outside_lane_of_before", "a thread that is back does not check that its lane still exists", "outside_stop",
     [edit(EMIT, "if (waited == WR_WAITED_GRANTED &&\n        wr_lane_or_null(wr_ptr_load_seq_cst(wr_thread_lane(thread, slot))))\n"
                 "        return mode->step_in(lane, is_wanted(attempt->event, slot));",
           "if (waited == WR_WAITED_GRANTED)\n"
           "    return mode->step_in(lane, is_wanted(attempt->event, slot));")]),
    ("outside_mask_of_before", "a thread that is back does not load the mask again", "outside_late",
     [edit(OUTSIDE, "if (!is_wanted) {\n        wr_gate_units_leave(gate, waiter);\n        return WR_STEPPED_AWAY;\n    }",
           "(void)is_wanted;")]),
    ("outside_keeps_units", "a thread in a hook keeps its grant", "outside_relay",
     [edit(OUTSIDE, "wr_gate_units_leave(gate, waiter);", "(void)0;", after="bool wr_gate_sweep_outside(")]),
    ("outside_not_taken_back", "a thread that is back queues behind one that cannot use its grant", "outside_take_back",
     [edit(OUTSIDE, "reclaim(gate, waiter);", "(void)reclaim;", after="static enum wr_stepped step_in(")]),
    ("outside_sweep_without_serving", "a grant is taken back from a thread in a hook, and no waiter is served",
     "outside_fifo",
     [edit(OUTSIDE, SERVE_GIVE, "(void)wakes;", after="bool wr_gate_sweep_outside(")]),
    ("outside_runs", "a thread in a hook counts as running", "outside_cap",
     [edit(OUTSIDE, "wr_gate_rest_locked(gate, waiter);", "(void)0;", after="enum wr_waited wr_gate_step_out(")]),
    ("outside_hook_in_deadline", "the before hook's time counts as waiting", "outside_relay",
     [edit(BLOCK, "place->waiter.parked_at_ns = wr_os_monotonic_ns();", "(void)0;")]),
    ("outside_deadline_anew", "an attempt that asks again gets its whole time again", "outside_timed",
     [edit(BLOCK, "place->waited_ns += place->waiter.parked_ns;", "(void)0;")]),
    ("outside_stays_parked", "a thread in a hook keeps the session", "outside_abort",
     [edit(BLOCK, "wr_gate_unpark(gate);", "if (waited != WR_WAITED_GRANTED)\n    wr_gate_unpark(gate);",
           after="static enum wr_waited wait_outside("),
      edit(BLOCK, "return stepped == WR_STEPPED_IN;",
           "wr_gate_unpark(&lane->buffers->gate);\nreturn stepped == WR_STEPPED_IN;")]),
    ("outside_loss_not_counted", "a stop does not count the loss of a thread in a hook", "outside_abort",
     [expression(OUTSIDE, "if (wr_waiter_stay(waiter))", "if (wr_waiter_stay(waiter) && !MUTANT_ON)", after="void wr_outside_close(")]),
    ("outside_loss_counted_twice", "a thread in a hook counts its loss as well as the stop", "outside_abort",
     [edit(BLOCK, "*wr_self_last_loss() = WEIR_LOSS_ABORTED; /* counted by who has closed the gate */",
           "wr_lane_lose(lane, WEIR_LOSS_ABORTED);")]),
    ("outside_closed_unseen", "a thread goes outside through a closed gate", "outside_stop",
     [edit(OUTSIDE, "if (is_open)\n        outside_push(gate, waiter);\n    else\n        wr_gate_units_leave(gate, waiter);",
           "is_open = true;\noutside_push(gate, waiter);")]),
    ("hooks_taken_twice", "the after hook is not the one taken with the before hook", "hooks",
     [edit(HOOKS, "call(hooks->after, hooks->context);",
           "const struct copy *copy = wr_ptr_load_acquire(&park.current);\n"
           "call(copy->hooks.park.after, copy->hooks.park.context);")]),

    # What the thread that starts a session hands to its drain.
    ("offer_by_store", "a box is offered although it is closed", "rundown",
     [edit(RUNDOWN, "if (!wr_u32_cas_acq_rel(&box->state, &empty, WR_BOX_FULL)) {\n"
                    "        count_aborted(session, box->count);\n"
                    "        starter->has_left = true;\n"
                    "        return;\n"
                    "    }",
           "(void)empty;\nwr_u32_store_release(&box->state, WR_BOX_FULL);")]),
    ("offer_before_count", "a box is offered before its last event is in it", "rundown",
     [expression(RUNDOWN, "    unsigned char *at = box->bytes + box->used;",
                 "    uint32_t early = WR_BOX_EMPTY;\n"
                 "    if (MUTANT_ON)\n"
                 "        wr_u32_cas_acq_rel(&box->state, &early, WR_BOX_FULL);\n"
                 "    unsigned char *at = box->bytes + box->used;"),
      expression(RUNDOWN, "uint32_t empty = WR_BOX_EMPTY;", "uint32_t empty = MUTANT_ON ? WR_BOX_FULL : WR_BOX_EMPTY;",
                 after="static void hand_over(")]),
    ("offer_without_ring", "an offer does not ring the drain", "rundown_ring",
     [edit(RUNDOWN, "wr_drain_take_rundown(session);", "(void)0;")]),
    ("offer_kept", "a box is offered again with what was taken from it", "rundown",
     [edit(RUNDOWN, "box->used = box->count = 0;", "box->used = 0;")]),
    ("taken_before_encoding", "a box is the starter's again before its events are encoded", "rundown",
     [expression(RUNDOWN, "const unsigned char *at = box->bytes;",
                 "const unsigned char *at = box->bytes;\n"
                 "    if (MUTANT_ON)\n"
                 "        wr_u32_store_release(&box->state, WR_BOX_EMPTY);"),
      edit(RUNDOWN, "wr_u32_store_release(&box->state, WR_BOX_EMPTY);", "(void)0;", after="at += item_bytes(item);")]),
    ("taken_without_wake", "a starter is not woken when its box has been taken", "rundown",
     [edit(RUNDOWN, "wr_os_futex_wake_all(&box->state);", "(void)0;")]),
    ("close_by_store", "the end closes a box without taking what it holds", "rundown",
     [expression(RUNDOWN, "while (!wr_u32_cas_acq_rel(&session->box.state, &empty, WR_BOX_CLOSED)) {",
                 "if (MUTANT_ON)\n        wr_u32_store_release(&session->box.state, WR_BOX_CLOSED);\n"
                 "    while (!MUTANT_ON && !wr_u32_cas_acq_rel(&session->box.state, &empty, WR_BOX_CLOSED)) {")]),
    ("box_left_open", "the end takes what the box holds, and does not close it", "rundown",
     [edit(RUNDOWN, "box_close(session);", "wr_rundown_take(session, wr_step_ticks_now(session));",
           after="void wr_rundown_at_stop(")]),
    ("refused_not_counted", "events that the drain does not take any more are not counted", "rundown",
     [edit(RUNDOWN, "count_aborted(session, box->count);", "(void)session;", after="static void hand_over(")]),
    ("late_not_counted", "events behind the end are not counted", "rundown",
     [edit(RUNDOWN, "count_aborted(starter->session, 1);", "(void)0;")]),
    ("left_not_set", "a starter that leaves its box to the drain goes on writing to it", "rundown",
     [edit(RUNDOWN, "starter->has_left = wr_u32_load_acquire(&box->state) != WR_BOX_EMPTY;", "starter->has_left = false;")]),
    ("box_released_early", "a starter releases a box that it has left to the drain", "rundown",
     [expression(RUNDOWN, "if (!starter.has_left)", "if (!starter.has_left || MUTANT_ON)"),
      edit(RUNDOWN, "box->bytes = NULL;", "(void)0;")]), # the drain would crash before the race is found
    ("wait_past_stop", "a starter whose box is full does not look at the stop", "rundown_stuck",
     [expression(RUNDOWN, "!wr_u32_load_acquire(&session->stop_requested)",
                 "(MUTANT_ON || !wr_u32_load_acquire(&session->stop_requested))", after="static void wait_taken(")]),

    # Providers' callbacks.
    ("calls_overlap", "a provider that is being called is called by another thread as well", "watch_start",
     [edit(CALLS, "if (provider->is_calling)\n            continue;", "(void)0;")]),
    ("leaves_queue", "a provider that is being called leaves the queue", "watch_start",
     [edit(CALLS, "if (provider->is_calling)\n            continue;",
           "if (provider->is_calling) {\nunlink_locked(provider);\ncontinue;\n}")]),
    ("told_not_updated", "what a callback was told is not recorded", "watch_start",
     [edit(CALLS, "told_set_locked(told, now->session_id, now->interest);", "(void)told;")]),
    ("told_without_reference", "what a callback was told is freed with its session", "watch_update",
     [edit(CALLS, "if (interest)\n        interest->references++;", "(void)interest;")]),
    ("told_kept", "what a callback was told is not given back", "watch_update",
     [edit(CALLS, "if (told->interest)\n        wr_interest_release_locked(told->interest);", "(void)told;")]),
    ("slot_without_end", "the next session of a slot is told as an update of the last one", "watch_again",
     [expression(CALLS, "(!is.is_enabled || now->session_id != told->session_id)",
                 "(!is.is_enabled || (!MUTANT_ON && now->session_id != told->session_id))")]),
    ("union_of_now", "the union includes sessions that the callback is not told of", "watch_gone",
     [expression(CALLS, "if (provider->told[slot].session_id)\n"
                        "            wr_interest_add(provider->told[slot].interest, provider->name, provider->name_hash,\n"
                        "                            &state);",
                 "if (MUTANT_ON ? wr_slots[slot].interest != NULL : provider->told[slot].session_id != 0)\n"
                 "            wr_interest_add(MUTANT_ON ? wr_slots[slot].interest : provider->told[slot].interest,\n"
                 "                            provider->name, provider->name_hash, &state);")]),
    ("tail_lost", "the queue's tail stays with the provider that has left it", "watch_two",
     [edit(CALLS, "if (last_pending == &provider->next_pending)\n        last_pending = link;", "(void)0;")]),
    ("destroyed_in_queue", "a destroyed provider stays in the queue", "watch_destroy",
     [edit(CALLS, "if (provider->is_pending)\n        unlink_locked(provider);", "(void)provider;")]),
    ("destroy_without_wait", "a destroy does not wait for a call of another thread", "watch_destroy",
     [expression(CALLS, "while (provider->is_calling && !is_own_call)",
                 "while (!MUTANT_ON && provider->is_calling && !is_own_call)")]),
    ("destroy_waits_for_itself", "a destroy inside the callback waits for it", "watch_destroy_own",
     [expression(CALLS, "bool is_own_call = provider->is_calling &&",
                 "bool is_own_call = !MUTANT_ON && provider->is_calling &&")]),
    ("call_ends_without_count", "the end of a call can come between a destroy's look and its sleep", "watch_destroy",
     [edit(CALLS, "wr_u32_add_acq_rel(&callbacks_done, 1);", "(void)0;")]),
    ("call_ends_without_wake", "the end of a call does not wake a destroy", "watch_destroy",
     [edit(CALLS, "wr_os_futex_wake_all(&callbacks_done);", "(void)0;")]),
    ("destroyed_not_freed", "a provider that was destroyed in its callback is not freed", "watch_destroy_own",
     [edit(CALLS, "if (is_last)\n        wr_provider_free(provider);", "(void)is_last;")]),
    ("watched_too_late", "a watcher is not told of sessions that run already", "watch_late",
     [edit(PROVIDERS, "wr_callbacks_note_locked(provider);", "(void)provider;", after="static enum weir_result watch_locked(")]),

    # Slots and masks.
    ("slot_taken_twice", "two sessions get one slot", "enable_two",
     [edit(SLOTS, "slot_is_taken[i] = true;", "(void)0;", after="static enum weir_result slot_take_locked(")]),
    ("slot_without_buffers", "a session is enabled before its buffers are in the slot", "enable",
     [edit(SLOTS, "wr_ptr_store_release(&wr_buffers_by_slot[i], buffers);", "(void)buffers;")]),
    ("slot_with_old_id", "a slot keeps the id of its last session", "enable_again",
     [edit(SLOTS, "wr_u64_store_relaxed(&wr_slot_ids[i], session_id);", "(void)session_id;")]),
    ("mask_kept", "the masks keep the bit of a session that is stopped", "enable_again",
     [edit(SLOTS, "masks_update_locked(before);", "(void)before;")]),
    ("stop_without_quiesce", "a stop does not wait for the pins before its last look", "stop_emit",
     [expression(STOP, "bool have_left = wr_threads_quiesce(&stop->quiesce, session->buffers.has_plain_pins, until_ns);",
                 "bool have_left = MUTANT_ON || wr_threads_quiesce(&stop->quiesce, session->buffers.has_plain_pins, until_ns);")]),
    ("try_ends_stream", "a try of a stop ends the stream while an emitter is inside", "stop_tries",
     [edit(STOP, "if (!have_left && !is_lost && until_ns < stop->leave_by_ns)\n        return STOP_BUSY;", "(void)is_lost;")]),
    ("pin_forgotten", "the next try passes the pin that the last one has waited for", "stop_tries",
     [edit(THREADS, "if (wr_os_monotonic_ns() >= until_ns)\n            return false;",
           "if (wr_os_monotonic_ns() >= until_ns) {\n*noted = 2;\nreturn false;\n}", after="static bool wait_for_pin(")]),
    ("one_wait_for_pins", "a stop does not wait for the pins again when lanes are detached", "teardown_exit_tries",
     [edit(STOP, "stop->quiesce = (struct wr_quiesce){0};", "(void)stop;")]),
    ("lanes_not_detached", "the slot's next session finds the threads' lanes of the last one", "stop_change",
     [edit(STOP, "wr_threads_each(lane_detach, &session->slot);", "(void)lane_detach;")]),
]


def changed(text, old, new, after, name):
    """The text with the statement behind a test of the mutant; None if it has no such statement."""
    start = text.find(after)
    at = text.find(old, start) if start >= 0 else -1
    if at < 0 or (not after and text.count(old) != 1):
        return None
    return text[:at] + new.replace("MUTANT_ON", f"MUTANT_IS({name})") + text[at + len(old):]


def main():
    core, out = Path(sys.argv[1]), Path(sys.argv[2])
    texts, lines = {f"wait/{path.name}": path.read_text(encoding="utf-8") for path in core.glob("wait/wait_*.c")}, []
    for name, about, model, edits in MUTANTS:
        is_there = True
        for path, old, new, after in edits:
            text = texts.get(path) or (core / path).read_text(encoding="utf-8")
            text_changed = changed(text, old, new, after, name)
            is_there &= text_changed is not None
            texts[path] = text_changed or text
        lines.append(f'MUTANT({name}, "{about}", "{model}", {"true" if is_there else "false"})')
    shutil.rmtree(out, ignore_errors=True)  # a stale header would hide the product's
    for path, text in texts.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text('#include "mutants.h"\n' + text, encoding="utf-8")
    (out / "mutants.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
