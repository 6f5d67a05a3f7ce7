/* Columns of text, aligned. */
#ifndef WT_WEIR_TABLE_H
#define WT_WEIR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct wt_table {
    size_t columns;
    const bool *right; /* per column: numbers go to the right */
    char **cells;
    size_t count, capacity;
};

void wt_table_init(struct wt_table *table, size_t columns, const bool *right);

/* The next cell, row by row; copies the text and escapes what would break the line. */
void wt_table_text(struct wt_table *table, const char *text);
void wt_table_u64(struct wt_table *table, uint64_t value);
void wt_table_format(struct wt_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints and frees. */
void wt_table_print(struct wt_table *table, FILE *file);

#endif
