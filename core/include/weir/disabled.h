/*
 * The functions of the library where nothing is traced: in a program that is compiled with
 * WEIR_DISABLE, where each header includes its part of this one, and in libweir-null, whose source
 * this is (null/null.c). Hosts do not include it themselves.
 *
 * What a host does to be traced succeeds and has no effect; the environment is not read. A host that
 * asks for a trace itself, by a session or a server, gets WEIR_SYSTEM and a text that says why. The
 * clock stands at 0. weir_plugin_init() takes any table and uses none. No function blocks, allocates,
 * starts a thread, or calls one of the host's.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifdef __cplusplus
extern "C" {
#endif

#ifdef WEIR_DISABLE_RESULT_
#undef WEIR_DISABLE_RESULT_
WEIR_API enum weir_loss weir_last_loss(void)
{
    return WEIR_LOSS_FULL;
}
#ifdef WEIR_DISABLE /* libweir-null has the words of libweir */
WEIR_API const char *weir_loss_name(enum weir_loss cause)
{
    return "DISABLED";
}
WEIR_API const char *weir_result_text(enum weir_result result)
{
    return result == WEIR_OK ? "ok" : "tracing is disabled";
}
#endif
#endif

#ifdef WEIR_DISABLE_VERSION_
#undef WEIR_DISABLE_VERSION_
#define WEIR_TEXT_(number)  WEIR_TEXT2_(number)
#define WEIR_TEXT2_(number) #number
WEIR_API const char *weir_version(void)
{
    return WEIR_TEXT_(WEIR_VERSION_MAJOR) "." WEIR_TEXT_(WEIR_VERSION_MINOR) "." WEIR_TEXT_(
        WEIR_VERSION_PATCH);
}
WEIR_API uint32_t weir_version_number(void)
{
    return WEIR_VERSION_NUMBER;
}
#endif

#ifdef WEIR_DISABLE_CONTEXT_
#undef WEIR_DISABLE_CONTEXT_
WEIR_API void weir_context_push(struct weir_context *context)
{
}
WEIR_API void weir_context_pop(void)
{
}
WEIR_API struct weir_context *weir_context_swap(struct weir_context *newest)
{
    return WEIR_CAST_(struct weir_context *, WEIR_NULL_);
}
WEIR_API void weir_activity_start(struct weir_activity *activity)
{
}
WEIR_API void weir_activity_stop(struct weir_activity *activity)
{
}
WEIR_API enum weir_result weir_stack_hook_set(const struct weir_stack_hook *hook)
{
    return WEIR_OK;
}
WEIR_API bool weir_emit_stack(const struct weir_event *event, const void *payload)
{
    return false;
}
WEIR_API bool weir_emit_with(const struct weir_event *event, const void *payload,
                             const struct weir_context *context)
{
    return false;
}
#endif

#ifdef WEIR_DISABLE_TRACE_
#undef WEIR_DISABLE_TRACE_
/* What WEIR_EMIT calls, so that its value may be ignored as ever. */
__attribute__((unused)) static inline bool weir_disabled_emit_(bool is_written)
{
    return is_written;
}
/* Behind each pointer that a host may read, and the handle of each provider. All zeros for ever. */
__attribute__((unused)) static inline void *weir_disabled_(void)
{
    static uint64_t zeros[4];
    return zeros;
}
__attribute__((unused)) static inline enum weir_result
weir_disabled_provider_(struct weir_provider **provider)
{
    if (provider)
        *provider = WEIR_CAST_(struct weir_provider *, weir_disabled_());
    return WEIR_OK;
}
WEIR_API void weir_no_block_begin(void)
{
}
WEIR_API void weir_no_block_end(void)
{
}
WEIR_API enum weir_result
weir_provider_register(const struct weir_provider_declaration *declaration,
                       weir_provider_callback callback, void *context,
                       struct weir_provider **provider, struct weir_error *error)
{
    return weir_disabled_provider_(provider);
}
WEIR_API enum weir_result weir_provider_create(const char *name, weir_provider_callback callback,
                                               void *context, struct weir_provider **provider,
                                               struct weir_error *error)
{
    return weir_disabled_provider_(provider);
}
WEIR_API enum weir_result weir_provider_watch(struct weir_provider *provider,
                                              weir_provider_watcher watcher, void *context,
                                              struct weir_error *error)
{
    return WEIR_OK;
}
WEIR_API enum weir_result weir_rundown_register(struct weir_provider *provider,
                                                weir_rundown_source source, void *context,
                                                struct weir_error *error)
{
    return WEIR_OK;
}
WEIR_API const struct weir_status *weir_provider_status(const struct weir_provider *provider)
{
    return WEIR_CAST_(const struct weir_status *, weir_disabled_());
}
WEIR_API enum weir_result weir_event_define(struct weir_provider *provider,
                                            const struct weir_schema *schema,
                                            struct weir_event **event, struct weir_error *error)
{
    if (!event)
        return WEIR_BAD_ARGUMENT;
    *event = WEIR_CAST_(struct weir_event *, weir_disabled_());
    return WEIR_OK;
}
WEIR_API void weir_provider_destroy(struct weir_provider *provider)
{
}
WEIR_API bool weir_emit(const struct weir_event *event, const void *payload)
{
    return false;
}
WEIR_API bool weir_session_emit(uint64_t session_id, const struct weir_event *event,
                                const void *payload)
{
    return false;
}
WEIR_API bool weir_emit_words0(const struct weir_event *event)
{
    return false;
}
WEIR_API bool weir_emit_words1(const struct weir_event *event, uint64_t word0)
{
    return false;
}
WEIR_API bool weir_emit_words2(const struct weir_event *event, uint64_t word0, uint64_t word1)
{
    return false;
}
WEIR_API bool weir_emit_words3(const struct weir_event *event, uint64_t word0, uint64_t word1,
                               uint64_t word2)
{
    return false;
}
WEIR_API bool weir_emit_words4(const struct weir_event *event, uint64_t word0, uint64_t word1,
                               uint64_t word2, uint64_t word3)
{
    return false;
}
WEIR_API bool weir_emit_words5(const struct weir_event *event, uint64_t word0, uint64_t word1,
                               uint64_t word2, uint64_t word3, uint64_t word4)
{
    return false;
}
WEIR_API uint64_t weir_clock(void)
{
    return 0;
}
WEIR_API bool weir_emit_at(const struct weir_event *event, uint64_t stamp, const void *payload)
{
    return false;
}
WEIR_API bool weir_emit_words0_at(const struct weir_event *event, uint64_t stamp)
{
    return false;
}
WEIR_API bool weir_emit_words1_at(const struct weir_event *event, uint64_t stamp, uint64_t word0)
{
    return false;
}
WEIR_API bool weir_emit_words2_at(const struct weir_event *event, uint64_t stamp, uint64_t word0,
                                  uint64_t word1)
{
    return false;
}
WEIR_API bool weir_emit_words3_at(const struct weir_event *event, uint64_t stamp, uint64_t word0,
                                  uint64_t word1, uint64_t word2)
{
    return false;
}
WEIR_API bool weir_emit_words4_at(const struct weir_event *event, uint64_t stamp, uint64_t word0,
                                  uint64_t word1, uint64_t word2, uint64_t word3)
{
    return false;
}
WEIR_API void weir_thread_reset(void)
{
}
WEIR_API enum weir_result weir_thread_name_set(const char *name)
{
    return WEIR_OK;
}
WEIR_API bool weir_event_emit(const struct weir_event *event, const struct weir_value *values,
                              uint32_t count, uint32_t value_bytes)
{
    return false;
}
WEIR_API bool weir_event_emit_at(const struct weir_event *event, uint64_t stamp,
                                 const struct weir_value *values, uint32_t count,
                                 uint32_t value_bytes)
{
    return false;
}
#endif

#if defined(WEIR_DISABLE_SESSION_) || defined(WEIR_DISABLE_SERVER_)
#ifndef WEIR_DISABLED_REFUSE_
#define WEIR_DISABLED_REFUSE_
__attribute__((unused)) static inline enum weir_result
weir_disabled_refuse_(struct weir_error *error)
{
#ifdef WEIR_DISABLE
    static const char text[] = "this program is compiled with WEIR_DISABLE and traces nothing";
#else
    static const char text[] = "libweir-null traces nothing: link libweir instead";
#endif
    if (error)
        __builtin_memcpy(error->text, text, sizeof text);
    return WEIR_SYSTEM;
}
#endif
#endif

#ifdef WEIR_DISABLE_SESSION_
#undef WEIR_DISABLE_SESSION_
WEIR_API enum weir_result weir_session_create(const struct weir_session_config *config,
                                              struct weir_session **session,
                                              struct weir_error *error)
{
    return weir_disabled_refuse_(error);
}
WEIR_API enum weir_result weir_session_start(struct weir_session *session, struct weir_error *error)
{
    return weir_disabled_refuse_(error);
}
WEIR_API enum weir_result weir_session_stop(struct weir_session *session, struct weir_error *error)
{
    return weir_disabled_refuse_(error);
}
WEIR_API enum weir_result weir_session_poll(struct weir_session *session, struct weir_error *error)
{
    return WEIR_OK;
}
WEIR_API enum weir_result weir_session_destroy(struct weir_session *session)
{
    return WEIR_OK;
}
WEIR_API enum weir_result weir_session_update(struct weir_session *session,
                                              const struct weir_enable *enables,
                                              uint32_t enable_count, uint32_t enable_bytes,
                                              struct weir_error *error)
{
    return weir_disabled_refuse_(error);
}
WEIR_API enum weir_result weir_configure(const char *text, struct weir_error *error)
{
    return text ? weir_disabled_refuse_(error) : WEIR_OK;
}
WEIR_API enum weir_result weir_session_stats(struct weir_session *session, struct weir_stats *stats)
{
    return WEIR_SYSTEM;
}
WEIR_API enum weir_result weir_session_thread_stats(struct weir_session *session,
                                                    struct weir_thread_table *table)
{
    return WEIR_SYSTEM;
}
WEIR_API uint64_t weir_session_id(const struct weir_session *session)
{
    return 0;
}
WEIR_API enum weir_result weir_session_stop_id(uint64_t session_id, struct weir_error *error)
{
    weir_disabled_refuse_(error);
    return WEIR_NOT_FOUND;
}
WEIR_API enum weir_result weir_session_list(struct weir_session_table *table)
{
    if (!table)
        return WEIR_BAD_ARGUMENT;
    table->session_count = 0;
    return WEIR_OK;
}
WEIR_API enum weir_result weir_session_snapshot(struct weir_session *session,
                                                const struct weir_sink *sink, uint64_t last_ns,
                                                struct weir_error *error)
{
    return weir_disabled_refuse_(error);
}
WEIR_API enum weir_result weir_park_hooks_set(const struct weir_park_hooks *hooks)
{
    return WEIR_OK;
}
WEIR_API enum weir_result weir_session_memory(struct weir_session *session, const void **bytes,
                                              uint64_t *count)
{
    return WEIR_SYSTEM;
}
#endif

#ifdef WEIR_DISABLE_SERVER_
#undef WEIR_DISABLE_SERVER_
WEIR_API enum weir_result weir_server_start(const struct weir_server_config *config,
                                            struct weir_error *error)
{
    return config && config->only_if_asked ? WEIR_OK : weir_disabled_refuse_(error);
}
WEIR_API enum weir_result weir_server_wait_for_resume(struct weir_error *error)
{
    return WEIR_OK;
}
WEIR_API enum weir_result weir_server_stop(struct weir_error *error)
{
    return WEIR_OK;
}
WEIR_API enum weir_result weir_server_status(struct weir_server_info *info)
{
    if (!info)
        return WEIR_BAD_ARGUMENT;
    info->is_running = info->is_suspended = false;
    info->connections = info->sessions = info->ports = 0;
    info->path[0] = 0;
    return WEIR_OK;
}
#endif

#ifdef WEIR_DISABLE_HEAP_
#undef WEIR_DISABLE_HEAP_
WEIR_API enum weir_result weir_heap_register(const struct weir_heap_host *host,
                                             struct weir_error *error)
{
    return WEIR_OK;
}
WEIR_API void weir_heap_unregister(void)
{
}
WEIR_API bool weir_heap_is_due(void)
{
    return false;
}
WEIR_API uint32_t weir_heap_serve(void)
{
    return 0;
}
WEIR_API uint32_t weir_heap_walk(void)
{
    return 0;
}
WEIR_API bool weir_heap_type(struct weir_heap_graph *graph, uint64_t type, const char *name,
                             uint64_t module, uint32_t flags)
{
    return false;
}
WEIR_API bool weir_heap_module(struct weir_heap_graph *graph, uint64_t module, const char *path)
{
    return false;
}
WEIR_API bool weir_heap_node(struct weir_heap_graph *graph, uint64_t address, uint64_t size,
                             uint64_t type)
{
    return false;
}
WEIR_API bool weir_heap_edge(struct weir_heap_graph *graph, uint64_t target)
{
    return false;
}
WEIR_API bool weir_heap_root(struct weir_heap_graph *graph, enum weir_heap_root_kind kind,
                             uint32_t flags, uint64_t object, uint64_t root)
{
    return false;
}
WEIR_API bool weir_heap_static(struct weir_heap_graph *graph, uint64_t object, uint64_t type,
                               const char *name, bool is_thread_local)
{
    return false;
}
WEIR_API bool weir_heap_weak(struct weir_heap_graph *graph, uint64_t key, uint64_t value,
                             uint64_t table)
{
    return false;
}
WEIR_API bool weir_heap_visit(struct weir_heap_graph *graph, uint64_t address)
{
    return false;
}
WEIR_API void weir_heap_fail(struct weir_heap_graph *graph, const char *reason)
{
}
WEIR_API bool weir_heap_wants_texts(const struct weir_heap_graph *graph)
{
    return false;
}
WEIR_API bool weir_heap_text(struct weir_heap_graph *graph, const void *text, size_t size)
{
    return false;
}
#endif

#ifdef WEIR_DISABLE_PLUGIN_
#undef WEIR_DISABLE_PLUGIN_
WEIR_API const struct weir_functions *weir_functions_get(void)
{
    return WEIR_NULL_; /* which weir_plugin_init() refuses */
}
#endif

#ifdef __cplusplus
}
#endif
#pragma GCC diagnostic pop
