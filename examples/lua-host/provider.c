#include "provider.h"

WEIR_PROVIDER_DEFINE(Lua, LUA_EVENTS)
