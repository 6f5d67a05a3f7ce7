/* A plug-in that traces. */
#include "plugin.h"

WEIR_PROVIDER(Plugin, PLUGIN_EVENTS)
WEIR_PROVIDER_DEFINE(Plugin, PLUGIN_EVENTS)

static struct weir_provider *provider;
static struct weir_session *session;

static bool join(void)
{
    return weir_provider_register(&weir_provider_Plugin, NULL, NULL, &provider, NULL) == WEIR_OK;
}

static struct weir_session *start(const struct weir_session_config *config)
{
    bool is_started = join() && weir_session_create(config, &session, NULL) == WEIR_OK &&
                      weir_session_start(session, NULL) == WEIR_OK;
    return is_started ? session : NULL;
}

static bool emit(uint64_t number)
{
    return WEIR_EMIT(Plugin, Step, number, 0, 0, 0);
}

static bool stop(void)
{
    return weir_session_stop(session, NULL) == WEIR_OK;
}

static void destroy(void)
{
    weir_session_destroy(session);
}

static void leave(void)
{
    weir_provider_destroy(provider);
}

__attribute__((visibility("default"))) const struct plugin plugin = {
    .start = start,
    .emit = emit,
    .stop = stop,
    .destroy = destroy,
    .leave = leave,
    .join = join,
    .configure = weir_configure,
    .name = weir_thread_name_set,
    .serve = weir_server_start,
};
