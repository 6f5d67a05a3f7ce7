/*
 * The search: which thread goes next, and which executions can be left out.
 *
 * An execution is a sequence of choices: which thread goes next, and what a load reads. The choices
 * form a tree, which is walked depth first; each execution is replayed from the start. Four rules
 * keep the tree small. They leave out only executions that are equivalent to one that is run, so
 * "complete" means all.
 *
 *  1. Two steps of different threads commute unless one is a barrier that reaches the other's
 *     thread, or both are barriers, or one is a futex wake and the other a wait, sleep or wake on
 *     the same word. In particular, a store and a load of the same word commute if the load reads
 *     something older: "store, then read the old value" is the same execution as "read, then
 *     store". So do two stores: either may come first in modification order, whichever is executed
 *     first. So do seq_cst accesses: order.c does not ask which was executed first.
 *  2. Sleep sets (Godefroid): after thread A's step has been explored from a state and B's step is
 *     tried first, A sleeps until a step happens that does not commute with its own. By rule 1 a
 *     store does not wake a sleeping load, but that load may read what was stored since
 *     (`horizon`). If every runnable thread sleeps, the execution is cut as redundant.
 *  3. A step that commutes with everything that the others may still do is taken alone; the others
 *     are not tried first. Examples: a store while no other thread may issue a barrier; a load of a
 *     word that no other thread writes.
 *  4. An access to a word that only one thread touches, or a load of a word that only the loading
 *     thread writes, is not a step at all.
 *
 * Rules 3 and 4 depend on what threads will do, which is learned: which threads wrote and touched
 * each word, and how many barriers each thread issued, in all executions so far. When an execution
 * exceeds that knowledge, the search starts again with the new knowledge. This is sound: take a
 * shortest sequence of steps that exceeds it. All steps before the last one obey the assumptions,
 * so an equivalent sequence is explored. The last step happens in that sequence too, because the
 * steps moved to the front commute with those before it and cannot keep its thread from reaching
 * it.
 *
 * With a bound on preemptions, or random choices, only rule 4 is used.
 */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Per execution. A thread that needs more waits for something that never comes. */
#define SLEEPS_ENDED_MAX 16

struct engine engine;

struct node {
    uint8_t count;
    uint8_t index;
};

static struct node nodes[NODES_MAX];
static uint32_t node_count; /* recorded */
static uint32_t node_at;    /* replayed so far */

static const struct model *model;
static const struct model_options *options;
static uint64_t random_state;

/* Learned: bit i stands for thread i. */
static uint8_t touched_by[ARENA_UNITS];
static uint8_t written_by[ARENA_UNITS];
static uint32_t barriers_of[MODEL_THREADS_MAX];
static bool learned;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1dull >> 16;
}

uint32_t search_choose(uint32_t count)
{
    if (count == 1)
        return 0;
    if (options->random_seed != 0)
        return (uint32_t)(next_random() % count);
    if (node_at == NODES_MAX) {
        model_fail("too many choices in one execution");
        return 0;
    }
    if (node_at == node_count) {
        nodes[node_count].count = (uint8_t)count;
        nodes[node_count++].index = 0;
    }
    return nodes[node_at++].index;
}

/* Moves on to the next execution; false if there is none. */
static bool advance(void)
{
    while (node_count > 0) {
        struct node *last = &nodes[node_count - 1];
        if (++last->index < last->count)
            return true;
        node_count--;
    }
    return false;
}

static bool reduced(void)
{
    return !options->bounded && options->random_seed == 0;
}

static bool has_word(const struct operation *operation)
{
    return operation->kind <= MODEL_WAIT;
}

static bool may_write(const struct operation *operation)
{
    return operation->kind >= MODEL_STORE && operation->kind <= MODEL_LOCK;
}

static bool is_futex(const struct operation *operation)
{
    return operation->kind >= MODEL_FUTEX_WAIT && operation->kind <= MODEL_FUTEX_WAKE;
}

static void learn(const struct operation *operation)
{
    uint8_t bit = (uint8_t)(1u << engine.self);
    uint8_t *touched = &touched_by[operation->unit];
    uint8_t *written = &written_by[operation->unit];
    if ((*touched & bit) == 0 || (may_write(operation) && (*written & bit) == 0))
        learned = true;
    *touched |= bit;
    if (may_write(operation))
        *written |= bit;
}

/* Rule 4. */
static bool is_private(const struct operation *operation)
{
    uint32_t bit = 1u << engine.self;
    if (memory_is_clock(operation->unit))
        return false; /* a barrier of another thread changes what may be read */
    if (operation->kind == MODEL_LOAD)
        return (written_by[operation->unit] & ~bit) == 0;
    return operation->kind < MODEL_WAIT && (touched_by[operation->unit] & ~bit) == 0;
}

static bool barrier_may_come(uint32_t thread)
{
    for (uint32_t i = 0; i < engine.threads; i++)
        if (i != thread && engine.thread[i].barriers < barriers_of[i])
            return true;
    return false;
}

/* Rule 3. */
static bool commutes_with_all(uint32_t thread)
{
    const struct operation *operation = &engine.thread[thread].pending;
    if (operation->kind == MODEL_PAUSE ||
        (operation->kind == MODEL_FUTEX_SLEEP && engine.thread[thread].woken))
        return true;
    if (!has_word(operation) || barrier_may_come(thread))
        return false;
    if (operation->kind == MODEL_STORE)
        return true;
    for (uint32_t i = 0; i < engine.threads; i++)
        if (i != thread && engine.thread[i].state != THREAD_DONE &&
            (written_by[operation->unit] >> i & 1) != 0)
            return false;
    return true;
}

static bool is_enabled(const struct thread *thread)
{
    uint16_t list[HISTORY_MAX];
    if (thread->state != THREAD_READY)
        return false;
    if (thread->pending.kind == MODEL_PAUSE)
        return engine.messages > thread->iteration_start + thread->iteration_own;
    if (thread->pending.kind == MODEL_FUTEX_SLEEP)
        return thread->woken || thread->pending.sleep == MODEL_SLEEP_TIMED;
    if (thread->pending.kind == MODEL_WAIT || thread->pending.kind == MODEL_LOCK)
        return memory_readable(thread, &thread->pending, list) > 0;
    return true;
}

static bool is_awake(const struct thread *thread)
{
    uint16_t list[HISTORY_MAX];
    if (!thread->asleep)
        return true;
    bool reads = has_word(&thread->pending) || thread->pending.kind == MODEL_FUTEX_WAIT;
    if (!reads || thread->pending.kind == MODEL_STORE)
        return false;
    uint32_t count = memory_readable(thread, &thread->pending, list);
    return memory_only_fresh(thread, list, count) > 0;
}

/* Rule 1: may the step of thread `self`, just taken, change what thread `other` does next? */
static bool disturbs(const struct operation *step, uint32_t self, uint32_t other)
{
    const struct operation *next = &engine.thread[other].pending;
    if (is_futex(step) && is_futex(next) && step->location == next->location)
        return step->kind == MODEL_FUTEX_WAKE || next->kind == MODEL_FUTEX_WAKE;
    bool step_barrier = step->kind == MODEL_MEMBARRIER;
    bool next_barrier = next->kind == MODEL_MEMBARRIER;
    if (step_barrier && (step->target == other || next_barrier))
        return true;
    return next_barrier && next->target == self;
}

static void end_execution(void)
{
    engine.ended = true;
    switch_to_search(engine.self);
}

static bool all_done(void)
{
    for (uint32_t i = 0; i < engine.threads; i++)
        if (engine.thread[i].state != THREAD_DONE)
            return false;
    return true;
}

/* No thread can go on. A pausing thread that has read a stale value would eventually read the
 * newest one, which is a different execution. */
static void abandon_stale(void)
{
    for (uint32_t i = 0; i < engine.threads; i++) {
        const struct thread *thread = &engine.thread[i];
        if (thread->state == THREAD_READY && thread->pending.kind == MODEL_PAUSE && thread->stale)
            model_abandon();
    }
}

/* No other thread can go on, so lazy sleepers time out. */
static bool find_lazy(uint32_t *list)
{
    for (uint32_t i = 0; i < engine.threads && engine.sleeps_ended < SLEEPS_ENDED_MAX; i++) {
        const struct thread *thread = &engine.thread[i];
        if (thread->state != THREAD_READY || thread->pending.kind != MODEL_WAIT ||
            thread->pending.sleep != MODEL_SLEEP_LAZY)
            continue;
        list[0] = i;
        engine.sleeps_ended++;
        return true;
    }
    return false;
}

/* The threads that may go next, the calling thread first, so that the first execution switches
 * rarely. */
static uint32_t candidates(uint32_t *list)
{
    uint32_t enabled = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine.threads; i++) {
        uint32_t thread = (engine.self + i) % engine.threads;
        if (!is_enabled(&engine.thread[thread]))
            continue;
        enabled++;
        bool awake = is_awake(&engine.thread[thread]);
        if (reduced() && commutes_with_all(thread)) {
            list[0] = thread;
            count = awake;
            break;
        }
        if (awake)
            list[count++] = thread;
        if (options->bounded && i == 0 && engine.preemptions == options->preemptions)
            break;
    }
    if (enabled > 0)
        return count;
    abandon_stale();
    if (!find_lazy(list))
        model_fail("deadlock: no thread can go on");
    return 1;
}

static void sleep_thread(struct thread *thread)
{
    thread->asleep = true;
    thread->horizon = engine.messages;
}

static uint32_t choose_thread(void)
{
    uint32_t list[MODEL_THREADS_MAX];
    uint32_t count = candidates(list);
    if (count == 0) {
        engine.result.redundant++;
        end_execution();
    }
    uint32_t index = search_choose(count);
    for (uint32_t i = 0; i < index && reduced(); i++)
        sleep_thread(&engine.thread[list[i]]);
    if (list[index] != engine.self && is_enabled(&engine.thread[engine.self]))
        engine.preemptions++;
    return list[index];
}

/* Returns when the calling thread may take its pending step. */
static void schedule(void)
{
    uint32_t self = engine.self;
    uint32_t next = 0;
    while (next < engine.threads && engine.thread[next].state != THREAD_NEW)
        next++;
    if (next == engine.threads)
        next = choose_thread();
    if (next == self)
        return;
    engine.self = next;
    switch_to_thread(self, next);
}

static void thread_entry(void)
{
    uint32_t self = engine.self;
    engine.thread[self].state = THREAD_READY;
    model->run[self]();
    engine.thread[self].state = THREAD_DONE;
    if (all_done())
        end_execution();
    schedule();
}

static void count_step(void)
{
    if (++engine.result.steps % 1024 == 0 && engine.events > EVENTS_MAX - 8)
        model_fail("runaway execution");
}

/* After the step: wakes its thread, and all threads whose next step does not commute with it. */
static void wake_disturbed(const struct operation *step)
{
    engine.thread[engine.self].asleep = false;
    for (uint32_t i = 0; i < engine.threads; i++)
        if (i != engine.self && engine.thread[i].asleep && disturbs(step, engine.self, i))
            engine.thread[i].asleep = false;
}

void model_handler(uint32_t thread, void (*handler)(void))
{
    engine.thread[thread].handler = handler;
}

void model_interrupt(void)
{
    struct thread *thread = &engine.thread[engine.self];
    void (*handler)(void) = thread->handler;
    if (!engine.running || !handler || search_choose(2) == 0)
        return;
    thread->handler = NULL;
    handler();
}

uint64_t model_operation(const struct model_request *request)
{
    report_register(request->site);
    request->site->first->size = request->size;
    if (!engine.running)
        return memory_direct(request);
    model_interrupt();
    request->site->first->met = true;
    struct thread *thread = &engine.thread[engine.self];
    struct operation *operation = &thread->pending;
    operation->request = *request;
    operation->kind = request->site->kind;
    operation->order = request->site->first->order_now;
    operation->failure = request->site->first->failure_now;
    operation->sleep = request->sleep;
    operation->location = memory_location(request);
    operation->unit = engine.location[operation->location].unit;
    operation->is_private = is_private(operation);
    learn(operation);
    if (!operation->is_private)
        schedule();
    count_step();
    if (operation->kind == MODEL_WAIT && !is_enabled(thread)) { /* its time has expired */
        memory_settle(thread);
        return request->argument;
    }
    uint64_t result = memory_execute(thread, operation);
    wake_disturbed(operation);
    return result;
}

/* Takes the step that the calling thread has prepared. */
static struct thread *take_step(void)
{
    schedule();
    count_step();
    return &engine.thread[engine.self];
}

static bool futex_sleep(struct model_site *site, uint32_t location, enum model_sleep sleep)
{
    static struct model_site sleep_site = {.file = "futex", .kind = MODEL_FUTEX_SLEEP};
    struct thread *thread = &engine.thread[engine.self];
    thread->woken = false;
    sleep_site.function = site->function;
    thread->pending = (struct operation){.request = {.site = &sleep_site},
                                         .kind = MODEL_FUTEX_SLEEP,
                                         .location = location,
                                         .unit = engine.location[location].unit,
                                         .sleep = sleep};
    take_step();
    report_event(&thread->pending, 0, thread->woken, true, false);
    wake_disturbed(&thread->pending);
    if (!thread->woken)
        return true;
    memory_woken(thread, location);
    return false;
}

bool model_futex_wait_at(struct model_site *site, const void *word, uint32_t expected,
                         enum model_sleep sleep)
{
    const struct model_request request = {
        .site = site, .cell = (void *)(uintptr_t)word, .size = sizeof expected};
    if (!engine.running || model_operation(&request) != expected)
        return false;
    return futex_sleep(site, engine.thread[engine.self].pending.location, sleep);
}

/* The threads that sleep on the word. */
static uint32_t sleepers(uint32_t location, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine.threads; i++) {
        const struct thread *thread = &engine.thread[i];
        if (thread->state == THREAD_READY && thread->pending.kind == MODEL_FUTEX_SLEEP &&
            thread->pending.location == location && !thread->woken)
            list[count++] = i;
    }
    return count;
}

void model_futex_wake_at(struct model_site *site, const void *word, uint32_t count)
{
    report_register(site);
    if (!engine.running)
        return;
    struct model_request request = {
        .site = site, .cell = (void *)(uintptr_t)word, .size = sizeof count};
    struct thread *thread = &engine.thread[engine.self];
    uint32_t location = memory_location(&request);
    thread->pending = (struct operation){.request = request,
                                         .kind = MODEL_FUTEX_WAKE,
                                         .location = location,
                                         .unit = engine.location[location].unit};
    take_step();
    memory_wake(thread, location);
    uint32_t list[MODEL_THREADS_MAX];
    for (uint32_t left; count > 0 && (left = sleepers(location, list)) > 0; count--)
        engine.thread[list[count < left ? search_choose(left) : 0]].woken = true;
    report_event(&thread->pending, 0, 0, true, false);
    wake_disturbed(&thread->pending);
}

static void barrier_with(struct model_site *site, uint32_t target)
{
    struct thread *thread = &engine.thread[engine.self];
    thread->pending = (struct operation){.request = {.site = site},
                                         .kind = MODEL_MEMBARRIER,
                                         .order = MODEL_SEQ_CST,
                                         .target = target};
    schedule();
    count_step();
    memory_barrier(thread);
    memory_barrier(&engine.thread[target]);
    memory_barrier(thread);
    report_event(&thread->pending, 0, target, true, false);
    wake_disturbed(&thread->pending);
}

void model_membarrier_at(struct model_site *site)
{
    report_register(site);
    if (!engine.running)
        return;
    site->first->met = true;
    if (site->first->removed)
        return;
    uint32_t left[MODEL_THREADS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine.threads; i++)
        if (i != engine.self)
            left[count++] = i;
    uint32_t self = engine.self;
    while (count > 0) {
        uint32_t index = search_choose(count);
        barrier_with(site, left[index]);
        left[index] = left[--count];
    }
    if (++engine.thread[self].barriers > barriers_of[self]) {
        barriers_of[self] = engine.thread[self].barriers;
        learned = true;
    }
}

/* Without a clock there is nothing to order. */
static bool is_there(struct model_site *site)
{
    bool is_met = engine.running && engine.clock != 0;
    report_register(site);
    site->first->met |= is_met;
    return is_met && !site->first->removed;
}

void model_mfence_at(struct model_site *site)
{
    if (is_there(site))
        engine.thread[engine.self].stores_are_visible = true;
}

void model_lfence_at(struct model_site *site)
{
    if (is_there(site) && engine.thread[engine.self].stores_are_visible)
        barrier_with(site, engine.self);
}

void model_pause(void)
{
    static struct model_site site = {.file = "pause", .kind = MODEL_PAUSE};
    if (!engine.running)
        return;
    struct thread *thread = &engine.thread[engine.self];
    thread->pending = (struct operation){.request = {.site = &site}, .kind = MODEL_PAUSE};
    schedule();
    thread->asleep = false;
    thread->iteration_start = engine.messages;
    thread->iteration_own = 0;
    thread->stale = false;
}

uint32_t model_self(void)
{
    return engine.self;
}

void model_fail(const char *format, ...)
{
    if (!engine.result.failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(engine.result.failure, sizeof engine.result.failure, format, arguments);
        va_end(arguments);
        engine.result.failed = true;
        if (!engine.quiet)
            report_trace();
    }
    if (engine.running)
        end_execution();
}

void model_abandon(void)
{
    engine.result.abandoned++;
    if (engine.running)
        end_execution();
}

void model_outcome(uint32_t outcome)
{
    engine.result.outcomes |= 1ull << (outcome & 63);
}

static void reset_execution(void)
{
    memory_reset();
    shadow_reset();
    engine.execution++;
    engine.events = 0;
    engine.ended = false;
    engine.preemptions = 0;
    engine.sleeps_ended = 0;
    for (uint32_t i = 0; i < engine.threads; i++) {
        struct thread *thread = &engine.thread[i];
        struct view *views[3] = {&thread->current, &thread->acquired, &thread->released};
        thread->state = THREAD_NEW;
        thread->asleep = false;
        thread->barriers = 0;
        thread->iteration_start = 0;
        thread->iteration_own = 0;
        thread->stale = false;
        thread->woken = true;
        thread->handler = NULL;
        thread->stores_are_visible = false;
        for (int v = 0; v < 3; v++) {
            views[v]->locations = 0;
            memset(views[v]->clock, 0, sizeof views[v]->clock);
        }
        thread->current.clock[i] = thread->acquired.clock[i] = 1;
        switch_prepare(i, thread_entry);
    }
}

static void run_once(void)
{
    reset_execution();
    node_at = 0;
    model->setup();
    engine.self = 0;
    engine.running = true;
    switch_from_search(0);
    engine.running = false;
    if (!all_done() || engine.result.failed)
        return;
    engine.result.executions++;
    if (model->finish != NULL)
        model->finish();
}

static double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void start_again(void)
{
    learned = false;
    node_count = 0;
    engine.result = (struct model_result){0};
}

static bool out_of_budget(double start)
{
    uint64_t runs = engine.result.executions + engine.result.redundant;
    if (options->executions_max != 0 && runs >= options->executions_max)
        return true;
    return options->seconds_max > 0 && engine.execution % 1024 == 0 &&
           seconds_now() - start > options->seconds_max;
}

struct model_result model_explore(const struct model *explored,
                                  const struct model_options *with_options)
{
    static const struct model_options defaults;
    model = explored;
    options = with_options != NULL ? with_options : &defaults;
    engine.quiet = options->quiet;
    engine.threads = model->threads;
    engine.c17_sequences = model->c17_sequences;
    random_state = options->random_seed;
    memset(touched_by, 0, sizeof touched_by);
    memset(written_by, 0, sizeof written_by);
    memset(barriers_of, 0, sizeof barriers_of);
    double start = seconds_now();
    start_again();
    bool more = true;
    bool stopped = false;
    while (more && !stopped && !engine.result.failed) {
        run_once();
        if (learned && !engine.result.failed)
            start_again();
        else
            more = advance() || options->random_seed != 0;
        stopped = out_of_budget(start);
    }
    engine.result.complete = !more && !stopped && !engine.result.failed;
    engine.result.seconds = seconds_now() - start;
    return engine.result;
}
