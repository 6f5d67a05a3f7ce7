/* The clock for hosts that stamp their events themselves. */
#include <weir/trace.h>
#include "base/compiler.h"
#include "os/clock.h"

/* A call, and not inline in the host: which clock it is is decided at run time, and a call costs
 * little beside the reading. */
WEIR_API uint64_t weir_clock(void)
{
    uint32_t kind = wr_u32_load_relaxed(&wr_clock.kind); /* relaxed: changes once, from NONE */
    if (WR_LIKELY(kind == WR_CLOCK_COUNTER))
        return wr_clock_counter();
    return kind == WR_CLOCK_SYSTEM ? wr_os_clock_ns() : 0;
}
