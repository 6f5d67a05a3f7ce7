/*
 * What a session wants: checks the host's array of struct weir_enable, or makes one of its text,
 * and copies it.
 */
#include "session/enables.h"

#include <stdlib.h>
#include <string.h>
#include "base/host_struct.h"
#include "session/text.h"

#define ENABLE_BYTES_FIRST 40 /* of the first version; never changes */
#define EVENT_IDS_MAX      65536u
/* .NET marks its own sessions with these bits. They are ignored, unless all 64 bits are set. */
#define KEYWORDS_RESERVED UINT64_C(0x0000f00000000000)

/* --- The array. ------------------------------------------------------------------------------ */

/* The host's entries are as far apart as its headers say. */
static struct weir_enable entry_at(const struct weir_session_config *config, uint32_t index)
{
    struct weir_enable entry = WEIR_ENABLE_INIT;
    const unsigned char *entries = (const unsigned char *)config->enables;
    memcpy(&entry, entries + (size_t)index * config->enable_bytes, config->enable_bytes);
    return entry;
}

static enum weir_result entry_check(const struct weir_enable *entry, uint32_t index,
                                    struct weir_error *error)
{
    if (!wr_name_is_valid(entry->provider))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: entry %u has no name, or one over %d bytes; write "
                       "Name:keywords:level",
                       index + 1, WR_NAME_BYTES_MAX);
    if (entry->level > WEIR_LEVEL_VERBOSE)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: '%.100s': the level is %u; it must be from 0 to 5",
                       entry->provider, entry->level);
    if (entry->event_id_count > EVENT_IDS_MAX || (entry->event_id_count && !entry->event_ids))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: '%.100s': %u event ids; at most %u, and not at NULL",
                       entry->provider, entry->event_id_count, EVENT_IDS_MAX);
    if (entry->arguments &&
        strnlen(entry->arguments, WR_ARGUMENTS_BYTES_MAX + 1) > WR_ARGUMENTS_BYTES_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: '%.100s': arguments of more than %u bytes", entry->provider,
                       WR_ARGUMENTS_BYTES_MAX);
    if (entry->reserved[0] || entry->reserved[1])
        return wr_fail(error, WEIR_BAD_ARGUMENT, "enable.reserved is not 0");
    return WEIR_OK;
}

static enum weir_result array_check(const struct weir_session_config *config,
                                    struct weir_error *error)
{
    if (config->enable_count > WR_ENABLES_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "providers: %u are named; at most %u",
                       config->enable_count, WR_ENABLES_MAX);
    if (!config->enables || config->enable_count == 0)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "providers: none named; write \"Name:keywords:level\", or set enables");
    if (!wr_host_size_is_known(config->enable_bytes, ENABLE_BYTES_FIRST,
                               sizeof(struct weir_enable)))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "enable_bytes is %u; start from WEIR_SESSION_CONFIG_INIT",
                       config->enable_bytes);
    enum weir_result result = WEIR_OK;
    for (uint32_t i = 0; i < config->enable_count && result == WEIR_OK; i++) {
        struct weir_enable entry = entry_at(config, i);
        result = entry_check(&entry, i, error);
    }
    return result;
}

/* --- The session's own filters. -------------------------------------------------------------- */

/* What follows the filters in their memory. */
struct room {
    uint16_t *ids;
    char *text;
};

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *text_keep(struct room *room, const char *text)
{
    size_t bytes = text_bytes(text);
    char *kept = room->text;
    memcpy(kept, text, bytes);
    room->text += bytes;
    return kept;
}

static int compare_ids(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static uint64_t keywords_of(uint64_t keywords)
{
    if (keywords != UINT64_MAX)
        keywords &= ~KEYWORDS_RESERVED;
    return keywords ? keywords : UINT64_MAX;
}

static void filter_fill(struct wr_filter *filter, const struct weir_enable *entry,
                        struct room *room)
{
    filter->name = text_keep(room, entry->provider);
    filter->name_hash = wr_name_hash(filter->name);
    filter->is_for_all = strcmp(filter->name, "*") == 0;
    filter->keywords = keywords_of(entry->keywords);
    filter->level = entry->level ? entry->level : WEIR_LEVEL_VERBOSE;
    filter->arguments = entry->arguments ? text_keep(room, entry->arguments) : NULL;
    filter->ids_are_allowed = entry->event_ids_allowed;
    filter->event_ids = room->ids;
    filter->event_id_count = entry->event_id_count;
    if (entry->event_id_count == 0)
        return;
    memcpy(room->ids, entry->event_ids, entry->event_id_count * sizeof *room->ids);
    qsort(room->ids, entry->event_id_count, sizeof *room->ids, compare_ids);
    room->ids += entry->event_id_count;
}

/* An interest with room for what `config` names. */
static struct wr_interest *interest_new(const struct weir_session_config *config, struct room *room)
{
    uint32_t count = config->enable_count;
    size_t id_count = 0, bytes = sizeof(struct wr_interest) + count * sizeof(struct wr_filter);
    for (uint32_t i = 0; i < count; i++) {
        struct weir_enable entry = entry_at(config, i);
        id_count += entry.event_id_count;
        bytes += text_bytes(entry.provider) + text_bytes(entry.arguments);
    }
    bytes += id_count * sizeof *room->ids;
    struct wr_interest *interest = malloc(bytes);
    if (!interest)
        return NULL;
    interest->references = 1;
    interest->count = count;
    room->ids = (uint16_t *)(interest->filters + count);
    room->text = (char *)(room->ids + id_count);
    return interest;
}

static enum weir_result exist_check(const struct wr_interest *interest, struct weir_error *error)
{
    for (uint32_t i = 0; i < interest->count; i++)
        if (!interest->filters[i].is_for_all && !wr_provider_exists(interest->filters[i].name))
            return wr_fail(error, WEIR_NOT_FOUND,
                           "providers: there is no provider '%.100s'; set "
                           "unknown_providers_allowed to wait for it",
                           interest->filters[i].name);
    return WEIR_OK;
}

static enum weir_result array_take(const struct weir_session_config *config,
                                   struct wr_interest **out, struct weir_error *error)
{
    struct room room;
    enum weir_result result = array_check(config, error);
    if (result != WEIR_OK)
        return result;
    struct wr_interest *interest = interest_new(config, &room);
    if (!interest)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for %u providers", config->enable_count);
    for (uint32_t i = 0; i < config->enable_count; i++) {
        struct weir_enable entry = entry_at(config, i);
        filter_fill(&interest->filters[i], &entry, &room);
    }
    if (!config->unknown_providers_allowed)
        result = exist_check(interest, error);
    if (result == WEIR_OK)
        *out = interest;
    else
        free(interest);
    return result;
}

/* Makes an array of the text, in memory for as many entries as it can have. */
static enum weir_result list_take(const struct weir_session_config *config,
                                  struct wr_interest **out, struct weir_error *error)
{
    size_t entries_max = 1;
    for (const char *c = config->providers; *c; c++)
        entries_max += *c == ',' && entries_max < WR_ENABLES_MAX;
    struct weir_enable *entries =
        malloc(entries_max * sizeof *entries + strlen(config->providers) + 1);
    if (!entries)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for %zu providers", entries_max);
    struct weir_session_config made = *config;
    made.enables = entries;
    made.enable_bytes = sizeof *entries;
    char end, *copy = strcpy((char *)(entries + entries_max), config->providers);
    struct wr_text text = {.what = "providers", .start = copy, .at = copy, .ends = ""};
    enum weir_result result = wr_text_take_enables(&text, entries, &made.enable_count, &end, error);
    if (result == WEIR_OK)
        result = array_take(&made, out, error);
    free(entries);
    return result;
}

WR_COLD enum weir_result wr_enables_take(const struct weir_session_config *config,
                                         struct wr_interest **interest, struct weir_error *error)
{
    if (config->providers && config->enables)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "set providers or enables, not both");
    return config->providers ? list_take(config, interest, error)
                             : array_take(config, interest, error);
}

WR_COLD enum weir_result weir_session_update(struct weir_session *session,
                                             const struct weir_enable *enables,
                                             uint32_t enable_count, uint32_t enable_bytes,
                                             struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!session || session->generation != wr_process_generation())
        return wr_fail(error, WEIR_BAD_STATE, "no session, or a session of the parent process");
    struct weir_session_config config = session->config;
    config.enables = enables;
    config.enable_count = enable_count;
    config.enable_bytes = enable_bytes;
    struct wr_interest *interest;
    enum weir_result result = array_take(&config, &interest, error);
    if (result != WEIR_OK)
        return result;
    if (!wr_registry_update(session->slot, &session->interest, interest)) {
        wr_interest_release(interest);
        return wr_fail(error, WEIR_BAD_STATE, "the session does not run, or its sink has failed");
    }
    wr_registry_run_callbacks(UINT64_MAX);
    return WEIR_OK;
}
