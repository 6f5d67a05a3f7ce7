/* The options of a command, in any order. */
#ifndef WT_WEIR_OPTIONS_H
#define WT_WEIR_OPTIONS_H

#include "tool.h"

#include <getopt.h>

struct wt_options {
    const char *help;           /* what --help prints */
    const char *letters;        /* as for getopt(); with the h of --help */
    const struct option *table; /* as for getopt_long(); --help is 'h' */
    /* Takes one of them; false after a message if its text is wrong. */
    bool (*take)(void *context, int option, const char *text);
};

/* Takes all that there are; the other arguments begin at optind. False: the command ends with
 * `*code`, after its help or a message. */
bool wt_options_take(const struct wt_options *options, void *context, int argc, char **argv,
                     int *code);

/* False after a message if a command is asked for JSON and for CSV. */
bool wt_options_one_form(const char *command, bool as_json, bool as_csv);

#endif
