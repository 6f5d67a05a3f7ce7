/*
 * A signal handler jumps out of an emit: after its first instruction, after its second, and so on
 * to its last. Each time the thread calls weir_thread_reset() and emits again. In the end the stop
 * succeeds, and every event and the whole budget are accounted for.
 *
 * The trap flag of x86 counts the instructions. The trap handler then sends a signal whose handler
 * jumps, so that the jump happens only where the library allows signals.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <weir/weir.h>
#include "harness.h"

#define JUMP_EVENTS(EVENT, P)                                                \
    EVENT(P, Small, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, First), (u64, Second)) \
    EVENT(P, Text, 2, 0, WEIR_LEVEL_INFO, 0x1, (str, Value))
WEIR_PROVIDER(Jump, JUMP_EVENTS)
WEIR_PROVIDER_DEFINE(Jump, JUMP_EVENTS)

#define TRAP_FLAG     0x100
#define SEGMENT_BYTES 4096u
#define SEGMENTS      64u
/* Most instructions between publishing and leaving, and before the emit is counted. */
#define WINDOW_MAX  24
#define OUTSIDE_MAX 400

struct scenario {
    const char *name;
    enum weir_mode mode;
    uint32_t bytes; /* of a text; 0: a small event */
    bool changes;   /* every jump leaves an event that changes segments */
    bool has_two_sessions;
    bool is_first; /* the thread's first event */
};

static const struct scenario *scenario;
static uint64_t rounds = 1, jumps_max = 150;
static struct weir_session *sessions[2];
static char text[20000];
static pthread_mutex_t sink = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf out;
static volatile sig_atomic_t steps, target, may_jump;

static void on_trap(int signal, siginfo_t *info, void *argument)
{
    (void)signal;
    (void)info;
    ucontext_t *context = argument;
    if (++steps < target)
        return;
    context->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP_FLAG;
    pthread_kill(pthread_self(), SIGUSR1);
}

static void on_jump(int signal)
{
    (void)signal;
    if (may_jump)
        siglongjmp(out, 1);
}

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

static bool emit(void)
{
    return scenario->bytes ? WEIR_EMIT(Jump, Text, text) : WEIR_EMIT(Jump, Small, 1, 2);
}

/* --- Sessions. ------------------------------------------------------------------------------- */

static bool take(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    pthread_mutex_lock(&sink);
    pthread_mutex_unlock(&sink);
    return true;
}

static struct weir_session *session_start(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    config.providers = "Jump";
    config.mode = scenario->mode;
    config.budget_bytes = SEGMENTS * SEGMENT_BYTES;
    config.segment_bytes = SEGMENT_BYTES;
    config.sink.write = take;
    config.flush_ms = 1;
    config.block_signals = true;
    bool is_started = weir_session_create(&config, &session, &error) == WEIR_OK &&
                      weir_session_start(session, &error) == WEIR_OK;
    hs_check(is_started, "%s", error.text);
    return session;
}

static struct weir_stats stats_of(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    hs_check(weir_session_stats(session, &stats) == WEIR_OK, "stats");
    return stats;
}

/* While the sink stands still, all segments are in use once events are lost. */
static void check_budget(struct weir_session *session)
{
    if (scenario->mode == WEIR_MODE_OVERWRITE || scenario->has_two_sessions)
        return;
    pthread_mutex_lock(&sink);
    weir_no_block_begin();
    uint64_t lost = 0;
    for (int i = 0; lost < 4000 && i < 10000000; i++) {
        if (!WEIR_EMIT(Jump, Small, 1, 2) && ++lost % 1000 == 0)
            hs_sleep_us(10000); /* lets the drain finish, so that it gives nothing back later */
    }
    weir_no_block_end();
    struct weir_stats stats = stats_of(session);
    pthread_mutex_unlock(&sink);
    hs_check(stats.budget_bytes_used == stats.budget_bytes,
             "%s: only %llu of %llu bytes can be used", scenario->name,
             (unsigned long long)stats.budget_bytes_used, (unsigned long long)stats.budget_bytes);
}

/* --- Jumps. ---------------------------------------------------------------------------------- */

/* Leaves too little of a segment for the next event. */
static void fill_segment(void)
{
    uint64_t record = 24;
    for (uint64_t at = 0; at + record <= SEGMENT_BYTES - 256; at += record)
        WEIR_EMIT(Jump, Small, 3, 4);
}

/* True if the handler jumped out of the emit after that many instructions, false if the emit ended
 * before. */
static bool jump_at(int instruction)
{
    bool is_left = true;
    steps = 0;
    target = instruction;
    if (sigsetjmp(out, 1) == 0) {
        may_jump = 1;
        stepping_begin();
        emit();
        stepping_end();
        may_jump = 0;
        is_left = false;
    }
    may_jump = 0;
    return is_left;
}

struct tally {
    uint64_t jumps, twice, never;
};

static bool jump_and_mend(int instruction, struct tally *tally)
{
    if (scenario->changes)
        fill_segment();
    uint64_t before = stats_of(sessions[0]).counts.attempted;
    bool is_left = jump_at(instruction);
    weir_thread_reset();
    if (is_left) {
        uint64_t counted = stats_of(sessions[0]).counts.attempted - before;
        hs_check(counted <= 2, "%s: instruction %d: counted %llu times", scenario->name,
                 instruction, (unsigned long long)counted);
        tally->jumps++;
        tally->twice += counted == 2;
        tally->never += counted == 0;
    }
    bool is_written = WEIR_EMIT(Jump, Small, 5, 6);
    hs_check(is_written || weir_last_loss() != WEIR_LOSS_NESTED,
             "%s: instruction %d: the thread is silent", scenario->name, instruction);
    return is_left;
}

static void *first_event(void *argument)
{
    struct tally *tally = argument;
    tally->never += !jump_and_mend((int)tally->jumps, &(struct tally){0, 0, 0});
    return NULL;
}

/* A new thread for each instruction. */
static void jump_first(uint64_t round)
{
    uint64_t stride = 2000 / jumps_max + 1;
    struct tally tally = {1 + round % stride, 0, 0};
    for (; tally.never == 0 && tally.jumps < 100000; tally.jumps += stride) {
        pthread_t thread;
        hs_thread_start(&thread, first_event, &tally);
        hs_thread_join(thread);
        hs_progress();
    }
    hs_figure_add("jumps", (double)tally.jumps);
}

static void jump_everywhere(uint64_t round)
{
    struct tally tally = {0, 0, 0};
    emit();
    if (scenario->changes)
        fill_segment();
    hs_check(!jump_at(INT32_MAX), "%s: a jump without a signal", scenario->name);
    uint64_t stride = (uint64_t)steps / jumps_max + 1;
    hs_figure_add("instructions", (double)steps);
    for (uint64_t at = 1 + round % stride; jump_and_mend((int)at, &tally); at += stride)
        hs_progress();
    hs_check(tally.twice <= WINDOW_MAX, "%s: %llu events count twice", scenario->name,
             (unsigned long long)tally.twice);
    hs_check(tally.never <= OUTSIDE_MAX, "%s: %llu events do not count", scenario->name,
             (unsigned long long)tally.never);
    hs_figure_add("jumps", (double)tally.jumps);
    hs_figure_add("counted_twice", (double)tally.twice);
    hs_figure_add("not_counted", (double)tally.never);
}

static void *subject(void *argument)
{
    (void)argument;
    for (uint64_t i = 0; i < rounds; i++)
        if (scenario->is_first)
            jump_first(hs_common.seed + i);
        else
            jump_everywhere(hs_common.seed + i);
    check_budget(sessions[0]);
    return NULL;
}

static void scenario_run(const struct scenario *which)
{
    scenario = which;
    memset(text, 'x', sizeof text);
    text[which->bytes ? which->bytes - 1 : 0] = 0;
    for (int i = 0; i < (which->has_two_sessions ? 2 : 1); i++)
        sessions[i] = session_start();
    pthread_t thread;
    hs_thread_start(&thread, subject, NULL);
    hs_thread_join(thread);
    for (int i = 0; i < (which->has_two_sessions ? 2 : 1); i++) {
        enum weir_result result = weir_session_stop(sessions[i], NULL);
        hs_check(result == WEIR_OK, "%s: the stop returned %d", which->name, result);
        if (which->mode == WEIR_MODE_BLOCK)
            hs_check(stats_of(sessions[i]).budget_bytes_used == 0,
                     "%s: a segment did not come back", which->name);
        weir_session_destroy(sessions[i]);
    }
}

/* --- Out of a wait. -------------------------------------------------------------------------- */

static void *park(void *argument)
{
    (void)argument;
    if (sigsetjmp(out, 1) == 0) {
        may_jump = 1;
        for (;;)
            WEIR_EMIT(Jump, Small, 1, 2);
    }
    may_jump = 0;
    weir_thread_reset();
    weir_no_block_begin();
    hs_check(!WEIR_EMIT(Jump, Small, 1, 2) && weir_last_loss() == WEIR_LOSS_FULL,
             "after a wait: loss %d", weir_last_loss());
    weir_no_block_end();
    return NULL;
}

static void jump_out_of_a_wait(void)
{
    static const struct scenario which = {.name = "out of a wait", .mode = WEIR_MODE_BLOCK};
    scenario = &which;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_mutex_lock(&sink);
        sessions[0] = session_start();
        hs_thread_start(&thread, park, NULL);
        while (stats_of(sessions[0]).parked_now == 0)
            hs_sleep_us(100);
        pthread_kill(thread, SIGUSR1);
        hs_thread_join(thread);
        struct weir_stats stats = stats_of(sessions[0]);
        hs_check(stats.parked_now == 0, "out of a wait: the thread is still parked");
        hs_check(stats.counts.lost[WEIR_LOSS_NESTED] == 1, "out of a wait: %llu nested",
                 (unsigned long long)stats.counts.lost[WEIR_LOSS_NESTED]);
        pthread_mutex_unlock(&sink);
        hs_check(weir_session_stop(sessions[0], NULL) == WEIR_OK, "out of a wait: the stop failed");
        weir_session_destroy(sessions[0]);
        hs_progress();
    }
}

static const struct scenario all[] = {
    {.name = "fast path", .mode = WEIR_MODE_DROP},
    {.name = "slow path", .mode = WEIR_MODE_DROP, .bytes = 40},
    {.name = "two sessions", .mode = WEIR_MODE_DROP, .has_two_sessions = true},
    {.name = "a first event", .mode = WEIR_MODE_DROP, .is_first = true},
    {.name = "change of segments, DROP", .mode = WEIR_MODE_DROP, .changes = true},
    {.name = "change of segments, OVERWRITE", .mode = WEIR_MODE_OVERWRITE, .changes = true},
    {.name = "change of segments, BLOCK", .mode = WEIR_MODE_BLOCK, .changes = true},
    {.name = "several segments, DROP", .mode = WEIR_MODE_DROP, .bytes = 4500},
    {.name = "several segments, OVERWRITE", .mode = WEIR_MODE_OVERWRITE, .bytes = 4500},
    {.name = "several segments, BLOCK", .mode = WEIR_MODE_BLOCK, .bytes = 4500},
};

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"rounds", "per scenario", &rounds, NULL},
        {"jumps", "per round, at most, spread evenly", &jumps_max, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "A signal handler jumps out of an emit, at each instruction.", options);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGTRAP, &action, NULL);
    struct sigaction jump = {.sa_handler = on_jump};
    sigaction(SIGUSR1, &jump, NULL);
    hs_check(weir_provider_register(&weir_provider_Jump, NULL, NULL, NULL, NULL) == WEIR_OK,
             "register");
    jumps_max = jumps_max ? jumps_max : 1;
    do {
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            scenario_run(&all[i]);
        jump_out_of_a_wait();
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
