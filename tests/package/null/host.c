/* What a host does to be traced succeeds and has no effect; what would make a trace fails and says why. */
#include <string.h>
#include <weir/weir.h>

static bool offers_events(void)
{
    static const struct weir_field fields[] = {{"Number", WEIR_TYPE_u32}};
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_value value = {WEIR_TYPE_u32, 0, {.unsigned_value = 1}};
    struct weir_provider *provider = NULL;
    struct weir_event *event = NULL;
    schema.name = "Event";
    schema.event_id = 1;
    schema.fields = fields;
    schema.field_count = 1;
    bool holds = weir_provider_create("Host", NULL, NULL, &provider, NULL) == WEIR_OK && provider &&
                 weir_event_define(provider, &schema, &event, NULL) == WEIR_OK &&
                 !weir_event_is_enabled(event) &&
                 !weir_event_emit(event, &value, 1, sizeof value) &&
                 !weir_status_wants(weir_provider_status(provider), WEIR_LEVEL_ALWAYS, 0) &&
                 weir_thread_name_set("host") == WEIR_OK;
    weir_provider_destroy(provider);
    return holds;
}

static bool is_not_traced(void)
{
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    struct weir_server_info info = WEIR_SERVER_INFO_INIT;
    struct weir_server_config server = WEIR_SERVER_CONFIG_INIT;
    server.only_if_asked = true;
    return weir_configure(NULL, NULL) == WEIR_OK && weir_server_start(&server, NULL) == WEIR_OK &&
           weir_server_wait_for_resume(NULL) == WEIR_OK && weir_server_status(&info) == WEIR_OK &&
           !info.is_running && weir_session_list(&table) == WEIR_OK && table.session_count == 0;
}

static bool is_refused(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_server_config server = WEIR_SERVER_CONFIG_INIT;
    struct weir_session *session = NULL;
    struct weir_error errors[3] = {{""}, {""}, {""}};
    config.providers = "Host";
    config.sink.file = "host.nettrace";
    bool holds = weir_session_create(&config, &session, &errors[0]) == WEIR_SYSTEM && !session &&
                 weir_configure("Host;file=host.nettrace", &errors[1]) == WEIR_SYSTEM &&
                 weir_server_start(&server, &errors[2]) == WEIR_SYSTEM;
    for (int i = 0; i < 3; i++)
        holds = holds && strstr(errors[i].text, "traces nothing");
    return holds && weir_session_destroy(session) == WEIR_OK;
}

int main(void)
{
    return !(weir_version_number() == WEIR_VERSION_NUMBER && offers_events() && is_not_traced() &&
             is_refused());
}
