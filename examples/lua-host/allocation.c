#include "allocation.h"

#include "functions.h"
#include "provider.h"

static lua_Alloc plain_allocate;
static void *plain_context;
static uint64_t heap_bytes;
static bool is_wrapped;

/* For a new object, Lua passes its kind in place of the old size. */
static uint8_t object_type(size_t kind)
{
    switch (kind) {
    case LUA_TSTRING:
    case LUA_TTABLE:
    case LUA_TFUNCTION:
    case LUA_TUSERDATA:
    case LUA_TTHREAD:
        return (uint8_t)kind;
    default:
        return 255;
    }
}

static void *watched_free(void *block, size_t old_bytes)
{
    if (block != NULL) {
        WEIR_EMIT(Lua, Free, (uintptr_t)block, old_bytes);
        functions_block_freed(block);
        heap_bytes -= old_bytes;
    }
    return plain_allocate(plain_context, block, old_bytes, 0);
}

static void *watched_allocate(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    (void)context;
    if (new_bytes == 0)
        return watched_free(block, old_bytes);
    uintptr_t old_address = (uintptr_t)block; /* the pointer is invalid after the call */
    void *result = plain_allocate(plain_context, block, old_bytes, new_bytes);
    if (result == NULL)
        return NULL; /* Lua collects and retries, or gives up; the old block is unchanged */
    uint8_t type = 255;
    if (old_address == 0) {
        type = object_type(old_bytes);
        old_bytes = 0;
    }
    heap_bytes += new_bytes - old_bytes;
    WEIR_EMIT(Lua, Alloc, (uintptr_t)result, new_bytes, type, old_address, old_bytes);
    return result;
}

static void wrap(lua_State *L)
{
    heap_bytes = (uint64_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (uint64_t)lua_gc(L, LUA_GCCOUNTB);
    plain_allocate = lua_getallocf(L, &plain_context);
    lua_setallocf(L, watched_allocate, NULL);
    is_wrapped = true;
}

/* Stays if a C module has wrapped ours in turn: it keeps the address. */
static void unwrap(lua_State *L)
{
    if (lua_getallocf(L, NULL) != watched_allocate)
        return;
    lua_setallocf(L, plain_allocate, plain_context);
    is_wrapped = false;
}

void allocation_update(lua_State *L, bool wanted)
{
    if (wanted && !is_wrapped)
        wrap(L);
    else if (!wanted && is_wrapped)
        unwrap(L);
}

uint64_t allocation_heap_bytes(void)
{
    return heap_bytes;
}
