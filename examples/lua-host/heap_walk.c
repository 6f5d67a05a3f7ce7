#include "heap_walk.h"

#include "heap_types.h"

#include <lauxlib.h>

#include <malloc.h>
#include <stdbool.h>
#include <string.h>

/* On the walker's stack from heap_walk_prepare() on, and the arguments of walk_protected(). */
enum slot {
    KEY_NAME = 1,
    KEY_MODE,
    KEY_INDEX,
    WALK,
};

static const char TABLE[] = "table", USERDATA[] = "userdata", STRING[] = "string",
                  C_FUNCTION[] = "C function", UPVALUE[] = "upvalue", COROUTINE[] = "coroutine";

#define LIST_FIRST 65536 /* a megabyte */

/* Estimates, of Lua 5.4 with 64-bit pointers. */
#define SLOT_BYTES     16
#define NODE_BYTES     24 /* of a table's hash part */
#define USERDATA_BYTES 40

struct walk {
    struct weir_heap_graph *graph;
    struct heap_types *types;
    lua_State *running;
    int list;          /* its place on the walker's stack */
    lua_Integer count; /* of objects on it */
};

/* --- Objects. -------------------------------------------------------------------------------- */

/* 0: no object of the heap, or one of the walk's. */
static uint64_t address_of(lua_State *W, const struct walk *walk, int at)
{
    const void *pointer = lua_topointer(W, at);
    switch (lua_type(W, at)) {
    case LUA_TFUNCTION: /* a C function without upvalues is its own address */
        return (uintptr_t)lua_tocfunction(W, at) == (uintptr_t)pointer
                   ? 0
                   : (uint64_t)(uintptr_t)pointer;
    case LUA_TTHREAD:
        return lua_tothread(W, at) == W ? 0 : (uint64_t)(uintptr_t)pointer;
    case LUA_TTABLE:
        return lua_rawequal(W, at, walk->list) ? 0 : (uint64_t)(uintptr_t)pointer;
    case LUA_TSTRING:
    case LUA_TUSERDATA:
        return (uint64_t)(uintptr_t)pointer;
    default:
        return 0;
    }
}

/* Takes the value on top off the stack, onto the list if it is an object that is met for the first
 * time. Returns its address. */
static uint64_t meet(lua_State *W, struct walk *walk)
{
    uint64_t address = address_of(W, walk, -1);
    if (address != 0 && weir_heap_visit(walk->graph, address))
        lua_rawseti(W, walk->list, ++walk->count);
    else
        lua_pop(W, 1);
    return address;
}

/* A reference of the last node to the value on top, which it takes off the stack. */
static void refer(lua_State *W, struct walk *walk)
{
    weir_heap_edge(walk->graph, meet(W, walk));
}

/* Pushes a field of the metatable on top; returns its type. */
static int metafield(lua_State *W, enum slot key)
{
    lua_pushvalue(W, (int)key);
    return lua_rawget(W, -2);
}

/* The type of this name, a constant that stands for itself. */
static uint64_t plain_type(struct walk *walk, const char *name)
{
    return heap_types_of(walk->types, name, 0, name);
}

/* --- Tables and userdata. -------------------------------------------------------------------- */

/* What objects with the metatable on top are called. `plain`: without a name. The string is valid
 * until the metatable is collected. */
static const char *class_name(lua_State *W, const struct walk *walk, const char *plain)
{
    const char *name = heap_types_name_of(walk->types, lua_topointer(W, -1));
    if (metafield(W, KEY_INDEX) == LUA_TTABLE && name == NULL)
        name = heap_types_name_of(walk->types, lua_topointer(W, -1));
    lua_pop(W, 1);
    if (metafield(W, KEY_NAME) == LUA_TSTRING && name == NULL)
        name = lua_tostring(W, -1);
    lua_pop(W, 1);
    return name != NULL ? name : plain;
}

/* Of the object at `at`. */
static uint64_t class_of(lua_State *W, struct walk *walk, int at, const char *plain)
{
    if (!lua_getmetatable(W, at))
        return plain_type(walk, plain);
    const void *metatable = lua_topointer(W, -1);
    int kind = lua_type(W, at); /* a table and a userdata may share it */
    uint64_t type = heap_types_known(walk->types, metatable, kind);
    if (type == 0)
        type = heap_types_of(walk->types, metatable, kind, class_name(W, walk, plain));
    lua_pop(W, 1);
    return type;
}

struct entries {
    bool has_weak_keys, has_weak_values;
    uint64_t count;
};

static struct entries entries_of(lua_State *W, int at)
{
    struct entries entries = {0};
    if (lua_getmetatable(W, at)) {
        if (metafield(W, KEY_MODE) == LUA_TSTRING) {
            entries.has_weak_keys = strchr(lua_tostring(W, -1), 'k') != NULL;
            entries.has_weak_values = strchr(lua_tostring(W, -1), 'v') != NULL;
        }
        lua_pop(W, 2);
    }
    for (lua_pushnil(W); lua_next(W, at); lua_pop(W, 1))
        entries.count++;
    return entries;
}

/* The parts of a table: an array as long as its border, and a hash part that is a power of two. */
static uint64_t table_bytes(lua_State *W, int at, uint64_t count)
{
    uint64_t array = lua_rawlen(W, at), hashed = 0, nodes = 0;
    if (count > array)
        hashed = count - array;
    while (nodes < hashed)
        nodes = nodes != 0 ? 2 * nodes : 1;
    return malloc_usable_size((void *)(uintptr_t)lua_topointer(W, at)) + array * SLOT_BYTES +
           nodes * NODE_BYTES;
}

/* An entry, key and value on top. Takes the value off the stack. */
static void entry(lua_State *W, struct walk *walk, const struct entries *entries, uint64_t table)
{
    uint64_t key = address_of(W, walk, -2);
    bool is_weak_key = entries->has_weak_keys && key != 0 && lua_type(W, -2) != LUA_TSTRING;
    bool is_weak_value = entries->has_weak_values && lua_type(W, -1) != LUA_TSTRING;
    if (is_weak_value)
        lua_pop(W, 1); /* after a collection, others keep it */
    else if (is_weak_key)
        weir_heap_weak(walk->graph, key, meet(W, walk), table);
    else
        refer(W, walk);
    if (is_weak_key)
        return;
    lua_pushvalue(W, -1);
    refer(W, walk);
}

static void table(lua_State *W, struct walk *walk, uint64_t address)
{
    int at = lua_gettop(W);
    struct entries entries = entries_of(W, at);
    weir_heap_node(walk->graph, address, table_bytes(W, at, entries.count),
                   class_of(W, walk, at, TABLE));
    if (lua_getmetatable(W, at))
        refer(W, walk);
    for (lua_pushnil(W); lua_next(W, at);)
        entry(W, walk, &entries, address);
}

static void userdata(lua_State *W, struct walk *walk, uint64_t address)
{
    int at = lua_gettop(W), values = 0;
    while (lua_getiuservalue(W, at, values + 1) != LUA_TNONE)
        values++;
    lua_settop(W, at);
    weir_heap_node(walk->graph, address,
                   USERDATA_BYTES + (uint64_t)values * SLOT_BYTES + lua_rawlen(W, at),
                   class_of(W, walk, at, USERDATA));
    if (lua_getmetatable(W, at))
        refer(W, walk);
    for (int i = 1; i <= values; i++) {
        lua_getiuservalue(W, at, i);
        refer(W, walk);
    }
}

/* --- Functions. ------------------------------------------------------------------------------ */

static void c_function(lua_State *W, struct walk *walk, uint64_t address)
{
    int at = lua_gettop(W);
    weir_heap_node(walk->graph, address, malloc_usable_size((void *)(uintptr_t)address),
                   plain_type(walk, C_FUNCTION));
    for (int i = 1; lua_getupvalue(W, at, i) != NULL; i++)
        refer(W, walk);
}

/* Functions share upvalues, which are objects of their own. */
static void upvalue(lua_State *W, struct walk *walk, int function, int number)
{
    void *id = lua_upvalueid(W, function, number);
    if (!weir_heap_visit(walk->graph, (uint64_t)(uintptr_t)id))
        return;
    weir_heap_node(walk->graph, (uint64_t)(uintptr_t)id, malloc_usable_size(id),
                   plain_type(walk, UPVALUE));
    lua_getupvalue(W, function, number);
    refer(W, walk);
}

static void lua_function(lua_State *W, struct walk *walk, uint64_t address)
{
    int at = lua_gettop(W), count = 0;
    lua_Debug record;
    lua_pushvalue(W, at);
    lua_getinfo(W, ">Su", &record);
    weir_heap_node(walk->graph, address, malloc_usable_size((void *)(uintptr_t)address),
                   heap_types_of_function(walk->types, &record));
    for (; count < record.nups; count++)
        weir_heap_edge(walk->graph, (uint64_t)(uintptr_t)lua_upvalueid(W, at, count + 1));
    for (int i = 1; i <= count; i++)
        upvalue(W, walk, at, i);
}

/* --- Coroutines. ----------------------------------------------------------------------------- */

/* The value on top of the coroutine's stack. */
static void refer_from(lua_State *W, struct walk *walk, lua_State *coroutine)
{
    lua_xmove(coroutine, W, 1);
    refer(W, walk);
}

/* A frame's function, its variables and temporaries, and its extra arguments. */
static void frame(lua_State *W, struct walk *walk, lua_State *coroutine, lua_Debug *record)
{
    lua_getinfo(coroutine, "f", record);
    refer_from(W, walk, coroutine);
    for (int i = 1; lua_getlocal(coroutine, record, i) != NULL; i++)
        refer_from(W, walk, coroutine);
    for (int i = -1; lua_getlocal(coroutine, record, i) != NULL; i--)
        refer_from(W, walk, coroutine);
}

static void coroutine(lua_State *W, struct walk *walk, uint64_t address)
{
    lua_State *other = lua_tothread(W, -1);
    lua_Debug record;
    int level = 0;
    bool has_room = lua_checkstack(other, 2);
    if (!has_room)
        weir_heap_fail(walk->graph, "the stack of a coroutine is full");
    weir_heap_node(walk->graph, address, malloc_usable_size((char *)other - LUA_EXTRASPACE),
                   plain_type(walk, COROUTINE));
    for (; has_room && lua_getstack(other, level, &record); level++)
        frame(W, walk, other, &record);
    for (int i = 1; has_room && level == 0 && i <= lua_gettop(other);
         i++) { /* it has not begun, or has ended */
        lua_pushvalue(other, i);
        refer_from(W, walk, other);
    }
}

/* --- Strings. -------------------------------------------------------------------------------- */

static void string(lua_State *W, struct walk *walk, uint64_t address)
{
    size_t size;
    weir_heap_node(walk->graph, address, malloc_usable_size((void *)(uintptr_t)address),
                   plain_type(walk, STRING));
    if (!weir_heap_wants_texts(walk->graph))
        return;
    const char *text = lua_tolstring(W, -1, &size);
    weir_heap_text(walk->graph, text, size);
}

/* --- The walk. ------------------------------------------------------------------------------- */

/* The object on top. */
static void object(lua_State *W, struct walk *walk)
{
    uint64_t address = address_of(W, walk, -1);
    switch (lua_type(W, -1)) {
    case LUA_TTABLE:
        table(W, walk, address);
        break;
    case LUA_TFUNCTION:
        if (lua_iscfunction(W, -1))
            c_function(W, walk, address);
        else
            lua_function(W, walk, address);
        break;
    case LUA_TUSERDATA:
        userdata(W, walk, address);
        break;
    case LUA_TTHREAD:
        coroutine(W, walk, address);
        break;
    default:
        string(W, walk, address);
    }
}

/* The tables among the fields of the table on top. */
static void name_fields(lua_State *W, struct walk *walk, const char *owner)
{
    for (lua_pushnil(W); lua_next(W, -2); lua_pop(W, 1))
        if (lua_type(W, -2) == LUA_TSTRING && lua_type(W, -1) == LUA_TTABLE)
            heap_types_name(walk->types, lua_topointer(W, -1), owner, lua_tostring(W, -2));
}

/* Globals first, then modules, then their fields. */
static void name_tables(lua_State *W, struct walk *walk)
{
    lua_pushglobaltable(W);
    heap_types_name(walk->types, lua_topointer(W, -1), "", "_G");
    name_fields(W, walk, "");
    if (lua_getfield(W, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) == LUA_TTABLE) {
        name_fields(W, walk, "");
        for (lua_pushnil(W); lua_next(W, -2); lua_pop(W, 1))
            if (lua_type(W, -2) == LUA_TSTRING && lua_type(W, -1) == LUA_TTABLE)
                name_fields(W, walk, lua_tostring(W, -2));
    }
    lua_pop(W, 2);
}

/* A table that is a root, on top of the stack. */
static void root(lua_State *W, struct walk *walk, const char *name)
{
    uint64_t type = class_of(W, walk, lua_gettop(W), TABLE);
    weir_heap_static(walk->graph, meet(W, walk), type, name, false);
}

/* The metatable of all values of a type, one of which is on top. */
static void root_metatable(lua_State *W, struct walk *walk, const char *name)
{
    bool has_one = lua_getmetatable(W, -1);
    if (has_one)
        root(W, walk, name);
    lua_pop(W, 1);
}

static void roots(lua_State *W, struct walk *walk)
{
    lua_pushvalue(W, LUA_REGISTRYINDEX);
    root(W, walk, "registry");
    lua_pushglobaltable(W);
    root(W, walk, "_G");
    lua_pushvalue(W, KEY_NAME);
    root_metatable(W, walk, "metatable of strings");
    lua_pushnil(W);
    root_metatable(W, walk, "metatable of nil");
    lua_pushboolean(W, 0);
    root_metatable(W, walk, "metatable of booleans");
    lua_pushinteger(W, 0);
    root_metatable(W, walk, "metatable of numbers");
    lua_pushlightuserdata(W, walk);
    root_metatable(W, walk, "metatable of light userdata");
    lua_pushcfunction(W, lua_error);
    root_metatable(W, walk, "metatable of functions");
    lua_pushthread(W);
    root_metatable(W, walk, "metatable of coroutines");
    lua_pushthread(walk->running);
    lua_xmove(walk->running, W, 1);
    weir_heap_root(walk->graph, WEIR_HEAP_ROOT_STACK, 0, meet(W, walk), 0);
}

static int walk_protected(lua_State *W)
{
    struct walk *walk = lua_touserdata(W, WALK);
    lua_createtable(W, LIST_FIRST, 0);
    walk->list = lua_gettop(W);
    name_tables(W, walk);
    roots(W, walk);
    while (walk->count > 0) {
        lua_rawgeti(W, walk->list, walk->count);
        lua_pushnil(W);
        lua_rawseti(W, walk->list, walk->count--);
        object(W, walk);
        lua_settop(W, walk->list);
    }
    return 0;
}

void heap_walk_prepare(lua_State *W)
{
    lua_sethook(W, NULL, 0, 0); /* it may have inherited one */
    lua_pushliteral(W, "__name");
    lua_pushliteral(W, "__mode");
    lua_pushliteral(W, "__index");
}

static void run(lua_State *W, struct walk *walk)
{
    lua_pushcfunction(W, walk_protected);
    for (int slot = KEY_NAME; slot < WALK; slot++)
        lua_pushvalue(W, slot);
    lua_pushlightuserdata(W, walk);
    if (lua_pcall(W, WALK, 0, 0) == LUA_OK)
        return;
    weir_heap_fail(walk->graph, "Lua has no memory for the list of objects");
    lua_pop(W, 1);
}

/* After a collection no weak table refers to an object that nobody else does. */
void heap_walk(lua_State *W, lua_State *running, struct weir_heap_graph *graph)
{
    struct walk walk = {.graph = graph, .running = running};
    walk.types = heap_types_create(graph);
    if (walk.types == NULL) {
        weir_heap_fail(graph, "not enough memory for the names of types");
        return;
    }
    lua_gc(W, LUA_GCCOLLECT);
    int is_running = lua_gc(W, LUA_GCISRUNNING);
    lua_gc(W, LUA_GCSTOP);
    run(W, &walk);
    if (is_running)
        lua_gc(W, LUA_GCRESTART);
    heap_types_destroy(walk.types);
}
