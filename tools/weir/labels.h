/* The labels of an event of version 6, as text and JSON. Those that take the place of the event's
 * activity, opcode, keywords, level or version are printed as such, and not here. */
#ifndef WT_WEIR_LABELS_H
#define WT_WEIR_LABELS_H

#include "json.h"
#include "reader.h"

/* Members traceId and spanId, and labels, an array of {key, value}; each only if there is one. */
void wt_labels_json(const struct wt_event *event, struct wt_json *json);

/* " trace=... span=... key=value key=\"value\"". */
void wt_labels_text(const struct wt_event *event, FILE *file);

#endif
