#include "call_tree.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Each event looks at the whole chain, so a chain without end would take quadratic time. Lua nests
 * 200 coroutines. */
#define CHAIN_MAX 256u

struct call_frame {
    uint32_t function;               /* index */
    uint32_t depth;                  /* index of its counter of open frames */
    bool outermost;                  /* no other frame of the function was open in the chain */
    uint64_t chain_start, run_start; /* the task's clocks at the call */
    uint64_t run_children;           /* run time of the frames it called */
};

struct task {
    struct call_frame *frames;
    size_t frame_count, frame_capacity;
    bool in_chain, is_listed;      /* is_listed: among the tasks of its thread */
    uint64_t chain_time, run_time; /* the clocks, up to the thread's last event */
};

struct call_thread {
    struct wt_map task_map; /* task id -> task */
    uint32_t *chain;        /* tasks, each resumed by the one before */
    size_t chain_count, chain_capacity;
    uint32_t *tasks; /* those that have called something since the last gap */
    size_t task_count, task_capacity;
    int64_t last_time;
    bool has_time;
};

struct function_times *call_tree_function(struct call_tree *tree, uint64_t function)
{
    const uint32_t *found = wt_map_find(&tree->function_map, function);
    if (found)
        return &tree->functions[*found];
    uint32_t index = (uint32_t)tree->function_count;
    tree->functions = wt_grow(tree->functions, &tree->function_capacity, (size_t)index + 1,
                              sizeof(*tree->functions));
    if (!wt_map_insert(&tree->function_map, function, index)) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    tree->function_count++;
    tree->functions[index].id = function;
    return &tree->functions[index];
}

static struct call_thread *thread_of(struct call_tree *tree, uint32_t thread)
{
    tree->threads =
        wt_grow(tree->threads, &tree->thread_capacity, (size_t)thread + 1, sizeof(*tree->threads));
    if (thread >= tree->thread_count)
        tree->thread_count = (size_t)thread + 1;
    return &tree->threads[thread];
}

static uint32_t add_task(struct call_tree *tree)
{
    uint32_t index = (uint32_t)tree->task_count;
    tree->tasks =
        wt_grow(tree->tasks, &tree->task_capacity, (size_t)index + 1, sizeof(*tree->tasks));
    tree->task_count++;
    return index;
}

static uint32_t task_of(struct call_tree *tree, uint32_t thread, uint64_t id)
{
    struct wt_map *map = &thread_of(tree, thread)->task_map;
    const uint32_t *found = wt_map_find(map, id);
    if (found)
        return *found;
    uint32_t added = add_task(tree);
    if (!wt_map_insert(map, id, added)) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    return added;
}

/* Advances the clocks of a thread's tasks to `time`. */
static void advance(struct call_tree *tree, struct call_thread *thread, int64_t time)
{
    if (!thread->has_time) {
        thread->has_time = true;
        thread->last_time = time;
    }
    if (time <= thread->last_time)
        return;
    /* Unsigned: times come from a file and may lie at both ends of the range. */
    uint64_t passed = (uint64_t)time - (uint64_t)thread->last_time;
    thread->last_time = time;
    /* Until a task calls its first function, its time counts for the task that resumed it. */
    bool running = true;
    for (size_t i = thread->chain_count; i-- > 0;) {
        struct task *task = &tree->tasks[thread->chain[i]];
        task->chain_time += passed;
        if (running && task->frame_count > 0) {
            task->run_time += passed;
            running = false;
        }
    }
}

/* Of a chain that is too long, the first task leaves it as if it had yielded. */
static void limit_chain(struct call_tree *tree, struct call_thread *thread)
{
    if (thread->chain_count < CHAIN_MAX)
        return;
    tree->tasks[thread->chain[0]].in_chain = false;
    thread->chain_count--;
    memmove(thread->chain, thread->chain + 1, thread->chain_count * sizeof(*thread->chain));
}

static void push_chain(struct call_tree *tree, struct call_thread *thread, uint32_t task)
{
    limit_chain(tree, thread);
    thread->chain = wt_grow(thread->chain, &thread->chain_capacity, thread->chain_count + 1,
                            sizeof(*thread->chain));
    thread->chain[thread->chain_count++] = task;
    tree->tasks[task].in_chain = true;
}

static void pop_chain(struct call_tree *tree, struct call_thread *thread)
{
    tree->tasks[thread->chain[--thread->chain_count]].in_chain = false;
}

/* Makes `task` the running one: either the tasks that it resumed have ended, or it is being
 * resumed. */
static struct call_thread *run_task(struct call_tree *tree, uint32_t thread_index, uint32_t task,
                                    int64_t time)
{
    struct call_thread *thread = thread_of(tree, thread_index);
    advance(tree, thread, time);
    if (tree->tasks[task].in_chain)
        while (thread->chain[thread->chain_count - 1] != task)
            pop_chain(tree, thread);
    else
        push_chain(tree, thread, task);
    return thread;
}

/* The counter of open frames of a function in a task. */
static uint32_t depth_of(struct call_tree *tree, uint32_t task, uint32_t function)
{
    uint64_t key = (uint64_t)task << 32 | function;
    const uint32_t *found = wt_map_find(&tree->depth_map, key);
    if (found)
        return *found;
    uint32_t index = (uint32_t)tree->depth_count;
    tree->depths =
        wt_grow(tree->depths, &tree->depth_capacity, (size_t)index + 1, sizeof(*tree->depths));
    if (!wt_map_insert(&tree->depth_map, key, index)) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    tree->depth_count++;
    return index;
}

static bool is_outermost(struct call_tree *tree, const struct call_thread *thread,
                         uint32_t function)
{
    for (size_t i = thread->chain_count; i-- > 0;) {
        uint64_t key = (uint64_t)thread->chain[i] << 32 | function;
        const uint32_t *found = wt_map_find(&tree->depth_map, key);
        if (found && tree->depths[*found] > 0)
            return false;
    }
    return true;
}

static void list_task(struct call_tree *tree, struct call_thread *thread, uint32_t index)
{
    if (tree->tasks[index].is_listed)
        return;
    thread->tasks = wt_grow(thread->tasks, &thread->task_capacity, thread->task_count + 1,
                            sizeof(*thread->tasks));
    thread->tasks[thread->task_count++] = index;
    tree->tasks[index].is_listed = true;
}

static struct function_times *push_frame(struct call_tree *tree, struct call_thread *thread,
                                         uint32_t index, uint64_t function)
{
    struct function_times *times = call_tree_function(tree, function);
    uint32_t at = (uint32_t)(times - tree->functions);
    bool outermost = is_outermost(tree, thread, at);
    uint32_t depth = depth_of(tree, index, at);
    tree->depths[depth]++;
    list_task(tree, thread, index);
    struct task *task = &tree->tasks[index];
    task->frames =
        wt_grow(task->frames, &task->frame_capacity, task->frame_count + 1, sizeof(*task->frames));
    struct call_frame *frame = &task->frames[task->frame_count++];
    frame->function = at;
    frame->depth = depth;
    frame->outermost = outermost;
    frame->chain_start = task->chain_time;
    frame->run_start = task->run_time;
    frame->run_children = 0;
    return times;
}

static void pop_frame(struct call_tree *tree, struct task *task)
{
    struct call_frame *frame = &task->frames[--task->frame_count];
    struct function_times *times = &tree->functions[frame->function];
    uint64_t run = task->run_time - frame->run_start;
    times->exclusive += run - frame->run_children;
    if (frame->outermost)
        times->inclusive += task->chain_time - frame->chain_start;
    tree->depths[frame->depth]--;
    if (task->frame_count > 0)
        task->frames[task->frame_count - 1].run_children += run;
}

void call_tree_call(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                    int64_t time)
{
    uint32_t index = task_of(tree, thread, task);
    push_frame(tree, run_task(tree, thread, index, time), index, function)->calls++;
    tree->calls++;
}

void call_tree_frame(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                     int64_t time)
{
    uint32_t index = task_of(tree, thread, task);
    push_frame(tree, run_task(tree, thread, index, time), index, function);
}

void call_tree_tail_call(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                         int64_t time)
{
    uint32_t index = task_of(tree, thread, task);
    struct call_thread *owner = run_task(tree, thread, index, time);
    if (tree->tasks[index].frame_count > 0)
        pop_frame(tree, &tree->tasks[index]);
    push_frame(tree, owner, index, function)->calls++;
    tree->calls++;
    tree->tail_calls++;
}

/* A task whose last frame returned has ended: its resumer continues. */
static void end_if_empty(struct call_tree *tree, struct call_thread *thread, uint32_t task)
{
    if (tree->tasks[task].frame_count == 0 && thread->chain_count > 1 &&
        thread->chain[thread->chain_count - 1] == task)
        pop_chain(tree, thread);
}

void call_tree_return(struct call_tree *tree, uint32_t thread, uint64_t task, uint64_t function,
                      int64_t time)
{
    uint32_t index = task_of(tree, thread, task);
    struct call_thread *owner = run_task(tree, thread, index, time);
    uint32_t at = (uint32_t)(call_tree_function(tree, function) - tree->functions);
    const uint32_t *depth = wt_map_find(&tree->depth_map, (uint64_t)index << 32 | at);
    tree->returns++;
    if (!depth || tree->depths[*depth] == 0) {
        tree->unmatched++;
        return;
    }
    /* An error unwinds frames without their return events: they end here. */
    struct task *stack = &tree->tasks[index];
    while (stack->frames[stack->frame_count - 1].function != at) {
        pop_frame(tree, stack);
        tree->unwound++;
    }
    pop_frame(tree, stack);
    end_if_empty(tree, owner, index);
}

void call_tree_resume(struct call_tree *tree, uint32_t thread, uint64_t task, int64_t time)
{
    run_task(tree, thread, task_of(tree, thread, task), time);
}

void call_tree_yield(struct call_tree *tree, uint32_t thread, uint64_t task, int64_t time)
{
    uint32_t index = task_of(tree, thread, task);
    struct call_thread *owner = thread_of(tree, thread);
    advance(tree, owner, time);
    while (tree->tasks[index].in_chain)
        pop_chain(tree, owner);
}

void call_tree_end_task(struct call_tree *tree, uint32_t thread, uint64_t task, int64_t time)
{
    call_tree_yield(tree, thread, task, time);
    struct task *stack = &tree->tasks[task_of(tree, thread, task)];
    for (; stack->frame_count > 0; tree->unwound++)
        pop_frame(tree, stack);
}

/* Ends all frames of a thread at the current state of its clocks. */
static uint64_t close_thread(struct call_tree *tree, struct call_thread *thread)
{
    uint64_t closed = 0;
    for (size_t i = 0; i < thread->task_count; i++) {
        struct task *task = &tree->tasks[thread->tasks[i]];
        for (; task->frame_count > 0; closed++)
            pop_frame(tree, task);
        task->is_listed = false;
    }
    thread->task_count = 0;
    while (thread->chain_count > 0)
        pop_chain(tree, thread);
    return closed;
}

void call_tree_gap(struct call_tree *tree, uint32_t thread, int64_t time)
{
    if (thread >= tree->thread_count)
        return;
    advance(tree, &tree->threads[thread], time);
    tree->closed_by_gap += close_thread(tree, &tree->threads[thread]);
}

void call_tree_finish(struct call_tree *tree, int64_t time)
{
    for (size_t i = 0; i < tree->thread_count; i++) {
        advance(tree, &tree->threads[i], time);
        tree->closed_at_end += close_thread(tree, &tree->threads[i]);
    }
}

void call_tree_fini(struct call_tree *tree)
{
    for (size_t i = 0; i < tree->task_count; i++)
        free(tree->tasks[i].frames);
    for (size_t i = 0; i < tree->thread_count; i++) {
        free(tree->threads[i].chain);
        free(tree->threads[i].tasks);
        wt_map_fini(&tree->threads[i].task_map);
    }
    free(tree->functions);
    free(tree->tasks);
    free(tree->threads);
    free(tree->depths);
    wt_map_fini(&tree->function_map);
    wt_map_fini(&tree->depth_map);
}
