/* Checks every field of a configuration, and copies it into the session. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/host_struct.h"
#include "buffers/modes.h"
#include "wait/strategies.h"

#define BUDGET_BYTES_MAX (UINT64_C(64) << 30)
#define FLUSH_MS_MAX     60000u
#define STOP_MS_MAX      600000u

/* Parses "0xff" or "255". All of the text must be the number. */
static bool parse_u64(const char *text, size_t length, uint64_t *value)
{
    char copy[32];
    if (length == 0 || length >= sizeof copy || text[0] < '0' || text[0] > '9')
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end;
    bool is_hex = length > 2 && copy[0] == '0' && (copy[1] == 'x' || copy[1] == 'X');
    errno = 0;
    *value = strtoull(copy, &end, is_hex ? 16 : 10);
    return *end == 0 && errno == 0;
}

/* Parses one "Name[:keywords[:level]]" of `length` bytes. */
static enum weir_result filter_parse(struct wr_filter *filter, const char *text, size_t length,
                                     struct weir_error *error)
{
    int shown = length > 100 ? 100 : (int)length;
    const char *end = text + length;
    const char *first = memchr(text, ':', length);
    const char *name_end = first ? first : end;
    size_t name_length = (size_t)(name_end - text);
    if (name_length == 0 || name_length > WR_NAME_BYTES_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: '%.*s' has no name, or one over %d bytes; write "
                       "Name:keywords:level",
                       shown, text, WR_NAME_BYTES_MAX);
    memcpy(filter->name, text, name_length);
    filter->name[name_length] = 0;
    filter->keywords = UINT64_MAX;
    filter->level = WEIR_LEVEL_VERBOSE;
    if (!first)
        return WEIR_OK;
    const char *keywords = first + 1, *second = memchr(keywords, ':', (size_t)(end - keywords));
    const char *keywords_end = second ? second : end;
    if (keywords_end > keywords &&
        !parse_u64(keywords, (size_t)(keywords_end - keywords), &filter->keywords))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: '%.*s': keywords must be a number, such as 0xff", shown, text);
    uint64_t level = WEIR_LEVEL_VERBOSE;
    if (second &&
        (!parse_u64(second + 1, (size_t)(end - second - 1), &level) || level > WEIR_LEVEL_VERBOSE))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: '%.*s': the level must be a number from 0 to 5", shown, text);
    filter->level = (uint8_t)level;
    return WEIR_OK;
}

static enum weir_result filters_parse(struct weir_session *session, const char *text,
                                      struct weir_error *error)
{
    uint32_t count = 0;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        if (count == WR_FILTERS_MAX)
            return wr_fail(error, WEIR_BAD_ARGUMENT, "providers: more than %d are named",
                           WR_FILTERS_MAX);
        enum weir_result result = filter_parse(&session->filters[count++], text, length, error);
        if (result != WEIR_OK)
            return result;
        text += length;
        if (*text == ',' && !*++text)
            return wr_fail(error, WEIR_BAD_ARGUMENT, "providers: nothing follows the last comma");
    }
    if (count == 0)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: none named; write \"Name:keywords:level\"");
    session->interest.filters = session->filters;
    session->interest.count = count;
    return WEIR_OK;
}

static enum weir_result providers_check(const struct weir_session *session,
                                        struct weir_error *error)
{
    for (uint32_t i = 0; i < session->interest.count && !session->config.unknown_providers_allowed;
         i++)
        if (!wr_provider_exists(session->filters[i].name))
            return wr_fail(error, WEIR_NOT_FOUND,
                           "providers: there is no provider '%.100s'; set "
                           "unknown_providers_allowed to wait for it",
                           session->filters[i].name);
    return WEIR_OK;
}

static enum weir_result sizes_check(const struct weir_session_config *config,
                                    struct weir_error *error)
{
    uint32_t segment = config->segment_bytes;
    if (segment < WR_SEGMENT_BYTES_MIN || segment > WR_SEGMENT_BYTES_MAX ||
        (segment & (segment - 1)))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "segment_bytes is %u; it must be a power of two from %u to %u", segment,
                       WR_SEGMENT_BYTES_MIN, WR_SEGMENT_BYTES_MAX);
    if (config->budget_bytes < 2 * (uint64_t)segment || config->budget_bytes > BUDGET_BYTES_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "budget_bytes is %llu; it must be from two segments (%u bytes) to 64 GiB",
                       (unsigned long long)config->budget_bytes, 2 * segment);
    if (config->flush_ms == 0 || config->flush_ms > FLUSH_MS_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "flush_ms is %u; it must be from 1 to %u",
                       config->flush_ms, FLUSH_MS_MAX);
    if (config->stop_ms_max == 0 || config->stop_ms_max > STOP_MS_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "stop_ms_max is %u; it must be from 1 to %u",
                       config->stop_ms_max, STOP_MS_MAX);
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
        (config->max_block_ns || config->wake || config->grant_bytes || config->on_park))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "max_block_ns, wake, grant_bytes and on_park are for mode BLOCK only");
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

enum weir_result wr_sink_check(const struct weir_sink *sink, uint64_t memory_bytes_max,
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

enum weir_result wr_session_config_take(struct weir_session_config *own,
                                        const struct weir_session_config *host,
                                        struct weir_error *error)
{
    static const struct wr_host_struct kind = {"config", "WEIR_SESSION_CONFIG_INIT", 208,
                                               sizeof *own};
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    if (result == WEIR_OK && own->reserved)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "config.reserved is not 0");
    if (result == WEIR_OK && !own->allocate != !own->release)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "allocate and release come together");
    return result;
}

enum weir_result wr_session_configure(struct weir_session *session,
                                      const struct weir_session_config *config,
                                      struct weir_error *error)
{
    enum weir_result result = sizes_check(config, error);
    if (result == WEIR_OK)
        result = mode_check(config, error);
    if (result == WEIR_OK)
        result = wr_sink_check(&config->sink, config->memory_bytes_max, error);
    if (result == WEIR_OK)
        result = filters_parse(session, config->providers, error);
    session->config = *config;
    session->config.providers = session->config.sink.file = NULL; /* the caller's; not kept */
    if (result == WEIR_OK)
        result = providers_check(session, error);
    return result;
}
