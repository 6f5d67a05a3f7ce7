/* Where a text in UTF-8 may be cut. */
#ifndef WR_BASE_UTF8_H
#define WR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Is this byte of a character not its first one? */
static inline bool wr_utf8_continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* How many of `size` bytes are kept if `most`, at least 3, may be: whole characters, and `most` of what is
 * not UTF-8. */
static inline size_t wr_utf8_fitting_of(const unsigned char *bytes, size_t size, size_t most)
{
    size_t kept = most;
    if (size <= most)
        return size;
    while (kept > most - 3 && wr_utf8_continues(bytes[kept]))
        kept--;
    return wr_utf8_continues(bytes[kept]) ? most : kept;
}

/* The same of a text that ends with a zero. */
static inline size_t wr_utf8_fitting(const char *text, size_t most)
{
    return wr_utf8_fitting_of((const unsigned char *)text, strnlen(text, most + 1), most);
}

#endif
