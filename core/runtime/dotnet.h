/*
 * The events of .NET's runtime that this library writes: provider, id, version and payload are what
 * .NET's tools go by. The provider is registered once in a process, by whoever first needs it.
 *
 * Source of ids, keywords and payloads: dotnet/runtime, ClrEtwAll.man.
 */
#ifndef WR_RUNTIME_DOTNET_H
#define WR_RUNTIME_DOTNET_H

#include <weir/trace.h>

#define WR_DOTNET_RUNTIME "Microsoft-Windows-DotNETRuntime"
#define WR_DOTNET_RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

#define WR_DOTNET_GC           0x1u
#define WR_DOTNET_LOADER       0x8u
#define WR_DOTNET_TYPE         0x80000u
#define WR_DOTNET_HEAP_DUMP    0x100000u
#define WR_DOTNET_HEAP_COLLECT 0x800000u /* asks for a walk */
/* Ours: above the 48 bits that providers define, so that no keyword of .NET's has it. */
#define WR_DOTNET_HEAP_TEXT UINT64_C(0x1000000000000)

#define WR_DOTNET_CLR 0 /* the number of the runtime in its process */

/* Values are elements, one after the other: heap_walk.c. */
#define WR_DOTNET_EVENTS(EVENT, P)                                                                 \
    EVENT(P, GCStart, 1, 2, WEIR_LEVEL_INFO, WR_DOTNET_GC, (u32, Count), (u32, Depth),             \
          (u32, Reason), (u32, Type), (u16, ClrInstanceID), (u64, ClientSequenceNumber))           \
    EVENT(P, GCEnd, 2, 1, WEIR_LEVEL_INFO, WR_DOTNET_GC, (u32, Count), (u32, Depth),               \
          (u16, ClrInstanceID))                                                                    \
    EVENT(P, BulkType, 15, 0, WEIR_LEVEL_INFO, WR_DOTNET_TYPE, (u32, Count), (u16, ClrInstanceID), \
          (raw, Values))                                                                           \
    EVENT(P, GCBulkRootEdge, 16, 0, WEIR_LEVEL_INFO, WR_DOTNET_HEAP_DUMP, (u32, Index),            \
          (u32, Count), (u16, ClrInstanceID), (raw, Values))                                       \
    EVENT(P, GCBulkRootConditionalWeakTableElementEdge, 17, 0, WEIR_LEVEL_INFO,                    \
          WR_DOTNET_HEAP_DUMP, (u32, Index), (u32, Count), (u16, ClrInstanceID), (raw, Values))    \
    EVENT(P, GCBulkNode, 18, 0, WEIR_LEVEL_INFO, WR_DOTNET_HEAP_DUMP, (u32, Index), (u32, Count),  \
          (u16, ClrInstanceID), (raw, Values))                                                     \
    EVENT(P, GCBulkEdge, 19, 0, WEIR_LEVEL_INFO, WR_DOTNET_HEAP_DUMP, (u32, Index), (u32, Count),  \
          (u16, ClrInstanceID), (raw, Values))                                                     \
    EVENT(P, GCBulkRootStaticVar, 38, 0, WEIR_LEVEL_INFO, WR_DOTNET_HEAP_DUMP, (u32, Count),       \
          (u64, AppDomainID), (u16, ClrInstanceID), (raw, Values))                                 \
    /* Ours, with ids that .NET does not have. */                                                  \
    EVENT(P, HeapIncomplete, 65000, 0, WEIR_LEVEL_INFO, WR_DOTNET_GC, (u32, Count), (u64, Lost),   \
          (str, Reason))                                                                           \
    EVENT(P, HeapText, 65001, 0, WEIR_LEVEL_INFO, WR_DOTNET_HEAP_TEXT, (u32, Index), (u32, Count), \
          (u16, ClrInstanceID), (raw, Values))
WEIR_PROVIDER(DotNet, WR_DOTNET_EVENTS)

#define WR_DOTNET_RUNDOWN_EVENTS(EVENT, P)                                              \
    EVENT(P, ModuleDCEnd, 154, 1, WEIR_LEVEL_INFO, WR_DOTNET_LOADER, (u64, ModuleID),   \
          (u64, AssemblyID), (u32, ModuleFlags), (u32, Reserved1), (str, ModuleILPath), \
          (str, ModuleNativePath), (u16, ClrInstanceID))
WEIR_PROVIDER(DotNetRundown, WR_DOTNET_RUNDOWN_EVENTS)

/* Registers both providers, if that has not been done. Callers have the lock of what they are
 * setting up, not the registry's. */
enum weir_result wr_dotnet_register(struct weir_provider **runtime, struct weir_provider **rundown,
                                    struct weir_error *error);

#endif
