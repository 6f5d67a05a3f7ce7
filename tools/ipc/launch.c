#include "launch.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define VARIABLE "DOTNET_DiagnosticPorts="

/* This process's environment with `setting` in place of what it has; NULL: no memory. */
static char **environment_with(char *setting)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **environment = malloc((count + 2) * sizeof(*environment));
    if (!environment)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], VARIABLE, sizeof(VARIABLE) - 1) != 0)
            environment[kept++] = environ[i];
    environment[kept++] = setting;
    environment[kept] = NULL;
    return environment;
}

bool wt_ipc_launch(struct wt_ipc_port *port, char *const *arguments, struct wt_ipc_error *error)
{
    char setting[sizeof(VARIABLE) + sizeof(port->path) + sizeof(",suspend,connect")];
    snprintf(setting, sizeof(setting), VARIABLE "%s,suspend,connect", port->path);
    char **environment = environment_with(setting);
    if (!environment)
        return wt_ipc_fail(error, WT_IPC_SYSTEM, "out of memory");
    int failure = posix_spawnp(&port->pid, arguments[0], NULL, NULL, arguments, environment);
    free(environment);
    if (failure == 0)
        return true;
    port->pid = 0;
    return wt_ipc_fail(error, WT_IPC_SYSTEM, "cannot start %.200s: %s", arguments[0],
                       strerror(failure));
}
