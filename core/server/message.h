/*
 * The bytes of Diagnostics IPC: a header of 20 bytes, and a payload whose numbers are little-endian
 * and not aligned. Strings are UTF-16 on the wire and UTF-8 here.
 * Source: dotnet/diagnostics, documentation/design-docs/ipc-protocol.md.
 */
#ifndef WR_SERVER_MESSAGE_H
#define WR_SERVER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WR_MESSAGE_HEADER_BYTES 20u
#define WR_MESSAGE_BYTES_MAX    65535u
#define WR_ADVERTISE_BYTES      34u
#define WR_COOKIE_BYTES         16u

/* What a reply says. Tools fall back to an older request after WR_REPLY_UNKNOWN_COMMAND only. */
#define WR_REPLY_OK              UINT32_C(0)
#define WR_REPLY_BAD_ENCODING    UINT32_C(0x80131384) /* malformed, or a value is out of range */
#define WR_REPLY_UNKNOWN_COMMAND UINT32_C(0x80131385)
#define WR_REPLY_UNKNOWN_MAGIC   UINT32_C(0x80131386)
#define WR_REPLY_FAIL            UINT32_C(0x80004005) /* understood, and not possible */

/* Set and id of a request, in this order. */
enum wr_request {
    WR_REQUEST_STOP_TRACING = 0x0201,
    WR_REQUEST_COLLECT_TRACING = 0x0202,
    WR_REQUEST_COLLECT_TRACING_2 = 0x0203,
    WR_REQUEST_COLLECT_TRACING_3 = 0x0204,
    WR_REQUEST_COLLECT_TRACING_4 = 0x0205,
    WR_REQUEST_COLLECT_TRACING_5 = 0x0206,
    WR_REQUEST_COLLECT_TRACING_6 = 0x0207,
    WR_REQUEST_PROCESS_INFO = 0x0400,
    WR_REQUEST_RESUME_RUNTIME = 0x0401,
    WR_REQUEST_PROCESS_ENVIRONMENT = 0x0402,
    WR_REQUEST_PROCESS_INFO_2 = 0x0404,
    WR_REQUEST_PROCESS_INFO_3 = 0x0408
};

/* --- Reading. -------------------------------------------------------------------------------- */

/* WR_REPLY_OK, and the size of the whole message; or what is wrong with the header. */
uint32_t wr_header_read(const unsigned char header[WR_MESSAGE_HEADER_BYTES], uint32_t *bytes,
                        uint32_t *request);

/* A payload. Once something does not fit, `is_bad` is set, and what is read from then on is 0. */
struct wr_payload_reader {
    const unsigned char *at;
    const unsigned char *end;
    bool is_bad;
};

/* `payload` is NULL if there are no bytes. */
struct wr_payload_reader wr_payload_begin(const unsigned char *payload, uint32_t bytes);
uint8_t wr_read_u8(struct wr_payload_reader *reader);
uint32_t wr_read_u32(struct wr_payload_reader *reader);
uint64_t wr_read_u64(struct wr_payload_reader *reader);
/* Reads a string and writes it to `*out` with its end, at most 3 bytes for each unit on the wire
 * and one. `*out` is behind it then. Returns it. A lone surrogate becomes U+FFFD. */
char *wr_read_text(struct wr_payload_reader *reader, char **out);

/* --- Writing. -------------------------------------------------------------------------------- */

/* Pages that grow. Once there is no memory, `is_bad` is set, and nothing is written from then on. */
struct wr_reply {
    unsigned char *bytes;
    uint64_t used;
    uint64_t sent;
    uint64_t capacity;
    bool is_bad;
};

void wr_reply_begin(struct wr_reply *reply, uint32_t code);
void wr_reply_u16(struct wr_reply *reply, uint16_t value);
void wr_reply_u32(struct wr_reply *reply, uint32_t value);
void wr_reply_u64(struct wr_reply *reply, uint64_t value);
void wr_reply_bytes(struct wr_reply *reply, const void *bytes, uint64_t count);
/* `text` is UTF-8 up to `count` bytes or its end, whichever is first. */
void wr_reply_text(struct wr_reply *reply, const char *text, uint64_t count);
/* Puts the size into the header. What is written after it is a continuation. */
void wr_reply_end(struct wr_reply *reply);
void wr_reply_free(struct wr_reply *reply);

/* The reply to a Collect or a Stop, which needs no memory. */
#define WR_REPLY_ID_BYTES 28u
void wr_reply_id(unsigned char out[WR_REPLY_ID_BYTES], uint64_t id);

void wr_advertise(unsigned char out[WR_ADVERTISE_BYTES],
                  const unsigned char cookie[WR_COOKIE_BYTES], uint32_t process_id);

#endif
