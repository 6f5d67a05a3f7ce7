/* weir ps: processes that can be traced. */
#include "json.h"
#include "options.h"
#include "table.h"
#include "tool.h"

#include "discover.h"

static void print_text(const struct wt_ipc_processes *list)
{
    static const bool right[] = {true, false, false, false};
    static const char *const heads[] = {"pid", "name", "executable", "command line"};
    struct wt_table table;
    wt_table_init(&table, 4, right);
    for (size_t i = 0; i < 4; i++)
        wt_table_text(&table, heads[i]);
    for (size_t i = 0; i < list->count; i++) {
        const struct wt_ipc_process *process = &list->items[i];
        wt_table_u64(&table, (uint64_t)process->pid);
        wt_table_text(&table, process->name);
        wt_table_text(&table, process->executable ? process->executable : "-");
        wt_table_text(&table, process->command_line ? process->command_line : "-");
    }
    wt_table_print(&table, stdout);
}

static void print_json(const struct wt_ipc_processes *list)
{
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_array(&json, "processes");
    for (size_t i = 0; i < list->count; i++) {
        const struct wt_ipc_process *process = &list->items[i];
        wt_json_object(&json, NULL);
        wt_json_u64(&json, "pid", (uint64_t)process->pid);
        wt_json_string(&json, "name", process->name);
        wt_json_string(&json, "executable", process->executable);
        wt_json_string(&json, "commandLine", process->command_line);
        wt_json_string(&json, "socket", process->socket);
        wt_json_end(&json);
    }
    wt_json_end(&json);
    wt_json_end(&json);
}

static const char help[] =
    "usage: weir ps [--json]\n"
    "\n"
    "Lists the processes that have a diagnostics socket, which weir collect and .NET's tools can\n"
    "trace: hosts of Weir with a server, and .NET processes. Nothing is sent to them.\n"
    "\n"
    "Looks for dotnet-diagnostic-PID-KEY-socket in $TMPDIR or /tmp, and in the TMPDIR with which\n"
    "each process was started, in containers too. Of other users' processes this finds only some,\n"
    "and only root can trace them.\n"
    "\n"
    "  --json   print one JSON object with these members; later versions may add more:\n"
    "             processes: [{pid, name, executable, commandLine, socket}], by pid; executable\n"
    "             and commandLine are null if they cannot be read\n"
    "  --help   print this help\n"
    "\n"
    "Exit codes: 0 fine, also if there is none; 1 failed, 2 usage.\n";

static bool take_option(void *context, int option, const char *text)
{
    bool *json = context;
    (void)option;
    (void)text;
    return *json = true;
}

int wt_ps_main(int argc, char **argv)
{
    static const struct option table[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, "h", table, take_option};
    bool json = false;
    int code;
    if (!wt_options_take(&options, &json, argc, argv, &code))
        return code;
    if (optind < argc) {
        wt_complain("ps: takes no argument, and \"%s\" is one", argv[optind]);
        return WT_EXIT_USAGE;
    }
    struct wt_ipc_processes list;
    struct wt_ipc_error error;
    if (!wt_ipc_processes_find(&list, 0, &error)) {
        wt_complain("ps: %s", error.text);
        return WT_EXIT_FAILED;
    }
    if (json)
        print_json(&list);
    else
        print_text(&list);
    wt_ipc_processes_fini(&list);
    return wt_finish_output(WT_EXIT_OK);
}
