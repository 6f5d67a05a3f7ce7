/*
 * For runtimes with a heap: snapshots of it that .NET's tools read, such as dotnet-gcdump and
 * PerfView, and `weir heap`.
 *
 * A tool asks for one by starting a session. The library then asks the host, which walks its heap at
 * its next safe point, once for each session that has asked:
 *
 *     static void request(void *context) { ... make the mutator call weir_heap_serve() soon ... }
 *     static void walk(void *context, struct weir_heap_graph *graph)
 *     {
 *         weir_heap_type(graph, TABLE, "table", 0, 0);
 *         weir_heap_root(graph, WEIR_HEAP_ROOT_STACK, 0, address_of(vm->top), 0);
 *         for (struct object *object = vm->all; object; object = object->next) {
 *             weir_heap_node(graph, address_of(object), object->size, TABLE);
 *             for (...)
 *                 weir_heap_edge(graph, address_of(...)); // of the node before it
 *         }
 *     }
 *     struct weir_heap_host host = WEIR_HEAP_HOST_INIT;
 *     host.request = request;
 *     host.walk = walk;
 *     if (weir_heap_register(&host, &error) != WEIR_OK) ...
 *     ... at each safe point: if (weir_heap_is_due()) weir_heap_serve();
 *
 * What is walked goes to the one session that has asked for it, as events of the provider
 * Microsoft-Windows-DotNETRuntime, so the session of another tool sees nothing of it. A session in
 * BLOCK loses nothing: the walk waits for the drain. In the other modes events may be lost; the
 * snapshot then says so, and should not be trusted beyond its counts. So tools should ask for Block,
 * as `weir heap collect` does.
 */
#ifndef WEIR_HEAP_H
#define WEIR_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/result.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_heap_graph; /* opaque: what a walk tells one session */

/* Start from WEIR_HEAP_HOST_INIT. */
struct weir_heap_host {
    size_t size; /* sizeof(struct weir_heap_host) */
    void *context;
    /* Asks the host to call weir_heap_serve() at its next safe point. Called on the thread that
     * starts a session, or on one of the library's, without any lock of the library; must neither
     * wait nor walk, nor unregister the heap. */
    void (*request)(void *context);
    /* Walks the heap: calls the functions below, in any order, on the thread that has called
     * weir_heap_serve() or weir_heap_walk(). The heap must not change meanwhile. It must not jump
     * out, and may return early if a function has returned false. */
    void (*walk)(void *context, struct weir_heap_graph *graph);
    /* How long a session waits for a safe point. Then it gets an empty snapshot that is marked as
     * incomplete, so that its tool does not wait for ever. Default 5,000. */
    uint32_t safe_point_ms;
    uint32_t reserved; /* 0 */
    /* Most objects that weir_heap_visit() remembers, at 16 bytes each; default 64 million. */
    uint64_t visited_max;
};

/* clang-format off */
#define WEIR_HEAP_HOST_INIT                                                                   \
    {                                                                                         \
        sizeof(struct weir_heap_host), WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, 5000, 0, 64000000u \
    }
/* clang-format on */

/*
 * Registers the host's heap; a process has at most one. Sessions that wanted a snapshot before get
 * one now. Any thread; takes the registry lock; allocates. WEIR_BAD_ARGUMENT (a function is missing,
 * or `reserved` is not 0), WEIR_EXISTS (a heap is registered already, or the host has registered a
 * provider named Microsoft-Windows-DotNETRuntime), and the errors of weir_provider_register().
 * `error` may be NULL.
 */
WEIR_NODISCARD WEIR_API enum weir_result weir_heap_register(const struct weir_heap_host *host,
                                                            struct weir_error *error);

/* Takes the host's heap away. No walk may be under way. Waits for calls of `request` that are under way,
 * so it is not for these. Sessions that are waiting get an empty, marked snapshot when their time is
 * over. */
WEIR_API void weir_heap_unregister(void);

/* Does a session wait for a walk? For safe points: any thread; one relaxed load. */
WEIR_API bool weir_heap_is_due(void);

/*
 * At a safe point: walks for each session that waits, one after the other, and returns how many
 * walks there were. 0 at once if none waits, or if another thread is walking, which then serves the
 * others too. Any thread of the host's that holds no lock which its park hooks or the stream's reader
 * need; waits for the drain in sessions in BLOCK; maps memory for the walk, about 450 KiB. If there
 * is none, the session gets an empty snapshot that is marked as incomplete.
 */
WEIR_API uint32_t weir_heap_serve(void);

/*
 * Walks now, on the host's own account, for each running session that wants the events of heaps
 * (keyword 0x100000), and for those that wait. Otherwise as weir_heap_serve().
 */
WEIR_API uint32_t weir_heap_walk(void);

/*
 * The functions below are called in a walk. When the session has ended they return false and do
 * nothing, and the host may stop walking. Addresses are names of objects: any numbers but 0, of which
 * the tools of .NET want the low two bits and the high byte to be 0. A type's id is any number whose
 * lowest bit is 0. Text is UTF-8, and is cut to 1,000 bytes.
 */

#define WEIR_HEAP_TYPE_ARRAY 0x8u /* shown as "name[]" */

/* A type, once in a walk, before or after its objects. `module`: its id, or 0. */
WEIR_API bool weir_heap_type(struct weir_heap_graph *graph, uint64_t type, const char *name,
                             uint64_t module, uint32_t flags);
/* Names a module, which types belong to: a script, for example. Tools show the last component of
 * its path. The library keeps up to 4,096 modules for the life of the process, with the last 239
 * bytes of each path, and writes them at the end of sessions whose rundown keywords have 0x8. */
WEIR_API bool weir_heap_module(struct weir_heap_graph *graph, uint64_t module, const char *path);

/* An object, once. Its size may be any number of bytes. */
WEIR_API bool weir_heap_node(struct weir_heap_graph *graph, uint64_t address, uint64_t size,
                             uint64_t type);
/* A reference of the last node, also to one that comes later. 0 is passed over. */
WEIR_API bool weir_heap_edge(struct weir_heap_graph *graph, uint64_t target);

enum weir_heap_root_kind {
    WEIR_HEAP_ROOT_STACK = 0,
    WEIR_HEAP_ROOT_FINALIZER = 1,
    WEIR_HEAP_ROOT_HANDLE = 2,
    WEIR_HEAP_ROOT_OTHER = 5
};
#define WEIR_HEAP_ROOT_PINNED   1u
#define WEIR_HEAP_ROOT_WEAK     2u /* does not keep the object */
#define WEIR_HEAP_ROOT_INTERIOR 4u
#define WEIR_HEAP_ROOT_COUNTED  8u

/* `root`: a number of the host's for the place, or 0. */
WEIR_API bool weir_heap_root(struct weir_heap_graph *graph, enum weir_heap_root_kind kind,
                             uint32_t flags, uint64_t object, uint64_t root);
/* A variable with a name, of a type. */
WEIR_API bool weir_heap_static(struct weir_heap_graph *graph, uint64_t object, uint64_t type,
                               const char *name, bool is_thread_local);
/* An entry of a weak table: the value lives as long as the key. */
WEIR_API bool weir_heap_weak(struct weir_heap_graph *graph, uint64_t key, uint64_t value,
                             uint64_t table);

/* For hosts that cannot mark objects: true the first time that the walk calls it for an address. If
 * there are more than visited_max, or no memory, it is false for others, and the snapshot is
 * marked as incomplete. */
WEIR_API bool weir_heap_visit(struct weir_heap_graph *graph, uint64_t address);
/* Marks the snapshot as incomplete, because of something that the host has met. */
WEIR_API void weir_heap_fail(struct weir_heap_graph *graph, const char *reason);

/*
 * The contents of strings, among which `weir heap report --strings` finds duplicates. Only sessions with
 * keyword 0x1000000000000 get them: `weir heap collect --strings` asks for it, dotnet-gcdump does not. Like
 * the other functions of a walk, these take no lock and do not allocate, and may wait for the drain in a
 * session in BLOCK.
 */

/* Does the session want contents? For hosts that would have to convert or assemble the bytes of a string
 * first. The answer is the same throughout a walk. */
WEIR_API bool weir_heap_wants_texts(const struct weir_heap_graph *graph);
/* The contents of the last node, a string; once for each. Any bytes; all `size` of them are read, for a
 * hash, and the session gets that and the first 64, cut between characters if they are UTF-8. `text` may be
 * NULL if `size` is 0. Does nothing if the session wants no contents. */
WEIR_API bool weir_heap_text(struct weir_heap_graph *graph, const void *text, size_t size);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_HEAP_
#include <weir/disabled.h>
#endif

#endif
