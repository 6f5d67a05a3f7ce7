/* UTF-8 to UTF-16LE, without tables. Overlong forms, surrogates, bytes that begin nothing and zeros,
 * which would end a string in the file, are invalid; each invalid byte becomes one U+FFFD. */
#include "nettrace/writer.h"

#include <string.h>
#include "base/compiler.h"
#include "base/utf8.h"

#define BLOCK 16u
#define HALF  8u
typedef unsigned char block __attribute__((vector_size(BLOCK)));
typedef signed char signed_block __attribute__((vector_size(BLOCK)));
typedef char char_block __attribute__((vector_size(BLOCK)));

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

static inline uint64_t half_at(const unsigned char *text)
{
    uint64_t half;
    memcpy(&half, text, sizeof half);
    return half;
}

/* Is each byte ASCII and not zero? Of bytes below 0x80, only a zero, or one above a zero, has its
 * high bit set by the subtraction. */
static inline bool half_is_plain(const unsigned char *text)
{
    uint64_t half = half_at(text);
    return ((half | (half - ONES)) & HIGHS) == 0;
}

static inline bool is_plain(const unsigned char *text)
{
#if defined(__SSE2__)
    signed_block bytes;
    memcpy(&bytes, text, sizeof bytes);
    return __builtin_ia32_pmovmskb128((char_block)(bytes > 0)) == 0xFFFF;
#else
    return half_is_plain(text) && half_is_plain(text + HALF);
#endif
}

/* Each byte of an ASCII text is the low byte of its unit. */
static inline void widen(const unsigned char *text, unsigned char *out)
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
        if (!wr_utf8_continues(text[i]))
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
        for (; count - at >= BLOCK && is_plain(text + at); at += BLOCK, out += 2 * BLOCK)
            widen(text + at, out);
        if (at == count)
            break;
        uint32_t code_point = text[at], length = 1;
        if (code_point - 1 >= 0x7F) {
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

static inline unsigned char *terminate(unsigned char *out)
{
    return put_unit(out, 0);
}

static inline void widen_half(const unsigned char *text, unsigned char *out)
{
    const block zero = {0};
    block bytes = {0};
    memcpy(&bytes, text, HALF);
    block units = __builtin_shufflevector(bytes, zero, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                          22, 7, 23);
    memcpy(out, &units, sizeof units);
}

/* Of less than a block. */
static bool widen_short(const unsigned char *text, uint32_t count, unsigned char *out)
{
    if (count >= HALF) {
        uint32_t last = count - HALF; /* both halves have some bytes in common */
        bool is_plain = half_is_plain(text) && half_is_plain(text + last);
        widen_half(text, out);
        widen_half(text + last, out + 2 * (size_t)last);
        return is_plain;
    }
    for (uint32_t at = 0; at < count; at++, out = put_unit(out, text[at - 1]))
        if (text[at] - 1u >= 0x7F)
            return false;
    return true;
}

/* Converts a text of plain bytes. False: there are others, and what was written means nothing. */
static inline bool widen_plain(const unsigned char *text, uint32_t count, unsigned char *out)
{
    if (count < BLOCK)
        return widen_short(text, count, out);
    const unsigned char *last = text + count - BLOCK;
    for (; text < last; text += BLOCK, out += 2 * BLOCK) {
        if (!is_plain(text))
            return false;
        widen(text, out);
    }
    if (!is_plain(last)) /* it may have some bytes in common with the block before */
        return false;
    widen(last, out - 2 * (text - last));
    return true;
}

unsigned char *wr_utf16_from_text(const unsigned char *text, uint32_t count, unsigned char *out)
{
    if (WR_LIKELY(widen_plain(text, count, out)))
        return terminate(out + 2 * (size_t)count);
    const unsigned char *zero = memchr(text, 0, count);
    return terminate(out + wr_utf16_from_utf8(text, zero ? (uint32_t)(zero - text) : count, out));
}

unsigned char *wr_utf16_from_counted(const unsigned char *text, uint32_t count, unsigned char *out)
{
    if (WR_LIKELY(widen_plain(text, count, out)))
        return terminate(out + 2 * (size_t)count);
    return terminate(out + wr_utf16_from_utf8(text, count, out));
}
