/* The definitions of a trace, in a fixed order, and how two of them differ. Those of a file of weir
 * schema have the same form as those that the reader gives. */
#ifndef WT_WEIR_SCHEMA_H
#define WT_WEIR_SCHEMA_H

#include "arena.h"
#include "collect.h"
#include "json.h"
#include "reader.h"

/* All zeros is an empty one. */
struct wt_schema {
    const struct wt_metadata **events;
    size_t count, capacity;
    struct wt_arena arena; /* of what was loaded */
};

void wt_schema_add(struct wt_schema *schema, const struct wt_metadata *metadata);

/* By provider, id, version and name; of definitions that say the same, one stays. The names of
 * values come with events, so this is for the end of the reading. */
void wt_schema_sort(struct wt_schema *schema);

/* By provider, id, version and name. */
int wt_schema_order(const struct wt_metadata *a, const struct wt_metadata *b);

/* The members schema and events of the object that is open. */
void wt_schema_json(const struct wt_schema *schema, struct wt_json *json);

/* What wt_schema_json() has printed, sorted. False after a message if the file is no such thing, or
 * if the program was built without a library for JSON. */
bool wt_schema_load(struct wt_schema *schema, const char *path);

void wt_schema_fini(struct wt_schema *schema);

/* Traces the process that the options name, for their duration or a second, and opens what came;
 * the run then has the process's name, which is stored in `name`. False after a message. */
bool wt_schema_collect(struct wt_collect_options *options, struct wt_run *run,
                       const struct wt_handlers *handlers, void *context, char name[64]);

/* A name of a type in these files: "uint32", "array"; "type 22" of a code without a name. */
void wt_schema_type_name(const struct wt_field *field, char out[24]);

/* A finding breaks readers of the old schema, a note does not. */
typedef void (*wt_schema_note)(void *context, bool is_finding, const struct wt_metadata *event,
                               const char *text);

/* Two definitions of the same event and version. */
void wt_schema_compare_event(const struct wt_metadata *old, const struct wt_metadata *now,
                             wt_schema_note note, void *context);

/* All of them: also events that are gone, new, or have another version. Both are sorted. */
void wt_schema_compare(const struct wt_schema *old, const struct wt_schema *now,
                       wt_schema_note note, void *context);

#endif
