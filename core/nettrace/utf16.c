/* UTF-8 to UTF-16LE, without tables. Overlong forms, surrogates and bytes that begin nothing are
 * invalid; each invalid byte becomes one U+FFFD. */
#include "nettrace/writer.h"

#include <string.h>

#define BLOCK 16u
typedef unsigned char block __attribute__((vector_size(BLOCK)));

static bool is_ascii(const unsigned char *text)
{
    uint64_t halves[2];
    memcpy(halves, text, sizeof halves);
    return ((halves[0] | halves[1]) & UINT64_C(0x8080808080808080)) == 0;
}

/* Each byte of an ASCII text is the low byte of its unit. */
static void widen(const unsigned char *text, unsigned char *out)
{
    const block zero = {0};
    block bytes;
    memcpy(&bytes, text, sizeof bytes);
    block first = __builtin_shufflevector(bytes, zero, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                          22, 7, 23);
    block second = __builtin_shufflevector(bytes, zero, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                           29, 14, 30, 15, 31);
    memcpy(out, &first, sizeof first);
    memcpy(out + BLOCK, &second, sizeof second);
}

static unsigned char *put_unit(unsigned char *out, uint32_t unit)
{
    out[0] = (unsigned char)unit;
    out[1] = (unsigned char)(unit >> 8);
    return out + 2;
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Decodes one code point of 2 to 4 bytes; returns how many, or 0 if the first byte begins none. */
static uint32_t decode(const unsigned char *text, uint32_t count, uint32_t *code_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t length = text[0] >= 0xF0 && text[0] < 0xF8   ? 4
                      : text[0] >= 0xE0 && text[0] < 0xF0 ? 3
                      : text[0] >= 0xC0 && text[0] < 0xE0 ? 2
                                                          : 0;
    if (length == 0 || length > count)
        return 0;
    uint32_t value = text[0] & (0x7Fu >> length);
    for (uint32_t i = 1; i < length; i++) {
        if (!is_continuation(text[i]))
            return 0;
        value = value << 6 | (text[i] & 0x3Fu);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *code_point = value;
    return length;
}

uint32_t wr_utf16_from_utf8(const unsigned char *text, uint32_t count, unsigned char *out)
{
    unsigned char *start = out;
    for (uint32_t at = 0; at < count;) {
        for (; count - at >= BLOCK && is_ascii(text + at); at += BLOCK, out += 2 * BLOCK)
            widen(text + at, out);
        if (at == count)
            break;
        uint32_t code_point = text[at], length = 1;
        if (code_point >= 0x80) {
            length = decode(text + at, count - at, &code_point);
            if (length == 0) {
                code_point = 0xFFFD;
                length = 1;
            }
        }
        if (code_point >= 0x10000) {
            out = put_unit(out, 0xD800 + ((code_point - 0x10000) >> 10));
            out = put_unit(out, 0xDC00 + ((code_point - 0x10000) & 0x3FF));
        } else {
            out = put_unit(out, code_point);
        }
        at += length;
    }
    return (uint32_t)(out - start);
}
