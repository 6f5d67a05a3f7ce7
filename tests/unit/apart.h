/* What apart.c calls in the plug-ins that it loads: one source, apart_module.c, compiled with an event
 * in two versions. */
#ifndef TESTS_UNIT_APART_H
#define TESTS_UNIT_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/plugin.h>

struct apart {
    enum weir_result (*begin)(const struct weir_functions *functions, size_t bytes_needed,
                              struct weir_error *error);
    /* Registers the provider, and defines an event at run time. */
    enum weir_result (*define)(struct weir_error *error);
    /* Emits each event once, in each way; false if one was not written. */
    bool (*emit)(uint64_t number, uint64_t session_id);
    bool (*has_last_loss)(void);
    enum weir_loss (*last_loss)(void);
    const struct weir_status *(*status)(void);
    /* What the watcher found in the status when it was last called, and how often it was. */
    const struct weir_status *seen;
    const int *calls;
};

#endif
