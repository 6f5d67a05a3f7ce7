#include "chunks.h"

#include "provider.h"
#include "text.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* Lua's own functions. They have no upvalues, so calling them as C functions, in the frame of the
 * function that replaced them, is the same as calling them from Lua. */
static lua_CFunction plain_load;
static lua_CFunction plain_loadfile;

static void emit_chunk(const char *source, size_t count, uint64_t bytes, bool ok)
{
    if (!LUA_WANTS(ChunkLoad))
        return;
    struct text name;
    text_from_source(&name, source, count);
    Lua_ChunkLoad(name.bytes, bytes, ok);
}

static void emit_file(const char *file, bool ok)
{
    if (!LUA_WANTS(ChunkLoad))
        return;
    struct stat status;
    bool sized = file != NULL && stat(file, &status) == 0 && S_ISREG(status.st_mode);
    struct text name;
    text_copy(&name, file != NULL ? file : "stdin", SIZE_MAX);
    Lua_ChunkLoad(name.bytes, sized ? (uint64_t)status.st_size : 0, ok);
}

int chunks_load_file(lua_State *L, const char *file)
{
    int status = luaL_loadfile(L, file);
    emit_file(file, status == LUA_OK);
    return status;
}

int chunks_load_buffer(lua_State *L, const char *bytes, size_t count, const char *name)
{
    int status = luaL_loadbuffer(L, bytes, count, name);
    emit_chunk(name, strlen(name), count, status == LUA_OK);
    return status;
}

/* ---- load. ----------------------------------------------------------------------------------- */

/* load() with a function that returns the chunk in pieces: READER is called, and its piece is kept
 * on the stack at PIECE while the parser reads it. */
enum { READER = 1, CHUNK_NAME = 2, MODE = 3, ENVIRONMENT = 4, PIECE = 5 };

static const char *next_piece(lua_State *L, void *context, size_t *count)
{
    uint64_t *total = context;
    luaL_checkstack(L, 2, "too many nested functions");
    lua_pushvalue(L, READER);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        *count = 0;
        return NULL;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "reader function must return a string");
    lua_replace(L, PIECE);
    const char *piece = lua_tolstring(L, PIECE, count);
    *total += *count;
    return piece;
}

static int load_pieces(lua_State *L)
{
    uint64_t total = 0;
    const char *mode = luaL_optstring(L, MODE, "bt");
    bool has_environment = !lua_isnone(L, ENVIRONMENT);
    const char *name = luaL_optstring(L, CHUNK_NAME, "=(load)");
    luaL_checktype(L, READER, LUA_TFUNCTION);
    lua_settop(L, PIECE);
    int status = lua_load(L, next_piece, &total, name, mode);
    emit_chunk(name, strlen(name), total, status == LUA_OK);
    if (status != LUA_OK) {
        luaL_pushfail(L);
        lua_insert(L, -2);
        return 2;
    }
    if (has_environment) {
        lua_pushvalue(L, ENVIRONMENT);
        if (lua_setupvalue(L, -2, 1) == NULL)
            lua_pop(L, 1); /* the chunk uses no globals */
    }
    return 1;
}

static int watched_load(lua_State *L)
{
    if (!lua_isstring(L, 1))
        return load_pieces(L);
    /* Read before the call, which may replace what is on the stack. */
    size_t length;
    const char *bytes = lua_tolstring(L, 1, &length);
    const char *name = lua_isstring(L, CHUNK_NAME) ? lua_tostring(L, CHUNK_NAME) : bytes;
    struct text display;
    text_from_source(&display, name, name == bytes ? length : strlen(name));
    int results = plain_load(L);
    WEIR_EMIT(Lua, ChunkLoad, display.bytes, length, results == 1);
    return results;
}

/* ---- Files. ---------------------------------------------------------------------------------- */

static int watched_loadfile(lua_State *L)
{
    struct text file;
    const char *name = luaL_optstring(L, 1, NULL);
    if (name != NULL)
        text_copy(&file, name, SIZE_MAX);
    int results = plain_loadfile(L);
    emit_file(name != NULL ? file.bytes : NULL, results == 1);
    return results;
}

static int dofile_results(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    return lua_gettop(L) - 1;
}

static int watched_dofile(lua_State *L)
{
    const char *file = luaL_optstring(L, 1, NULL);
    lua_settop(L, 1);
    if (chunks_load_file(L, file) != LUA_OK)
        return lua_error(L);
    lua_callk(L, 0, LUA_MULTRET, 0, dofile_results);
    return dofile_results(L, LUA_OK, 0);
}

/* The searcher of Lua files. Upvalues: the package table, package.searchpath as Lua has it. */
static int watched_searcher(lua_State *L)
{
    const char *module = luaL_checkstring(L, 1);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_getfield(L, lua_upvalueindex(1), "path");
    if (lua_tostring(L, -1) == NULL)
        return luaL_error(L, "'package.path' must be a string");
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2))
        return 1; /* the places that were searched */
    lua_pop(L, 1);
    const char *file = lua_tostring(L, -1);
    if (chunks_load_file(L, file) != LUA_OK)
        return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", module, file,
                          lua_tostring(L, -1));
    lua_insert(L, -2); /* the loader, then the file */
    return 2;
}

static void install_searcher(lua_State *L)
{
    lua_getglobal(L, LUA_LOADLIBNAME);
    lua_getfield(L, -1, "searchers");
    lua_pushvalue(L, -2);
    lua_getfield(L, -1, "searchpath");
    lua_pushcclosure(L, watched_searcher, 2);
    lua_rawseti(L, -2, 2);
    lua_pop(L, 2);
}

static lua_CFunction replace_global(lua_State *L, const char *name, lua_CFunction function)
{
    lua_getglobal(L, name);
    lua_CFunction plain = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    lua_register(L, name, function);
    return plain;
}

void chunks_install(lua_State *L)
{
    plain_load = replace_global(L, "load", watched_load);
    plain_loadfile = replace_global(L, "loadfile", watched_loadfile);
    replace_global(L, "dofile", watched_dofile);
    install_searcher(L);
}
