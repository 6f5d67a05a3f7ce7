/* Comma-separated values as RFC 4180 describes them: lines end with CR LF, and a value with a
 * comma, a quote or a line break is in quotes. Text is UTF-8, unchanged. */
#ifndef WT_WEIR_CSV_H
#define WT_WEIR_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct wt_csv {
    FILE *file;
    bool used; /* the line has a value */
};

void wt_csv_text(struct wt_csv *csv, const char *text);
void wt_csv_u64(struct wt_csv *csv, uint64_t value);
void wt_csv_i64(struct wt_csv *csv, int64_t value);
void wt_csv_end(struct wt_csv *csv); /* of the line */

/* Names of columns, separated by blanks, as a line. */
void wt_csv_head(struct wt_csv *csv, const char *names);

#endif
