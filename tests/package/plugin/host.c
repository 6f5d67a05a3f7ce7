/* A host that traces itself, and loads a plug-in that traces itself, or emits through the host's table. */
#include <dlfcn.h>
#include <stdio.h>
#include <weir/plugin.h>
#include <weir/weir.h>

#define HOST_EVENTS(EVENT, P) EVENT(P, Turn, 1, 0, WEIR_LEVEL_INFO, 0x1, (u32, Number))
WEIR_PROVIDER(Host, HOST_EVENTS)
WEIR_PROVIDER_DEFINE(Host, HOST_EVENTS)

static int run_plugin(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*run)(const struct weir_functions *) =
        (int (*)(const struct weir_functions *))dlsym(plugin, "plugin_run");
    int failed = run(weir_functions_get());
    return dlclose(plugin) || failed;
}

int main(int count, char **arguments)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session = NULL;
    struct weir_error error = {0};
    config.providers = "Host,Plugin";
    config.unknown_providers_allowed = true;
    config.sink.file = "host.nettrace";
    bool failed =
        count != 2 ||
        weir_provider_register(&weir_provider_Host, NULL, NULL, NULL, &error) != WEIR_OK ||
        weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK || run_plugin(arguments[1]) ||
        !WEIR_EMIT(Host, Turn, 1) || weir_session_stop(session, &error) != WEIR_OK;
    if (failed)
        fprintf(stderr, "failed: %s\n", error.text);
    weir_session_destroy(session);
    return failed;
}
