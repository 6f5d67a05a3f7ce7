/* Times of functions from calls and returns.
 *
 * A task is a flow of execution with its own stack: in Lua, a coroutine on a capture thread. At any
 * moment a capture thread has a chain of tasks: each has resumed the next, and only the last one
 * runs. A chain has up to 256 tasks: beyond, its first one leaves it. A task has two clocks. One runs
 * while the task runs, the other while it is anywhere in the chain. The exclusive time of a frame is
 * the time that passed on the first clock, minus that of the frames it called; its inclusive time is
 * the time that passed on the second. So while a resumed task runs, its resumer's inclusive time
 * grows and its exclusive time does not; for a task that has yielded, neither grows.
 *
 * Not thread-safe. Out of memory ends the program with a message. */
#ifndef WT_WEIR_CALL_TREE_H
#define WT_WEIR_CALL_TREE_H

#include "map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_times {
    uint64_t id;
    uint64_t calls;
    uint64_t inclusive, exclusive; /* ticks; unsigned, as hostile times may wrap */
};

struct call_frame;
struct task;
struct call_thread;

struct call_tree {
    struct function_times *functions; /* in order of first appearance */
    size_t function_count, function_capacity;
    struct wt_map function_map; /* function id -> index */
    struct task *tasks;
    size_t task_count, task_capacity;
    struct call_thread *threads;
    size_t thread_count, thread_capacity; /* by thread index of the reader */
    struct wt_map depth_map;              /* task and function -> how many frames of it are open */
    uint32_t *depths;
    size_t depth_count, depth_capacity;

    uint64_t calls, tail_calls, returns;
    uint64_t unmatched; /* returns without a call */
    uint64_t unwound;   /* frames closed because a frame below them returned or their task ended */
    uint64_t closed_at_end; /* frames open at the last event */
    uint64_t closed_by_gap; /* frames open when numbers were missing */
};

/* `thread` is the reader's index of the capture thread, `task` any number that identifies a task of
 * that thread. Times of one thread must not decrease; if one does, no time is counted as passed. */
void call_tree_call(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                    int64_t time);
void call_tree_tail_call(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                         int64_t time);
void call_tree_return(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                      int64_t time);

/* The task is in a function that it has entered before its calls were recorded: no call, but from
 * now on time, and a return. */
void call_tree_frame(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                     int64_t time);

/* A task gets control, and the task that had control waits for it. */
void call_tree_resume(struct call_tree *tree, uint32_t thread, uint64_t task, int64_t time);

/* A task returns control to the task that resumed it. */
void call_tree_yield(struct call_tree *tree, uint32_t thread, uint64_t task, int64_t time);

/* A task has ended, or its number is reused: frames that it left open end here. */
void call_tree_end_task(struct call_tree *tree, uint32_t thread, uint64_t task, int64_t time);

/* Numbers of the thread are missing: all its frames end at `time`, the time of its last event. */
void call_tree_gap(struct call_tree *tree, uint32_t thread, int64_t time);

/* The trace has ended: all open frames end at `time`. */
void call_tree_finish(struct call_tree *tree, int64_t time);

/* The times of a function, created if it is new. Valid until the next call of any function of this
 * file. */
struct function_times *call_tree_function(struct call_tree *tree, uint64_t function);

void call_tree_fini(struct call_tree *tree);

#endif
