/*
 * usage: plugin_host MODULE works|refused
 *
 * A host that gives a plug-in the table of its library, and unloads it while a session wants its
 * events. Compiled with the headers as they are, also where the library is of a later version.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

typedef int (*run)(const struct weir_functions *functions, uint64_t session_id);

static int fail(const char *what)
{
    fprintf(stderr, "plugin_host: %s\n", what);
    return 1;
}

static struct weir_session *start(struct weir_error *error)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session = NULL;
    config.providers = "Plugin:1:4,PluginDeclared";
    config.unknown_providers_allowed = true;
    config.memory_bytes_max = 1u << 20;
    if (weir_session_create(&config, &session, error) != WEIR_OK ||
        weir_session_start(session, error) != WEIR_OK)
        return NULL;
    return session;
}

int main(int argc, char **argv)
{
    struct weir_error error = {""};
    struct weir_stats stats = WEIR_STATS_INIT;
    run plugin_run;
    if (argc != 3)
        return fail("usage: plugin_host MODULE works|refused");
    bool works = strcmp(argv[2], "works") == 0;
    struct weir_session *session = start(&error);
    void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = module ? dlsym(module, "plugin_run") : NULL;
    if (!session || !symbol)
        return fail(session ? dlerror() : error.text);
    memcpy(&plugin_run, &symbol, sizeof plugin_run);
    int result = plugin_run(weir_functions_get(), weir_session_id(session));
    if (result != (works ? 0 : -1))
        return fail("the plug-in does not do what is expected");
    if (dlclose(module) != 0 || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
        return fail("the plug-in stays loaded");
    if (weir_session_stop(session, &error) != WEIR_OK ||
        weir_session_stats(session, &stats) != WEIR_OK)
        return fail(error.text);
    if (stats.counts.written != (works ? 17 : 0) || stats.counts.attempted != (works ? 18 : 0))
        return fail("events are missing");
    weir_session_destroy(session);
    puts(works ? "the plug-in works" : "the plug-in is refused");
    return 0;
}
