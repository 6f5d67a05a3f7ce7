/* `ChunkLoad`: where Lua source or bytecode becomes a function. */
#ifndef LUA_HOST_CHUNKS_H
#define LUA_HOST_CHUNKS_H

#include <lua.h>

#include <stddef.h>

/* Replaces load, loadfile, dofile and require's searcher for Lua files by functions that emit. */
void chunks_install(lua_State *L);

/* luaL_loadfile() and luaL_loadbuffer(), with `ChunkLoad` if wanted. `file` NULL: stdin. */
int chunks_load_file(lua_State *L, const char *file);
int chunks_load_buffer(lua_State *L, const char *bytes, size_t count, const char *name);

#endif
