/* A tool's request on arbitrary bytes: its header, and its payload as one that starts a session.
 * What is read has its texts and ids in its own pages, one behind the other, and says the same when
 * it is written and read again. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include "server/collect.h"

#define PROVIDERS_MAX 1000u

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

/* --- UTF-8. ---------------------------------------------------------------------------------- */

/* The bytes of the character at `at`; 0: it is none. */
static size_t character_bytes(const unsigned char *at)
{
    size_t count = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t character = at[0] - leads[count == 1 ? 0 : count];
    for (size_t i = 1; i < count; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (at[i] & 0x3f);
    }
    bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
    return character >= least[count] && character <= 0x10ffff && !is_surrogate ? count : 0;
}

/* Returns what follows the text and its end. */
static const char *text_check(const char *text, const char *end)
{
    while (text < end && *text) {
        size_t count = character_bytes((const unsigned char *)text);
        must(count > 0 && count < (size_t)(end - text));
        text += count;
    }
    must(text < end);
    return text + 1;
}

/* --- What is read. --------------------------------------------------------------------------- */

static void collect_check(const struct wr_collect *collect)
{
    const char *end = (const char *)collect + collect->pages_bytes;
    const uint16_t *ids = (const uint16_t *)&collect->enables[collect->enable_count];
    const char *texts = (const char *)ids;
    must(collect->enable_count > 0 && collect->enable_count <= PROVIDERS_MAX);
    must(collect->budget_bytes > 0 && collect->budget_bytes % (1u << 20) == 0);
    for (uint32_t i = 0; i < collect->enable_count; i++) {
        const struct weir_enable *enable = &collect->enables[i];
        must(enable->level <= 5 && enable->provider[0]);
        must(enable->event_id_count == 0 || enable->event_ids == ids);
        ids += enable->event_id_count;
        must(enable->provider >= texts && enable->provider < end);
        texts = text_check(enable->provider, end);
        if (!enable->arguments)
            continue;
        must(enable->arguments == texts && enable->arguments[0]);
        texts = text_check(enable->arguments, end);
    }
    must((const char *)ids <= collect->enables[0].provider);
}

/* --- Written and read again. ----------------------------------------------------------------- */

static void collect_write(struct wr_reply *reply, const struct wr_collect *collect)
{
    wr_reply_u32(reply, 0);
    wr_reply_u32(reply, (uint32_t)(collect->budget_bytes >> 20));
    wr_reply_u32(reply, 1);
    wr_reply_u64(reply, collect->rundown_keywords);
    wr_reply_bytes(reply, "", 1);
    wr_reply_u32(reply, collect->enable_count);
    for (uint32_t i = 0; i < collect->enable_count; i++) {
        const struct weir_enable *enable = &collect->enables[i];
        wr_reply_u64(reply, enable->keywords);
        wr_reply_u32(reply, enable->level);
        wr_reply_text(reply, enable->provider, SIZE_MAX);
        wr_reply_text(reply, enable->arguments ? enable->arguments : "", SIZE_MAX);
        wr_reply_bytes(reply, &enable->event_ids_allowed, 1);
        wr_reply_u32(reply, enable->event_id_count);
        for (uint32_t id = 0; id < enable->event_id_count; id++)
            wr_reply_u32(reply, enable->event_ids[id]);
    }
    wr_reply_u32(reply, collect->is_block);
}

static bool is_same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : !one && !other;
}

static void compare(const struct wr_collect *one, const struct wr_collect *other)
{
    must(one->budget_bytes == other->budget_bytes && one->is_block == other->is_block);
    must(one->rundown_keywords == other->rundown_keywords);
    must(one->enable_count == other->enable_count);
    for (uint32_t i = 0; i < one->enable_count; i++) {
        const struct weir_enable *a = &one->enables[i], *b = &other->enables[i];
        must(a->keywords == b->keywords && a->level == b->level);
        must(is_same_text(a->provider, b->provider) && is_same_text(a->arguments, b->arguments));
        must(a->event_ids_allowed == b->event_ids_allowed);
        must(a->event_id_count == b->event_id_count);
        for (uint32_t id = 0; id < a->event_id_count; id++)
            must(a->event_ids[id] == b->event_ids[id]);
    }
}

static void write_and_read(const struct wr_collect *collect)
{
    struct wr_reply reply = {.bytes = NULL};
    struct wr_collect *again = NULL;
    collect_write(&reply, collect);
    must(!reply.is_bad);
    must(wr_collect_read(WR_REQUEST_COLLECT_TRACING_6, reply.bytes, (uint32_t)reply.used, &again) ==
         WR_REPLY_OK);
    compare(collect, again);
    wr_collect_free(again);
    wr_reply_free(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t message_bytes = 0, request = 0;
    struct wr_collect *collect = NULL;
    if (size < WR_MESSAGE_HEADER_BYTES || size > WR_MESSAGE_BYTES_MAX)
        return 0;
    uint32_t code = wr_header_read(bytes, &message_bytes, &request);
    must(code != WR_REPLY_OK ||
         (message_bytes >= WR_MESSAGE_HEADER_BYTES && message_bytes <= WR_MESSAGE_BYTES_MAX));
    request = WR_REQUEST_COLLECT_TRACING + (bytes[17] + 4u) % 6; /* its own, if it is one */
    must(wr_collect_is(request));
    code = wr_collect_read(request, bytes + WR_MESSAGE_HEADER_BYTES,
                           (uint32_t)size - WR_MESSAGE_HEADER_BYTES, &collect);
    must((code == WR_REPLY_OK) == (collect != NULL));
    must(collect || code == WR_REPLY_BAD_ENCODING || code == WR_REPLY_FAIL);
    if (!collect)
        return 0;
    collect_check(collect);
    write_and_read(collect);
    wr_collect_free(collect);
    return 0;
}
