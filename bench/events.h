/* The events of the benchmarks: four 64-bit fields are the payload that tracers are compared by. */
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include <weir/trace.h>

#define BENCH_EVENTS(EVENT, P)                                                               \
    EVENT(P, Bytes0, 1, 0, WEIR_LEVEL_INFO, 0x1)                                             \
    EVENT(P, Bytes16, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B))                        \
    EVENT(P, Bytes32, 3, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D))    \
    EVENT(P, Bytes128, 4, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D),   \
          (u64, E), (u64, F), (u64, G), (u64, H), (u64, I), (u64, J), (u64, K), (u64, L),    \
          (u64, M), (u64, N), (u64, O), (u64, Q))                                            \
    EVENT(P, Bytes8, 5, 0, WEIR_LEVEL_INFO, 0x1, (u64, A))                                   \
    EVENT(P, Bytes1024, 6, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D),  \
          (array_u8, Data))                                                                  \
    EVENT(P, Ordered32, 7, 0, WEIR_LEVEL_INFO | WEIR_EVENT_ORDERED, 0x1, (u64, A), (u64, B), \
          (u64, C), (u64, D))
WEIR_PROVIDER(WeirBench, BENCH_EVENTS)

/* No session enables this event. */
#define BENCH_OFF_EVENTS(EVENT, P) \
    EVENT(P, Bytes32, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D))
WEIR_PROVIDER(WeirBenchOff, BENCH_OFF_EVENTS)

#endif
