#include "server/asked.h"

#include <string.h>
#include "os/os.h"

const char *const wr_port_variables[] = {"WEIR_DIAGNOSTIC_PORTS", "DOTNET_DiagnosticPorts"};

static bool environment_is(const char *name, const char *value)
{
    const char *found = wr_os_environment(name);
    return found && strcmp(found, value) == 0;
}

static bool has_ports(void)
{
    bool has_ports = false;
    for (size_t i = 0; i < WR_PORT_VARIABLES; i++) {
        const char *ports = wr_os_environment(wr_port_variables[i]);
        has_ports |= ports && *ports;
    }
    return has_ports;
}

bool wr_server_is_asked_for(bool only_if_asked)
{
    if (environment_is("WEIR_DIAGNOSTICS", "0") ||
        environment_is("DOTNET_EnableDiagnostics", "0") ||
        environment_is("DOTNET_EnableDiagnostics_IPC", "0"))
        return false;
    return !only_if_asked || environment_is("WEIR_DIAGNOSTICS", "1") || has_ports();
}
