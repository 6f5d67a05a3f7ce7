/*
 * A host of the diagnostics server for the tests in Python, which drive it by lines on stdin and read
 * one line for each on stdout.
 *
 * usage: server_host [NAME=VALUE]...
 *
 *     budget=BYTES sessions=N connections=N request_ms=N block_ms=N stop_ms=N suspend_ms=N
 *     ports=TEXT default=TEXT command_line=TEXT entrypoint=TEXT version=TEXT
 *     asked=1 no_default=1 forced=1    the flags of the configuration
 *     report=1     on_error prints "error RESULT TEXT"
 *     slow_ms=N    Demo's watcher takes so long when a session begins to want it
 *     heap=N       a heap of N objects, each of which refers to the next one; prints "walked WALKS"
 *     busy=1       nothing walks this heap before command "walk"
 *     wait=1       prints "resumed RESULT" when weir_server_wait_for_resume() has returned
 *
 * It prints "ready RESULT TEXT" after the start. What tools ask of provider Demo is printed as
 * "change ENABLED|UPDATED|DISABLED KEYWORDS LEVEL ARGUMENTS", and each rundown as "rundown KEYWORDS".
 * Commands:
 *
 *     emit N            N times Tick and Word: "emitted WRITTEN REFUSED"
 *     blob BYTES        one event of so many bytes: "emitted WRITTEN REFUSED"
 *     flood THREADS N   each thread emits N Ticks, N = 0: until "quiet": "flooding"
 *     join, quiet       waits for these threads; ends them: "flooded WRITTEN REFUSED"
 *     status            "status running=0|1 suspended=0|1 connections=N sessions=N ports=N written=N path=PATH"
 *     walk              reaches a safe point: "walked WALKS"
 *     stop, start       "stopped RESULT", "started RESULT"
 *     fork 0|1          "forked PID"; the child, which may start a server, prints "child RESULT
 *                       running=0|1" with its own view, and exits on SIGTERM
 *     quit              stops the server and exits; the end of stdin only exits
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weir/weir.h>
#include <weir/server.h>

#define DEMO_EVENTS(EVENT, P)                                     \
    EVENT(P, Tick, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number))     \
    EVENT(P, Word, 2, 0, WEIR_LEVEL_VERBOSE, 0x2, (str, Text))    \
    EVENT(P, Blob, 3, 0, WEIR_LEVEL_INFO, 0x4, (array_u8, Bytes)) \
    EVENT(P, State, 4, 0, WEIR_LEVEL_INFO, 0x8, (u64, Keywords))
WEIR_PROVIDER(Demo, DEMO_EVENTS)
WEIR_PROVIDER_DEFINE(Demo, DEMO_EVENTS)

#define THREADS_MAX 16

static struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
static bool waits, reports, is_busy;
static uint32_t slow_ms, heap_nodes;

static struct {
    pthread_t threads[THREADS_MAX];
    uint32_t count;
    uint64_t events; /* of each thread; 0: until `is_over` */
    atomic_bool is_over;
    atomic_uint_fast64_t written, refused;
} flood;

/* One line, whole: several threads print. */
static void say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length] = '\n';
    fwrite(line, 1, (size_t)length + 1, stdout);
}

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "server_host: %s: %s\n", what, why);
    exit(2);
}

/* --- What the server calls. ------------------------------------------------------------------ */

static void report(void *context, enum weir_result result, const char *text)
{
    (void)context;
    say("error %s: %s", weir_result_text(result), text);
}

static void changed(void *context, const struct weir_provider_change *change)
{
    static const char *const names[] = {"ENABLED", "UPDATED", "DISABLED"};
    const struct timespec pause = {slow_ms / 1000, (long)(slow_ms % 1000) * 1000000};
    (void)context;
    if (change->what == WEIR_CHANGE_ENABLED)
        nanosleep(&pause, NULL);
    say("change %s %" PRIx64 " %u %s", names[change->what], change->keywords, change->level,
        change->arguments ? change->arguments : "");
}

static void run_down(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    Demo_State(rundown->keywords);
    say("rundown %" PRIx64, rundown->keywords);
}

static void provide(void)
{
    struct weir_error error;
    struct weir_provider *provider;
    if (weir_provider_register(&weir_provider_Demo, NULL, NULL, &provider, &error) != WEIR_OK ||
        weir_provider_watch(provider, changed, NULL, &error) != WEIR_OK ||
        weir_rundown_register(provider, run_down, NULL, &error) != WEIR_OK)
        complain("Demo", error.text);
}

/* --- A heap, which a thread of its own walks when it is asked for. ---------------------------- */

static sem_t heap_asked;

static void heap_request(void *unused)
{
    (void)unused;
    sem_post(&heap_asked);
}

static void heap_walk(void *unused, struct weir_heap_graph *graph)
{
    (void)unused;
    weir_heap_type(graph, 8, "link", 0, 0);
    weir_heap_root(graph, WEIR_HEAP_ROOT_STACK, 0, 16, 0);
    for (uint64_t i = 1; i <= heap_nodes; i++) {
        weir_heap_node(graph, 16 * i, 24, 8);
        weir_heap_edge(graph, i < heap_nodes ? 16 * i + 16 : 0);
    }
}

static void heap_serve(void)
{
    say("walked %u", weir_heap_serve());
}

static void *heap_thread(void *unused)
{
    while (sem_wait(&heap_asked) == 0)
        if (!is_busy)
            heap_serve();
    return unused;
}

static void heap_begin(void)
{
    pthread_t thread;
    struct weir_error error;
    struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
    host.request = heap_request;
    host.walk = heap_walk;
    if (weir_heap_register(&host, &error) != WEIR_OK)
        complain("heap", error.text);
    if (sem_init(&heap_asked, 0, 0) != 0 || pthread_create(&thread, NULL, heap_thread, NULL) != 0)
        exit(2);
    pthread_detach(thread);
}

/* --- Events, counted by what their emitters return. ------------------------------------------ */

static void emit(uint64_t count)
{
    uint64_t written = 0, refused = 0;
    for (uint64_t i = 0; i < count; i++) {
        Demo_Tick(i) ? written++ : refused++;
        Demo_Word("a word") ? written++ : refused++;
    }
    say("emitted %" PRIu64 " %" PRIu64, written, refused);
}

static void emit_blob(uint32_t size)
{
    uint8_t *bytes = calloc(1, size + 1);
    if (!bytes)
        complain("blob", "no memory");
    bool written = Demo_Blob(bytes, size);
    free(bytes);
    say("emitted %d %d", written, !written);
}

/* Attempts count while a session wants the event. */
static void *flood_thread(void *unused)
{
    static const struct timespec pause = {0, 1000000};
    (void)unused;
    for (uint64_t i = 0; (flood.events == 0 || i < flood.events) && !flood.is_over;) {
        if (!weir_event_is_enabled(&weir_events_Demo.Tick)) {
            nanosleep(&pause, NULL);
            continue;
        }
        if (Demo_Tick(i++))
            flood.written++;
        else
            flood.refused++;
    }
    return NULL;
}

static void flood_start(uint32_t threads, uint64_t events)
{
    if (threads == 0 || threads > THREADS_MAX || flood.count != 0)
        complain("flood", "1 to 16 threads, once at a time");
    flood.events = events;
    flood.is_over = false;
    flood.written = flood.refused = 0;
    for (; flood.count < threads; flood.count++)
        if (pthread_create(&flood.threads[flood.count], NULL, flood_thread, NULL) != 0)
            complain("flood", "no thread");
    say("flooding");
}

static void flood_end(bool now)
{
    flood.is_over = now;
    for (; flood.count > 0; flood.count--)
        pthread_join(flood.threads[flood.count - 1], NULL);
    say("flooded %" PRIu64 " %" PRIu64, flood.written, flood.refused);
}

/* --- The server. ----------------------------------------------------------------------------- */

static void show_status(void)
{
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    if (weir_server_status(&info) != WEIR_OK)
        complain("status", "refused");
    say("status running=%d suspended=%d connections=%u sessions=%u ports=%u written=%" PRIu64
        " path=%s",
        info.is_running, info.is_suspended, info.connections, info.sessions, info.ports,
        flood.written, info.path);
}

static void start(const char *word)
{
    struct weir_error error = {""};
    enum weir_result result = weir_server_start(&config, &error);
    say("%s %s: %s", word, weir_result_text(result), error.text);
}

static void stop(void)
{
    say("stopped %s", weir_result_text(weir_server_stop(NULL)));
}

static void *wait_thread(void *unused)
{
    struct weir_error error = {""};
    say("resumed %s", weir_result_text(weir_server_wait_for_resume(&error)));
    return unused;
}

static void wait_start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_thread, NULL) != 0)
        complain("wait", "no thread");
    pthread_detach(thread);
}

static void child(bool starts)
{
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    enum weir_result result = starts ? weir_server_start(&config, NULL) : WEIR_OK;
    if (result == WEIR_OK)
        result = weir_server_status(&info);
    say("child %s running=%d", weir_result_text(result), info.is_running);
    sigwait(&set, &signal);
    exit(0);
}

static void fork_child(bool starts)
{
    pid_t pid = fork();
    if (pid == 0)
        child(starts);
    say("forked %d", (int)pid);
}

/* --- Command line and commands. -------------------------------------------------------------- */

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0')
        complain(text, "not a number");
    return value;
}

static void option(const char *text)
{
    const struct {
        const char *name;
        const char **text;
        uint32_t *number;
        bool *flag;
    } options[] = {
        {"sessions", NULL, &config.sessions_max, NULL},
        {"connections", NULL, &config.connections_max, NULL},
        {"request_ms", NULL, &config.request_ms_max, NULL},
        {"block_ms", NULL, &config.block_ms_max, NULL},
        {"stop_ms", NULL, &config.stop_ms_max, NULL},
        {"suspend_ms", NULL, &config.suspend_ms_max, NULL},
        {"slow_ms", NULL, &slow_ms, NULL},
        {"heap", NULL, &heap_nodes, NULL},
        {"ports", &config.ports, NULL, NULL},
        {"default", &config.default_providers, NULL, NULL},
        {"command_line", &config.command_line, NULL, NULL},
        {"entrypoint", &config.entrypoint, NULL, NULL},
        {"version", &config.version, NULL, NULL},
        {"asked", NULL, NULL, &config.only_if_asked},
        {"no_default", NULL, NULL, &config.no_default_port},
        {"forced", NULL, NULL, &config.default_port_forced},
        {"busy", NULL, NULL, &is_busy},
        {"wait", NULL, NULL, &waits},
        {"report", NULL, NULL, &reports},
    };
    const char *value = strchr(text, '=');
    size_t length = value ? (size_t)(value++ - text) : 0;
    if (length == strlen("budget") && strncmp(text, "budget", length) == 0) {
        config.budget_bytes_max = number(value);
        return;
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strlen(options[i].name) != length || strncmp(text, options[i].name, length) != 0)
            continue;
        if (options[i].text)
            *options[i].text = value;
        else if (options[i].number)
            *options[i].number = (uint32_t)number(value);
        else
            *options[i].flag = number(value) != 0;
        return;
    }
    complain(text, "no such option");
}

static bool command(char *line)
{
    uint64_t numbers[2] = {0, 0};
    char *name = strtok(line, " \n");
    if (!name)
        return true;
    for (int i = 0; i < 2; i++) {
        char *text = strtok(NULL, " \n");
        numbers[i] = text ? number(text) : 0;
    }
    if (strcmp(name, "emit") == 0)
        emit(numbers[0]);
    else if (strcmp(name, "blob") == 0)
        emit_blob((uint32_t)numbers[0]);
    else if (strcmp(name, "flood") == 0)
        flood_start((uint32_t)numbers[0], numbers[1]);
    else if (strcmp(name, "join") == 0 || strcmp(name, "quiet") == 0)
        flood_end(*name == 'q');
    else if (strcmp(name, "status") == 0)
        show_status();
    else if (strcmp(name, "start") == 0)
        start("started");
    else if (strcmp(name, "walk") == 0)
        heap_serve();
    else if (strcmp(name, "stop") == 0 || strcmp(name, "quit") == 0)
        stop();
    else if (strcmp(name, "fork") == 0)
        fork_child(numbers[0] != 0);
    else
        complain(name, "no such command");
    return strcmp(name, "quit") != 0;
}

int main(int argc, char **argv)
{
    char line[128];
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (int i = 1; i < argc; i++)
        option(argv[i]);
    if (reports)
        config.on_error = report;
    provide();
    if (heap_nodes)
        heap_begin();
    start("ready");
    if (waits)
        wait_start();
    while (fgets(line, sizeof line, stdin) && command(line)) {
    }
    return 0;
}
