/* An event as a line of text or of CSV, or as JSON: what weir dump prints, and weir diff of events that
 * differ. */
#ifndef WT_WEIR_EVENT_PRINT_H
#define WT_WEIR_EVENT_PRINT_H

#include "csv.h"
#include "json.h"
#include "reader.h"

struct wt_event_printer {
    const struct wt_reader *reader;
    FILE *file;           /* for text */
    struct wt_json *json; /* for JSON */
    bool stacks;          /* the addresses, too */

    char *text; /* for strings of payloads */
    size_t text_capacity;
    FILE *cell; /* for CSV: what is in the last column, in memory */
    char *cell_text;
    size_t cell_size;
    bool need_blank; /* text: a value precedes */
    unsigned depth;
    bool in_array[WT_JSON_DEPTH];
};

/* A line, with its end. */
void wt_event_print_text(struct wt_event_printer *printer, const struct wt_event *event);

/* The same as a line of CSV, and the line with the columns' names in front of the first one. */
void wt_event_print_csv(struct wt_event_printer *printer, struct wt_csv *csv,
                        const struct wt_event *event);
void wt_event_print_csv_head(struct wt_csv *csv);

/* An object, with all that weir dump --help lists. */
void wt_event_print_json(struct wt_event_printer *printer, const struct wt_event *event);

void wt_event_printer_fini(struct wt_event_printer *printer);

#endif
