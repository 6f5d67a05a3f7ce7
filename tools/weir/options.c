#include "options.h"

bool wt_options_take(const struct wt_options *options, void *context, int argc, char **argv,
                     int *code)
{
    int option;
    while ((option = getopt_long(argc, argv, options->letters, options->table, NULL)) != -1) {
        if (option == 'h') {
            fputs(options->help, stdout);
            *code = wt_finish_output(WT_EXIT_OK);
            return false;
        }
        if (option == '?') /* getopt_long() has said what is wrong */
            wt_complain("try: weir %s --help", argv[0]);
        if (option == '?' || !options->take(context, option, optarg)) {
            *code = WT_EXIT_USAGE;
            return false;
        }
    }
    return true;
}

bool wt_options_one_form(const char *command, bool as_json, bool as_csv)
{
    if (as_json && as_csv)
        wt_complain("%s prints one of --json and --csv; try: weir %s --help", command, command);
    return !(as_json && as_csv);
}
