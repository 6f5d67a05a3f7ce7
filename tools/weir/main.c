/* weir: one program, with a subcommand for each task. */
#include "tool.h"

#include <string.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
};

static const struct command commands[] = {
    {"stat", wt_stat_main, "count events, threads, bytes and losses"},
    {"dump", wt_dump_main, "print events, one per line"},
    {"check", wt_check_main, "check a trace against the rules of the format"},
    {"report", wt_report_main, "time per function, from call and return events"},
    {"diff", wt_diff_main, "what is different in two traces"},
    {"schema", wt_schema_main, "the definitions of events, and whether they have changed"},
    {"cut", wt_cut_main, "write a part of a trace as a trace"},
    {"heap", wt_heap_main, "snapshots of a heap: by type, why objects are kept, what grows"},
    {"ps", wt_ps_main, "list the processes that can be traced"},
    {"collect", wt_collect_main, "trace a process, or start one and trace it"},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *file)
{
    fputs("usage: weir COMMAND [OPTION]... FILE\n"
          "       weir ps | weir collect [OPTION]... -p PID | weir collect [OPTION]... -- COMMAND\n"
          "\n"
          "Reads nettrace traces, versions 4 to 6. FILE may be - for standard input. Collects them "
          "from\n"
          "processes that serve the Diagnostics IPC protocol of .NET.\n"
          "\n",
          file);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].text);
    fputs("  help     print this help, or that of a command: weir help stat, weir help heap diff\n"
          "\n"
          "Each command has --help, and --json for output that programs read.\n"
          "weir --version prints the version.\n"
          "\n"
          "Exit codes: 0 fine, 1 failed (also: check or schema found something), 2 usage, 3 read\n"
          "but events were lost, 4 truncated or unfinished: the end tag is missing, 5 different\n"
          "(diff). All that is there is read; losses after the last sequence point are unknown.\n",
          file);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    wt_complain("there is no command \"%s\"; try: weir --help", name);
    return WT_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 3) {
        print_help(stdout);
        return wt_finish_output(WT_EXIT_OK);
    }
    const struct command *command = find(argv[2]);
    if (!command)
        return unknown(argv[2]);
    char option[] = "--help";
    const bool has_part = argc > 3 && argv[3][0] != '-'; /* weir help heap report */
    char *arguments[] = {argv[2], has_part ? argv[3] : option, option, NULL};
    return command->run(has_part ? 3 : 2, arguments);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return WT_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0) {
        puts("weir " WEIR_VERSION_TEXT);
        return wt_finish_output(WT_EXIT_OK);
    }
    const struct command *command = find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : unknown(argv[1]);
}
