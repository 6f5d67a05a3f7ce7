#include "serve.h"

#include <weir/server.h>

#include <stdio.h>

static void complain(const char *program, const char *what, const struct weir_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", program, what, error->text);
}

bool serve_begin(bool is_asked, const char *program)
{
    struct weir_server_config config = WEIR_SERVER_CONFIG_INIT;
    struct weir_error error = {""};
    config.default_providers = "Lua";
    config.only_if_asked = !is_asked;
    if (weir_server_start(&config, &error) == WEIR_OK)
        return true;
    complain(program, "cannot serve tools", &error);
    return false;
}

bool serve_is_on(void)
{
    struct weir_server_info status = WEIR_SERVER_INFO_INIT;
    return weir_server_status(&status) == WEIR_OK && status.is_running;
}

void serve_wait_for_resume(const char *program)
{
    struct weir_error error = {""};
    if (weir_server_wait_for_resume(&error) != WEIR_OK)
        complain(program, "going on", &error);
}

void serve_end(const char *program)
{
    struct weir_error error = {""};
    if (weir_server_stop(&error) != WEIR_OK)
        complain(program, "a tool's trace is not whole", &error);
}
