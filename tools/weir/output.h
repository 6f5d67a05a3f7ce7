/* Values as text. */
#ifndef WT_WEIR_OUTPUT_H
#define WT_WEIR_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* UTF-8 text with quotes, backslashes and control characters escaped as in JSON, so that it stays
 * on its line and cannot steer a terminal. Bytes that are not UTF-8 become U+FFFD. `quotes` adds the
 * quotes. */
void wt_print_escaped(FILE *file, const char *text, int quotes);

void wt_print_hex(FILE *file, const uint8_t *bytes, size_t size);

/* The shortest decimal that reads back as the same number; "NaN", "Infinity", "-Infinity". */
void wt_double_text(double value, char out[40]);
void wt_single_text(float value, char out[40]);

/* Nanoseconds as seconds with nine digits, exactly: "-0.000000001". */
void wt_seconds_text(int64_t ns, char out[40]);

#endif
