/* Defines and registers the trace point. This header changes what the other one means, so it comes
 * first. */
#include <rte_trace_point_register.h>

#include "peer_dpdk_event.h"

RTE_TRACE_POINT_REGISTER(peer_dpdk_event, peer.event)
