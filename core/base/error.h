/* Result codes that come with a text. */
#ifndef WR_BASE_ERROR_H
#define WR_BASE_ERROR_H

#include <weir/result.h>

/* Formats the text into `error`, if that is not NULL, and returns `result`. */
enum weir_result wr_fail(struct weir_error *error, enum weir_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
