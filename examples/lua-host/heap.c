#include "heap.h"

#include "heap_walk.h"
#include "safepoint.h"

#include <weir/heap.h>

#include <stddef.h>
#include <stdio.h>

static lua_State *walker; /* its stack is the walk's, and is no part of what is walked */
static lua_State *running;

static void request(void *unused)
{
    (void)unused;
    safepoint_request();
}

static void walk(void *unused, struct weir_heap_graph *graph)
{
    (void)unused;
    heap_walk(walker, running, graph);
}

void heap_open(lua_State *L)
{
    struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
    struct weir_error error = {""};
    walker = lua_newthread(L);
    heap_walk_prepare(walker);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &walker);
    host.request = request;
    host.walk = walk;
    if (weir_heap_register(&host, &error) != WEIR_OK)
        fprintf(stderr, "lua-host: no snapshots of the heap: %s\n", error.text);
}

void heap_serve(lua_State *L)
{
    if (!weir_heap_is_due())
        return;
    running = L;
    weir_heap_serve();
}

void heap_close(void)
{
    weir_heap_unregister();
}
