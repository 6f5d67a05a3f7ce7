/* Definitions of events: validated copies of what a host says. Private to event/. */
#ifndef WR_EVENT_DEFINE_H
#define WR_EVENT_DEFINE_H

#include "base/error.h"
#include "event/event.h"

/* What a provider's callback was last told. */
struct wr_provider_state {
    bool is_enabled;
    uint8_t level;
    uint64_t keywords;
};

/* 1 to WR_NAME_BYTES_MAX bytes. */
bool wr_name_is_valid(const char *name);

enum weir_result wr_definition_new(const char *provider_name, const struct weir_schema *schema,
                                   struct wr_event_definition **out, struct weir_error *error);
/* The same provider and schema. */
bool wr_definitions_equal(const struct wr_event_definition *a, const struct wr_event_definition *b);
void wr_definition_free(struct wr_event_definition *definition);

#endif
