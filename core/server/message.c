#include "server/message.h"

#include <string.h>
#include "base/compiler.h"
#include "nettrace/writer.h"
#include "os/os.h"

#define SIZE_AT          14
#define SET_AT           16
#define ID_AT            17
#define SET_OF_REPLIES   0xff
#define REPLY_BYTES_LESS 4096u /* a first allocation */

static const unsigned char magic[14] = "DOTNET_IPC_V1";

/* --- Reading. -------------------------------------------------------------------------------- */

uint32_t wr_header_read(const unsigned char header[WR_MESSAGE_HEADER_BYTES], uint32_t *bytes,
                        uint32_t *request)
{
    if (memcmp(header, magic, sizeof magic) != 0)
        return WR_REPLY_UNKNOWN_MAGIC;
    *bytes = header[SIZE_AT] | (uint32_t)header[SIZE_AT + 1] << 8;
    *request = (uint32_t)header[SET_AT] << 8 | header[ID_AT];
    return *bytes < WR_MESSAGE_HEADER_BYTES ? WR_REPLY_BAD_ENCODING : WR_REPLY_OK;
}

struct wr_payload_reader wr_payload_begin(const unsigned char *payload, uint32_t bytes)
{
    return (struct wr_payload_reader){payload, bytes > 0 ? payload + bytes : payload, false};
}

static uint64_t read_number(struct wr_payload_reader *reader, uint32_t bytes)
{
    uint64_t value = 0;
    reader->is_bad |= (size_t)(reader->end - reader->at) < bytes;
    if (reader->is_bad)
        return 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)reader->at[i] << 8 * i;
    reader->at += bytes;
    return value;
}

uint8_t wr_read_u8(struct wr_payload_reader *reader)
{
    return (uint8_t)read_number(reader, 1);
}

uint32_t wr_read_u32(struct wr_payload_reader *reader)
{
    return (uint32_t)read_number(reader, 4);
}

uint64_t wr_read_u64(struct wr_payload_reader *reader)
{
    return read_number(reader, 8);
}

static uint32_t unit_at(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

/* The character at `*at`, which is advanced; before `end`. */
static uint32_t character_take(const unsigned char **at, const unsigned char *end)
{
    uint32_t unit = unit_at(*at);
    *at += 2;
    if (unit < 0xd800 || unit > 0xdfff)
        return unit;
    uint32_t low = *at < end ? unit_at(*at) : 0;
    if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return 0xfffd;
    *at += 2;
    return 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
}

static char *character_write(char *out, uint32_t character)
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    unsigned count = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (unsigned i = count - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(leads[count == 1 ? 0 : count] | character);
    return out + count;
}

/* No unit but the last may be zero: it would end the text for us, and not for others. */
char *wr_read_text(struct wr_payload_reader *reader, char **out)
{
    char *text = *out;
    uint32_t units = wr_read_u32(reader);
    *text = 0;
    reader->is_bad |= units > (size_t)(reader->end - reader->at) / 2;
    if (!reader->is_bad && units > 0) {
        const unsigned char *end = reader->at + 2 * (size_t)(units - 1);
        reader->is_bad |= unit_at(end) != 0;
        for (const unsigned char *at = reader->at; at < end;) {
            reader->is_bad |= unit_at(at) == 0;
            *out = character_write(*out, character_take(&at, end));
        }
        reader->at = end + 2;
    }
    *(*out)++ = 0;
    return text;
}

/* --- Writing. -------------------------------------------------------------------------------- */

static unsigned char *number_write(unsigned char *out, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        *out++ = (unsigned char)(value >> 8 * i);
    return out;
}

static void header_write(unsigned char *out, uint32_t code)
{
    memcpy(out, magic, sizeof magic);
    out[SET_AT] = SET_OF_REPLIES;
    out[ID_AT] = code == WR_REPLY_OK ? 0 : 0xff;
    out[18] = out[19] = 0;
}

/* Room for `count` bytes more; NULL if there is none. */
static unsigned char *reserve(struct wr_reply *reply, uint64_t count)
{
    uint64_t capacity = wr_max_u64(reply->capacity, REPLY_BYTES_LESS);
    while (capacity < reply->used + count)
        capacity *= 2;
    if (!reply->is_bad && capacity > reply->capacity) {
        void *grown = reply->bytes ? wr_os_pages_grow(reply->bytes, reply->capacity, capacity)
                                   : wr_os_pages_map(capacity);
        reply->is_bad = !grown;
        reply->bytes = grown ? grown : reply->bytes;
        reply->capacity = grown ? capacity : reply->capacity;
    }
    if (reply->is_bad)
        return NULL;
    reply->used += count;
    return reply->bytes + reply->used - count;
}

static void write_number(struct wr_reply *reply, uint64_t value, uint32_t bytes)
{
    unsigned char *out = reserve(reply, bytes);
    if (out)
        number_write(out, value, bytes);
}

void wr_reply_u16(struct wr_reply *reply, uint16_t value)
{
    write_number(reply, value, 2);
}

void wr_reply_u32(struct wr_reply *reply, uint32_t value)
{
    write_number(reply, value, 4);
}

void wr_reply_u64(struct wr_reply *reply, uint64_t value)
{
    write_number(reply, value, 8);
}

void wr_reply_bytes(struct wr_reply *reply, const void *bytes, uint64_t count)
{
    unsigned char *out = reserve(reply, count);
    if (out && count > 0)
        memcpy(out, bytes, count);
}

/* Tools' own reader fails on a text of 0 units, so there is always the end. */
void wr_reply_text(struct wr_reply *reply, const char *text, uint64_t count)
{
    uint32_t length = (uint32_t)strnlen(text, count);
    unsigned char *out = reserve(reply, 4 + 2 * (uint64_t)length + 2);
    if (!out)
        return;
    uint32_t bytes = wr_utf16_from_utf8((const unsigned char *)text, length, out + 4);
    number_write(out, bytes / 2 + 1, 4);
    number_write(out + 4 + bytes, 0, 2);
    reply->used -= 2 * (uint64_t)length - bytes;
}

void wr_reply_begin(struct wr_reply *reply, uint32_t code)
{
    *reply = (struct wr_reply){.bytes = NULL};
    unsigned char *header = reserve(reply, WR_MESSAGE_HEADER_BYTES);
    if (!header)
        return;
    header_write(header, code);
    if (code != WR_REPLY_OK)
        wr_reply_u32(reply, code);
}

void wr_reply_end(struct wr_reply *reply)
{
    reply->is_bad |= reply->used > WR_MESSAGE_BYTES_MAX;
    if (!reply->is_bad)
        number_write(reply->bytes + SIZE_AT, reply->used, 2);
}

void wr_reply_free(struct wr_reply *reply)
{
    wr_os_pages_unmap(reply->bytes, reply->capacity);
    *reply = (struct wr_reply){.bytes = NULL};
}

void wr_reply_id(unsigned char out[WR_REPLY_ID_BYTES], uint64_t id)
{
    header_write(out, WR_REPLY_OK);
    number_write(out + SIZE_AT, WR_REPLY_ID_BYTES, 2);
    number_write(out + WR_MESSAGE_HEADER_BYTES, id, 8);
}

void wr_advertise(unsigned char out[WR_ADVERTISE_BYTES],
                  const unsigned char cookie[WR_COOKIE_BYTES], uint32_t process_id)
{
    memcpy(out, "ADVR_V1", 8);
    memcpy(out + 8, cookie, WR_COOKIE_BYTES);
    number_write(number_write(out + 24, process_id, 8), 0, 2);
}
