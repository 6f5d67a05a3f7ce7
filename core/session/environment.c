/*
 * Sessions of the environment: WEIR_SESSION, and the names that .NET's users know. Read once in a
 * process, when the first provider is registered; a forked child reads them again only if it asks.
 */
#include "session/configure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "os/copies.h"
#include "os/os.h"

#define DOTNET_FILE_DEFAULT "trace.nettrace"
#define DOTNET_MB_DEFAULT   1024u
#define DOTNET_MB_MAX       65536u

/* --- The names of .NET. ---------------------------------------------------------------------- */

/* A number as .NET reads it: hexadecimal. Without the variable, the value stays. */
static enum weir_result number_take(const char *name, uint64_t *value, uint64_t least,
                                    uint64_t most, const char *expected, struct weir_error *error)
{
    const char *text = wr_os_environment(name);
    if (!text || !*text)
        return WEIR_OK;
    if (wr_text_number(text, true, value) && *value >= least && *value <= most)
        return WEIR_OK;
    return wr_fail(error, WEIR_BAD_ARGUMENT, "%s, position 1: '%.60s': expected %s", name, text,
                   expected);
}

static enum weir_result dotnet_numbers_take(struct weir_session_config *config,
                                            struct weir_error *error)
{
    uint64_t mb = DOTNET_MB_DEFAULT, mode = 0, streams = 1, rundown = 1;
    enum weir_result result = number_take("DOTNET_EventPipeCircularMB", &mb, 1, DOTNET_MB_MAX,
                                          "a budget in MB, hexadecimal, from 1 to 10000", error);
    if (result == WEIR_OK)
        result = number_take("DOTNET_EventPipeBufferingMode", &mode, 0, 1, "0 (drop) or 1 (block)",
                             error);
    /* Both stream: a session that writes its file at the end would lose what its budget cannot hold. */
    if (result == WEIR_OK)
        result = number_take("DOTNET_EventPipeOutputStreaming", &streams, 0, 1, "0 or 1", error);
    if (result == WEIR_OK)
        result = number_take("DOTNET_EventPipeRundown", &rundown, 0, 1, "0 or 1", error);
    config->budget_bytes = mb << 20;
    config->mode = mode ? WEIR_MODE_BLOCK : WEIR_MODE_DROP;
    if (!rundown)
        config->rundown_keywords = 0;
    return result;
}

static enum weir_result dotnet_providers_take(struct wr_described *described, char *copy,
                                              struct weir_error *error)
{
    static const char name[] = "DOTNET_EventPipeConfig";
    struct wr_text text = {.what = name, .start = copy, .at = copy, .ends = "", .is_hex = true};
    char end;
    return wr_text_take_enables(&text, described->entries, &described->config.enable_count, &end,
                                error);
}

static enum weir_result dotnet_describe(struct wr_described *described, char *copy,
                                        struct weir_error *error)
{
    const char *path = wr_os_environment("DOTNET_EventPipeOutputPath");
    wr_described_begin(described);
    if (!wr_described_file(described, path && *path ? path : DOTNET_FILE_DEFAULT, "{pid}"))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "DOTNET_EventPipeOutputPath, position 4096: expected a shorter path");
    enum weir_result result = dotnet_numbers_take(&described->config, error);
    return result == WEIR_OK ? dotnet_providers_take(described, copy, error) : result;
}

static enum weir_result dotnet_configure(struct weir_error *error)
{
    uint64_t is_on = 0;
    enum weir_result result = number_take("DOTNET_EnableEventPipe", &is_on, 0, 1, "0 or 1", error);
    if (result != WEIR_OK || !is_on)
        return result;
    const char *providers = wr_os_environment("DOTNET_EventPipeConfig");
    if (!providers || !*providers)
        providers = "*"; /* .NET's own defaults are providers that only .NET has */
    struct wr_described *described = malloc(sizeof *described + strlen(providers) + 1);
    if (!described)
        return wr_fail(error, WEIR_NO_MEMORY, "DOTNET_EnableEventPipe: no memory");
    struct wr_described_list list = {NULL, &list.first};
    result = dotnet_describe(described, strcpy((char *)(described + 1), providers), error);
    if (result == WEIR_OK)
        result = wr_described_create(described, &list, error);
    free(described);
    return wr_described_start(&list, result, error);
}

/* --- Once. ----------------------------------------------------------------------------------- */

/* Generation G of the process: 2 G + 1 while it reads its environment, and one more when it has; less
 * than that: only its parents have. */
static struct wr_u32 reading;

static uint32_t reading_of_this_process(void)
{
    return 2 * wr_process_generation() + 1;
}

static void reading_end(void)
{
    wr_self.is_configuring = false;
    /* edge ENVIRONMENT.release */
    wr_u32_store_release(&reading, reading_of_this_process() + 1);
    wr_os_futex_wake_all(&reading);
}

/* True: this thread reads the environment now. Otherwise it has been read: a thread that finds it
 * being read waits, unless it does that itself, and is in a provider's callback. */
static bool reading_begin(bool is_asked)
{
    /* edge ENVIRONMENT.acquire */
    uint32_t own = reading_of_this_process(), found = wr_u32_load_acquire(&reading);
    while (found < own && (is_asked || found == 0))
        if (wr_u32_cas_acq_rel(&reading, &found, own)) {
            wr_self.is_configuring = true;
            return true;
        }
    if (found == own && !wr_self.is_configuring)
        wr_session_wait_hooked(&reading, own, UINT64_MAX);
    return false;
}

static enum weir_result own_configure(struct weir_error *error)
{
    const char *text = wr_os_environment("WEIR_SESSION");
    return text && *text ? wr_configure_text("WEIR_SESSION", text, error) : WEIR_OK;
}

/* The message is for both: the one that asks, and the line on stderr. */
static enum weir_result copy_check(struct weir_error *error)
{
    return wr_copies_check("only that one reads the environment, and sessions of one copy get no "
                           "events of the other",
                           error);
}

static enum weir_result both_configure(struct weir_error *error)
{
    enum weir_result result = own_configure(error);
    enum weir_result dotnet = dotnet_configure(result == WEIR_OK ? error : NULL);
    return result == WEIR_OK ? dotnet : result;
}

static void complain(enum weir_result result, const struct weir_error *error)
{
    if (result != WEIR_OK)
        fprintf(stderr, "weir: %s\n", error->text);
}

WR_COLD void wr_environment_read(void)
{
    struct weir_error error = {""};
    bool has_begun = wr_u32_load_acquire(&reading) != 0;
    enum weir_result result = has_begun ? WEIR_OK : copy_check(&error);
    if (!reading_begin(false))
        return;
    complain(result, &error);
    if (result == WEIR_OK) {
        complain(own_configure(&error), &error);
        complain(dotnet_configure(&error), &error);
    }
    reading_end();
}

WR_COLD enum weir_result weir_configure(const char *text, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    wr_init();
    if (text)
        return wr_configure_text("configuration", text, error);
    enum weir_result result = copy_check(error);
    if (!reading_begin(true))
        return result;
    if (result == WEIR_OK)
        result = both_configure(error);
    reading_end();
    return result;
}
