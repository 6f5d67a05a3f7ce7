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

/* How many bytes of a text are kept if `most`, at least 3, may be: whole characters, and `most` of what is
 * not UTF-8. */
static inline size_t wr_utf8_fitting(const char *text, size_t most)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t kept = strnlen(text, most + 1);
    if (kept <= most)
        return kept;
    for (kept = most; kept > most - 3 && wr_utf8_continues(bytes[kept]);)
        kept--;
    return wr_utf8_continues(bytes[kept]) ? most : kept;
}

#endif
