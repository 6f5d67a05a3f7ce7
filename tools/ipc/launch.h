/* Starts a program that connects to a port of ours, and waits for it to be resumed. */
#ifndef WT_IPC_LAUNCH_H
#define WT_IPC_LAUNCH_H

#include "port.h"

/* Starts `arguments` (the first is the program, found in PATH; the last is NULL) with
 * DOTNET_DiagnosticPorts set to the port, and makes it the process whose connections the port
 * takes. The caller waits for it. WT_IPC_SYSTEM. */
bool wt_ipc_launch(struct wt_ipc_port *port, char *const *arguments, struct wt_ipc_error *error);

#endif
