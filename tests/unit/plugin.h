/* What plugin.c calls in the plug-ins that it loads: one source, plugin_module.c, linked in three
 * ways. */
#ifndef TESTS_UNIT_PLUGIN_H
#define TESTS_UNIT_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/weir.h>

#define PLUGIN_EVENTS(EVENT, P) \
    EVENT(P, Step, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number), (u64, A), (u64, B), (u64, C))

struct plugin {
    struct weir_session *(*start)(const struct weir_session_config *config); /* NULL: failed */
    bool (*emit)(uint64_t number);
    bool (*stop)(void);
    void (*destroy)(void);
    /* Unregisters the provider. Required before a dlclose() that really unloads the plug-in. */
    void (*leave)(void);
    /* Only registers the provider. */
    bool (*join)(void);
    enum weir_result (*configure)(const char *text, struct weir_error *error);
    enum weir_result (*name)(const char *thread);
    enum weir_result (*serve)(const struct weir_server_config *config, struct weir_error *error);
};

#endif
