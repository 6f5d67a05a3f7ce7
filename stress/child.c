#include "child.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"

#define CHILD_EVENTS 200u

/* A child forked from inside the library can only continue untraced: it gets no new session. */
static bool session_refused(void)
{
    struct weir_session_config config = hs_trace_config(1u << 20);
    struct weir_session *session;
    config.memory_bytes_max = 1u << 20;
    if (weir_session_create(&config, &session, NULL) != WEIR_OK)
        return true;
    bool is_refused = weir_session_start(session, NULL) == WEIR_BAD_STATE;
    weir_session_destroy(session);
    return is_refused;
}

static void *thread_of_child(void *argument)
{
    for (uint32_t i = 0; i < CHILD_EVENTS / 2; i++)
        hs_emit(argument, HS_MIX);
    return NULL;
}

static void session_run(void)
{
    struct hs_trace trace;
    struct hs_emitter *emitters = hs_emitters_new(2, CHILD_EVENTS);
    struct weir_session_config config = hs_trace_config(1u << 20);
    config.stop_ms_max = 5000;
    if (hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL)) {
        pthread_t thread;
        hs_thread_start(&thread, thread_of_child, &emitters[0]);
        for (uint32_t i = 0; i < CHILD_EVENTS; i++)
            hs_emit(&emitters[1], HS_MIX);
        hs_thread_join(thread);
        if (hs_trace_stop(&trace))
            hs_oracle_run(emitters, 2, &trace);
    }
    hs_trace_end(&trace);
    hs_emitters_free(emitters, 2);
}

void hs_child_main(void)
{
    uint64_t failures = hs_failures();
    hs_check(!weir_event_is_enabled(&weir_events_Stress.Fixed),
             "an event is still enabled in a child");
    hs_check(!Stress_Fixed(0, 0, 0, 0, 0, 0), "an event was written in a child");
    if (!session_refused())
        session_run();
    _exit(hs_failures() == failures ? 0 : 1);
}

void hs_child_end(enum hs_child_end end)
{
    if (end == HS_CHILD_SESSION)
        hs_child_main();
    bool is_written = Stress_Fixed(0, 0, 0, 0, 0, 0);
    if (end == HS_CHILD_EXIT)
        exit(is_written);
    if (end == HS_CHILD_EXEC && !is_written)
        execlp("true", "true", (char *)NULL);
    _exit(is_written || end == HS_CHILD_EXEC);
}

static bool wait_ms(pid_t child, int ms_max, int *status)
{
    for (int ms = 0; ms < ms_max; ms++) {
        if (waitpid(child, status, WNOHANG) == child)
            return true;
        hs_sleep_us(1000);
    }
    return false;
}

void hs_child_wait(pid_t child, int ms_max, const char *format, ...)
{
    int status = 0;
    char which[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(which, sizeof which, format, arguments);
    va_end(arguments);
    if (!hs_check(child > 0, "%s: fork failed", which))
        return;
    uint64_t start = hs_now_ns();
    static uint64_t worst_ns;
    if (!hs_check(wait_ms(child, ms_max, &status), "%s: the child hangs", which)) {
        hs_stacks_print(child);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return;
    }
    uint64_t passed = hs_now_ns() - start;
    uint64_t worst = __atomic_load_n(&worst_ns, __ATOMIC_RELAXED); /* several threads fork */
    while (passed > worst && !__atomic_compare_exchange_n(&worst_ns, &worst, passed, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    hs_figure("slowest_child_ms", (double)(passed > worst ? passed : worst) / 1e6);
    hs_check(!WIFSIGNALED(status), "%s: the child died of signal %d", which, WTERMSIG(status));
    hs_check(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "%s: the child exited with %d", which,
             WEXITSTATUS(status));
}
