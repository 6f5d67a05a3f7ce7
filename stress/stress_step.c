/*
 * One instruction at a time: the trap flag of x86 stops a thread after each instruction of an emit
 * (or of its exit), and a handler does what could happen there: it emits, lets all other threads
 * run, or forks. What a stress test hits by luck, this test hits by construction.
 *
 * Not under sanitizers: their code would be stepped too, and it must not be re-entered.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"
#include "sink.h"
#include "child.h"

#define TRAP_FLAG     0x100
#define SEGMENT_BYTES 4096u
#define EVENTS_MAX    2000000u
#define ERRNO_MARK    77
#define CHILD_MS_MAX  60000

enum { NORMAL, HANDLER, VISITOR, EMITTERS };

/* The subject's work, and what happens at each step of it. */
struct scenario {
    const char *name;
    const char *figure;
    enum hs_shape shape;
    uint32_t warm_events; /* before the stepping */
    uint32_t events;      /* stepped */
    bool steps_exit;      /* the exit of the thread is stepped, not its events */
    bool is_full;         /* the sink stands still, so the budget is used up */
    bool has_two_sessions;
    void (*act)(ucontext_t *context);
    bool is_thorough; /* act at each step and ignore --stride, because it is cheap */
    bool is_sweep;    /* act at one step per thread: step 1 of the first thread, and so on */
};

static uint64_t pause_us = 2500, stride = 1, only, first_step;
static struct hs_trace traces[2];
static struct hs_sink_gate gate;
static struct hs_emitter *emitters;
static const struct scenario *scenario;
static uint64_t steps, sweep_step;
static bool is_over; /* ANY: for the companions */
static bool is_child;
static __thread bool is_subject;
static pthread_key_t key_before, key_after; /* created before and after the library's */

/* The compiler may use the red zone below the stack pointer, so the asm skips it. */
static inline void stepping_begin(void)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
        :
        : "i"(TRAP_FLAG)
        : "memory", "cc");
}

static inline void stepping_end(void)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
        :
        : "i"(~TRAP_FLAG)
        : "memory", "cc");
}

static void stepping(bool begins)
{
    if (begins)
        stepping_begin();
    else
        stepping_end();
}

/* --- What happens at a step. ----------------------------------------------------------------- */

static void act_emit(ucontext_t *context)
{
    (void)context;
    errno = ERRNO_MARK;
    hs_emit(&emitters[HANDLER], steps & 1 ? HS_FIXED : HS_BYTES);
    hs_check(errno == ERRNO_MARK, "%s: emit in a handler changed errno to %d", scenario->name,
             errno);
}

static void act_pause(ucontext_t *context)
{
    (void)context;
    hs_progress();
    hs_sleep_us(pause_us);
}

/* Emits after the others have run. */
static void act_pause_emit(ucontext_t *context)
{
    act_pause(context);
    act_emit(context);
}

/* The child continues from here to the end of the subject's work, without stepping. */
static void act_fork(ucontext_t *context)
{
    long long place = context->uc_mcontext.gregs[REG_RIP] - (long long)(uintptr_t)&weir_emit;
    pid_t child = fork();
    if (child == 0) {
        is_child = true;
        context->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP_FLAG;
        return;
    }
    hs_progress();
    hs_child_wait(child, CHILD_MS_MAX, "%s: step %llu, weir_emit%+lld", scenario->name,
                  (unsigned long long)steps, place);
    hs_figure_add("forks", 1);
}

static bool acts_at(uint64_t step)
{
    if (scenario->is_sweep)
        return step == sweep_step;
    return scenario->is_thorough || step % stride == first_step;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    int saved = errno;
    if (is_subject) {
        uint64_t step = steps++;
        if (acts_at(step))
            scenario->act(context);
    }
    errno = saved;
}

/* --- The subject. ---------------------------------------------------------------------------- */

/* The library's key is created between the two, and destructors run in the order of the keys. */
static void before_exit(void *argument)
{
    (void)argument;
    is_subject = true;
    stepping_begin();
}

static void after_exit(void *argument)
{
    (void)argument;
    stepping_end();
    is_subject = false;
}

static void *subject(void *argument)
{
    (void)argument;
    struct hs_emitter *emitter = &emitters[NORMAL];
    for (uint32_t i = 0; i < scenario->warm_events; i++)
        hs_emit(emitter, HS_FIXED);
    is_subject = true;
    for (uint32_t i = 0; i < scenario->events && !is_child; i++) {
        errno = ERRNO_MARK;
        emitter->around = stepping;
        hs_emit(emitter, scenario->shape);
        emitter->around = NULL;
        hs_check(errno == ERRNO_MARK, "%s: emit changed errno to %d", scenario->name, errno);
    }
    is_subject = false;
    if (is_child)
        hs_child_main();
    if (!emitter->is_visiting) {
        hs_emitter_settle(emitter, &traces[0]);
        emitters[HANDLER].capture = emitter->capture;
    }
    if (scenario->steps_exit) {
        pthread_setspecific(key_before, &key_before);
        pthread_setspecific(key_after, &key_after);
    }
    return NULL;
}

/* Other threads, which come and go: their segments and lanes are recycled while the subject is
 * stopped. */
static void *visit(void *argument)
{
    for (int i = 0; i < 80; i++)
        hs_emit(argument, HS_FIXED);
    return NULL;
}

static void *companions(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint32_t i = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++) {
        pthread_t visitor;
        hs_thread_start(&visitor, visit, emitter);
        hs_thread_join(visitor);
        hs_sleep_us(100);
    }
    return NULL;
}

/* --- A scenario. ----------------------------------------------------------------------------- */

static bool sessions_start(void)
{
    struct weir_session_config config =
        hs_trace_config(scenario->is_full ? 4 * SEGMENT_BYTES : 4u << 20);
    config.segment_bytes = SEGMENT_BYTES;
    config.flush_ms = 1;
    config.stop_ms_max = 10000;
    if (scenario->has_two_sessions && !hs_trace_start(&traces[1], config, HS_SINK_FILE, NULL))
        return false;
    hs_gate_init(&gate, NULL);
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    return hs_trace_start(&traces[0], config, HS_SINK_MEMORY, NULL);
}

static void sessions_end(void)
{
    if (hs_trace_stop(&traces[0])) {
        hs_gate_finish(&gate, &traces[0]);
        hs_oracle_run(emitters, EMITTERS, &traces[0]);
    }
    hs_trace_end(&traces[0]);
    if (!scenario->has_two_sessions)
        return;
    for (int i = 0; i < EMITTERS; i++) {
        emitters[i].seen = emitters[i].next_seen = emitters[i].capture = 0;
        memset(emitters[i].is_seen, 0, emitters[i].capacity / 64 * 8 + 8);
    }
    if (hs_trace_stop(&traces[1]))
        hs_oracle_run(emitters, EMITTERS, &traces[1]);
    hs_trace_end(&traces[1]);
}

/* One thread; in a sweep, one for each step. */
static void subjects_run(void)
{
    sweep_step = first_step;
    do {
        pthread_t thread;
        steps = 0;
        hs_thread_start(&thread, subject, NULL);
        hs_thread_join(thread);
        hs_figure_add(scenario->figure, (double)steps);
        sweep_step += stride;
    } while (scenario->is_sweep && sweep_step < steps);
}

static void scenario_begin(const struct scenario *which)
{
    scenario = which;
    hs_emitters_reset(emitters, EMITTERS);
    /* Used by several threads, one after the other, or for records that a thread's exit leaves. */
    emitters[NORMAL].is_visiting = emitters[HANDLER].is_visiting =
        which->is_sweep || which->steps_exit;
    emitters[VISITOR].is_visiting = true;
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
}

static void scenario_run(const struct scenario *which)
{
    pthread_t companion;
    uint64_t failures = hs_failures();
    scenario_begin(which);
    if (!sessions_start())
        return;
    if (scenario->is_full)
        hs_gate_close(&gate);
    bool has_companions = scenario->act == act_pause || scenario->act == act_pause_emit;
    if (has_companions)
        hs_thread_start(&companion, companions, &emitters[VISITOR]);
    subjects_run();
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    if (has_companions)
        hs_thread_join(companion);
    hs_gate_open(&gate);
    sessions_end();
    if (hs_failures() != failures)
        fprintf(stderr, "... in the scenario '%s'\n", which->name);
}

static const struct scenario all[] = {
    {.name = "a handler emits in the fast path",
     .figure = "steps_emit",
     .shape = HS_FIXED,
     .warm_events = 1,
     .events = 200,
     .act = act_emit,
     .is_thorough = true},
    {.name = "a handler emits in the slow path",
     .figure = "steps_emit",
     .shape = HS_TEXT,
     .warm_events = 1,
     .events = 100,
     .act = act_emit,
     .is_thorough = true},
    {.name = "a handler emits in a mismatch",
     .figure = "steps_emit",
     .shape = HS_MISMATCH,
     .warm_events = 1,
     .events = 5,
     .act = act_emit,
     .is_thorough = true},
    {.name = "a handler emits when all is full",
     .figure = "steps_emit",
     .shape = HS_FIXED,
     .warm_events = 500,
     .events = 20,
     .is_full = true,
     .act = act_emit,
     .is_thorough = true},
    {.name = "a handler emits, two sessions",
     .figure = "steps_emit",
     .shape = HS_FIXED,
     .warm_events = 1,
     .events = 20,
     .has_two_sessions = true,
     .act = act_emit,
     .is_thorough = true},
    {.name = "a handler emits once in a first event",
     .figure = "steps_first",
     .shape = HS_FIXED,
     .events = 1,
     .is_sweep = true,
     .act = act_emit},
    {.name = "a handler emits once at a change of segments",
     .figure = "steps_change",
     .shape = HS_FIXED,
     .warm_events = 67,
     .events = 4,
     .is_sweep = true,
     .act = act_emit},
    {.name = "a handler emits in the exit of a thread",
     .figure = "steps_exit",
     .warm_events = 3,
     .steps_exit = true,
     .act = act_emit,
     .is_thorough = true},
    {.name = "a handler emits once in the exit of a thread",
     .figure = "steps_exit",
     .warm_events = 3,
     .steps_exit = true,
     .is_sweep = true,
     .act = act_emit},
    {.name = "others run in the fast path",
     .figure = "steps_pause",
     .shape = HS_FIXED,
     .warm_events = 1,
     .events = 2,
     .act = act_pause},
    {.name = "others run at a change of segments",
     .figure = "steps_pause",
     .shape = HS_FIXED,
     .warm_events = 67,
     .events = 4,
     .act = act_pause},
    {.name = "others run in a first event",
     .figure = "steps_pause",
     .shape = HS_FIXED,
     .events = 1,
     .act = act_pause},
    {.name = "others run in the exit of a thread",
     .figure = "steps_pause",
     .warm_events = 3,
     .steps_exit = true,
     .act = act_pause},
    {.name = "others run, then a handler emits, in the exit of a thread",
     .figure = "steps_pause",
     .warm_events = 3,
     .steps_exit = true,
     .act = act_pause_emit},
    {.name = "a fork in the fast path",
     .figure = "steps_fork",
     .shape = HS_FIXED,
     .warm_events = 1,
     .events = 1,
     .act = act_fork},
    {.name = "a fork in the slow path",
     .figure = "steps_fork",
     .shape = HS_BYTES,
     .warm_events = 1,
     .events = 1,
     .act = act_fork},
};

static void all_run(void)
{
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (only == 0 || only == i + 1)
            scenario_run(&all[i]);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"stride", "act only at every N-th instruction", &stride, NULL},
        {"pause-us", "pause at a step in which others run", &pause_us, NULL},
        {"only", "number of the only scenario to run, from 1; 0: all", &only, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Something happens after each instruction of an emit.", options);
    pthread_key_create(&key_before, before_exit);
    hs_emitters_init();
    pthread_key_create(&key_after, after_exit);
    emitters = hs_emitters_new(EMITTERS, EVENTS_MAX);
    for (int i = 0; i < EMITTERS; i++)
        emitters[i].is_shared = true;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGTRAP, &action, NULL);
    stride = stride ? stride : 1;
    for (uint64_t round = hs_common.seed;
         round == hs_common.seed || (hs_time_is_left() && !hs_failures()); round++) {
        first_step = round % stride;
        all_run();
    }
    hs_emitters_free(emitters, EMITTERS);
    return hs_finish();
}
