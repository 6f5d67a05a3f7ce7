/* The compiler checks the arguments, and leaves nothing of the events. */
#include <weir/trace.h>

#define VM_KINDS(VALUE) VALUE(Source, 0) VALUE(Binary, 1)
#define VM_EVENTS(EVENT, P)                                                                 \
    EVENT(P, Turn, 1, 0, WEIR_LEVEL_INFO, 0)                                                \
    EVENT(P, Load, 2, 0, WEIR_LEVEL_INFO | WEIR_EVENT_ORDERED, 0x1, (enum(u8, Kind), Kind), \
          (str, Name), (array_u64, Sizes))
WEIR_ENUM(Kind, VM_KINDS)
WEIR_PROVIDER(VM, VM_EVENTS)
WEIR_PROVIDER_DEFINE(VM, VM_EVENTS)

#ifdef WRONG
#define NAME 7
#else
#define NAME "name"
#endif

unsigned int turn(unsigned int count);
unsigned int turn(unsigned int count)
{
    WEIR_EMIT(VM, Turn);
    WEIR_EMIT(VM, Load, 1, (count++, NAME), (const uint64_t *)0, 0);
    if (WEIR_EMIT_AT(count++, VM, Load, 1, NAME, (const uint64_t *)0, 0) ||
        WEIR_EMIT_TO(1, VM, Load, 1, NAME, (const uint64_t *)0, count++) ||
        WEIR_EMIT_AT(count++, VM, Turn) || WEIR_EMIT_TO(count++, VM, Turn))
        count++;
    return count;
}
