#include "csv.h"

#include <inttypes.h>
#include <string.h>

static void start(struct wt_csv *csv)
{
    if (csv->used)
        putc(',', csv->file);
    csv->used = true;
}

void wt_csv_text(struct wt_csv *csv, const char *text)
{
    start(csv);
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, csv->file);
        return;
    }
    putc('"', csv->file);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', csv->file);
        putc(*text, csv->file);
    }
    putc('"', csv->file);
}

void wt_csv_u64(struct wt_csv *csv, uint64_t value)
{
    start(csv);
    fprintf(csv->file, "%" PRIu64, value);
}

void wt_csv_i64(struct wt_csv *csv, int64_t value)
{
    start(csv);
    fprintf(csv->file, "%" PRId64, value);
}

void wt_csv_end(struct wt_csv *csv)
{
    fputs("\r\n", csv->file);
    csv->used = false;
}

void wt_csv_head(struct wt_csv *csv, const char *names)
{
    for (; *names; names++)
        putc(*names == ' ' ? ',' : *names, csv->file);
    wt_csv_end(csv);
}
