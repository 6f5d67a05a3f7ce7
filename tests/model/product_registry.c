#include "product_session.h"

#include "os/clock.h"
#include "os/os.h"
#include "buffers/buffers.h"
#include "product.h"
#include "product_locks.h"

static struct weir_event *the_event;
static const struct wr_event_definition *the_definition;
static bool sink_fails;
static void (*sink_shows)(const void *bytes, uint64_t count);
static pthread_mutex_t registry_lock;
struct wr_u64 wr_mask_marker;
struct wr_ptr wr_definitions;
static struct wr_ptr definitions[WR_EVENT_INDEX_MAX + 1];
struct wr_u64 wr_slot_ids[WR_SESSIONS_MAX];
struct wr_u64 wr_slots_lingering;

/* Like wr_slots_on_membarrier_error(). */
static void on_membarrier_error(void)
{
    struct wr_buffers *buffers = wr_ptr_load_relaxed(&wr_buffers_by_slot[0]);
    wr_registry_disable(0, UINT64_MAX);
    buffers->mode->send_away(buffers, UINT64_MAX);
    wr_bell_ring(&buffers->bell);
}

void product_event(struct weir_event *event, const struct wr_event_definition *definition)
{
    wr_threads_on_membarrier_error = on_membarrier_error;
    model_lend(&registry_lock, sizeof registry_lock);
    model_lend(&wr_mask_marker, sizeof wr_mask_marker);
    model_lend(&wr_slots_lingering, sizeof wr_slots_lingering);
    model_name(&registry_lock, "registry lock");
    model_name(&wr_slots_lingering, "lingering");
    struct wr_ptr *entry = &definitions[definition->index];
    model_lend(entry, sizeof *entry);
    model_lend(&wr_definitions, sizeof wr_definitions);
    /* relaxed, twice: no thread runs yet */
    wr_ptr_store_relaxed(entry, (void *)(uintptr_t)definition);
    wr_ptr_store_relaxed(&wr_definitions, definitions);
    the_event = event;
    the_definition = definition;
    sink_fails = false;
    sink_shows = NULL;
}

void product_marker(uint64_t bit)
{
    wr_u64_store_relaxed(&wr_mask_marker, bit);
}

void product_sink_fails(void)
{
    sink_fails = true;
}

void product_sink_shows(void (*to)(const void *bytes, uint64_t count))
{
    sink_shows = to;
}

/* --- The registry. --------------------------------------------------------------------------- */

const struct wr_event_definition *wr_event_definition(uint32_t index)
{
    model_check(index == the_definition->index);
    return the_definition;
}

void wr_registry_enable(uint32_t slot, struct wr_interest *interest)
{
    (void)interest;
    pthread_mutex_lock(&registry_lock);
    uint64_t marker = wr_u64_load_relaxed(&wr_mask_marker); /* relaxed: set in setup() */
    wr_event_enable(the_event, UINT64_C(1) << slot | marker);
    pthread_mutex_unlock(&registry_lock);
}

bool wr_registry_disable(uint32_t slot, uint64_t limit_ns)
{
    (void)slot;
    (void)limit_ns;
    pthread_mutex_lock(&registry_lock);
    wr_event_enable(the_event, 0);
    pthread_mutex_unlock(&registry_lock);
    return true;
}

bool wr_registry_linger(uint32_t slot, bool lingers, uint64_t limit_ns)
{
    (void)limit_ns;
    pthread_mutex_lock(&registry_lock);
    wr_lingering_store(slot, lingers);
    pthread_mutex_unlock(&registry_lock);
    return true;
}

bool wr_registry_give_slot(uint32_t slot, uint64_t limit_ns)
{
    (void)limit_ns;
    wr_ptr_store_release(&wr_buffers_by_slot[slot], NULL);
    return true;
}

enum weir_result wr_registry_take_slot(struct wr_buffers *buffers, uint64_t session_id,
                                       uint32_t *slot, struct weir_error *error)
{
    (void)session_id;
    (void)error;
    *slot = 0;
    wr_ptr_store_release(&wr_buffers_by_slot[0], buffers);
    return WEIR_OK;
}

void wr_environment_read(void)
{
}

void wr_registry_run_callbacks(uint64_t limit_ns)
{
    (void)limit_ns;
}

bool wr_interest_wants(const struct wr_interest *interest,
                       const struct wr_event_definition *definition)
{
    (void)interest;
    (void)definition;
    return true;
}

void wr_sessions_add(struct weir_session *session)
{
    (void)session;
}

bool wr_sessions_remove(struct weir_session *session, uint64_t deadline_ns)
{
    (void)session;
    (void)deadline_ns;
    return true;
}

void wr_sessions_set_starting(struct weir_session *session, bool is_starting)
{
    (void)session;
    (void)is_starting;
}

bool wr_sessions_is_starting(struct weir_session *session)
{
    (void)session;
    return false;
}

void wr_interest_release(struct wr_interest *interest)
{
    (void)interest;
}

void wr_init(void)
{
}

uint32_t wr_process_generation(void)
{
    return 0;
}

/* --- The sink, and what else a session needs to start. --------------------------------------- */

bool wr_stream_write(struct wr_stream *stream, const void *bytes, uint64_t count)
{
    if (sink_shows)
        sink_shows(bytes, count);
    stream->sent += count;
    stream->has_failed |= sink_fails;
    return !stream->has_failed;
}

enum weir_result wr_stream_open(struct wr_stream *stream, const struct weir_sink *sink,
                                uint64_t memory_bytes_max, struct weir_error *error)
{
    (void)stream;
    (void)sink;
    (void)memory_bytes_max;
    (void)error;
    return WEIR_OK;
}

enum weir_result wr_stream_publish(struct wr_stream *stream, struct weir_error *error)
{
    (void)stream;
    (void)error;
    return WEIR_OK;
}

void wr_stream_finish(struct wr_stream *stream)
{
    (void)stream;
}

void wr_stream_close(struct wr_stream *stream)
{
    (void)stream;
}

void wr_stream_close_inherited(struct wr_stream *stream)
{
    (void)stream;
}

enum weir_result wr_session_config_take(struct weir_session_config *own,
                                        const struct weir_session_config *host,
                                        struct weir_error *error)
{
    (void)own;
    (void)host;
    (void)error;
    return WEIR_OK;
}

enum weir_result wr_session_configure(struct weir_session *session,
                                      const struct weir_session_config *config,
                                      struct weir_error *error)
{
    (void)session;
    (void)config;
    (void)error;
    return WEIR_OK;
}

const char *weir_version(void)
{
    return "model";
}

enum weir_result wr_fail(struct weir_error *error, enum weir_result result, const char *format, ...)
{
    (void)error;
    (void)format;
    return result;
}

uint64_t wr_clock_frequency_hz(void)
{
    return 1000000000u;
}

void wr_clock_read_pair(uint64_t *ticks, uint64_t *realtime_ns)
{
    *ticks = *realtime_ns = 0;
}

void wr_os_module_keep(void)
{
}

int wr_os_thread_start(const char *name, void *(*run)(void *), void *argument)
{
    (void)name;
    (void)run;
    (void)argument;
    return 0;
}

/* --- Mode OVERWRITE. ------------------------------------------------------------------------- */

const struct wr_drain_way wr_recorder;
