/* What a tool can ask about the process. */
#include "server/server.h"

#include <string.h>

#if defined(__x86_64__)
#define ARCHITECTURE "x64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "Unknown"
#endif

const char wr_architecture[] = ARCHITECTURE;

#define INFO_VERSION    1u
#define ENVIRONMENT_MAX (UINT64_C(64) << 20)

/* The system's, with spaces for the ends of the arguments; a long one is cut. */
void wr_process_command_line(char *out, size_t capacity)
{
    uint64_t bytes = 0, pages_bytes = 0;
    unsigned char *text = wr_os_process_text(WR_OS_COMMAND_LINE, &bytes, &pages_bytes);
    while (bytes > 0 && text[bytes - 1] == 0)
        bytes--;
    bytes = wr_min_u64(bytes, capacity - 1);
    for (uint64_t i = 0; i < bytes; i++)
        out[i] = text[i] ? (char)text[i] : ' ';
    out[bytes] = 0;
    wr_os_pages_unmap(text, pages_bytes);
}

static void text_write(struct wr_reply *reply, const char *text)
{
    wr_reply_text(reply, text, WR_SERVER_TEXT_MAX);
}

void wr_process_info(struct wr_reply *reply, uint32_t request)
{
    wr_reply_begin(reply, WR_REPLY_OK);
    if (request == WR_REQUEST_PROCESS_INFO_3)
        wr_reply_u32(reply, INFO_VERSION);
    wr_reply_u64(reply, wr_os_process_id());
    wr_reply_bytes(reply, wr_server.cookie, WR_COOKIE_BYTES);
    text_write(reply, wr_server.texts->command_line);
    text_write(reply, "Linux");
    text_write(reply, wr_architecture);
    if (request != WR_REQUEST_PROCESS_INFO) {
        text_write(reply, wr_server.texts->entrypoint);
        text_write(reply, wr_server.texts->version);
    }
    if (request == WR_REQUEST_PROCESS_INFO_3)
        text_write(reply, "linux-" ARCHITECTURE);
    wr_reply_end(reply);
}

/* Writes each variable, unless `reply` is NULL; returns how many there are. Skips what has no "=",
 * which tools cannot read. */
static uint32_t variables_each(const unsigned char *text, uint64_t bytes, struct wr_reply *reply)
{
    uint32_t count = 0;
    for (const char *at = (const char *)text, *end = at + bytes; at < end;) {
        size_t length = strnlen(at, (size_t)(end - at));
        bool is_variable = memchr(at, '=', length) != NULL;
        if (is_variable && reply)
            wr_reply_text(reply, at, length);
        count += is_variable;
        at += length + 1;
    }
    return count;
}

/* The environment follows as a continuation: an array of texts, and before it, in the reply, its
 * bytes. It is that of the program's start: reading the present one would race with the host. */
void wr_process_environment(struct wr_reply *reply)
{
    uint64_t bytes = 0, capacity = 0;
    unsigned char *text = wr_os_process_text(WR_OS_ENVIRONMENT, &bytes, &capacity);
    if (!text) {
        wr_reply_begin(reply, WR_REPLY_FAIL);
        wr_reply_end(reply);
        return;
    }
    struct wr_reply variables = {.bytes = NULL};
    bytes = wr_min_u64(bytes, ENVIRONMENT_MAX);
    wr_reply_u32(&variables, variables_each(text, bytes, NULL));
    variables_each(text, bytes, &variables);
    wr_os_pages_unmap(text, capacity);
    wr_reply_begin(reply, WR_REPLY_OK);
    wr_reply_u32(reply, (uint32_t)variables.used);
    wr_reply_u16(reply, 0);
    wr_reply_end(reply);
    wr_reply_bytes(reply, variables.bytes, variables.used);
    reply->is_bad |= variables.is_bad;
    wr_reply_free(&variables);
}
