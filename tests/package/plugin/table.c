/* A plug-in that is not linked with the library: weir/plugin.h. */
#define WEIR_PLUGIN
#include <weir/trace.h>

#define PLUGIN_EVENTS(EVENT, P) EVENT(P, Step, 1, 0, WEIR_LEVEL_INFO, 0x1, (u32, Number))
WEIR_PLUGIN_DEFINE
WEIR_PROVIDER(Plugin, PLUGIN_EVENTS)
WEIR_PROVIDER_DEFINE(Plugin, PLUGIN_EVENTS)

int plugin_run(const struct weir_functions *functions)
{
    struct weir_provider *provider = NULL;
    if (weir_plugin_init(functions, WEIR_FUNCTIONS_UP_TO(last_loss), NULL) != WEIR_OK ||
        weir_provider_register(&weir_provider_Plugin, NULL, NULL, &provider, NULL) != WEIR_OK)
        return 1;
    bool is_emitted = WEIR_EMIT(Plugin, Step, 1);
    weir_provider_destroy(provider);
    return !is_emitted;
}
