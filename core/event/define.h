/* Definitions of events: validated copies of what a host says; and what sessions want of them.
 * Private to event/. */
#ifndef WR_EVENT_DEFINE_H
#define WR_EVENT_DEFINE_H

#include "base/error.h"
#include "event/event.h"

#define WR_FIELD_BYTES_FIRST 16 /* of struct weir_field, in 0.2; never changes */
#define WR_OBJECT_DEPTH_MAX  4

/* What one session, or all together, want of a provider. */
struct wr_provider_state {
    bool is_enabled;
    uint8_t level;
    uint64_t keywords;
    const char *arguments; /* the first ones that there are; NULL: none */
};

/* Without case, as the GUIDs that readers derive from names are. */
bool wr_names_equal(const char *a, const char *b);
/* Adds what the session wants of the provider whose name has this hash. */
void wr_interest_add(const struct wr_interest *interest, const char *provider, unsigned long hash,
                     struct wr_provider_state *state);
bool wr_states_equal(const struct wr_provider_state *a, const struct wr_provider_state *b);

/* Copies a host's declaration of any known version. */
enum weir_result wr_declaration_take(struct weir_provider_declaration *own, const void *host,
                                     struct weir_error *error);

/* `host_schema`: a struct weir_schema of any known version. */
enum weir_result wr_definition_new(const char *provider_name, const void *host_schema,
                                   struct wr_event_definition **out, struct weir_error *error);
/* Checks a host's fields, with those of objects. */
enum weir_result wr_fields_check(const struct weir_schema *schema, struct weir_error *error);
/* Copies them. Whether it succeeds or not, what it has copied is for wr_fields_free(). */
bool wr_fields_copy(struct weir_schema *own, const struct weir_schema *host);
void wr_fields_free(const struct weir_schema *own);
/* The same names and types. */
bool wr_fields_equal(const struct weir_schema *a, const struct weir_schema *b);

/* The same provider and schema. */
bool wr_definitions_equal(const struct wr_event_definition *a, const struct wr_event_definition *b);
void wr_definition_free(struct wr_event_definition *definition);

/* Makes the Weir/Enum events of a definition, whose fields are there. `host`: as in struct
 * weir_schema. On failure the rest is for wr_enums_free(). */
enum weir_result wr_enums_make(struct wr_event_definition *definition,
                               const struct weir_enum *const *host, struct weir_error *error);
bool wr_enums_are_equal(const struct wr_event_definition *a, const struct wr_event_definition *b);
void wr_enums_free(struct wr_event_definition *definition);

#endif
