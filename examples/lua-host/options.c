#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PROVIDERS "Lua"
/* Large, because a busy machine delays the drain; pages are used only when needed. */
#define DEFAULT_BUDGET (UINT64_C(256) << 20)

/* "123", "64K", "16M", "2G". False if it is anything else, or too large. */
static bool parse_size(const char *text, uint64_t *bytes)
{
    if (!isdigit((unsigned char)text[0]))
        return false; /* strtoull() would accept spaces and a sign */
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    static const char suffixes[] = "KMG";
    const char *suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    unsigned int shift = suffix != NULL ? 10 * (unsigned int)(suffix - suffixes + 1) : 0;
    if (suffix != NULL)
        end++;
    if (errno != 0 || *end != '\0' || number > UINT64_MAX >> shift)
        return false;
    *bytes = (uint64_t)number << shift;
    return true;
}

static enum options_action complain(const char *program, const char *text, const char *what)
{
    fprintf(stderr, "%s: %s%s\nTry '%s --help'.\n", program, what, text, program);
    return OPTIONS_BAD;
}

/* The value of option `name` at argv[at], as "--name VALUE" or "--name=VALUE"; `*used` is the
 * number of arguments it takes. False if argv[at] is another option. A missing value is NULL. */
static bool take_value(char **argv, int at, const char *name, const char **value, int *used)
{
    size_t length = strlen(name);
    if (strncmp(argv[at], name, length) != 0)
        return false;
    if (argv[at][length] == '=') {
        *value = argv[at] + length + 1;
        *used = 1;
        return true;
    }
    *value = argv[at + 1];
    *used = argv[at + 1] != NULL ? 2 : 1;
    return argv[at][length] == '\0';
}

static void remove_front(int *argc, char **argv, int count)
{
    for (int i = 1; i + count <= *argc; i++)
        argv[i] = argv[i + count]; /* the NULL at the end too */
    *argc -= count;
}

static enum options_action check(const char *program, const struct options *options,
                                 const char *budget)
{
    if (options->trace == NULL && options->providers != NULL)
        return complain(program, "", "--providers needs --trace");
    if (options->trace == NULL && budget != NULL)
        return complain(program, "", "--budget needs --trace");
    return OPTIONS_RUN;
}

enum options_action options_parse(int *argc, char **argv, struct options *options)
{
    const char *program = *argc > 0 ? argv[0] : "lua-host";
    const char *budget = NULL;
    *options = (struct options){.budget_bytes = DEFAULT_BUDGET};
    while (*argc > 1) {
        const char **target = NULL;
        const char *value;
        int used;
        if (strcmp(argv[1], "--help") == 0)
            return OPTIONS_HELP;
        if (strcmp(argv[1], "--version") == 0)
            return OPTIONS_VERSION;
        if (strcmp(argv[1], "--diagnostics") == 0) {
            options->diagnostics = true;
            remove_front(argc, argv, 1);
            continue;
        }
        if (take_value(argv, 1, "--trace", &value, &used))
            target = &options->trace;
        else if (take_value(argv, 1, "--providers", &value, &used))
            target = &options->providers;
        else if (take_value(argv, 1, "--budget", &value, &used))
            target = &budget;
        else
            break;
        if (value == NULL || value[0] == '\0')
            return complain(program, argv[1], "a value is missing after ");
        *target = value;
        remove_front(argc, argv, used);
    }
    enum options_action action = check(program, options, budget);
    if (action == OPTIONS_RUN && budget != NULL && !parse_size(budget, &options->budget_bytes))
        return complain(program, budget, "--budget takes bytes, or a number with K, M or G, not ");
    if (options->providers == NULL)
        options->providers = DEFAULT_PROVIDERS;
    return action;
}

void options_print_help(const char *program)
{
    printf("usage: %s [--trace FILE] [--providers LIST] [--budget SIZE] [--diagnostics]\n"
           "                [options] [script [args]]\n"
           "Lua, with a trace of what it does.\n"
           "\n"
           "  --trace FILE      write a trace to FILE, in the nettrace format\n"
           "  --providers LIST  what to trace: Lua[:KEYWORDS[:LEVEL]], separated by commas\n"
           "                    (default " DEFAULT_PROVIDERS ": everything)\n"
           "                    keywords: 0x1 calls, 0x2 allocation, 0x4 collections,\n"
           "                    0x8 errors, 0x10 chunks loaded, 0x20 coroutines\n"
           "  --budget SIZE     memory for events on their way to the file, in bytes or with\n"
           "                    K, M or G (default %" PRIu64 "M); events beyond it are lost\n"
           "  --diagnostics     let dotnet-trace and other .NET diagnostics tools attach; so do the\n"
           "                    variables WEIR_DIAGNOSTICS=1 and DOTNET_DiagnosticPorts\n"
           "  --help            print this help\n"
           "  --version         versions of the host and of Lua\n"
           "\n"
           "Then, as for lua5.4:\n"
           "  -e stat   execute string 'stat'\n"
           "  -i        enter interactive mode after executing 'script'\n"
           "  -l mod    require library 'mod' into global 'mod'\n"
           "  -l g=mod  require library 'mod' into global 'g'\n"
           "  -v        show version information\n"
           "  -E        ignore environment variables\n"
           "  -W        turn warnings on\n"
           "  --        stop handling options\n"
           "  -         stop handling options and execute stdin\n",
           program, DEFAULT_BUDGET >> 20);
}
