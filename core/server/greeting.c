/*
 * Tools that wait for a first event before they go on must not wait for one of the host's:
 * dotnet-gcdump would, without end. So each session begins with the event that .NET's end with, which
 * also gives the process its name. Source: dotnet/runtime, ep-event-source.c.
 */
#include "server/greeting.h"

#include <weir/trace.h>
#include "server/server.h"

#define GREETING_EVENTS(EVENT, P)                                                               \
    EVENT(P, ProcessInfo, 1, 1, WEIR_LEVEL_ALWAYS, 0, (str, CommandLine), (str, OSInformation), \
          (str, ArchInformation))
WEIR_PROVIDER(EventPipe, GREETING_EVENTS)
WEIR_PROVIDER_DEFINE(EventPipe, GREETING_EVENTS)

enum weir_result wr_greeting_register(struct weir_error *error)
{
    struct weir_provider_declaration declaration = weir_provider_EventPipe;
    declaration.name = "Microsoft-DotNETCore-EventPipe";
    struct weir_error own = {""};
    enum weir_result result = weir_provider_register(&declaration, NULL, NULL, NULL, &own);
    if (result == WEIR_OK || result == WEIR_EXISTS) /* by an earlier start */
        return WEIR_OK;
    return wr_fail(error, result, "%s", own.text);
}

void wr_greet(void)
{
    EventPipe_ProcessInfo(wr_server.texts->command_line, "Linux", wr_architecture);
}
