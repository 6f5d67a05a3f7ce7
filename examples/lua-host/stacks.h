/*
 * A Lua stack as the addresses of an event (weir/context.h). Lua has no addresses to offer: each
 * frame is the number that `Function` explains, times 2^32, plus the line that it executes, which is
 * 0 in C functions and stripped bytecode.
 */
#ifndef LUA_HOST_STACKS_H
#define LUA_HOST_STACKS_H

#include <lua.h>

#include <stdint.h>

enum { STACK_MAX = 100 };

struct stack {
    uint64_t addresses[STACK_MAX];
    uint32_t count;
};

/* Appends the frames of L from `level` on, the innermost first, as far as there is room. May emit
 * `Function`. Raises no error. */
void stack_append(struct stack *stack, lua_State *L, int level);

#endif
