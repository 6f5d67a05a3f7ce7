#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const char *short_escape(unsigned char byte)
{
    switch (byte) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

/* Bytes of the character of UTF-8 that begins here; 0 if none does. */
static size_t character_size(const unsigned char *at)
{
    static const unsigned char least[] = {0, 0, 0, 0xA0, 0x90}; /* of the second byte */
    size_t size = *at < 0xC2 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool is_too_long = (*at == 0xE0 || *at == 0xF0) && at[1] < least[size];
    bool is_beyond = (*at == 0xED && at[1] > 0x9F) || (*at == 0xF4 && at[1] > 0x8F);
    return is_too_long || is_beyond ? 0 : size;
}

/* Prints the character of two to four bytes, or U+FFFD for a byte that is not of one; returns how
 * many bytes that were. */
static size_t print_character(FILE *file, const unsigned char *at)
{
    size_t size = character_size(at);
    if (size == 0)
        fputs("\xEF\xBF\xBD", file);
    fwrite(at, 1, size, file);
    return size ? size : 1;
}

void wt_print_escaped(FILE *file, const char *text, int quotes)
{
    const unsigned char *at = (const unsigned char *)text;
    if (quotes)
        putc('"', file);
    for (; *at; at++) {
        const char *escape = short_escape(*at);
        if (escape) {
            fputs(escape, file);
        } else if (*at < 0x20 || *at == 0x7F) {
            fprintf(file, "\\u%04x", *at);
        } else if (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0) {
            fprintf(file, "\\u%04x", at[1]); /* the other block of control characters */
            at++;
        } else if (*at < 0x80) {
            putc(*at, file);
        } else {
            at += print_character(file, at) - 1;
        }
    }
    if (quotes)
        putc('"', file);
}

void wt_print_hex(FILE *file, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        putc(digits[bytes[i] >> 4], file);
        putc(digits[bytes[i] & 15], file);
    }
}

static const char *special_text(double value)
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    return NULL;
}

void wt_double_text(double value, char out[40])
{
    const char *special = special_text(value);
    if (special) {
        snprintf(out, 40, "%s", special);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 40, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void wt_single_text(float value, char out[40])
{
    const char *special = special_text((double)value);
    if (special) {
        snprintf(out, 40, "%s", special);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 40, "%.*g", digits, (double)value);
        if (strtof(out, NULL) == value)
            return;
    }
}

void wt_seconds_text(int64_t ns, char out[40])
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    snprintf(out, 40, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", size / 1000000000,
             size % 1000000000);
}
