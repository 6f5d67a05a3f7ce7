/* Defines and registers the trace point. The first header changes the meaning of the second, so the
 * order matters. */
#include <rte_trace_point_register.h>

#include "peer_dpdk_event.h"

RTE_TRACE_POINT_REGISTER(peer_dpdk_event, peer.event)
