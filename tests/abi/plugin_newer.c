/*
 * A plug-in that was compiled with headers of a version to come, of which grow.py makes two: one whose
 * table of functions is longer, and one whose structs have all grown. The former works with any
 * library; the latter's declaration is refused by one that does not know it.
 */
#define WEIR_PLUGIN
#include <weir/plugin.h>
#include <string.h>

#define NEWER_KINDS(VALUE) VALUE(First, 1) VALUE(Second, 2)
#define NEWER_EVENTS(EVENT, P)                                         \
    EVENT(P, Number, 1, 0, WEIR_LEVEL_INFO, 0x1, (enum(u64, Kind), A)) \
    EVENT(P, Text, 2, 0, WEIR_LEVEL_INFO, 0x1, (strn, Value))
WEIR_PLUGIN_DEFINE
WEIR_PROVIDER(Plugin, NEWER_EVENTS)
WEIR_ENUM(Kind, NEWER_KINDS)
WEIR_PROVIDER_DEFINE(Plugin, NEWER_EVENTS)

static struct weir_provider *provider;

__attribute__((destructor)) static void leave(void)
{
    if (provider)
        weir_provider_destroy(provider);
}

/* Emits 18 events, of which one is lost. 0: it works; -1: it is refused, with the right text. */
int plugin_run(const struct weir_functions *functions, uint64_t session_id);
__attribute__((visibility("default"))) int plugin_run(const struct weir_functions *functions,
                                                      uint64_t session_id)
{
    struct weir_error error = {""};
    bool is_older = functions->size < sizeof *functions;
    if (weir_plugin_init(functions, sizeof *functions, &error) !=
        (is_older ? WEIR_BAD_ARGUMENT : WEIR_OK))
        return 1;
    if (weir_plugin_init(functions, WEIR_FUNCTIONS_UP_TO(last_loss), &error) != WEIR_OK ||
        weir_plugin.grown[0] || weir_plugin.grown[1])
        return 2; /* what the older library lacks is 0 */
    enum weir_result result =
        weir_provider_register(&weir_provider_Plugin, NULL, NULL, &provider, &error);
    if (result != WEIR_OK)
        return result == WEIR_BAD_ARGUMENT && strstr(error.text, "older than the headers") ? -1 : 3;
    for (uint64_t i = 0; i < 16; i++)
        if (!WEIR_EMIT(Plugin, Number, i))
            return 4;
    if (!WEIR_EMIT_TO(session_id, Plugin, Text, "text", 2))
        return 5;
    bool is_written =
        weir_event_emit(&weir_events_Plugin.Number, NULL, 0, sizeof(struct weir_value));
    return is_written || weir_last_loss() != WEIR_LOSS_MISMATCH ? 6 : 0;
}
