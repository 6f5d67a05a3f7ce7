/*
 * Counts the instructions that one enabled event of 32 bytes executes in weir_emit_words4(), by stepping
 * through it. Counting shows what a clock cannot: on processors where reading the time stamp
 * counter takes longer than all other instructions, twice as many of these cost nothing measurable.
 *
 * Prints the number. Exit code 77: this process may not be traced. With an argument it only emits, for
 * an emulator that counts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/session.h>
#include <weir/trace.h>

#define SKIPPED   77
#define STEPS_MAX 100000

#define STEP_EVENTS(EVENT, P)                                                                      \
    EVENT(P, Wide, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D))
WEIR_PROVIDER(Steps, STEP_EVENTS)
WEIR_PROVIDER_DEFINE(Steps, STEP_EVENTS)

/* Stops before and after one event; an earlier event has created the lane and its segment. */
static int emit(bool is_traced)
{
    struct weir_session_config config = weir_session_config_init();
    struct weir_session *session;
    config.providers = "Steps";
    config.memory_bytes_max = 1u << 20;
    config.flush_ms = 60000; /* so that the drain takes no segment from us meanwhile */
    if (weir_provider_register(&weir_provider_Steps, NULL, NULL, NULL, NULL) != WEIR_OK ||
        weir_session_create(&config, &session, NULL) != WEIR_OK ||
        weir_session_start(session, NULL) != WEIR_OK)
        return 1;
    Steps_Wide(1, 2, 3, 4);
    if (is_traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return SKIPPED;
    if (is_traced)
        raise(SIGSTOP);
    bool is_written = Steps_Wide(1, 2, 3, 4);
    if (is_traced)
        raise(SIGSTOP);
    _exit(is_written ? 0 : 1);
}

#if defined(__x86_64__)
static uint64_t instruction_of(pid_t child)
{
    struct user_regs_struct registers;
    return ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0 ? registers.rip : 0;
}

static uint64_t return_address_of(pid_t child)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child, NULL, &registers) != 0)
        return 0;
    return (uint64_t)ptrace(PTRACE_PEEKDATA, child, (void *)(uintptr_t)registers.rsp, NULL);
}
#else
static uint64_t instruction_of(pid_t child)
{
    (void)child;
    return 0;
}
#define return_address_of instruction_of
#endif

static bool step(pid_t child)
{
    int status;
    return ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

/* The child has a copy of our address space, so the function has the same address. */
static long count_instructions(pid_t child)
{
    uint64_t entry = (uint64_t)(uintptr_t)weir_emit_words4;
    long steps = 0;
    while (instruction_of(child) != entry)
        if (steps++ > STEPS_MAX || !step(child))
            return -1;
    uint64_t after = return_address_of(child);
    for (steps = 0; instruction_of(child) != after; steps++)
        if (steps > STEPS_MAX || !step(child))
            return -1;
    return steps;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return emit(false);
    pid_t child = fork();
    if (child == 0)
        _exit(emit(true));
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFEXITED(status)) {
        fprintf(stderr, "this process may not be traced, or no session could be started\n");
        return WEXITSTATUS(status);
    }
    long count = count_instructions(child);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (count < 0) {
        fprintf(stderr, "the event could not be single-stepped\n");
        return 1;
    }
    printf("%ld\n", count);
    return 0;
}
