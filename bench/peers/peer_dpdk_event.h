/* The event as a DPDK trace point. Included once with and once without registration: see the
 * library's rte_trace_point_register.h. */
#ifndef BENCH_PEER_DPDK_EVENT_H
#define BENCH_PEER_DPDK_EVENT_H

#include <rte_trace_point.h>
#include <stdint.h>

RTE_TRACE_POINT(peer_dpdk_event,
                RTE_TRACE_POINT_ARGS(uint64_t a, uint64_t b, uint64_t c, uint64_t d),
                rte_trace_point_emit_u64(a);
                rte_trace_point_emit_u64(b); rte_trace_point_emit_u64(c);
                rte_trace_point_emit_u64(d);)

#endif
