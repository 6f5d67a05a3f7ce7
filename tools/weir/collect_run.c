/* The run of `weir collect`: finds or starts the process, and keeps the stream in a file. */
#include "collect.h"
#include "new_file.h"
#include "wake.h"

#include "discover.h"
#include "launch.h"
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_AFTER_MS 2000
#define PROGRESS_EVERY_MS 250
#define KILL_AFTER_MS     2000
#define STILL_MS          200 /* longer than a host of Weir holds events back */

struct run {
    const struct wt_collect_options *options;
    struct wt_collect_trace *trace;
    struct wt_ipc_port port;
    struct wt_ipc_session *session;
    struct wt_new_file file;      /* published once the session has started */
    pid_t child;                  /* 0: none, or it has been waited for */
    struct wt_wake_signal ending; /* the first signal that asked for the end */
    int64_t start_ms, shown_ms;   /* start_ms: since the process runs; 0 before */
    uint64_t seen_bytes;          /* of the stream, when it was last looked at */
    int64_t seen_ms;              /* when that changed */
    bool has_asked;               /* whether it has all, since then */
    bool shown;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- The file. ------------------------------------------------------------------------------ */

/* NAME_YYYYMMDD_HHMMSS.nettrace; NULL: no memory. */
static char *default_file(const char *name)
{
    static const char form[] = "_%Y%m%d_%H%M%S.nettrace";
    char stamp[64];
    struct tm parts;
    time_t now = time(NULL);
    strftime(stamp, sizeof(stamp), form, localtime_r(&now, &parts));
    size_t size = strlen(name) + strlen(stamp) + 1;
    char *file = malloc(size);
    if (file)
        snprintf(file, size, "%s%s", *name ? name : "process", stamp);
    return file;
}

static bool open_file(struct run *run)
{
    char *file =
        run->options->output ? strdup(run->options->output) : default_file(run->trace->name);
    if (!file)
        wt_complain("out of memory");
    if (!file || !wt_new_file_open(&run->file, file)) {
        free(file);
        return false;
    }
    run->trace->file = file;
    return true;
}

static bool has_started(const struct run *run)
{
    return !run->file.temporary;
}

/* Without a session there is no file. */
static void close_file(struct run *run)
{
    if (run->file.fd >= 0 && close(run->file.fd) != 0) {
        wt_complain("cannot write %s: %s", run->trace->file, strerror(errno));
        run->trace->has_failed = true;
    }
    if (has_started(run))
        return;
    wt_new_file_drop(&run->file);
    free(run->trace->file);
    run->trace->file = NULL;
}

static bool write_stream(void *context, const void *bytes, size_t size)
{
    const struct run *run = context;
    while (size > 0) {
        ssize_t written = write(run->file.fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            wt_complain("cannot write %s: %s", run->trace->file, strerror(errno));
            return false;
        }
        bytes = (const char *)bytes + written;
        size -= (size_t)written;
    }
    return true;
}

/* --- The process. --------------------------------------------------------------------------- */

/* A process gives itself its name, so it may have anything. */
static void take_name(struct wt_collect_trace *trace, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(trace->name, sizeof(trace->name), "%s", slash ? slash + 1 : path);
    for (char *at = trace->name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '_';
}

static const struct wt_ipc_process *choose(const struct wt_collect_options *options,
                                           const struct wt_ipc_processes *list,
                                           struct wt_ipc_error *error)
{
    if (options->name)
        return wt_ipc_process_named(list, options->name, error);
    if (list->count > 0)
        return &list->items[0];
    bool is_there = kill(options->pid, 0) == 0 || errno == EPERM;
    wt_ipc_fail(error, WT_IPC_NOT_FOUND,
                is_there ? "process %ld has no diagnostics socket that this user may use; it may "
                           "have no server, or WEIR_DIAGNOSTICS=0 or DOTNET_EnableDiagnostics=0. "
                           "weir ps lists those "
                           "that have one"
                         : "there is no process %ld",
                (long)options->pid);
    return NULL;
}

/* By -p or -n. */
static bool find_process(struct run *run, struct wt_ipc_error *error)
{
    struct wt_ipc_processes list;
    if (!wt_ipc_processes_find(&list, run->options->pid, error))
        return false;
    const struct wt_ipc_process *process = choose(run->options, &list, error);
    bool is_found = process && wt_ipc_port_connect(&run->port, process->socket, error);
    if (is_found) {
        run->trace->pid = process->pid;
        take_name(run->trace, process->name);
    }
    wt_ipc_processes_fini(&list);
    return is_found;
}

/* Sets the port up, without connecting, and the name. */
static bool prepare(struct run *run, struct wt_ipc_error *error)
{
    if (run->options->command) {
        take_name(run->trace, run->options->command[0]);
        return wt_ipc_port_listen(&run->port, error);
    }
    if (!run->options->port)
        return find_process(run, error);
    take_name(run->trace, run->options->port);
    return wt_ipc_port_connect(&run->port, run->options->port, error);
}

/* Waits for the child, if it has ended. */
static void reap(struct run *run)
{
    int status;
    if (!run->child || waitpid(run->child, &status, WNOHANG) != run->child)
        return;
    run->child = 0;
    run->trace->child_code =
        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : (int)WEXITSTATUS(status);
}

/* The trace is over; the child goes on as long as it likes. */
static void wait_for_child(struct run *run)
{
    if (run->child && run->ending.is_direct)
        kill(run->child, run->ending.number);
    for (reap(run); run->child; reap(run)) {
        struct wt_wake_signal signal = wt_wake_wait(-1);
        if (run->child && signal.number != SIGCHLD && signal.is_direct)
            kill(run->child, signal.number);
    }
}

/* There is no trace, and the child may be held for ever. */
static void end_child(struct run *run)
{
    int64_t until = now_ms() + KILL_AFTER_MS;
    if (run->child)
        kill(run->child, SIGTERM);
    for (reap(run); run->child; reap(run)) {
        if (now_ms() >= until)
            kill(run->child, SIGKILL);
        wt_wake_wait(100);
    }
}

/* --- The session. --------------------------------------------------------------------------- */

static void explain_refusal(const struct run *run, const struct wt_ipc_error *error)
{
    const struct wt_ipc_collect *collect = &run->options->collect;
    bool is_unsupported = error->code == WT_IPC_CODE_UNKNOWN_COMMAND ||
                          error->code == WT_IPC_CODE_INVALID_ARGUMENT ||
                          error->code == WT_IPC_CODE_NOT_SUPPORTED;
    if (!is_unsupported)
        return;
    if (collect->block)
        wt_complain("%s does not support --mode block: .NET does from version 11 on, and a host of "
                    "Weir unless it refuses; use --mode drop, with a larger --budget if events are "
                    "lost",
                    run->trace->name);
    else if (collect->rundown && collect->rundown != WT_IPC_RUNDOWN_DEFAULT)
        wt_complain("%s does not support --rundown with these keywords: leave it out, or use "
                    "--rundown 0",
                    run->trace->name);
}

static void explain(const struct run *run)
{
    const struct wt_ipc_error *error = wt_ipc_session_error(run->session);
    if (error->text[0]) /* otherwise write_stream() has said why */
        wt_complain("%s: %s", run->options->caller, error->text);
    if (error->result == WT_IPC_REFUSED)
        explain_refusal(run, error);
    if (error->result == WT_IPC_NOT_FOUND && run->options->command && !has_started(run))
        wt_complain("%s has not connected to its port, DOTNET_DiagnosticPorts; only the command "
                    "itself is traced, not what it starts",
                    run->trace->name);
}

/* Returns false when the session is to be given up. */
static bool take_signals(struct run *run)
{
    for (struct wt_wake_signal signal; (signal = wt_wake_take()).number;) {
        if (signal.number == SIGCHLD)
            continue;
        if (run->ending.number)
            return false;
        run->ending = signal;
        wt_ipc_session_stop(run->session);
    }
    return true;
}

static void explain_silence(const struct run *run)
{
    uint64_t stranger = wt_ipc_port_stranger(&run->port);
    wt_complain("%s: %s has ended with code %d, and did not connect to its port: it has no "
                "server, or WEIR_DIAGNOSTICS=0 or DOTNET_EnableDiagnostics=0",
                run->options->caller, run->trace->name, run->trace->child_code);
    if (stranger)
        wt_complain("process %" PRIu64 ", which it has started, did connect; only the command "
                    "itself is traced, so give that one",
                    stranger);
}

/* A child that has ended cannot start a session any more, and its stream should end. */
static void take_child(struct run *run, enum wt_ipc_state state)
{
    if (!run->child)
        return;
    reap(run);
    if (run->child)
        return;
    if (state == WT_IPC_STARTING && !run->ending.number)
        explain_silence(run);
    wt_ipc_session_stop(run->session);
}

static void show_progress(struct run *run, int64_t now)
{
    if (now - run->start_ms < PROGRESS_AFTER_MS || now - run->shown_ms < PROGRESS_EVERY_MS)
        return;
    run->shown_ms = now;
    run->shown = true;
    fprintf(stderr, "\r%.1f MB received, %" PRId64 " s",
            (double)wt_ipc_session_bytes(run->session) / 1e6, (now - run->start_ms) / 1000);
}

static void look_at_clock(struct run *run, enum wt_ipc_state state, bool has_progress)
{
    int64_t now = now_ms();
    if (!run->start_ms && state >= WT_IPC_RUNNING)
        run->start_ms = now;
    if (!run->start_ms)
        return;
    if (run->options->duration_ms && now - run->start_ms >= run->options->duration_ms)
        wt_ipc_session_stop(run->session);
    if (has_progress)
        show_progress(run, now);
}

static void look_at_stream(struct run *run)
{
    uint64_t bytes = wt_ipc_session_bytes(run->session);
    int64_t now = now_ms();
    if (bytes != run->seen_bytes) {
        run->seen_bytes = bytes;
        run->seen_ms = now;
        run->has_asked = false;
    } else if (!run->has_asked && now - run->seen_ms >= STILL_MS && has_started(run)) {
        run->has_asked = true;
        if (run->options->has_all(run->trace->file))
            wt_ipc_session_stop(run->session);
    }
}

static int timeout_of(const struct run *run, bool has_progress)
{
    int64_t timeout = run->options->has_all ? STILL_MS / 2
                      : has_progress        ? PROGRESS_EVERY_MS
                                            : 1000;
    if (!run->start_ms || !run->options->duration_ms)
        return (int)timeout;
    int64_t left = run->start_ms + run->options->duration_ms - now_ms();
    return (int)(left < 0 || left > timeout ? timeout : left + 1);
}

/* Until the session is over, or given up; false if it has failed. */
static bool follow(struct run *run)
{
    /* A command that was started has the terminal. */
    const bool has_progress = !run->options->command && isatty(STDERR_FILENO) == 1;
    enum wt_ipc_state state = WT_IPC_STARTING;
    while (state < WT_IPC_ENDED) {
        int timeout = timeout_of(run, has_progress);
        state = wt_ipc_session_turn(run->session, wt_wake_fd(), timeout);
        bool starts = !has_started(run) && state > WT_IPC_STARTING && state != WT_IPC_FAILED;
        if (starts && !wt_new_file_publish(&run->file))
            return false;
        if (state >= WT_IPC_ENDED)
            break;
        take_child(run, state);
        look_at_clock(run, state, has_progress);
        if (run->options->has_all)
            look_at_stream(run);
        if (!take_signals(run))
            break;
    }
    if (run->shown)
        fprintf(stderr, "\r%60s\r", "");
    if (state < WT_IPC_ENDED)
        wt_complain("%s: given up; the trace is not whole", run->options->caller);
    if (state == WT_IPC_FAILED && (has_started(run) || run->trace->child_code < 0))
        explain(run);
    return state != WT_IPC_FAILED;
}

static bool start(struct run *run, struct wt_ipc_error *error)
{
    if (!wt_ipc_session_create(&run->session, &run->port, &run->options->collect,
                               run->options->answer_s, write_stream, run, error))
        return false;
    if (!run->options->command)
        return true;
    if (!wt_ipc_launch(&run->port, run->options->command, error))
        return false;
    run->child = run->trace->pid = run->port.pid;
    return true;
}

void wt_collect_run(const struct wt_collect_options *options, struct wt_collect_trace *trace)
{
    struct run run = {.options = options, .trace = trace, .file = {.fd = -1}};
    struct wt_ipc_error error = {.result = WT_IPC_OK};
    memset(trace, 0, sizeof(*trace));
    trace->child_code = -1;
    trace->has_failed = true;
    if (!wt_wake_init()) {
        wt_complain("cannot handle signals: %s", strerror(errno));
        return;
    }
    if (!prepare(&run, &error)) {
        wt_complain("%s: %s", options->caller, error.text);
        return;
    }
    if (open_file(&run)) {
        if (start(&run, &error))
            trace->has_failed = !follow(&run);
        else
            wt_complain("%s: %s", options->caller, error.text);
    }
    wt_ipc_session_destroy(run.session);
    if (!has_started(&run))
        end_child(&run);
    close_file(&run);
    wait_for_child(&run);
    wt_ipc_port_close(&run.port);
    wt_wake_fini(); /* the summary may be interrupted as usual */
}
