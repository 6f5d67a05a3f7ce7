/* The options by which commands find a process and say what they want of it. */
#include "collect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_MB_DEFAULT 256
#define SECONDS_MAX       1e9
#define ANSWER_S_DEFAULT  30
#define ANSWER_S_MAX      3600

/* What dotnet-trace asks for by default. A host of Weir that has none of it gives its own. */
#define PROVIDERS_DEFAULT                                                               \
    "Microsoft-Windows-DotNETRuntime:100003801d:4,Microsoft-DotNETCore-SampleProfiler:" \
    "f00000000000:4"

static bool parse_duration(const char *text, int64_t *ms)
{
    char *end;
    double seconds = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end || !(seconds >= 0.001 && seconds <= SECONDS_MAX)) {
        wt_complain("--duration needs a number of seconds above 0, not \"%s\"", text);
        return false;
    }
    *ms = (int64_t)(seconds * 1000);
    return true;
}

bool wt_collect_parse_limited(const char *option, const char *text, uint64_t max, uint64_t *out)
{
    if (!wt_parse_count(option, text, out))
        return false;
    if (*out > 0 && *out <= max)
        return true;
    wt_complain("%s is from 1 to %" PRIu64 ", not %s", option, max, text);
    return false;
}

static bool parse_providers(struct wt_collect_options *options, const char *text)
{
    struct wt_ipc_error error;
    wt_ipc_providers_fini(&options->providers);
    if (!wt_ipc_providers_parse(&options->providers, text, &error)) {
        wt_complain("--providers: %s", error.text);
        return false;
    }
    options->collect.providers = options->providers.items;
    options->collect.provider_count = options->providers.count;
    return true;
}

bool wt_collect_options_init(struct wt_collect_options *options, const char *caller)
{
    memset(options, 0, sizeof(*options));
    options->caller = caller;
    options->collect.budget_mb = BUDGET_MB_DEFAULT;
    options->collect.rundown = WT_IPC_RUNDOWN_DEFAULT;
    options->answer_s = ANSWER_S_DEFAULT;
    return parse_providers(options, PROVIDERS_DEFAULT);
}

static bool parse_mode(const char *text, bool *block)
{
    *block = strcmp(text, "block") == 0;
    if (*block || strcmp(text, "drop") == 0)
        return true;
    wt_complain("--mode is drop or block, not \"%s\"", text);
    return false;
}

bool wt_collect_take_option(struct wt_collect_options *options, int option, const char *text)
{
    uint64_t number;
    switch (option) {
    case 'j':
        return options->as_json = true;
    case 'o':
        options->output = text;
        return true;
    case 'm':
        return parse_mode(text, &options->collect.block);
    case 'b':
        if (!wt_collect_parse_limited("--budget", text, UINT32_MAX, &number))
            return false;
        options->collect.budget_mb = (uint32_t)number;
        return true;
    case WT_OPTION_PID:
        if (!wt_collect_parse_limited("-p", text, INT32_MAX, &number))
            return false;
        options->pid = (pid_t)number;
        return true;
    case WT_OPTION_NAME:
        options->name = text;
        return true;
    case WT_OPTION_PORT:
        options->port = text;
        return true;
    case WT_OPTION_PROVIDERS:
        options->names_providers = true;
        return parse_providers(options, text);
    case WT_OPTION_TIMEOUT:
        if (!wt_collect_parse_limited("--timeout", text, ANSWER_S_MAX, &number))
            return false;
        options->answer_s = (uint32_t)number;
        return true;
    case WT_OPTION_DURATION:
        return parse_duration(text, &options->duration_ms);
    default:
        return false; /* there is no other */
    }
}

int wt_collect_processes(const struct wt_collect_options *options)
{
    return (options->pid != 0) + (options->name != NULL) + (options->port != NULL);
}

void wt_collect_options_fini(struct wt_collect_options *options)
{
    wt_ipc_providers_fini(&options->providers);
}
