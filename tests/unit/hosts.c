/*
 * What core/HOSTS.md says of a host's process, and no other test shows: its ends, the library's
 * threads and descriptors, memory, and sandboxes. Each case runs in a separate process, and this one never
 * calls the library.
 */
#define _GNU_SOURCE
#include "child.h"
#include "stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define KIB      1024u
#define PIECE    (64 * KIB) /* of memory for threads */
#define OF_PIECE 85u        /* threads */
#define FLUSH_MS 1
#define EVENTS   100u

static void begin(void)
{
    MUST(unit_setup(NULL) == 0);
}

static struct weir_session *start(const struct weir_session_config *config)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    if (weir_session_create(config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        unit_must(false, error.text);
    return session;
}

static struct weir_session *start_file(const char *file)
{
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.file = file;
    config.flush_ms = FLUSH_MS;
    begin();
    return start(&config);
}

static struct weir_stats stats_of(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    MUST(weir_session_stats(session, &stats) == WEIR_OK);
    return stats;
}

static void emit_some(void)
{
    for (uint64_t i = 0; i < EVENTS; i++)
        MUST(WEIR_EMIT(Unit, Pair, i, i));
}

/* --- Ends. ----------------------------------------------------------------------------------- */

struct found {
    uint64_t events;
    enum wt_status end;
};

static void on_event(void *context, const struct wt_event *event)
{
    ((struct found *)context)->events += strcmp(event->metadata->provider_name, "Unit") == 0;
}

static struct found read_file(const char *path)
{
    static unsigned char bytes[8u << 20];
    struct found found = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct wt_memory_source memory = {.bytes = bytes, .size = fread(bytes, 1, sizeof bytes, file)};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_handlers handlers = {.event = on_event};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    fclose(file);
    assert_int_equal(wt_reader_create(&reader, &source, &options, &handlers, &found), WT_OK);
    found.end = wt_reader_run(reader);
    wt_reader_destroy(reader);
    return found;
}

enum way { BY_EXIT, BY_QUICK_EXIT, BY_EXEC, BY_KILL, WAYS };
static enum way way;

static void end_without_a_stop(void)
{
    struct weir_session *session = start_file("unfinished");
    emit_some();
    /* With the third point from now, the drain has written what is older than the first. */
    for (uint64_t points = stats_of(session).sequence_points + 3;
         stats_of(session).sequence_points < points; usleep(1000))
        WEIR_EMIT(Unit, Plain);
    if (way == BY_QUICK_EXIT)
        _exit(7);
    if (way == BY_EXEC)
        execlp("sh", "sh", "-c", "exit 7", (char *)NULL);
    if (way == BY_KILL)
        raise(SIGKILL);
}

/* The file has what the drain has written, and no end. */
static void test_ends_without_a_stop(void **state)
{
    (void)state;
    for (way = BY_EXIT; way < WAYS; way++) {
        struct unit_ended ended = unit_run(end_without_a_stop);
        assert_string_equal(ended.messages, "");
        if (way == BY_KILL)
            assert_true(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL);
        else
            unit_succeeds(&ended);
        struct found found = read_file("unfinished");
        assert_true(found.events >= EVENTS);
        assert_int_equal(found.end, WT_TRUNCATED);
    }
}

static struct weir_session *to_stop;
static pid_t owner;

static void stop_at_exit(void)
{
    enum weir_result result = weir_session_stop(to_stop, NULL);
    MUST(result == (getpid() == owner ? WEIR_OK : WEIR_BAD_STATE));
}

static void *emit_for_ever(void *unused)
{
    for (;;)
        WEIR_EMIT(Unit, Plain);
    return unused;
}

static void exit_with_a_stop(void)
{
    pthread_t thread;
    owner = getpid();
    to_stop = start_file("stopped");
    MUST(atexit(stop_at_exit) == 0);
    emit_some();
    pid_t child = fork();
    if (child == 0)
        exit(7);
    int status = 0;
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    MUST(pthread_create(&thread, NULL, emit_for_ever, NULL) == 0);
}

/* Other threads emit meanwhile. A child inherits the handler, which does nothing there. */
static void test_exit_with_a_stop(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(exit_with_a_stop);
    unit_succeeds(&ended);
    struct found found = read_file("stopped");
    assert_true(found.events >= EVENTS);
    assert_int_equal(found.end, WT_END);
}

static uint64_t hook_calls; /* ANY */

static void count_call(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&hook_calls, 1, __ATOMIC_RELAXED);
}

static void emit_at_exit(void)
{
    MUST(WEIR_EMIT(Unit, Plain));
}

static void after_the_stop(void)
{
    MUST(!weir_event_is_enabled(&weir_events_Unit.Plain));
    MUST(hook_calls == 0);
}

static void exit_with_a_described_session(void)
{
    const struct weir_park_hooks hooks = {sizeof hooks, count_call, count_call, NULL};
    setenv("WEIR_SESSION", "Unit;file=described", 1);
    MUST(atexit(after_the_stop) == 0);
    begin();
    MUST(atexit(emit_at_exit) == 0);
    MUST(weir_park_hooks_set(&hooks) == WEIR_OK);
}

/* The library stops it in an exit handler, between those that were there before the session and those
 * that came after it, and without the host's hooks. */
static void test_exit_with_a_described_session(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(exit_with_a_described_session);
    unit_succeeds(&ended);
    struct found found = read_file("described");
    assert_int_equal(found.events, 1);
    assert_int_equal(found.end, WT_END);
}

/* --- The library's threads and descriptors. -------------------------------------------------- */

/* The value of a line in a file of /proc, as hexadecimal. */
static bool proc_line(const char *path, const char *name, char *value, size_t capacity)
{
    char line[256];
    bool is_found = false;
    FILE *file = fopen(path, "r");
    MUST(file);
    while (!is_found && fgets(line, sizeof line, file))
        is_found = strncmp(line, name, strlen(name)) == 0;
    fclose(file);
    line[strcspn(line, "\n")] = 0;
    snprintf(value, capacity, "%s", line + strlen(name));
    return is_found;
}

/* All but those that cannot be blocked, those that glibc keeps for itself, and those of faults. */
static void check_mask(const char *hexadecimal)
{
    static const int others[] = {SIGKILL, SIGSTOP, 32,     33,      SIGSEGV,
                                 SIGBUS,  SIGFPE,  SIGILL, SIGTRAP, SIGSYS};
    uint64_t mask = strtoull(hexadecimal, NULL, 16);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        mask |= UINT64_C(1) << (others[i] - 1);
    MUST(mask == UINT64_MAX);
}

static void start_server(void)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    struct weir_error error = {""};
    if (weir_server_start(&config, &error) != WEIR_OK)
        unit_must(false, error.text);
}

static void look_at_threads(void)
{
    static const char *const names[] = {"weir-drain", "weir-poller", "weir-worker"};
    bool are_found[3] = {false};
    start_file("threads");
    start_server();
    DIR *tasks = opendir("/proc/self/task");
    MUST(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], value[200];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        if (task->d_name[0] == '.' || !proc_line(path, "Name:\t", value, sizeof value))
            continue;
        for (int i = 0; i < 3; i++)
            if (strcmp(value, names[i]) == 0) {
                are_found[i] = proc_line(path, "SigBlk:\t", value, sizeof value);
                check_mask(value);
            }
    }
    closedir(tasks);
    MUST(are_found[0] && are_found[1] && are_found[2]);
}

static void test_threads_block_signals(void **state)
{
    (void)state;
    unit_skip_under_qemu("it keeps signals for itself");
    struct unit_ended ended = unit_run(look_at_threads);
    unit_succeeds(&ended);
}

static char *page;

static void mend_page(int number)
{
    (void)number;
    mprotect(page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ);
}

static bool read_page(void *context, const void *bytes, size_t count)
{
    *(char *)context = *(volatile char *)page;
    return unit_discard(context, bytes, count);
}

static void fault_in_a_sink(void)
{
    struct weir_session_config config = unit_config();
    struct sigaction action = {.sa_handler = mend_page};
    char got = 'x';
    page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    config.memory_bytes_max = 0;
    config.sink.write = read_page;
    config.sink.context = &got;
    begin();
    MUST(weir_session_stop(start(&config), NULL) == WEIR_OK);
    MUST(got == 0);
}

/* The host's handler runs on the drain's thread, as on the host's own. */
static void test_fault_in_a_sink(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(fault_in_a_sink);
    unit_succeeds(&ended);
}

static void look_at_descriptors(void)
{
    int known[256] = {0}, found = 0;
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    for (int fd = 0; fd < 256; fd++)
        known[fd] = fcntl(fd, F_GETFD) >= 0;
    struct weir_session *session = start_file("descriptors");
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.file = "created";
    MUST(weir_session_create(&config, &session, NULL) == WEIR_OK);
    start_server();
    for (int fd = 0; fd < 256; fd++) {
        int flags = known[fd] ? -1 : fcntl(fd, F_GETFD);
        MUST(flags < 0 || (fd > STDERR_FILENO && (flags & FD_CLOEXEC)));
        found += flags >= 0;
    }
    MUST(found >= 4); /* two files, a directory, a socket */
}

/* Those of the standard streams stay free if the host has closed them, and exec closes all. */
static void test_descriptors(void **state)
{
    (void)state;
    struct unit_ended ended = unit_run(look_at_descriptors);
    unit_succeeds(&ended);
}

/* --- Memory. --------------------------------------------------------------------------------- */

static void skip_if_sanitized(void)
{
#ifdef SANITIZED
    skip(); /* it has memory and system calls of its own */
#endif
}

static uint64_t address_space_kib(void)
{
    char value[200];
    MUST(proc_line("/proc/self/status", "VmSize:", value, sizeof value));
    return strtoull(value, NULL, 10);
}

static uint64_t resident_kib(void)
{
    char value[200];
    MUST(proc_line("/proc/self/smaps_rollup", "Anonymous:", value, sizeof value));
    return strtoull(value, NULL, 10);
}

static sem_t go, done;

static bool stand_still(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    sem_wait(context);
    sem_post(context);
    return true;
}

static uint64_t stack_kib(void)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    MUST(pthread_attr_init(&attributes) == 0);
    MUST(pthread_attr_getstacksize(&attributes, &bytes) == 0);
    return bytes / KIB;
}

/* SLACK_KIB is for the steps in which the C library takes memory, and for this thread's lane. */
#define SLACK_KIB 256u

static void look_at_a_session(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    const uint64_t most_kib = config.budget_bytes / KIB + 1 * KIB + SLACK_KIB;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* pages of 2 MiB would blur it */
    begin();
    config.providers = "Unit";
    config.sink.write = stand_still;
    config.sink.context = &go;
    uint64_t address_space = address_space_kib(), resident = resident_kib();
    struct weir_session *session = start(&config);
    MUST(stats_of(session).reserved_bytes <= 768 * KIB);
    MUST(address_space_kib() <= address_space + most_kib + stack_kib());
    MUST(resident_kib() <= resident + SLACK_KIB);
    while (WEIR_EMIT(Unit, Pair, 1, 2)) {
    }
    MUST(resident_kib() <= resident + most_kib);
    sem_post(&go);
    MUST(weir_session_destroy(session) == WEIR_OK);
    MUST(resident_kib() <= resident + SLACK_KIB);
}

static void test_memory_of_a_session(void **state)
{
    (void)state;
    unit_skip_under_qemu("it has memory of its own");
    skip_if_sanitized();
    struct unit_ended ended = unit_run(look_at_a_session);
    unit_succeeds(&ended);
}

static void *emit_in_turn(void *may_end)
{
    sem_wait(&go);
    MUST(WEIR_EMIT(Unit, Plain));
    sem_post(&done);
    sem_wait(may_end);
    return NULL;
}

/* One after the other: of two threads that begin at the same moment each may take a piece for its record. */
static void look_at_lanes(void)
{
    enum { THREADS = 2 * OF_PIECE + 1 };
    static sem_t may_end;
    pthread_t threads[THREADS];
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "Unit";
    config.sink.write = unit_discard;
    begin();
    struct weir_session *session = start(&config);
    for (unsigned i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, emit_in_turn, &may_end) == 0);
    uint64_t reserved = stats_of(session).reserved_bytes, address_space = address_space_kib();
    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t pieces = i / OF_PIECE + 1;
        sem_post(&go);
        sem_wait(&done);
        MUST(stats_of(session).reserved_bytes <= reserved + pieces * PIECE);
        MUST(address_space_kib() <= address_space + 2 * pieces * PIECE / KIB);
    }
    for (unsigned i = 0; i < THREADS; i++)
        sem_post(&may_end);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_memory_of_threads(void **state)
{
    (void)state;
    unit_skip_under_qemu("it has memory of its own");
    skip_if_sanitized();
    struct unit_ended ended = unit_run(look_at_lanes);
    unit_succeeds(&ended);
}

/* --- Sandboxes. ------------------------------------------------------------------------------ */

/* As in core/HOSTS.md: what a session needs that runs already, what it takes an error for, and what
 * else the start of one needs. */
static const long needed[] = {
    SYS_futex,          SYS_membarrier,
    SYS_rt_sigprocmask, SYS_mmap,
    SYS_munmap,         SYS_mremap,
    SYS_gettid,         SYS_clock_nanosleep,
    SYS_sched_yield,    SYS_getpid,
    SYS_write,          SYS_close,
    SYS_clock_gettime,  SYS_sched_getaffinity,
    SYS_getcpu,
};
static const long refused[] = {SYS_openat, SYS_prctl, SYS_sched_getattr, SYS_sched_setattr};
static const long started[] = {SYS_clone,           SYS_clone3,       SYS_rseq, SYS_mprotect,
                               SYS_set_robust_list, SYS_rt_sigaction, SYS_fcntl};
/* The threads' and the process's ends, and signals. */
static const long own[] = {SYS_exit, SYS_exit_group, SYS_madvise, SYS_rt_sigreturn, SYS_tgkill};

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IS(number)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(number), 0, 1)
#define END(result) BPF_STMT(BPF_RET | BPF_K, (result))

struct filter {
    struct sock_filter code[2 * 64 + 2];
    unsigned short count;
};

static void filter_add(struct filter *filter, const long *calls, size_t bytes, uint32_t result)
{
    for (size_t i = 0; i < bytes / sizeof calls[0]; i++) {
        filter->code[filter->count++] = (struct sock_filter)IS(calls[i]);
        filter->code[filter->count++] = (struct sock_filter)END(result);
    }
}

#define NO_SANDBOX 77

/* For all threads at once. Any other system call ends the process by SIGSYS. */
static void sandbox_enter(bool may_start)
{
    struct filter filter = {{LOAD_NUMBER}, 1};
    filter_add(&filter, needed, sizeof needed, SECCOMP_RET_ALLOW);
    filter_add(&filter, refused, sizeof refused, SECCOMP_RET_ERRNO | EPERM);
    filter_add(&filter, own, sizeof own, SECCOMP_RET_ALLOW);
    if (may_start)
        filter_add(&filter, started, sizeof started, SECCOMP_RET_ALLOW);
    filter.code[filter.count++] = (struct sock_filter)END(SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {.len = filter.count, .filter = filter.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        _exit(NO_SANDBOX);
}

static bool take_slowly(void *context, const void *bytes, size_t count)
{
    usleep(1000);
    return unit_discard(context, bytes, count);
}

/* One in each mode, with a sink of each kind. `fd`: instead of a file; -1: none. */
static void sessions_start(struct weir_session *sessions[3], int fd)
{
    for (int mode = 0; mode < 3; mode++) {
        struct weir_session_config config = unit_config();
        config.mode = (enum weir_mode)mode;
        config.segment_bytes = 4 * KIB;
        config.budget_bytes = 64 * KIB;
        config.flush_ms = FLUSH_MS;
        if (mode != WEIR_MODE_OVERWRITE)
            config.memory_bytes_max = 0;
        if (mode == WEIR_MODE_BLOCK)
            config.sink.write = take_slowly;
        if (mode == WEIR_MODE_DROP && fd < 0)
            config.sink.file = "sandbox";
        if (mode == WEIR_MODE_DROP)
            config.sink.descriptor = fd;
        sessions[mode] = start(&config);
    }
}

static void *emit_many(void *starts)
{
    sem_post(&done);
    if (starts)
        sem_wait(starts);
    for (uint64_t i = 0; i < 20000; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    return NULL;
}

static void sessions_end(struct weir_session *sessions[3])
{
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = take_slowly;
    MUST(weir_session_snapshot(sessions[WEIR_MODE_OVERWRITE], &sink, 0, NULL) == WEIR_OK);
    MUST(stats_of(sessions[WEIR_MODE_BLOCK]).parks > 0);
    for (int mode = 0; mode < 3; mode++) {
        MUST(weir_session_stop(sessions[mode], NULL) == WEIR_OK);
        struct weir_counts counts = stats_of(sessions[mode]).counts;
        MUST(counts.attempted == 40000);
        MUST(counts.written == 40000 || mode != WEIR_MODE_BLOCK);
        MUST(weir_session_destroy(sessions[mode]) == WEIR_OK);
    }
}

/* The other thread has its first event in the sandbox. */
static void enter_while_sessions_run(void)
{
    struct weir_session *sessions[3];
    pthread_t thread;
    begin();
    sessions_start(sessions, -1);
    MUST(pthread_create(&thread, NULL, emit_many, &go) == 0);
    sem_wait(&done);
    sandbox_enter(false);
    sem_post(&go);
    emit_many(NULL);
    pthread_join(thread, NULL);
    sessions_end(sessions);
}

/* Without files the clock is the system's. */
static void enter_before_the_first_call(void)
{
    struct weir_session *sessions[3];
    pthread_t thread;
    struct timespec now;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sandbox_enter(true);
    begin();
    sessions_start(sessions, fd);
    MUST(pthread_create(&thread, NULL, emit_many, NULL) == 0);
    emit_many(NULL);
    pthread_join(thread, NULL);
    sessions_end(sessions);
    uint64_t before = weir_clock();
    MUST(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    MUST(before <= ns && ns <= weir_clock());
}

static void in_a_sandbox(void (*body)(void))
{
    unit_skip_under_qemu("it has no filters");
    skip_if_sanitized();
    struct unit_ended ended = unit_run(body);
    if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == NO_SANDBOX)
        skip();
    unit_succeeds(&ended);
}

static void test_sandbox_while_sessions_run(void **state)
{
    (void)state;
    in_a_sandbox(enter_while_sessions_run);
}

static void test_sandbox_before_the_first_call(void **state)
{
    (void)state;
    in_a_sandbox(enter_before_the_first_call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_without_a_stop),
        cmocka_unit_test(test_exit_with_a_stop),
        cmocka_unit_test(test_exit_with_a_described_session),
        cmocka_unit_test(test_threads_block_signals),
        cmocka_unit_test(test_fault_in_a_sink),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_memory_of_a_session),
        cmocka_unit_test(test_memory_of_threads),
        cmocka_unit_test(test_sandbox_while_sessions_run),
        cmocka_unit_test(test_sandbox_before_the_first_call),
    };
    return cmocka_run_group_tests(tests, unit_enter_directory, unit_leave_directory);
}
