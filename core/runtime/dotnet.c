#include "runtime/dotnet.h"

#include "base/error.h"

WEIR_PROVIDER_DEFINE(DotNet, WR_DOTNET_EVENTS)
WEIR_PROVIDER_DEFINE(DotNetRundown, WR_DOTNET_RUNDOWN_EVENTS)

static struct weir_provider *providers[2]; /* for good, once they are registered */

static enum weir_result provider_register(const struct weir_provider_declaration *declared,
                                          const char *name, struct weir_provider **provider,
                                          struct weir_error *error)
{
    struct weir_provider_declaration declaration = *declared;
    declaration.name = name;
    if (*provider)
        return WEIR_OK;
    return weir_provider_register(&declaration, NULL, NULL, provider, error);
}

enum weir_result wr_dotnet_register(struct weir_provider **runtime, struct weir_provider **rundown,
                                    struct weir_error *error)
{
    enum weir_result result =
        provider_register(&weir_provider_DotNet, WR_DOTNET_RUNTIME, &providers[0], error);
    if (result == WEIR_OK)
        result = provider_register(&weir_provider_DotNetRundown, WR_DOTNET_RUNDOWN, &providers[1],
                                   error);
    *runtime = providers[0];
    *rundown = providers[1];
    return result;
}
