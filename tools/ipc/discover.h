/* Which processes have a diagnostics socket. Sends nothing to any of them. */
#ifndef WT_IPC_DISCOVER_H
#define WT_IPC_DISCOVER_H

#include "error.h"

#include <stddef.h>
#include <sys/types.h>

struct wt_ipc_process {
    pid_t pid;
    char *name;         /* of its main thread, up to 15 bytes; never NULL */
    char *executable;   /* NULL: not readable by this user */
    char *command_line; /* separated by blanks; NULL: likewise, or it has none */
    char *socket;       /* a path in this process's namespace */
};

/* All zeros is an empty list. */
struct wt_ipc_processes {
    struct wt_ipc_process *items;
    size_t count, capacity;
};

/*
 * Processes with a socket dotnet-diagnostic-PID-KEY-socket in this process's temporary directory
 * ($TMPDIR or /tmp) or in their own, by their initial environment, and seen through /proc/PID/root
 * if they are in another pid namespace. Of several sockets, the newest. Sockets that belong neither
 * to the process's user nor to root are not its own, and are left out. By pid, ascending.
 *
 * `pid` 0: of all processes. WT_IPC_SYSTEM: no /proc, or no memory; then the list is empty.
 */
bool wt_ipc_processes_find(struct wt_ipc_processes *list, pid_t pid, struct wt_ipc_error *error);

/* The process whose thread's name, executable or first word is `name`, from a list of all. NULL
 * with WT_IPC_NOT_FOUND: there is none, or several. */
const struct wt_ipc_process *wt_ipc_process_named(const struct wt_ipc_processes *list,
                                                  const char *name, struct wt_ipc_error *error);

void wt_ipc_processes_fini(struct wt_ipc_processes *list);

#endif
