/* Checks every field of a configuration, and copies it into the session. */
#include "session/session.h"

#include <stddef.h>
#include <string.h>
#include "base/host_struct.h"
#include "buffers/modes.h"
#include "session/enables.h"
#include "wait/strategies.h"

#define FLUSH_MS_MAX 60000u

static enum weir_result sizes_check(const struct weir_session_config *config,
                                    struct weir_error *error)
{
    uint32_t segment = config->segment_bytes;
    if (segment < WR_SEGMENT_BYTES_MIN || segment > WR_SEGMENT_BYTES_MAX ||
        (segment & (segment - 1)))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "segment_bytes is %u; it must be a power of two from %u to %u", segment,
                       WR_SEGMENT_BYTES_MIN, WR_SEGMENT_BYTES_MAX);
    if (config->budget_bytes < 2 * (uint64_t)segment || config->budget_bytes > WR_BUDGET_BYTES_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "budget_bytes is %llu; it must be from two segments (%u bytes) to 64 GiB",
                       (unsigned long long)config->budget_bytes, 2 * segment);
    if (config->flush_ms == 0 || config->flush_ms > FLUSH_MS_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "flush_ms is %u; it must be from 1 to %u",
                       config->flush_ms, FLUSH_MS_MAX);
    if (config->stop_ms_max == 0 || config->stop_ms_max > WR_STOP_MS_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "stop_ms_max is %u; it must be from 1 to %u",
                       config->stop_ms_max, WR_STOP_MS_MAX);
    if (config->format != WEIR_FORMAT_NETTRACE_4 && config->format != WEIR_FORMAT_NETTRACE_6)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "format is %u; it is NETTRACE_4 (0) or NETTRACE_6 (6)", config->format);
    if (config->stack_bytes &&
        (config->stack_bytes < WR_STACK_BYTES_MIN || config->stack_bytes > WR_STACK_BYTES_MAX))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "stack_bytes is %u; it must be 0, or from %u to %u", config->stack_bytes,
                       WR_STACK_BYTES_MIN, WR_STACK_BYTES_MAX);
    return WEIR_OK;
}

/* Refuses unknown values, so that a later version can give them a meaning. */
static enum weir_result mode_check(const struct weir_session_config *config,
                                   struct weir_error *error)
{
#ifdef WEIR_SINGLE_THREADED
    if (config->mode == WEIR_MODE_BLOCK)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "mode: BLOCK needs a drain thread, and this library is built with "
                       "WEIR_SINGLE_THREADED; use DROP or OVERWRITE");
#endif
#define IS(name, table, word)   || config->mode == WEIR_MODE_##name
#define NAME(name, table, word) " " #name
    if (!(false WR_MODES(IS)))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "mode is %d; it is one of" WR_MODES(NAME),
                       (int)config->mode);
#undef IS
#undef NAME
    if (config->mode != WEIR_MODE_BLOCK &&
        (config->max_block_ns || config->wake || config->grant_bytes || config->on_park ||
         config->stop_serves_waiting))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "max_block_ns, wake, grant_bytes, on_park and stop_serves_waiting are for "
                       "mode BLOCK only");
#define NAME(name, table, word, is_ordered) " " #name
    if ((uint32_t)config->wake >= WR_WAKE_COUNT)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "wake is %d; it is one of" WR_WAKE_STRATEGIES(NAME), (int)config->wake);
#undef NAME
    if (config->wake != WEIR_WAKE_RELAY && config->grant_bytes)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "grant_bytes is %llu; it is for RELAY only",
                       (unsigned long long)config->grant_bytes);
    if (config->grant_bytes &&
        (config->grant_bytes < config->segment_bytes ||
         config->grant_bytes > wr_max_u64(config->budget_bytes / 4, config->segment_bytes)))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "grant_bytes is %llu; it must be 0, or from a segment (%u bytes) to a "
                       "quarter of the budget",
                       (unsigned long long)config->grant_bytes, config->segment_bytes);
    return WEIR_OK;
}

WR_COLD enum weir_result wr_sink_check(const struct weir_sink *sink, uint64_t memory_bytes_max,
                                       struct weir_error *error)
{
    _Static_assert(sizeof *sink == 64, "configurations embed it");
    if (sink->size != sizeof *sink)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "sink.size is %zu; start from WEIR_SINK_INIT",
                       sink->size);
    if (sink->reserved_word || sink->reserved[0] || sink->reserved[1] || sink->reserved[2])
        return wr_fail(error, WEIR_BAD_ARGUMENT, "sink: what is reserved is not 0");
    int sinks = (sink->file != NULL) + (sink->descriptor >= 0) + (sink->write != NULL) +
                (memory_bytes_max != 0);
    if (sinks != 1)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "%d sinks; name exactly one of file, descriptor, write, or a session's "
                       "memory_bytes_max",
                       sinks);
    if (sink->file && !sink->file[0])
        return wr_fail(error, WEIR_BAD_ARGUMENT, "file is an empty path");
    return WEIR_OK;
}

WR_COLD enum weir_result wr_session_config_take(struct weir_session_config *own,
                                                const struct weir_session_config *host,
                                                struct weir_error *error)
{
    static const struct wr_host_struct kind = {"config", "WEIR_SESSION_CONFIG_INIT", 208,
                                               sizeof *own};
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    static const uint8_t zeros[sizeof own->reserved_end];
    /* A host without the field cannot clear it, and its start did not wait for the drain. */
    if (result == WEIR_OK && host->size <= offsetof(struct weir_session_config, rundown_at_start))
        own->rundown_at_start = false;
    if (result == WEIR_OK && (own->reserved || own->reserved_6[0] || own->reserved_6[1] ||
                              memcmp(own->reserved_end, zeros, sizeof zeros) != 0))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "config.reserved is not 0");
    if (result == WEIR_OK && !own->allocate != !own->release)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "allocate and release come together");
    return result;
}

static enum weir_result name_take(struct weir_session *session, const char *name,
                                  struct weir_error *error)
{
    if (name && strnlen(name, sizeof session->name) == sizeof session->name)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "name: over %d bytes", WR_NAME_BYTES_MAX);
    strcpy(session->name, name ? name : "");
    return WEIR_OK;
}

WR_COLD enum weir_result wr_session_configure(struct weir_session *session,
                                              const struct weir_session_config *config,
                                              struct weir_error *error)
{
    session->config = *config;
    session->config.providers = session->config.sink.file = NULL; /* the caller's; not kept */
    session->config.enables = NULL;
    session->config.name = NULL;
    session->config.rundown_at_start =
        config->rundown_at_start && config->rundown_keywords && config->mode != WEIR_MODE_OVERWRITE;
    session->sink_kind = config->memory_bytes_max ? WEIR_SINK_MEMORY
                         : config->sink.file      ? WEIR_SINK_FILE
                         : config->sink.write     ? WEIR_SINK_WRITE
                                                  : WEIR_SINK_DESCRIPTOR;
    enum weir_result result = sizes_check(config, error);
    if (result == WEIR_OK)
        result = mode_check(config, error);
    if (result == WEIR_OK)
        result = wr_sink_check(&config->sink, config->memory_bytes_max, error);
    if (result == WEIR_OK)
        result = name_take(session, config->name, error);
    if (result == WEIR_OK)
        result = wr_enables_take(config, &session->interest, error);
    return result;
}
