/* weir_thread_name_set(). */
#include <weir/trace.h>
#include "event/with.h"
#include "lane/name.h"
#include "lane/thread.h"

WR_COLD WEIR_API enum weir_result weir_thread_name_set(const char *name)
{
    if (wr_self.is_drain)
        return WEIR_BAD_STATE;
    struct wr_thread *thread = wr_context_attach();
    if (!thread)
        return WEIR_NO_MEMORY;
    wr_self_enter();
    wr_thread_name_give(thread, name);
    wr_self_leave();
    return WEIR_OK;
}
