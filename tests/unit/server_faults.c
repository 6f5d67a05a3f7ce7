/*
 * Each of the first system calls of a server fails in turn, and each of its allocations, in a fresh
 * process. Then
 *
 *  - the server is refused, and starts when it is asked again; or it runs, the host goes on, and each
 *    kind of failure is reported once at most;
 *  - once the system works again, tools are served, through every port that could be opened;
 *  - what is only an interruption or a part of the work is not noticed by a tool;
 *  - the stop leaves no descriptor, thread or memory that a run without failure does not leave.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "client.h"
#include "failing.h"
#include "system_calls.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define INDEX_MAX 40u

static char directory[] = "/tmp/weir-faults-XXXXXX";

/* --- In a child. ----------------------------------------------------------------------------- */

static struct weir_error error;
static uint32_t reports[16]; /* by result */
static int listener;         /* of the tool that the server dials */

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool is_true, const char *condition, int line)
{
    if (is_true)
        return;
    print_error("line %d: %s; %s\n", line, condition, error.text);
    _exit(1);
}

static void on_error(void *context, enum weir_result result, const char *text)
{
    (void)context;
    (void)text;
    __atomic_fetch_add(&reports[result], 1, __ATOMIC_RELAXED);
}

static enum weir_result start(void)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    config.ports = "listened,listen,nosuspend;dialed";
    config.budget_bytes_max = 1u << 20;
    config.sessions_max = 15;
    config.connections_max = 16;
    config.on_error = on_error;
    system_is_test = false;
    enum weir_result result = weir_server_start(&config, &error);
    system_is_test = true;
    return result;
}

static bool session_succeeds(const char *path)
{
    static unsigned char stream[1u << 20];
    uint64_t id = 0;
    int fd = client_connect(path);
    bool is_traced = fd >= 0 && client_collect(fd, "Unit", false) &&
                     client_reply(fd, &id) == CLIENT_OK && client_stop(path, id) == CLIENT_OK;
    size_t count = is_traced ? client_read(fd, stream, sizeof stream) : 0;
    if (fd >= 0)
        close(fd);
    return count > 8 && memcmp(stream, "Nettrace", 8) == 0 && stream[count - 1] == 1; /* its end */
}

/* Connections that the server has made and given up wait to be accepted, too. */
static bool dialed_succeeds(void)
{
    unsigned char advertised[34];
    for (int i = 0; i < 5; i++) {
        struct pollfd item = {.fd = listener, .events = POLLIN};
        int fd = poll(&item, 1, CLIENT_MS_MAX) == 1 ? accept(listener, NULL, NULL) : -1;
        bool is_fine = fd >= 0 && client_read(fd, advertised, 34) == 34 &&
                       client_send(fd, CLIENT_INFO_2, NULL, 0) &&
                       client_reply(fd, NULL) == CLIENT_OK;
        close(fd);
        if (is_fine)
            return true;
    }
    return false;
}

/* A tool at each of the ports. */
static bool tools_succeed(void)
{
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    CHECK(weir_server_status(&info) == WEIR_OK && info.is_running && info.ports >= 2);
    const char *path = info.path[0] ? info.path : "listened";
    const char *other = access("listened", F_OK) == 0 ? "listened" : path;
    bool is_asked = client_ask(other, CLIENT_ENVIRONMENT, NULL, 0) == CLIENT_OK;
    bool is_traced = session_succeeds(path);
    return dialed_succeeds() && is_asked && is_traced;
}

static int64_t descriptors_open(void)
{
    int64_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A sanitizer has threads of its own. */
static bool has_thread_of_library(void)
{
    DIR *opened = opendir("/proc/self/task");
    bool is_found = false;
    CHECK(opened != NULL);
    for (struct dirent *entry; (entry = readdir(opened));) {
        char path[512], name[17] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file))
            is_found |= strncmp(name, "weir-", 5) == 0;
        if (file)
            fclose(file);
    }
    closedir(opened);
    return is_found;
}

/* What a child reports. */
struct report {
    uint64_t calls;
    struct failing_held held;
    int64_t descriptors;
};
static struct report *report;

struct scenario {
    const char *name;
    enum system_call call;
    int error;
    uint64_t times;
    bool is_harmless;
    bool is_allocation; /* instead of the call */
};

static void fault_begin(const struct scenario *scenario, uint64_t index)
{
    static struct system_fault fault;
    fault = (struct system_fault){scenario->call, scenario->error, index, scenario->times};
    if (scenario->is_allocation)
        failing_begin(index, FAILING_ALL);
    else
        system_fault_begin(&fault);
}

static void tool_listen(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "dialed"};
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 16) == 0);
}

/* The process is fresh: it has not called the library yet. */
static void child_run(const struct scenario *scenario, uint64_t index)
{
    signal(SIGSEGV, SIG_DFL); /* a crash does not continue in cmocka */
    signal(SIGABRT, SIG_DFL);
    alarm(60);
    system_is_test = true;
    tool_listen();
    CHECK(unit_setup(NULL) == 0);
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    fault_begin(scenario, index);
    enum weir_result result = start();
    CHECK(result == WEIR_OK || (error.text[0] && !scenario->is_harmless &&
                                (result == WEIR_SYSTEM || result == WEIR_NO_MEMORY)));
    bool is_served = result == WEIR_OK && tools_succeed();
    report->calls = scenario->is_allocation ? failing_end() : system_fault_end();
    CHECK(is_served || (!scenario->is_harmless && report->calls > index));
    if (result != WEIR_OK)
        CHECK(start() == WEIR_OK);
    CHECK(weir_server_status(&info) == WEIR_OK && info.is_suspended);
    CHECK(tools_succeed());
    CHECK(weir_server_stop(&error) == WEIR_OK);
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
        CHECK(reports[i] <= 1);
    close(listener);
    unlink("dialed");
    CHECK(CLIENT_AWAIT(!has_thread_of_library()));
    report->held = failing_held();
    report->descriptors = descriptors_open();
    _exit(0);
}

/* --- Scenarios. ------------------------------------------------------------------------------ */

static struct report run(const struct scenario *scenario, uint64_t index)
{
    int status;
    unlink("dialed");
    pid_t child = fork();
    if (child == 0)
        child_run(scenario, index);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("%s, call %d: status %x", scenario->name, (int)index, (unsigned)status);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(directory), 0); /* the child has left no file there */
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(chdir(directory), 0);
    return *report;
}

static void test_scenario(void **state)
{
    const struct scenario *scenario = *state;
    struct report fine = run(scenario, FAILING_NEVER);
    assert_true(fine.calls > 0);
    for (uint64_t index = 0; index < fine.calls && index < INDEX_MAX; index++) {
        struct report failed = run(scenario, index);
        assert_int_equal(failed.held.blocks, fine.held.blocks);
        assert_int_equal(failed.held.mapped_bytes, fine.held.mapped_bytes);
        assert_int_equal(failed.descriptors, fine.descriptors);
    }
    print_message("%s: %d calls\n", scenario->name, (int)fine.calls);
}

static const struct scenario scenarios[] = {
    {"socket, no descriptor", SYSTEM_SOCKET, EMFILE, 1, false, false},
    {"bind, not allowed", SYSTEM_BIND, EACCES, 1, false, false},
    {"listen, no memory", SYSTEM_LISTEN, ENOMEM, 1, false, false},
    {"connect, refused", SYSTEM_CONNECT, ECONNREFUSED, 2, true, false},
    {"accept, no descriptor", SYSTEM_ACCEPT, EMFILE, 2, true, false},
    {"accept, interrupted", SYSTEM_ACCEPT, EINTR, 1, true, false},
    {"accept, aborted", SYSTEM_ACCEPT, ECONNABORTED, 1, true, false},
    {"getsockopt, refused", SYSTEM_GETSOCKOPT, EPERM, 1, false, false},
    {"eventfd, no descriptor", SYSTEM_EVENTFD, EMFILE, 1, false, false},
    {"poll, no memory", SYSTEM_POLL, ENOMEM, 1, true, false},
    {"poll, interrupted", SYSTEM_POLL, EINTR, 1, true, false},
    {"send, no reader", SYSTEM_SEND, EPIPE, 1, false, false},
    {"send, interrupted", SYSTEM_SEND, EINTR, 1, true, false},
    {"send, no room", SYSTEM_SEND, EAGAIN, 1, true, false},
    {"send, one byte", SYSTEM_SEND, 0, 1, true, false},
    {"recv, reset", SYSTEM_RECV, ECONNRESET, 1, false, false},
    {"recv, interrupted", SYSTEM_RECV, EINTR, 1, true, false},
    {"recv, nothing there", SYSTEM_RECV, EAGAIN, 1, true, false},
    {"recv, one byte", SYSTEM_RECV, 0, 40, true, false},
    {"allocation", SYSTEM_SOCKET, 0, 0, false, true},
};

int main(void)
{
    struct CMUnitTest tests[sizeof scenarios / sizeof scenarios[0]];
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        tests[i] = (struct CMUnitTest){scenarios[i].name, test_scenario, NULL, NULL,
                                       (void *)(uintptr_t)&scenarios[i]};
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED || !mkdtemp(directory) || setenv("TMPDIR", directory, 1) != 0 ||
        chdir(directory) != 0)
        return 1;
    int failures = cmocka_run_group_tests_name("server_faults", tests, NULL, NULL);
    return rmdir(directory) != 0 || failures != 0;
}
