/*
 * For hosts that tools attach to: the Diagnostics IPC server of .NET's tools. With it, dotnet-trace
 * and others trace this process, whatever it is written in:
 *
 *     struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
 *     struct weir_error error;
 *     config.default_providers = "MyVM:0xff:5";
 *     if (weir_server_start(&config, &error) != WEIR_OK)
 *         complain(error.text);
 *     if (weir_server_wait_for_resume(&error) != WEIR_OK)
 *         complain(error.text);
 *     ... run the program ...
 *     weir_server_stop(&error);
 *
 * One server per process, of the library's first copy in it, with two threads. They sleep while no
 * tool is attached, unless a port has to be dialed. Each tool that starts a trace gets a session,
 * whose stream goes through its connection.
 *
 * The server listens at dotnet-diagnostic-PID-KEY-socket in $TMPDIR, or /tmp, where the tools look.
 * KEY is the process's start time followed by 7, so that it is never that of a .NET runtime in the
 * same process. Only the process's own user and root may connect.
 *
 * The environment, which a process with more privileges than its user ignores:
 *
 *     WEIR_DIAGNOSTICS=0, DOTNET_EnableDiagnostics=0, DOTNET_EnableDiagnostics_IPC=0
 *                                no server: weir_server_start() does nothing
 *     WEIR_DIAGNOSTICS=1         starts the server of a host that sets only_if_asked
 *     WEIR_DIAGNOSTIC_PORTS, DOTNET_DiagnosticPorts
 *                                more ports; they start it too. See `ports`
 *     DOTNET_DefaultDiagnosticPortSuspend=1
 *                                weir_server_wait_for_resume() waits for the default port as well
 */
#ifndef WEIR_SERVER_H
#define WEIR_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/result.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are used during weir_server_start() only, except on_error and its context. Start
 * from WEIR_SERVER_CONFIG_INIT. */
struct weir_server_config {
    size_t size; /* sizeof(struct weir_server_config) */

    /* More ports, beside the default one: "ADDRESS[,TAG...][;ADDRESS[,TAG...]...]", up to 16 with
     * those of the environment. The address is the path of a socket, up to 107 bytes. Tags, of
     * which the first of a kind counts, in any case: `connect` (default: the server dials the
     * address, again and again until somebody listens there) or `listen`; `suspend` (default:
     * weir_server_wait_for_resume() waits for a tool on this port) or `nosuspend`. Other tags are
     * ignored. NULL: none. */
    const char *ports;

    /* What the tools show of the process; UTF-8. NULL: the system's command line, the name of the
     * executable, and the library's version. The version begins "major.minor.patch"; from 8 on,
     * tools take the process for a .NET runtime that shares its metrics between them. */
    const char *command_line;
    const char *entrypoint;
    const char *version;

    /* What a session wants if the process has none of the providers that the tool asks for: a text
     * as `providers` in weir/session.h. Tools that are run without a list of providers ask for .NET's,
     * which this process does not have: a heap (weir/heap.h) counts if the tool asks for its events
     * only. NULL: no default. */
    const char *default_providers;

    /* Called for failures that are not reported to a tool: in weir_server_start() for each port that
     * cannot be opened; later, once per kind of failure, when no descriptors are left or a session
     * cannot be ended, on the thread that calls the providers' callbacks. It must not stop the server
     * (WEIR_BAD_STATE). NULL: one line on stderr. */
    void (*on_error)(void *context, enum weir_result result, const char *text);
    void *on_error_context;

    /* Most that one session may reserve for records; default 256 MiB. One that asks for more gets
     * this, and its stream says so: event Session of provider Weir. */
    uint64_t budget_bytes_max;
    uint32_t sessions_max; /* at a time; default 16, up to 64; one more is refused: 0x80004005 */
    /* At a time, with or without a session; default 128, up to 1,024. Must be greater than
     * sessions_max, because a request to stop a session uses a second connection. */
    uint32_t connections_max;

    /* How long a tool may take to send its request, and to read a reply. Default 10,000. */
    uint32_t request_ms_max;
    /* A session in Block ends if its stream waits this long for the tool to read, that is, to free
     * room in the socket; threads that wait go on. Default 10,000; 0: requests for Block are refused
     * as unsupported. A provider's callback that emits may wait, too; no session of another tool
     * starts or ends meanwhile. */
    uint32_t block_ms_max;
    /* When a session ends, its tool reads the rest of the stream. A tool that frees no room for this
     * long is disconnected. Default 5,000. weir_server_stop() gives all tools this long. Sessions in
     * Block have stop_serves_waiting set. */
    uint32_t stop_ms_max;
    uint32_t suspend_ms_max; /* longest wait for a resume; 0, the default: no limit */

    bool only_if_asked;   /* no server unless the environment asks for it */
    bool no_default_port; /* only the ports of `ports` and the environment */
    /* The default port also in a process that has loaded a .NET runtime, which has one too. Tools
     * use the newer of the two. */
    bool default_port_forced;
    uint8_t reserved[5]; /* 0 */
};

/* clang-format off */
#define WEIR_SERVER_CONFIG_INIT                                                                    \
    {                                                                                              \
        sizeof(struct weir_server_config), WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, WEIR_NULL_,         \
            WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, 256u << 20, 16, 128, 10000, 10000, 5000, 0, false, \
            false, false, {0, 0, 0, 0, 0}                                                          \
    }
/* clang-format on */

static inline struct weir_server_config weir_server_config_init(void)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    return config;
}

/*
 * Opens the ports and starts the server's threads. Any thread. Does not wait for any tool. Only the
 * first server of a process suspends it: a later one, after a stop or in a forked child, has the same
 * ports of the environment, but does not suspend. exit() stops the server. A child that is forked in
 * a callback of a provider must exec or _exit.
 *
 * WEIR_OK also if the environment switches the server off, or if it is not asked for: see
 * weir_server_status(). A port that cannot be opened, because its directory cannot be written to,
 * say, is reported to on_error, and the others are served; if none is left, there is no server, and
 * the result is WEIR_OK all the same. A process that is killed leaves its socket behind; tools pass
 * over it. WEIR_BAD_ARGUMENT (a field; the text says which), WEIR_EXISTS (there is a server, or the
 * process has an earlier copy of the library, which alone may have one: see weir_configure()),
 * WEIR_NO_MEMORY, WEIR_SYSTEM (no thread, or a library that was built without threads). `error` may be
 * NULL.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_server_start(const struct weir_server_config *config,
                                                           struct weir_error *error);

/*
 * Where a host can be held until a tool is ready: call it before the program's own code runs.
 * Waits until a tool has resumed each port that suspends, between the host's park hooks; returns at
 * once if there is none. A tool that asks for a session first is resumed when the providers'
 * callbacks have returned, so these must not wait for the calling thread. After 5 s, one line on
 * stderr says what it waits for. WEIR_OK also without a server, or if it is stopped meanwhile, by a
 * signal's thread, say; WEIR_TIMEOUT after suspend_ms_max. Any thread but the server's. `error` may
 * be NULL.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_server_wait_for_resume(struct weir_error *error);

/*
 * Ends all sessions of tools, closes all ports, and removes the sockets. Any thread, but not in a
 * callback of a provider that a tool's session calls, a source of rundown, or on_error
 * (WEIR_BAD_STATE). Blocks up to twice stop_ms_max. WEIR_TIMEOUT: a callback has not returned by
 * then, or a session could not be ended; another stop goes on. The server's thread closes the ports,
 * on a crowded machine perhaps only after that; once they are closed, `ports` of
 * weir_server_status() is 0. WEIR_OK also if there is no server, and in a forked child, which has
 * none. `error` may be NULL.
 */
WEIR_API enum weir_result weir_server_stop(struct weir_error *error);

/* Start from WEIR_SERVER_INFO_INIT. */
struct weir_server_info {
    size_t size;       /* in: sizeof(struct weir_server_info) */
    bool is_running;   /* the server has threads */
    bool is_suspended; /* a port waits to be resumed */
    uint8_t reserved[2];
    uint32_t connections; /* of tools, those with sessions included */
    uint32_t sessions;    /* of tools, those that are being stopped included */
    uint32_t ports;       /* that listen, or are dialed */
    char path[112];       /* of the default port's socket; empty: there is none */
};

#define WEIR_SERVER_INFO_INIT                                           \
    {                                                                   \
        sizeof(struct weir_server_info), false, false, {0, 0}, 0, 0, 0, \
        {                                                               \
            0                                                           \
        }                                                               \
    }

/* Any thread; takes a short lock; does not allocate. WEIR_BAD_ARGUMENT (info is NULL, or its size
 * is not a known one). */
WEIR_NODISCARD WEIR_API enum weir_result weir_server_status(struct weir_server_info *info);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_SERVER_
#include <weir/disabled.h>
#endif
#endif
