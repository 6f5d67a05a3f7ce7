"""Wrong variants of the gate and of what uses it: each must be found by a model.

    mutants.py CORE OUT    writes to OUT the sources of CORE that have mutants, each changed statement
                           behind a test of model_mutant, and mutants.inc, the list

A mutant whose statement is not in its source any more is listed as gone, which the test reports: the
build goes on.
"""
import sys
from pathlib import Path

GATE, AUTO_RESET = "wait/gate.c", "wait/wait_auto_reset.c"
FIFO, RELAY = "wait/wait_fifo.c", "wait/wait_relay.c"
BLOCK, EMIT, STOP = "buffers/block.c", "event/emit_slow.c", "session/session.c"
DRAIN = "session/drain_thread.c"

SERVE_GIVE = "wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);"


def edit(path, old, new, after=""):
    """The statement `old`, the first one behind `after` if that is given."""
    return path, old, new, after


# Name, what is wrong, the model that finds it, edits.
MUTANTS = [
    ("grant_in_two_steps", "a grant loads the word and stores it", "park_relay",
     [edit(GATE, "before = wr_u32_exchange_acq_rel(&waiter->word, word);",
           "before = wr_u32_load_acquire(&waiter->word);\n"
           "wr_u32_store_release(&waiter->word, word);")]),
    ("asleep_by_store", "a waiter stores ASLEEP", "park_relay",
     [edit(GATE, "wr_u32_cas_acq_rel(&waiter->word, &word, WR_WAITER_ASLEEP);",
           "wr_u32_store_release(&waiter->word, WR_WAITER_ASLEEP);")]),
    ("signal_only_asleep", "a signal does not reach who is about to sleep", "park_fifo",
     [edit(FIFO, "before = wr_u32_exchange_acq_rel(&head->word, WR_WAITER_GRANTED);",
           "before = WR_WAITER_ASLEEP;\n"
           "wr_u32_cas_acq_rel(&head->word, &before, WR_WAITER_GRANTED);")]),
    ("give_without_serving", "units come back and nobody is served", "park_fifo",
     [edit(GATE, SERVE_GIVE, "(void)wakes;", after="bool wr_gate_give(")]),
    ("event_set_once", "whoever takes one of two does not set the event again", "park_auto_reset",
     [edit(AUTO_RESET, "serve(gate, WR_SERVE_GIVE, &wakes);", "(void)wakes;", after="static bool take(")]),
    ("signal_not_passed_on", "the next head is not signaled when one has taken", "park_fifo",
     [edit(FIFO, "serve(gate, WR_SERVE_GIVE, &wakes);", "(void)wakes;", after="static bool take(")]),
    ("signal_lost_at_deadline", "a head that leaves at its deadline does not pass its signal on", "grant_fifo",
     [edit(GATE, SERVE_GIVE, "(void)wakes;", after="static enum wr_waited give_up(")]),
    ("gathered_lost_at_deadline", "what a waiter has gathered stays with it", "grant_large_relay",
     [edit(GATE, "wr_gate_remove(gate, waiter);", "wr_gate_unlink(gate, waiter);",
           after="static enum wr_waited give_up(")]),
    ("deadline_before_grant", "a deadline leaves though a grant is on its way", "grant_relay",
     [edit(GATE, "return is_queued ? WR_WAITED_DEADLINE : leave(gate, waiter);", "return WR_WAITED_DEADLINE;",
           after="static enum wr_waited give_up(")]),
    ("no_rule_5", "going idle does not beat the cap", "relay_cap",
     [edit(RELAY, "return why == WR_SERVE_IDLE || (gate->flags & WEIR_WAKE_NO_CAP) || gate->running < gate->cap ||\n"
                  "           drain_is_away(gate);",
           "return (gate->flags & WEIR_WAKE_NO_CAP) || gate->running < gate->cap || drain_is_away(gate);")]),
    ("quiet_for_ever", "the drain sleeps past waiters if somebody may take what is free", "idle_fifo",
     [edit(DRAIN, "return wr_block_has_parked(buffers) ? wr_os_monotonic_ns() + SWEEP_NS_WHEN_STUCK\n"
                  "                                            : UINT64_MAX;",
           "return UINT64_MAX;")]),
    ("no_sweep", "the drain takes nothing back from idle threads", "idle_relay",
     [edit(DRAIN, "wr_drain_sweep(session, true);", "(void)session;")]),
    ("park_without_ring", "a thread that parks does not ring the drain", "idle_relay",
     [edit(BLOCK, "wr_bell_ring(&buffers->bell);", "(void)buffers;",
           after="struct wr_segment *wr_block_take(")]),
    ("exit_keeps_credit", "an exiting thread keeps what it holds unused", "grant_exit",
     [edit(BLOCK, "if (credit)\n        give(place, credit, limit_ns);", "(void)credit;",
           after="void wr_block_exit(")]),
    ("exit_runs_on", "an exited thread counts as running", "grant_exit",
     [edit(BLOCK, "wr_gate_rest(&lane->buffers->gate, &place->waiter, limit_ns);", "(void)place;",
           after="void wr_block_exit(")]),
    ("credit_in_two_steps", "the credit is loaded and then cleared", "grant_revoke",
     [edit(BLOCK, "return wr_ptr_exchange_acq_rel(&place->credit, NULL);",
           "void *credit = wr_ptr_load_acquire(&place->credit);\n"
           "wr_ptr_store_release(&place->credit, NULL);\n"
           "return credit;")]),
    ("late_grant_kept", "a grant that is not wanted is not sent back", "abort_late_relay",
     [edit(BLOCK, "send_back(place, gate);", "(void)send_back;")]),
    ("abort_only_asleep", "the closer does not see who is about to sleep", "abort_relay",
     [edit(GATE, "wr_waiter_set(waiter, WR_WAITER_ABORTED);",
           "uint32_t asleep = WR_WAITER_ASLEEP;\n"
           "if (wr_u32_cas_acq_rel(&waiter->word, &asleep, WR_WAITER_ABORTED))\n"
           "    wr_os_futex_wake(&waiter->word, 1);")]),
    ("abort_sets_event", "the closer sets the event, which the first one to leave resets", "abort_auto_reset",
     [edit(GATE, "wr_u32_exchange_acq_rel(&gate->event, WR_GATE_EVENT_CLOSED);",
           "wr_u32_exchange_acq_rel(&gate->event, WR_GATE_EVENT_SET);"),
      edit(AUTO_RESET, "if (event == WR_GATE_EVENT_CLOSED) /* our own word follows, if it is not there yet */\n"
                       "            return wr_waiter_sleep(gate, waiter, deadline_ns);",
           "if (wr_u32_load_acquire(&waiter->word) == WR_WAITER_ABORTED)\n"
           "            return WR_WAITED_ABORTED;")]),
    ("abort_overwritten", "a signaled head stores AWAKE over its abort", "abort_late_fifo",
     [edit(FIFO, "wr_u32_cas_acq_rel(&waiter->word, &signaled, WR_WAITER_AWAKE);",
           "(void)signaled;\nwr_u32_store_release(&waiter->word, WR_WAITER_AWAKE);")]),
    ("gathered_lost_at_close", "what a waiter has gathered is not taken back", "abort_large_relay",
     [edit(GATE, "wr_gate_remove(gate, waiter);", "wr_gate_unlink(gate, waiter);", after="bool wr_gate_close(")]),
    ("left_counted_twice", "the closer counts for a waiter that has left", "abort_timed_relay",
     [edit(GATE, "if (!stay(waiter))\n            continue;", "(void)stay;", after="bool wr_gate_close(")]),
    ("left_units_lost", "a grant that nobody takes is not given back", "grant_relay",
     [edit(GATE, "wr_gate_give(gate, units, UINT64_MAX);", "(void)units;", after="void wr_gate_wake_all(")]),
    ("left_by_store", "a waiter leaves though its grant is there", "grant_relay",
     [edit(GATE, "if (wr_u32_cas_acq_rel(&waiter->word, &word, WR_WAITER_LEFT))\n            break;",
           "wr_u32_store_release(&waiter->word, WR_WAITER_LEFT);\nbreak;")]),
    ("loss_counted_twice", "the aborted thread counts its loss too", "abort_relay",
     [edit(BLOCK, "wr_self.last_loss = WEIR_LOSS_ABORTED;", "wr_lane_lose(lane, WEIR_LOSS_ABORTED);")]),
    ("loss_not_counted", "nobody counts the loss at a deadline", "abort_timed_relay",
     [edit(BLOCK, "wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);", "(void)lane;",
           after="static bool resume_blocked(")]),
    ("loss_after_abort", "the loss is counted when the thread may count its next one", "abort_again",
     [edit(BLOCK, "wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);",
           "(void)0;", after="bool wr_block_abort("),
      edit(BLOCK, "wr_gate_abort(&buffers->gate, waiter);",
           "wr_gate_abort(&buffers->gate, waiter);\n"
           "wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);",
           after="bool wr_block_abort(")]),
    ("unpark_first", "a thread leaves before its last touch of the gate", "abort_relay",
     [edit(BLOCK, "wr_gate_unpark(gate);", "(void)gate;", after="static bool resume_blocked("),
      edit(BLOCK, "place->is_blocked = false;", "wr_gate_unpark(gate);\nplace->is_blocked = false;",
           after="static bool resume_blocked(")]),
    ("unpark_without_wake", "the last one to leave wakes nobody", "abort_relay",
     [edit(GATE, "if (wr_u32_add_acq_rel(parked, UINT32_MAX) == (PARKED_IS_AWAITED | 1))\n"
                 "        wr_os_futex_wake(parked, 1);",
           "wr_u32_add_acq_rel(parked, UINT32_MAX);")]),
    ("stop_without_unparked", "a stop does not wait for those who were parked", "teardown_relay",
     [edit(STOP, "is_quiet &= wr_block_wait_unparked(&session->buffers, half_ns);", "(void)half_ns;")]),
    ("stop_without_abort", "a stop leaves parked threads where they are", "teardown_one",
     [edit(STOP, "is_done = wr_block_abort(&session->buffers, ns_until(deadline_ns));", "is_done = true;",
           after="static bool abort_parked(")]),
    ("mask_of_before", "a thread that wakes does not load the mask again", "teardown_granted",
     [edit(EMIT, "return wr_block_resume(lane, waited, (mask_of(attempt->event) & bit) != 0);",
           "return wr_block_resume(lane, waited, bit != 0);")]),
    ("resume_outside_pin", "a thread that wakes does not pin again", "teardown_granted",
     [edit(EMIT, "wr_pin_enter_seq_cst(thread);", "(void)thread;",
           after="static bool wait_for_room(")]),
]


def changed(text, old, new, after, name):
    """The text with the statement behind a test of the mutant; None if it is not there."""
    start = text.find(after)
    at = text.find(old, start) if start >= 0 else -1
    if at < 0 or (not after and text.count(old) != 1):
        return None
    return f"{text[:at]}{{ if (model_mutant == MUTANT_{name}) {{\n{new}\n}} else {{\n{old}\n}} }}{text[at + len(old):]}"


def main():
    core, out = Path(sys.argv[1]), Path(sys.argv[2])
    texts, lines = {}, []
    for name, about, model, edits in MUTANTS:
        is_there = True
        for path, old, new, after in edits:
            text = texts.get(path) or (core / path).read_text(encoding="utf-8")
            text_changed = changed(text, old, new, after, name)
            is_there &= text_changed is not None
            texts[path] = text_changed or text
        lines.append(f'MUTANT({name}, "{about}", "{model}", {"true" if is_there else "false"})')
    for path, text in texts.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text('#include "mutants.h"\n' + text, encoding="utf-8")
    (out / "mutants.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
