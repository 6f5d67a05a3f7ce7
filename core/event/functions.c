/* The table of functions for plug-ins that are not linked with the library. */
#include <weir/plugin.h>
#include <weir/version.h>

static const struct weir_functions functions = {
    .size = sizeof functions,
    .version = WEIR_VERSION_NUMBER,
    .provider_register = weir_provider_register,
    .provider_create = weir_provider_create,
    .provider_watch = weir_provider_watch,
    .provider_status = weir_provider_status,
    .provider_destroy = weir_provider_destroy,
    .event_define = weir_event_define,
    .emit = weir_emit,
    .emit_at = weir_emit_at,
    .session_emit = weir_session_emit,
    .event_emit = weir_event_emit,
    .event_emit_at = weir_event_emit_at,
    .emit_words0 = weir_emit_words0,
    .emit_words1 = weir_emit_words1,
    .emit_words2 = weir_emit_words2,
    .emit_words3 = weir_emit_words3,
    .emit_words4 = weir_emit_words4,
    .emit_words5 = weir_emit_words5,
    .emit_words0_at = weir_emit_words0_at,
    .emit_words1_at = weir_emit_words1_at,
    .emit_words2_at = weir_emit_words2_at,
    .emit_words3_at = weir_emit_words3_at,
    .emit_words4_at = weir_emit_words4_at,
    .clock = weir_clock,
    .no_block_begin = weir_no_block_begin,
    .no_block_end = weir_no_block_end,
    .thread_reset = weir_thread_reset,
    .last_loss = weir_last_loss,
    .rundown_register = weir_rundown_register,
    .thread_name_set = weir_thread_name_set,
    .context_push = weir_context_push,
    .context_pop = weir_context_pop,
    .context_swap = weir_context_swap,
    .activity_start = weir_activity_start,
    .activity_stop = weir_activity_stop,
    .stack_hook_set = weir_stack_hook_set,
    .emit_stack = weir_emit_stack,
    .emit_with = weir_emit_with,
};

const struct weir_functions *weir_functions_get(void)
{
    return &functions;
}
