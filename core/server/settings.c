/* The server's configuration: the host's, and the environment's. */
#include "server/server.h"

#include <stdio.h>
#include <string.h>
#include "base/host_struct.h"
#include "event/event.h"
#include "server/asked.h"
#include "session/session.h"
#include "session/text.h"

#define CONNECTIONS_MAX  1024u
#define BUDGET_BYTES_MIN (UINT64_C(1) << 20) /* tools ask for whole MB */

/* --- Ports. ---------------------------------------------------------------------------------- */

/* A .NET runtime in this process has its own, and tools would take the newer one. */
static void default_port_add(void)
{
    static const char variable[] = "DOTNET_DefaultDiagnosticPortSuspend";
    const char *suspends = wr_os_environment(variable);
    struct wr_port *port = &wr_server.ports[0];
    if (wr_server.config.no_default_port ||
        (!wr_server.config.default_port_forced && wr_os_module_is_loaded("libcoreclr.so")))
        return;
    *port = (struct wr_port){.fd = -1,
                             .is_default = true,
                             .delay_ns = WR_DIAL_NS_MIN,
                             .asked_by = variable,
                             .suspends = suspends && strcmp(suspends, "1") == 0};
    if (wr_port_default(port))
        wr_server.port_count = 1;
    else
        wr_server_report(WEIR_BAD_ARGUMENT,
                         "TMPDIR is too long for the path of a socket: no tool can find this "
                         "process; set TMPDIR to a shorter one");
}

/* A mistake of the environment is the user's, not the host's: it is reported, and the program goes
 * on. */
static void environment_ports_add(const char *name)
{
    struct weir_error error = {""};
    const char *ports = wr_os_environment(name);
    if (ports &&
        wr_ports_parse(wr_server.ports, &wr_server.port_count, name, ports, &error) != WEIR_OK)
        wr_server_report(WEIR_BAD_ARGUMENT, "%s", error.text);
}

static enum weir_result ports_add(struct weir_error *error)
{
    wr_server.port_count = 0;
    default_port_add();
    const char *ports = wr_server.config.ports;
    enum weir_result result =
        ports ? wr_ports_parse(wr_server.ports, &wr_server.port_count, "ports", ports, error)
              : WEIR_OK;
    for (size_t i = 0; i < WR_PORT_VARIABLES && result == WEIR_OK; i++)
        environment_ports_add(wr_port_variables[i]);
    return result;
}

/* --- The host's configuration. --------------------------------------------------------------- */

static enum weir_result number_check(const char *name, uint64_t value, uint64_t least,
                                     uint64_t most, struct weir_error *error)
{
    if (value >= least && value <= most)
        return WEIR_OK;
    return wr_fail(error, WEIR_BAD_ARGUMENT, "%s is %llu; it must be from %llu to %llu", name,
                   (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
}

static enum weir_result numbers_check(const struct weir_server_config *config,
                                      struct weir_error *error)
{
    const struct {
        const char *name;
        uint64_t value, least, most;
    } numbers[] = {
        {"budget_bytes_max", config->budget_bytes_max, BUDGET_BYTES_MIN, WR_BUDGET_BYTES_MAX},
        {"sessions_max", config->sessions_max, 1, WR_SESSIONS_MAX},
        /* or no tool could ask for a stop */
        {"connections_max", config->connections_max, config->sessions_max + UINT64_C(1),
         CONNECTIONS_MAX},
        {"request_ms_max", config->request_ms_max, 1, WR_STOP_MS_MAX},
        {"block_ms_max", config->block_ms_max, 0, WR_STOP_MS_MAX},
        {"stop_ms_max", config->stop_ms_max, 1, WR_STOP_MS_MAX},
    };
    enum weir_result result = WEIR_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && result == WEIR_OK; i++)
        result = number_check(numbers[i].name, numbers[i].value, numbers[i].least, numbers[i].most,
                              error);
    for (size_t i = 0; i < sizeof config->reserved && result == WEIR_OK; i++)
        result = number_check("reserved", config->reserved[i], 0, 0, error);
    return result;
}

/* Takes a copy of a text; NULL is none. */
static enum weir_result text_take(const char *name, const char *text, char *copy,
                                  struct weir_error *error)
{
    size_t length = text ? strlen(text) : 0;
    if (length >= WR_SERVER_TEXT_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "%s is longer than %u bytes", name,
                       WR_SERVER_TEXT_MAX - 1);
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = 0;
    return WEIR_OK;
}

/* Checked now, so that a mistake is the host's, not that of the first tool. */
static enum weir_result default_providers_check(const char *text, struct weir_error *error)
{
    char copy[WR_SERVER_TEXT_MAX], end;
    uint32_t count = 0;
    struct wr_text parsed = {.what = "default_providers", .start = copy, .at = copy, .ends = ""};
    struct weir_enable *entries;
    if (!text)
        return WEIR_OK;
    entries = wr_os_pages_map(WR_ENABLES_MAX * sizeof *entries);
    if (!entries)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory to parse default_providers");
    strcpy(copy, text);
    enum weir_result result = wr_text_take_enables(&parsed, entries, &count, &end, error);
    wr_os_pages_unmap(entries, WR_ENABLES_MAX * sizeof *entries);
    return result;
}

/* Digits, and what is behind them; NULL: there are none. */
static const char *digits_end(const char *text)
{
    const char *end = text + strspn(text, "0123456789");
    return end > text ? end : NULL;
}

/* Tools parse it. */
static enum weir_result version_check(const char *text, struct weir_error *error)
{
    const char *at = text ? digits_end(text) : NULL;
    for (int more = 2; at && more > 0; more--)
        at = *at == '.' ? digits_end(at + 1) : NULL;
    if (!text || at)
        return WEIR_OK;
    return wr_fail(error, WEIR_BAD_ARGUMENT,
                   "version is '%.60s'; it must begin with three numbers, as in 1.0.0", text);
}

static enum weir_result texts_take(const struct weir_server_config *config,
                                   struct weir_error *error)
{
    if (!wr_server.texts)
        wr_server.texts = wr_os_pages_map(sizeof *wr_server.texts);
    struct wr_server_texts *texts = wr_server.texts;
    if (!texts)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for the server's configuration");
    enum weir_result result =
        text_take("command_line", config->command_line, texts->command_line, error);
    if (result == WEIR_OK)
        result = text_take("entrypoint", config->entrypoint, texts->entrypoint, error);
    if (result == WEIR_OK)
        result = text_take("version", config->version ? config->version : weir_version(),
                           texts->version, error);
    if (result == WEIR_OK)
        result = text_take("default_providers", config->default_providers, texts->default_providers,
                           error);
    if (result == WEIR_OK)
        result = default_providers_check(config->default_providers, error);
    if (result == WEIR_OK)
        result = version_check(config->version, error);
    if (result == WEIR_OK && !config->command_line)
        wr_process_command_line(texts->command_line, sizeof texts->command_line);
    if (result == WEIR_OK && !config->entrypoint)
        wr_os_program_name(texts->entrypoint, sizeof texts->entrypoint);
    return result;
}

enum weir_result wr_server_configure(const struct weir_server_config *host, bool *is_wanted,
                                     struct weir_error *error)
{
    struct weir_server_config own = WEIR_SERVER_CONFIG_INIT;
    static const struct wr_host_struct kind = {"config", "WEIR_SERVER_CONFIG_INIT",
                                               WR_SERVER_CONFIG_FIRST, sizeof own};
    enum weir_result result = wr_host_struct_take(&kind, &own, host, error);
    if (result == WEIR_OK)
        result = numbers_check(&own, error);
    if (result == WEIR_OK)
        result = texts_take(&own, error);
    if (result != WEIR_OK)
        return result;
    wr_server_lock(); /* any thread may stop the server, or wait for a resume */
    wr_server.config = own;
    wr_server_unlock();
    *is_wanted = wr_server_is_asked_for(own.only_if_asked);
    return *is_wanted ? ports_add(error) : WEIR_OK;
}
