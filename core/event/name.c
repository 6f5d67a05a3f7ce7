/* weir_thread_name_set(). */
#include <weir/trace.h>
#include "event/registry.h"
#include "lane/name.h"
#include "lane/thread.h"
#include "os/os.h"

WR_COLD WEIR_API enum weir_result weir_thread_name_set(const char *name)
{
    if (wr_self.is_drain)
        return WEIR_BAD_STATE;
    wr_init();
    wr_self_enter();
    wr_self.patience_ns = WR_PATIENCE_NS;
    if (!wr_self.thread)
        wr_os_module_keep(); /* the thread's exit calls into it */
    struct wr_thread *thread = wr_thread_attach();
    if (thread)
        wr_thread_name_give(thread, name);
    wr_self_leave();
    return thread ? WEIR_OK : WEIR_NO_MEMORY;
}
