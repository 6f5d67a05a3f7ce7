#include "table.h"
#include "output.h"
#include "tool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void wt_table_init(struct wt_table *table, size_t columns, const bool *right)
{
    memset(table, 0, sizeof(*table));
    table->columns = columns;
    table->right = right;
}

void wt_table_text(struct wt_table *table, const char *text)
{
    char *cell = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&cell, &size);
    if (file) {
        wt_print_escaped(file, text, 0);
        fclose(file);
    }
    table->cells = wt_grow(table->cells, &table->capacity, table->count + 1, sizeof(char *));
    table->cells[table->count++] = cell;
}

void wt_table_format(struct wt_table *table, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    wt_table_text(table, text);
}

void wt_table_u64(struct wt_table *table, uint64_t value)
{
    wt_table_format(table, "%" PRIu64, value);
}

/* In characters, not bytes: UTF-8 continuation bytes have no width. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; text && *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void print_row(const struct wt_table *table, size_t first, const size_t *widths, FILE *file)
{
    for (size_t column = 0; column < table->columns; column++) {
        const char *text = table->cells[first + column] ? table->cells[first + column] : "";
        int blanks = (int)(widths[column] - width_of(text));
        bool last = column + 1 == table->columns;
        if (table->right[column])
            fprintf(file, "%*s%s", blanks, "", text);
        else
            fprintf(file, "%s%*s", text, last ? 0 : blanks, "");
        fputs(last ? "\n" : "  ", file);
    }
}

void wt_table_print(struct wt_table *table, FILE *file)
{
    size_t *widths = NULL;
    size_t capacity = 0;
    widths = wt_grow(widths, &capacity, table->columns, sizeof(*widths));
    for (size_t i = 0; i < table->count; i++) {
        size_t width = width_of(table->cells[i]);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(table, i, widths, file);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(widths);
    memset(table, 0, sizeof(*table));
}
