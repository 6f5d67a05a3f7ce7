/* An event as a line of text or as JSON: what weir dump prints, and weir diff of events that
 * differ. */
#ifndef WT_WEIR_EVENT_PRINT_H
#define WT_WEIR_EVENT_PRINT_H

#include "json.h"
#include "reader.h"

struct wt_event_printer {
    const struct wt_reader *reader;
    FILE *file;           /* for text */
    struct wt_json *json; /* for JSON */
    bool stacks;          /* the addresses, too */

    char *text; /* for strings of payloads */
    size_t text_capacity;
    bool need_blank; /* text: a value precedes */
    unsigned depth;
    bool in_array[WT_JSON_DEPTH];
};

/* A line, with its end. */
void wt_event_print_text(struct wt_event_printer *printer, const struct wt_event *event);

/* An object, with all that weir dump --help lists. */
void wt_event_print_json(struct wt_event_printer *printer, const struct wt_event *event);

void wt_event_printer_fini(struct wt_event_printer *printer);

#endif
