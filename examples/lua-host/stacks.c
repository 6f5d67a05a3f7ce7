#include "stacks.h"

#include "calls.h"

static uint64_t address_of(lua_State *L, lua_Debug *record)
{
    lua_getinfo(L, "l", record);
    uint64_t line = record->currentline > 0 ? (uint64_t)record->currentline : 0;
    return calls_function(L, record) << 32 | line;
}

void stack_append(struct stack *stack, lua_State *L, int level)
{
    lua_Debug record;
    if (!lua_checkstack(L, 1))
        return;
    for (; stack->count < STACK_MAX && lua_getstack(L, level, &record); level++)
        stack->addresses[stack->count++] = address_of(L, &record);
}
