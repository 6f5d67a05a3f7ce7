/* libweir-null: the interface of libweir, for programs that shall not be traced. weir/disabled.h is its code; the texts of
 * results, losses and versions and the table for plug-ins are those of libweir. */
#include <weir/weir.h>

#define WEIR_DISABLE_RESULT_
#define WEIR_DISABLE_CONTEXT_
#define WEIR_DISABLE_TRACE_
#define WEIR_DISABLE_SESSION_
#define WEIR_DISABLE_SERVER_
#define WEIR_DISABLE_HEAP_
#include <weir/disabled.h>
