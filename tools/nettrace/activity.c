/* Activity ids that are paths of numbers, as .NET and Weir make them. */
#include "fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 12, NUMBER_MAX = 0xA, OVERFLOW_MARK = 0xB, BYTES_1 = 0xC };
#define CHECKSUM     0x599D99ADu
#define CHECKSUM_TOP 0xFFF00000u /* of a process whose id is not known */

struct path {
    const uint8_t *id;
    uint32_t at; /* a nibble; the high one of a byte comes first */
};

static uint32_t nibble_take(struct path *path)
{
    if (path->at >= 2 * PATH_BYTES)
        return 0;
    uint8_t byte = path->id[path->at / 2];
    return path->at++ % 2 ? byte & 0xF : byte >> 4;
}

/* A number of several bytes, behind its code. Up to .NET 9 one of 12 bits has a zero byte too many. */
static uint32_t number_take(struct path *path, uint32_t code)
{
    uint32_t count = code - BYTES_1 + 1, number = 0;
    bool is_12_bits = false;
    if (path->at % 2) { /* the code was the high nibble */
        uint32_t top = nibble_take(path);
        is_12_bits = code == BYTES_1;
        number = is_12_bits ? top << 8 : 0;
    }
    for (uint32_t i = 0; i < count && path->at < 2 * PATH_BYTES; i++, path->at += 2)
        number |= (uint32_t)path->id[path->at / 2] << (8 * i);
    uint32_t next = path->at / 2;
    if (is_12_bits && number > 0xFF && next + 1 < PATH_BYTES && path->id[next] == 0 &&
        path->id[next + 1] != 0)
        path->at += 2;
    return number;
}

static bool is_path(const uint8_t id[16], uint32_t process_id)
{
    uint32_t words[4];
    memcpy(words, id, sizeof words);
    uint32_t sum = words[0] + words[1] + words[2] + CHECKSUM;
    if (words[0] == 0)
        return false;
    if (process_id == 0)
        return ((sum ^ words[3]) & CHECKSUM_TOP) == 0;
    return words[3] == sum || words[3] == (sum ^ process_id);
}

bool wt_activity_text(const uint8_t id[16], uint32_t process_id, char out[WT_ACTIVITY_TEXT_BYTES])
{
    struct path path = {id, 0};
    size_t used = 1;
    if (!is_path(id, process_id))
        return false;
    strcpy(out, "/");
    for (uint32_t nibble; (nibble = nibble_take(&path)) != 0;) {
        bool is_overflow = nibble == OVERFLOW_MARK;
        if (is_overflow)
            nibble = nibble_take(&path);
        uint32_t number = nibble >= BYTES_1 ? number_take(&path, nibble) : nibble;
        used += (size_t)snprintf(out + used, WT_ACTIVITY_TEXT_BYTES - used, "%c%" PRIu32,
                                 is_overflow ? '$' : '/', number);
    }
    return true;
}
