/* The no-block scope: in it, an event that would wait for room is lost. */
#include <weir/trace.h>
#include "base/compiler.h"
#include "lane/thread.h"

WEIR_API void weir_no_block_begin(void)
{
    wr_self.no_block++;
}

WEIR_API void weir_no_block_end(void)
{
    WR_CHECK(wr_self.no_block > 0);
    if (wr_self.no_block > 0)
        wr_self.no_block--;
}
