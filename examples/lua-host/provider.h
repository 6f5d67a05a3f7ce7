/*
 * The events of provider `Lua`: one list, from which the library makes the metadata and an emit
 * function for each. README.md lists what the events do not show.
 *
 * Identities. A FunctionId is a small number, given at the first call of a function, never reused,
 * and explained by `Function`. A Coroutine is the address of its lua_State, the main thread's
 * included; an address may be reused after its coroutine was collected, and `CoroutineCreate` shows
 * when.
 *
 * Calls, allocation and collections come from instruments, which are there only while a session
 * wants them, and come and go at safe points of the thread that runs Lua:
 *   Attach          the instruments for these keywords of this session are there: at the start, or
 *                   after the session was started or updated. Coroutine is the one that runs,
 *                   HeapBytes what Lua's allocator holds. What a Free gives back that has no Alloc
 *                   in the stream is older
 *   Frame           a function that Coroutine has entered before this session got its calls, and not
 *                   left: it has a Return and no Call. From the outermost one to the innermost one
 *                   (Level 0); of more than 1,000, the innermost. They come after Attach for the
 *                   coroutine that runs, and for each other one when it next gets control
 * Calls (0x1), by the debug hook:
 *   Call, TailCall  a function was entered; after TailCall the caller's frame is gone
 *   Return          a function returned; frames that an error unwinds have none
 *   Function        what a FunctionId is: at the start of a session those that are older, each other
 *                   one at first sight, and all of them again at the end.
 *                   Kind is "Lua", "C" or "main"; Line is -1 for C functions
 * Allocation (0x2), by the state's allocator:
 *   Alloc           a new block, or one moved or resized (OldAddress not 0, which then ends the old
 *                   one); Type is Lua's type tag of a new object, 255 where Lua tells none
 *   Free            a block was given back
 * Gc (0x4), by a finalizer:
 *   GCCycle         a collection has ended; HeapBytes is what Lua's allocator holds just then
 * Errors (0x8), where an error is caught (pcall, xpcall, coroutine.resume and close, the host):
 *   Error           Kind is "runtime", "syntax", "memory", "handler" or "file". Has a stack
 *                   (stacks.h), for which Function has these keywords too
 * Loader (0x10), by the functions that load, and the host's own loading:
 *   ChunkLoad       Lua source or bytecode was compiled or refused; Bytes is the size of the text
 * Coroutines (0x20), by the functions that switch:
 *   CoroutineCreate a coroutine exists
 *   CoroutineResume From gave control to Coroutine
 *   CoroutineYield  Coroutine gave control to To: it yielded, or it ended (Finished), normally, by
 *                   an error, or closed while it was suspended
 */
#ifndef LUA_HOST_PROVIDER_H
#define LUA_HOST_PROVIDER_H

#include <weir/trace.h>

#define LUA_CALLS      0x1
#define LUA_ALLOCATION 0x2
#define LUA_GC         0x4
#define LUA_ERRORS     0x8
#define LUA_LOADER     0x10
#define LUA_COROUTINES 0x20

/* clang-format off */
#define LUA_EVENTS(EVENT, P)                                                                       \
    EVENT(P, Call, 1, 0, WEIR_LEVEL_VERBOSE, LUA_CALLS, (u64, FunctionId), (u64, Coroutine))       \
    EVENT(P, Return, 2, 0, WEIR_LEVEL_VERBOSE, LUA_CALLS, (u64, FunctionId), (u64, Coroutine))     \
    EVENT(P, TailCall, 3, 0, WEIR_LEVEL_VERBOSE, LUA_CALLS, (u64, FunctionId), (u64, Coroutine))   \
    EVENT(P, Function, 4, 0, WEIR_LEVEL_INFO, LUA_CALLS | LUA_ERRORS,                              \
          (u64, FunctionId), (str, Name), (str, File), (i32, Line), (str, Kind))                   \
    EVENT(P, Alloc, 5, 0, WEIR_LEVEL_VERBOSE, LUA_ALLOCATION,                                      \
          (u64, Address), (u64, Bytes), (u8, Type), (u64, OldAddress), (u64, OldBytes))            \
    EVENT(P, Free, 6, 0, WEIR_LEVEL_VERBOSE, LUA_ALLOCATION, (u64, Address), (u64, Bytes))         \
    EVENT(P, GCCycle, 7, 0, WEIR_LEVEL_INFO, LUA_GC, (u32, Count), (u64, HeapBytes))               \
    EVENT(P, Error, 8, 0, WEIR_LEVEL_WARNING, LUA_ERRORS, (str, Message), (str, Kind))             \
    EVENT(P, ChunkLoad, 9, 0, WEIR_LEVEL_INFO, LUA_LOADER, (str, Name), (u64, Bytes), (bool, Ok))  \
    EVENT(P, CoroutineCreate, 10, 0, WEIR_LEVEL_INFO, LUA_COROUTINES, (u64, Coroutine))            \
    EVENT(P, CoroutineResume, 11, 0, WEIR_LEVEL_INFO, LUA_COROUTINES,                              \
          (u64, Coroutine), (u64, From))                                                           \
    EVENT(P, CoroutineYield, 12, 0, WEIR_LEVEL_INFO, LUA_COROUTINES,                               \
          (u64, Coroutine), (u64, To), (bool, Finished))                                           \
    EVENT(P, Attach, 13, 0, WEIR_LEVEL_INFO, LUA_CALLS | LUA_ALLOCATION | LUA_GC,                  \
          (u64, Keywords), (u64, HeapBytes), (u64, Coroutine))                                     \
    EVENT(P, Frame, 14, 0, WEIR_LEVEL_VERBOSE, LUA_CALLS,                                          \
          (u64, FunctionId), (u64, Coroutine), (u32, Level))
/* clang-format on */

WEIR_PROVIDER(Lua, LUA_EVENTS)

/* True if a running session has enabled the event. */
#define LUA_WANTS(Name) weir_event_is_enabled(&weir_events_Lua.Name)

#endif
