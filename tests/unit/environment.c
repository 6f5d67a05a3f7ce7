/*
 * Sessions that a text describes: WEIR_SESSION, the names of .NET, and weir_configure(). Each case is
 * a process of its own, whose end and messages are looked at.
 */
#define _GNU_SOURCE
#include "child.h"
#include "stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static void on_event(void *context, const struct wt_event *event)
{
    *(uint64_t *)context += strcmp(event->metadata->provider_name, "Unit") == 0;
}

/* The events of Unit in a file, whose name has the number. */
static uint64_t events_in(const char *format, pid_t number)
{
    char path[256];
    uint64_t events = 0;
    snprintf(path, sizeof path, format, number);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static unsigned char bytes[8u << 20];
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    unit_read(bytes, count, (struct wt_handlers){.event = on_event}, &events);
    return events;
}

/* --- The environment. ------------------------------------------------------------------------ */

static void emit_hundred(void)
{
    MUST(unit_setup(NULL) == 0);
    for (uint64_t i = 0; i < 100; i++)
        WEIR_EMIT(Unit, Pair, i, i);
}

static uint32_t sessions_listed(struct weir_session_info *infos, uint32_t count)
{
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = infos;
    table.sessions_max = count;
    MUST(weir_session_list(&table) == WEIR_OK);
    return table.session_count;
}

static void two_sessions(void)
{
    setenv("WEIR_SESSION",
           "Unit:0x1:4;file=first-%p;mode=block;budget=1M;name=\"a;b\"|"
           "None:1:5:\"k=v;k2=a|b\",Unit;mode=overwrite;file=second;rundown=0;segment=8k",
           1);
    emit_hundred();
    struct weir_session_info infos[2];
    MUST(sessions_listed(infos, 2) == 2);
    MUST(infos[0].mode == WEIR_MODE_BLOCK && infos[0].budget_bytes == 1u << 20);
    MUST(strcmp(infos[0].name, "a;b") == 0);
    MUST(infos[1].mode == WEIR_MODE_OVERWRITE && infos[1].state == WEIR_SESSION_RUNNING);
}

/* The exit stops them, and nothing is lost. */
static void test_two_sessions(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(two_sessions);
    unit_succeeds(&ended);
    assert_int_equal(events_in("first-%d", ended.process), 100);
    assert_int_equal(events_in("second", 0), 100);
}

static void no_file(void)
{
    setenv("WEIR_SESSION", "Unit", 1);
    emit_hundred();
}

static void test_default_file(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(no_file);
    unit_succeeds(&ended);
    assert_int_equal(events_in("weir-%d.nettrace", ended.process), 100);
}

static void two_without_a_file(void)
{
    setenv("WEIR_SESSION", "Unit|None", 1);
    emit_hundred();
    MUST(weir_configure("Unit;name=third", NULL) == WEIR_OK);
    WEIR_EMIT(Unit, Plain);
    struct weir_session_info infos[3];
    char name[64];
    MUST(sessions_listed(infos, 3) == 3);
    snprintf(name, sizeof name, "weir-%d-2.nettrace", getpid());
    MUST(strcmp(infos[1].name, name) == 0 && strcmp(infos[2].name, "third") == 0);
}

/* None replaces another one's. */
static void test_default_files(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(two_without_a_file);
    unit_succeeds(&ended);
    assert_int_equal(events_in("weir-%d.nettrace", ended.process), 101);
    assert_int_equal(events_in("weir-%d-2.nettrace", ended.process), 0);
    assert_int_equal(events_in("weir-%d-3.nettrace", ended.process), 1);
}

static const char *text; /* of the next child */

static void text_of_environment(void)
{
    setenv("WEIR_SESSION", text, 1);
    emit_hundred();
    MUST(sessions_listed(NULL, 0) == 0);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } mistakes[] = {
        {"Unit:0x1:9", "position 10: '9': expected a level from 0 to 5"},
        {"Unit|:1", "position 6: '': expected a provider: a name of 1 to 255 bytes, or *"},
        {"Unit;", "position 6: '': expected an option: mode, wake, file, name, budget, segment, "
                  "flush_ms, stop_ms, max_block_ms, rundown, rundown_at_start, stacks or format, "
                  "then = and a "
                  "value"},
        {"Unit;mode=lossy", "position 11: 'lossy': expected a mode, one of drop block overwrite"},
        {"Unit;wake=up", "position 11: 'up': expected a wake strategy, one of relay fifo "
                         "auto-reset"},
        {"Unit;budget=1T", "position 13: '1T': expected a number of bytes, such as 1M"},
        {"Unit;budget=18446744073709551615K",
         "position 13: '18446744073709551615K': expected a number of bytes, such as 1M"},
        {"Unit;segment=8G", "position 14: '8G': expected a number of bytes, such as 32K"},
        {"Unit;flush_ms=-1", "position 15: '-1': expected a number of milliseconds"},
        {"Unit;stop_ms=", "position 14: '': expected a number of milliseconds"},
        {"Unit;max_block_ms=4294967296",
         "position 19: '4294967296': expected a number of milliseconds"},
        {"Unit;rundown=all", "position 14: 'all': expected keywords, a number such as 0x80020139"},
        {"Unit;rundown_at_start=2", "position 23: '2': expected 0 or 1"},
        {"Unit;file=", "position 11: '': expected a path of up to 4,095 bytes; %p stands for the "
                       "process's id"},
        {"Unit;name=\"a", "position 11: '\"a': expected a closing double quote; write those inside "
                          "twice"},
        {"Unit:1:1:\"a\"b", "position 10: '\"a\"b': expected a closing double quote, and then the "
                            "next provider; write those inside twice"},
        {"Unit|Unit;budget=1", "the session at position 6: budget_bytes is 1; it must be from two "
                               "segments (65536 bytes) to 64 GiB"},
        {"Unit;file=a;mode=drop;file=b", "position 23: 'file': expected each option once in a "
                                         "session"},
        {"Unit;file=/none/%p", NULL},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char line[512];
        text = mistakes[i].text;
        struct unit_ended ended = unit_run(text_of_environment);
        snprintf(line, sizeof line, "weir: WEIR_SESSION, %s\n", mistakes[i].line);
        if (!mistakes[i].line)
            snprintf(line, sizeof line,
                     "weir: WEIR_SESSION, the session at position 1: cannot write '/none/%d': No "
                     "such file or directory\n",
                     ended.process);
        unit_complains(&ended, line);
    }
}

/* Registers a provider of its own and emits, at the same time as another thread. */
static void *register_and_emit(void *barrier)
{
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    schema.name = "Event";
    schema.event_id = 1;
    static const char *const names[] = {"Unit", "UNIT2"};
    static int next;
    struct weir_provider *provider;
    struct weir_event *event;
    const char *name = names[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)];
    pthread_barrier_wait(barrier);
    MUST(weir_provider_create(name, NULL, NULL, &provider, NULL) == WEIR_OK);
    MUST(weir_event_define(provider, &schema, &event, NULL) == WEIR_OK);
    for (int i = 0; i < 100; i++)
        MUST(weir_emit(event, NULL));
    return NULL;
}

static void two_at_once(void)
{
    pthread_t thread;
    pthread_barrier_t barrier;
    setenv("WEIR_SESSION", "*;file=at-once", 1);
    pthread_barrier_init(&barrier, NULL, 2);
    MUST(pthread_create(&thread, NULL, register_and_emit, &barrier) == 0);
    register_and_emit(&barrier);
    pthread_join(thread, NULL);
}

/* Whichever of two threads reads the environment, neither emits before its sessions run. */
static void test_two_registrations_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct unit_ended ended = unit_run(two_at_once);
        unit_succeeds(&ended);
    }
    assert_int_equal(events_in("at-once", 0), 100);
}

/* --- The names of .NET. ---------------------------------------------------------------------- */

static const char *buffering_mode;

static void dotnet(void)
{
    setenv("DOTNET_EnableEventPipe", "1", 1);
    setenv("DOTNET_EventPipeConfig", "Unit:1:4:k=v;k2=a|b,None", 1);
    setenv("DOTNET_EventPipeOutputPath", "dotnet-{pid}-{pid}", 1);
    setenv("DOTNET_EventPipeCircularMB", "10", 1); /* hexadecimal */
    setenv("DOTNET_EventPipeOutputStreaming", "0", 1);
    if (buffering_mode)
        setenv("DOTNET_EventPipeBufferingMode", buffering_mode, 1);
    emit_hundred();
    WEIR_EMIT(Unit, Text, "not of keyword 1");
    struct weir_session_info info;
    MUST(sessions_listed(&info, 1) == 1);
    MUST(info.budget_bytes == 16u << 20);
    MUST((int)info.mode ==
         (buffering_mode && *buffering_mode == '1' ? WEIR_MODE_BLOCK : WEIR_MODE_DROP));
}

static void test_dotnet(void **state)
{
    (void)state;
    static const char *const modes[] = {NULL, "0", "1"};
    for (size_t i = 0; i < 3; i++) {
        buffering_mode = modes[i];
        struct unit_ended ended = unit_run(dotnet);
        unit_succeeds(&ended);
        char format[64];
        snprintf(format, sizeof format, "dotnet-%d-%%d", ended.process);
        assert_int_equal(events_in(format, ended.process), 100);
    }
}

static void dotnet_default(void)
{
    setenv("DOTNET_EnableEventPipe", "1", 1);
    emit_hundred();
    WEIR_EMIT(Unit, Text, "of any keyword");
}

static void test_dotnet_defaults(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(dotnet_default);
    unit_succeeds(&ended);
    assert_int_equal(events_in("trace.nettrace", 0), 101);
}

static struct {
    const char *name, *value;
} variable;

static void dotnet_mistaken(void)
{
    setenv("DOTNET_EnableEventPipe", "1", 1);
    setenv(variable.name, variable.value, 1);
    emit_hundred();
    MUST(sessions_listed(NULL, 0) == 0);
}

static void test_dotnet_mistakes(void **state)
{
    (void)state;
    static const char *const mistakes[][3] = {
        {"EnableEventPipe", "yes", "1: 'yes': expected 0 or 1"},
        {"EventPipeConfig", "Unit:5g",
         "6: '5g': expected keywords, a hexadecimal number such as "
         "ff"},
        {"EventPipeCircularMB", "10001",
         "1: '10001': expected a budget in MB, hexadecimal, from 1 to 10000"},
        {"EventPipeBufferingMode", "2", "1: '2': expected 0 (drop) or 1 (block)"},
        {"EventPipeOutputStreaming", "2", "1: '2': expected 0 or 1"},
        {"EventPipeRundown", "-1", "1: '-1': expected 0 or 1"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char name[64], line[256];
        snprintf(name, sizeof name, "DOTNET_%s", mistakes[i][0]);
        snprintf(line, sizeof line, "weir: %s, position %s\n", name, mistakes[i][2]);
        variable.name = name;
        variable.value = mistakes[i][1];
        struct unit_ended ended = unit_run(dotnet_mistaken);
        unit_complains(&ended, line);
    }
}

/* --- Forks and exits. ------------------------------------------------------------------------ */

/* A child neither writes its parent's session nor waits for it; when it asks, it has its own. */
static void forks(void)
{
    setenv("WEIR_SESSION", "Unit;file=forked-%p", 1);
    emit_hundred();
    for (int asks = 0; asks < 2; asks++) {
        pid_t child = fork();
        if (child == 0) {
            struct weir_provider *other;
            MUST(weir_provider_create("Other", NULL, NULL, &other, NULL) == WEIR_OK);
            MUST(!WEIR_EMIT(Unit, Plain));
            if (asks) {
                MUST(weir_configure(NULL, NULL) == WEIR_OK);
                MUST(weir_configure(NULL, NULL) == WEIR_OK); /* once in a process */
                MUST(WEIR_EMIT(Unit, Plain));
            }
            exit(7);
        }
        int status;
        waitpid(child, &status, 0);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        char name[64];
        snprintf(name, sizeof name, "forked-%d", child);
        MUST((access(name, F_OK) == 0) == (asks != 0));
        if (asks)
            rename(name, "forked-child");
    }
    WEIR_EMIT(Unit, Plain);
}

static void test_forks(void **state)
{
    (void)state;
    unit_skip_under_qemu("it aborts now and then in a child of a process with threads");
    struct unit_ended ended = unit_run(forks);
    unit_succeeds(&ended);
    assert_int_equal(events_in("forked-%d", ended.process), 101);
    assert_int_equal(events_in("forked-child", 0), 1);
}

static void *emit_for_ever(void *unused)
{
    for (;;)
        WEIR_EMIT(Unit, Pair, 1, 2);
    return unused;
}

/* The sink is a FIFO that nobody reads, and a thread is parked. */
static void stuck(void)
{
    setenv("WEIR_SESSION", "Unit;file=fifo;mode=block;stop_ms=100;name=stuck", 1);
    MUST(mkfifo("fifo", 0600) == 0);
    int reader = open("fifo", O_RDWR | O_CLOEXEC);
    MUST(reader >= 0 && unit_setup(NULL) == 0);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, emit_for_ever, NULL) == 0);
    struct weir_session_info info;
    do
        MUST(sessions_listed(&info, 1) == 1);
    while (info.parked_now == 0);
}

static void test_exit_with_a_parked_thread(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(stuck);
    assert_true(WIFEXITED(ended.status));
    assert_int_equal(WEXITSTATUS(ended.status), 7);
    static const char begin[] = "weir: at exit: session stuck: after stop_ms_max (100 ms) ";
    assert_memory_equal(ended.messages, begin, sizeof begin - 1);
    assert_ptr_equal(strchr(ended.messages, '\n'), ended.messages + strlen(ended.messages) - 1);
}

static sem_t in_source;

static void stays(void *context, const struct weir_rundown *rundown)
{
    if (rundown->moment != WEIR_RUNDOWN_START)
        return;
    WEIR_EMIT(Unit, Plain); /* of the rundown */
    sem_post(&in_source);
    sem_wait(context);
}

static void *configure(void *unused)
{
    (void)!weir_configure("Unit;file=starting;rundown_at_start=1", NULL);
    return unused;
}

static void exit_in_a_start(void)
{
    static sem_t never;
    struct weir_provider *provider;
    pthread_t thread;
    MUST(unit_setup(NULL) == 0);
    MUST(weir_provider_create("Source", NULL, NULL, &provider, NULL) == WEIR_OK);
    MUST(weir_rundown_register(provider, stays, &never, NULL) == WEIR_OK);
    MUST(pthread_create(&thread, NULL, configure, NULL) == 0);
    sem_wait(&in_source);
    WEIR_EMIT(Unit, Plain);
}

/* A session that is still being started is stopped, too. What its source has not handed over yet is
 * aborted. */
static void test_exit_in_a_start(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(exit_in_a_start);
    unit_succeeds(&ended);
    assert_int_equal(events_in("starting", 0), 1);
}

/* --- At run time. ---------------------------------------------------------------------------- */

static void at_run_time(void)
{
    struct weir_error error = {""};
    struct weir_session_info infos[2];
    emit_hundred();
    MUST(weir_configure("Unit;file=one|Unit;file=/none/two", &error) == WEIR_IO);
    MUST(strstr(error.text, "configuration, the session at position 15: ") == error.text);
    MUST(access("one", F_OK) != 0 && sessions_listed(NULL, 0) == 0);
    MUST(weir_configure("Unit;file=one|Unit;file=two", &error) == WEIR_OK);
    MUST(sessions_listed(infos, 2) == 2);
    WEIR_EMIT(Unit, Plain);
    MUST(weir_session_stop_id(infos[0].session_id, NULL) == WEIR_OK);
    WEIR_EMIT(Unit, Plain);
    /* The stopped one goes with the next call. */
    MUST(weir_configure("Unit;file=three", NULL) == WEIR_OK);
    MUST(sessions_listed(infos, 2) == 2);
    WEIR_EMIT(Unit, Plain);
}

static void test_at_run_time(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(at_run_time);
    unit_succeeds(&ended);
    assert_int_equal(events_in("one", 0), 1);
    assert_int_equal(events_in("two", 0), 3);
    assert_int_equal(events_in("three", 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sessions),
        cmocka_unit_test(test_default_files),
        cmocka_unit_test(test_two_registrations_at_once),
        cmocka_unit_test(test_exit_in_a_start),
        cmocka_unit_test(test_default_file),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_dotnet),
        cmocka_unit_test(test_dotnet_defaults),
        cmocka_unit_test(test_dotnet_mistakes),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_exit_with_a_parked_thread),
        cmocka_unit_test(test_at_run_time),
    };
    return cmocka_run_group_tests(tests, unit_enter_directory, unit_leave_directory);
}
