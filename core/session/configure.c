/* The language of weir_configure() and WEIR_SESSION: a text becomes sessions. */
#include "session/configure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "buffers/modes.h"
#include "os/os.h"
#include "wait/strategies.h"

WR_COLD void wr_described_begin(struct wr_described *described)
{
    described->config = weir_session_config_init();
    described->config.unknown_providers_allowed = true;
    described->file[0] = 0;
    described->options = 0;
}

WR_COLD bool wr_described_file(struct wr_described *described, const char *path, const char *mark)
{
    size_t used = 0;
    for (const char *found; (found = strstr(path, mark)) != NULL; path = found + strlen(mark)) {
        int written = snprintf(described->file + used, sizeof described->file - used, "%.*s%u",
                               (int)(found - path), path, wr_os_process_id());
        used += (size_t)written;
        if (used >= sizeof described->file)
            return false;
    }
    int written = snprintf(described->file + used, sizeof described->file - used, "%s", path);
    return used + (size_t)written < sizeof described->file && described->file[0] != 0;
}

/* --- Options. -------------------------------------------------------------------------------- */

WR_COLD static bool set_file(struct wr_described *described, const char *value)
{
    return wr_described_file(described, value, "%p");
}

WR_COLD static bool set_name(struct wr_described *described, const char *value)
{
    described->config.name = value;
    return strlen(value) <= WR_NAME_BYTES_MAX;
}

WR_COLD static bool set_mode(struct wr_described *described, const char *value)
{
    int mode = -1;
#define IS(name, table, word)     \
    if (strcmp(value, word) == 0) \
        mode = WEIR_MODE_##name;
    WR_MODES(IS)
#undef IS
    described->config.mode = (enum weir_mode)mode;
    return mode >= 0;
}

WR_COLD static bool set_wake(struct wr_described *described, const char *value)
{
    int wake = -1;
#define IS(name, table, word, is_ordered) \
    if (strcmp(value, word) == 0)         \
        wake = WEIR_WAKE_##name;
    WR_WAKE_STRATEGIES(IS)
#undef IS
    described->config.wake = (enum weir_wake)wake;
    return wake >= 0;
}

/* Bytes, with K, M or G. */
static bool bytes_take(const char *value, uint64_t *bytes)
{
    static const char units[] = "KMG";
    char number[32];
    size_t length = strlen(value);
    const char *unit = length > 0 ? strchr(units, value[length - 1] & ~0x20) : NULL;
    unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
    length -= shift != 0;
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, value, length);
    number[length] = 0;
    if (!wr_text_number(number, false, bytes) || *bytes > UINT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

WR_COLD static bool set_budget(struct wr_described *described, const char *value)
{
    return bytes_take(value, &described->config.budget_bytes);
}

WR_COLD static bool set_segment(struct wr_described *described, const char *value)
{
    uint64_t bytes = 0;
    bool is_number = bytes_take(value, &bytes) && bytes <= UINT32_MAX;
    described->config.segment_bytes = (uint32_t)bytes;
    return is_number;
}

static bool ms_take(const char *value, uint32_t *ms)
{
    uint64_t number = 0;
    bool is_number = wr_text_number(value, false, &number) && number <= UINT32_MAX;
    *ms = (uint32_t)number;
    return is_number;
}

WR_COLD static bool set_flush(struct wr_described *described, const char *value)
{
    return ms_take(value, &described->config.flush_ms);
}

WR_COLD static bool set_stop(struct wr_described *described, const char *value)
{
    return ms_take(value, &described->config.stop_ms_max);
}

WR_COLD static bool set_block(struct wr_described *described, const char *value)
{
    uint32_t ms;
    bool is_number = ms_take(value, &ms);
    described->config.max_block_ns = (uint64_t)ms * WR_NS_PER_MS;
    return is_number;
}

WR_COLD static bool set_rundown(struct wr_described *described, const char *value)
{
    return wr_text_number(value, false, &described->config.rundown_keywords);
}

WR_COLD static bool set_rundown_at_start(struct wr_described *described, const char *value)
{
    described->config.rundown_at_start = strcmp(value, "1") == 0;
    return strcmp(value, "0") == 0 || strcmp(value, "1") == 0;
}

WR_COLD static bool set_stacks(struct wr_described *described, const char *value)
{
    described->config.no_stacks = strcmp(value, "0") == 0;
    return strcmp(value, "0") == 0 || strcmp(value, "1") == 0;
}

WR_COLD static bool set_format(struct wr_described *described, const char *value)
{
    bool is_6 = strcmp(value, "6") == 0;
    described->config.format = is_6 ? WEIR_FORMAT_NETTRACE_6 : WEIR_FORMAT_NETTRACE_4;
    return is_6 || strcmp(value, "4") == 0;
}

static const struct option {
    const char *key;
    bool (*set)(struct wr_described *described, const char *value);
    const char *expected;
} options[] = {
#define NAME(name, table, word) " " word
    {"mode", set_mode, "a mode, one of" WR_MODES(NAME)},
#undef NAME
#define NAME(name, table, word, is_ordered) " " word
    {"wake", set_wake, "a wake strategy, one of" WR_WAKE_STRATEGIES(NAME)},
#undef NAME
    {"file", set_file, "a path of up to 4,095 bytes; %p stands for the process's id"},
    {"name", set_name, "a name of up to 255 bytes"},
    {"budget", set_budget, "a number of bytes, such as 1M"},
    {"segment", set_segment, "a number of bytes, such as 32K"},
    {"flush_ms", set_flush, "a number of milliseconds"},
    {"stop_ms", set_stop, "a number of milliseconds"},
    {"max_block_ms", set_block, "a number of milliseconds"},
    {"rundown", set_rundown, "keywords, a number such as 0x80020139"},
    {"rundown_at_start", set_rundown_at_start, "0 or 1"},
    {"stacks", set_stacks, "0 or 1"},
    {"format", set_format, "4 or 6, the version of nettrace"},
};

#define OPTION_COUNT (sizeof options / sizeof options[0])

static const struct option *option_find(const char *key)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

/* Takes key=value up to a semicolon or a bar. */
static enum weir_result option_take(struct wr_text *text, struct wr_described *described, char *end,
                                    struct weir_error *error)
{
    char *value, *key = text->at;
    char after_key = wr_text_take(text, "=");
    const struct option *option = option_find(key);
    if (!option || after_key != '=')
        return wr_text_fail(text, key,
                            "an option: mode, wake, file, name, budget, segment, flush_ms, "
                            "stop_ms, max_block_ms, rundown, rundown_at_start, stacks or format, "
                            "then = and a value",
                            error);
    char *field = value = text->at;
    if (*value != '"')
        *end = wr_text_take(text, "");
    else if (!wr_text_take_quoted(text, "", &value, end))
        return wr_text_fail(text, field, "a closing double quote; write those inside twice", error);
    if (!option->set(described, value))
        return wr_text_fail(text, field, option->expected, error);
    uint32_t bit = UINT32_C(1) << (option - options);
    bool is_repeated = (described->options & bit) != 0;
    described->options |= bit;
    return is_repeated ? wr_text_fail(text, key, "each option once in a session", error) : WEIR_OK;
}

/* Two sessions of a process must not replace each other's file. */
static void file_default(struct wr_described *described)
{
    static uint32_t generation, count; /* LOCK(registry) */
    char name[64] = "weir-%p.nettrace";
    wr_registry_lock();
    if (generation != wr_process_generation())
        count = 0;
    generation = wr_process_generation();
    if (++count > 1)
        snprintf(name, sizeof name, "weir-%%p-%u.nettrace", count);
    wr_registry_unlock();
    (void)wr_described_file(described, name, "%p");
}

/* --- Sessions. ------------------------------------------------------------------------------- */

static enum weir_result session_take(struct wr_text *text, struct wr_described *described,
                                     char *end, struct weir_error *error)
{
    wr_described_begin(described);
    enum weir_result result =
        wr_text_take_enables(text, described->entries, &described->config.enable_count, end, error);
    while (result == WEIR_OK && *end == ';')
        result = option_take(text, described, end, error);
    if (result == WEIR_OK && !described->file[0])
        file_default(described);
    return result;
}

/* What the text can say and a configuration cannot have, is found by create. */
static enum weir_result session_create(const struct wr_text *text, const char *start,
                                       struct wr_described *described,
                                       struct wr_described_list *list, struct weir_error *error)
{
    struct weir_error reason = {""};
    enum weir_result result = wr_described_create(described, list, &reason);
    if (result == WEIR_OK)
        return WEIR_OK;
    return wr_fail(error, result, "%s, the session at position %zu: %.180s", text->what,
                   (size_t)(start - text->start) + 1, reason.text);
}

static enum weir_result sessions_take(struct wr_text *text, struct wr_described *described,
                                      struct weir_error *error)
{
    struct wr_described_list list = {NULL, &list.first};
    enum weir_result result;
    char end = 0;
    do {
        const char *start = text->at;
        result = session_take(text, described, &end, error);
        if (result == WEIR_OK)
            result = session_create(text, start, described, &list, error);
    } while (result == WEIR_OK && end == '|');
    return wr_described_start(&list, result, error);
}

WR_COLD enum weir_result wr_configure_text(const char *what, const char *text,
                                           struct weir_error *error)
{
    struct wr_described *described = malloc(sizeof *described + strlen(text) + 1);
    if (!described)
        return wr_fail(error, WEIR_NO_MEMORY, "%s: no memory", what);
    char *copy = strcpy((char *)(described + 1), text);
    struct wr_text taken = {.what = what, .start = copy, .at = copy, .ends = ";|"};
    enum weir_result result = sessions_take(&taken, described, error);
    free(described);
    return result;
}
