/*
 * For plug-ins that are not linked with the library: the host gives them a table of its functions.
 *
 *     // The host passes weir_functions_get() to the plug-in, by an entry point that the two have.
 *
 *     // In all files of the plug-in, by -DWEIR_PLUGIN or in front of the first header:
 *     #define WEIR_PLUGIN
 *     #include <weir/trace.h>
 *
 *     WEIR_PLUGIN_DEFINE                          // in exactly one C or C++ file
 *     WEIR_PROVIDER_DEFINE(MyPlugin, MYPLUGIN_EVENTS)
 *     static struct weir_provider *provider;
 *
 *     bool myplugin_begin(const struct weir_functions *functions)
 *     {
 *         struct weir_error error;
 *         return weir_plugin_init(functions, WEIR_FUNCTIONS_UP_TO(last_loss), &error) == WEIR_OK &&
 *                weir_provider_register(&weir_provider_MyPlugin, NULL, NULL, &provider, &error) ==
 *                    WEIR_OK;
 *     }
 *
 *     __attribute__((destructor)) static void myplugin_end(void)
 *     {
 *         if (provider)
 *             weir_provider_destroy(provider);
 *     }
 *
 * With WEIR_PLUGIN, all functions of weir/trace.h and the emitters go through the table, and the
 * plug-in has no undefined symbol of the library. An event costs a call through a pointer in the
 * plug-in's data, as a call of a shared library does; a disabled one costs one load, as ever.
 * Sessions are the host's: the functions of weir/session.h are not in the table.
 *
 * The plug-in may be unloaded at any time, while sessions want its events and before they are
 * drained, if it destroys its providers first, as above, and no thread is in its code. The library
 * has copies of all it needs to write them. dlclose() holds the loader's lock meanwhile: a callback
 * of the plug-in that waits for that lock on another thread would never return.
 */
#ifndef WEIR_TRACE_H
#include <weir/trace.h> /* with WEIR_PLUGIN it includes this header, in front of the emitters */
#endif

#ifndef WEIR_PLUGIN_H
#define WEIR_PLUGIN_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The library's functions, without the prefix. The table of a later version has more, at its end;
 * what is there never changes. A plug-in that was compiled with other headers than the host has
 * therefore works: an older one does not look beyond the functions that it knows, and a newer one
 * finds by the size what is missing.
 */
struct weir_functions {
    size_t size;      /* of the library's struct */
    uint32_t version; /* weir_version_number() of the library */
    uint32_t reserved;
    /* Define. */
    __typeof__(weir_provider_register) *provider_register;
    __typeof__(weir_provider_create) *provider_create;
    __typeof__(weir_provider_watch) *provider_watch;
    __typeof__(weir_provider_status) *provider_status;
    __typeof__(weir_provider_destroy) *provider_destroy;
    __typeof__(weir_event_define) *event_define;
    /* Emit a payload in memory, or values. */
    __typeof__(weir_emit) *emit;
    __typeof__(weir_emit_at) *emit_at;
    __typeof__(weir_session_emit) *session_emit;
    __typeof__(weir_event_emit) *event_emit;
    __typeof__(weir_event_emit_at) *event_emit_at;
    /* Emit a payload of a known number of words. */
    __typeof__(weir_emit_words0) *emit_words0;
    __typeof__(weir_emit_words1) *emit_words1;
    __typeof__(weir_emit_words2) *emit_words2;
    __typeof__(weir_emit_words3) *emit_words3;
    __typeof__(weir_emit_words4) *emit_words4;
    __typeof__(weir_emit_words5) *emit_words5;
    __typeof__(weir_emit_words0_at) *emit_words0_at;
    __typeof__(weir_emit_words1_at) *emit_words1_at;
    __typeof__(weir_emit_words2_at) *emit_words2_at;
    __typeof__(weir_emit_words3_at) *emit_words3_at;
    __typeof__(weir_emit_words4_at) *emit_words4_at;
    __typeof__(weir_clock) *clock;
    __typeof__(weir_no_block_begin) *no_block_begin;
    __typeof__(weir_no_block_end) *no_block_end;
    __typeof__(weir_thread_reset) *thread_reset;
    __typeof__(weir_last_loss) *last_loss;
    __typeof__(weir_rundown_register) *rundown_register;
    __typeof__(weir_thread_name_set) *thread_name_set;
    /* What goes with an event. */
    __typeof__(weir_context_push) *context_push;
    __typeof__(weir_context_pop) *context_pop;
    __typeof__(weir_context_swap) *context_swap;
    __typeof__(weir_activity_start) *activity_start;
    __typeof__(weir_activity_stop) *activity_stop;
    __typeof__(weir_stack_hook_set) *stack_hook_set;
    __typeof__(weir_emit_stack) *emit_stack;
    __typeof__(weir_emit_with) *emit_with;
};

/* The table of this copy of the library, which lives as long as the process. Any thread, any
 * context; neither blocks nor allocates. */
WEIR_API const struct weir_functions *weir_functions_get(void);

/* The bytes of a table that ends with this function: what a plug-in needs that uses no later one. */
#define WEIR_FUNCTIONS_UP_TO(function)           \
    (offsetof(struct weir_functions, function) + \
     sizeof WEIR_CAST_(struct weir_functions *, WEIR_NULL_)->function)

#if defined(WEIR_PLUGIN) && defined(WEIR_DISABLE)

__attribute__((unused)) static struct weir_functions weir_plugin;
#define WEIR_PLUGIN_DEFINE
WEIR_NODISCARD static inline enum weir_result
weir_plugin_init(const struct weir_functions *host, size_t bytes_needed, struct weir_error *error)
{
    (void)host;
    (void)bytes_needed;
    (void)error;
    return WEIR_OK;
}

#elif defined(WEIR_PLUGIN)

/* The plug-in's copy of the host's table. A function that the host's library does not have yet is
 * NULL. */
extern __attribute__((visibility("hidden"))) struct weir_functions weir_plugin;
#define WEIR_PLUGIN_DEFINE struct weir_functions weir_plugin;

/*
 * Takes the host's table; nothing else of this header may be called before. `bytes_needed`: by
 * WEIR_FUNCTIONS_UP_TO(); a plug-in that does without functions which older hosts lack names an
 * earlier one, and asks whether weir_plugin.FUNCTION is NULL. One call, before other threads run in
 * the plug-in; neither blocks nor allocates. `error` may be NULL. WEIR_BAD_ARGUMENT: the table is
 * NULL, or of an older library than the plug-in needs.
 */
WEIR_NODISCARD static inline enum weir_result
weir_plugin_init(const struct weir_functions *host, size_t bytes_needed, struct weir_error *error)
{
    static const char text[] =
        "the host's table lacks functions that this plug-in needs: its library is older";
    if (!host || host->size < bytes_needed) {
        if (error)
            __builtin_memcpy(error->text, text, sizeof text);
        return WEIR_BAD_ARGUMENT;
    }
    size_t bytes = host->size < sizeof weir_plugin ? host->size : sizeof weir_plugin;
    __builtin_memcpy(&weir_plugin, host, bytes);
    return WEIR_OK;
}

#define weir_provider_register weir_plugin.provider_register
#define weir_provider_create   weir_plugin.provider_create
#define weir_provider_watch    weir_plugin.provider_watch
#define weir_provider_status   weir_plugin.provider_status
#define weir_provider_destroy  weir_plugin.provider_destroy
#define weir_event_define      weir_plugin.event_define
#define weir_emit              weir_plugin.emit
#define weir_emit_at           weir_plugin.emit_at
#define weir_session_emit      weir_plugin.session_emit
#define weir_event_emit        weir_plugin.event_emit
#define weir_event_emit_at     weir_plugin.event_emit_at
#define weir_emit_words0       weir_plugin.emit_words0
#define weir_emit_words1       weir_plugin.emit_words1
#define weir_emit_words2       weir_plugin.emit_words2
#define weir_emit_words3       weir_plugin.emit_words3
#define weir_emit_words4       weir_plugin.emit_words4
#define weir_emit_words5       weir_plugin.emit_words5
#define weir_emit_words0_at    weir_plugin.emit_words0_at
#define weir_emit_words1_at    weir_plugin.emit_words1_at
#define weir_emit_words2_at    weir_plugin.emit_words2_at
#define weir_emit_words3_at    weir_plugin.emit_words3_at
#define weir_emit_words4_at    weir_plugin.emit_words4_at
#define weir_clock             weir_plugin.clock
#define weir_no_block_begin    weir_plugin.no_block_begin
#define weir_no_block_end      weir_plugin.no_block_end
#define weir_thread_reset      weir_plugin.thread_reset
#define weir_last_loss         weir_plugin.last_loss
#define weir_rundown_register  weir_plugin.rundown_register
#define weir_thread_name_set   weir_plugin.thread_name_set
#define weir_context_push      weir_plugin.context_push
#define weir_context_pop       weir_plugin.context_pop
#define weir_context_swap      weir_plugin.context_swap
#define weir_activity_start    weir_plugin.activity_start
#define weir_activity_stop     weir_plugin.activity_stop
#define weir_stack_hook_set    weir_plugin.stack_hook_set
#define weir_emit_stack        weir_plugin.emit_stack
#define weir_emit_with         weir_plugin.emit_with

#endif

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_PLUGIN_
#include <weir/disabled.h>
#endif
#endif
