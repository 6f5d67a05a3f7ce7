/* lua-host: Lua as a host of the library. `lua5.4` with a few options before its own. */
#include "interpreter.h"
#include "options.h"
#include "serve.h"
#include "stopper.h"
#include "trace.h"
#include "watch.h"

#include <lua.h>
#include <weir/session.h>
#include <weir/trace.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct options options;
    const char *program = argc > 0 ? argv[0] : "lua-host";
    switch (options_parse(&argc, argv, &options)) {
    case OPTIONS_HELP:
        options_print_help(program);
        return EXIT_SUCCESS;
    case OPTIONS_VERSION:
        printf("lua-host %s, %s\n", weir_version(), LUA_RELEASE);
        return EXIT_SUCCESS;
    case OPTIONS_BAD:
        return 2;
    case OPTIONS_RUN:
        break;
    }
    weir_thread_name_set("Lua"); /* without memory it has the system's name */
    if (!watch_begin(program))
        return EXIT_FAILURE;
    int status = trace_start(&options, program);
    if (status != EXIT_SUCCESS)
        return status;
    serve_wait_for_resume(program);
    stopper_give_way(); /* a signal has ended the wait, and ends the process */
    return trace_finish(interpreter_run(argc, argv));
}
