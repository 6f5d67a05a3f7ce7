/* The host's own options, which precede those of Lua. */
#ifndef LUA_HOST_OPTIONS_H
#define LUA_HOST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum options_action {
    OPTIONS_RUN,     /* continue with what is left of argv */
    OPTIONS_HELP,    /* --help */
    OPTIONS_VERSION, /* --version */
    OPTIONS_BAD,     /* reported on stderr; exit with 2 */
};

struct options {
    const char *trace;     /* file to write; NULL: no tracing */
    const char *providers; /* as weir_session_config.providers */
    uint64_t budget_bytes;
    bool diagnostics; /* tools may attach */
};

/* Takes the host's options out of argv, so that what is left is a command line of lua5.4. */
enum options_action options_parse(int *argc, char **argv, struct options *options);

void options_print_help(const char *program);

#endif
