/* The reader on the body of one block, of version 4 or 6, in a good stream: every input reaches the
 * decoder of that block, and what follows uses what it may have defined. For the targets that
 * include it. */
#ifndef FUZZ_BODY_H
#define FUZZ_BODY_H

#include "fuzz.h"
#include "fuzz_stream.h"

#include "build6.h"

#include <string.h>

#define BODY_MAX ((size_t)256 * 1024)

static struct build stream;

/* Bits of the first byte of an input; the others are the body. */
enum { FUZZ_VERSION_6 = 1, FUZZ_LABELS = 2 };

static void fuzz_start(bool is_6)
{
    if (!is_6) {
        build_start(&stream);
        return;
    }
    build6_start(&stream);
    for (uint64_t index = 1; index <= 3; index++)
        build6_thread(&stream, index, 5000 + index, "main");
}

static void block_begin(bool is_6, const char *type4, unsigned kind6)
{
    if (is_6)
        build6_block(&stream, kind6);
    else
        build_block(&stream, type4);
}

static void block_end(bool is_6)
{
    if (is_6)
        build6_block_end(&stream);
    else
        build_block_end(&stream);
}

static void fuzz_body(bool is_6, const char *type4, unsigned kind6, const uint8_t *body,
                      size_t size)
{
    block_begin(is_6, type4, kind6);
    build_bytes(&stream, body, size);
    block_end(is_6);
}

/* One event of thread 1, 2 or 3, in a block of its own. */
static void fuzz_event(bool is_6, uint32_t metadata_id, uint32_t stack, const void *payload,
                       uint32_t size)
{
    const uint64_t thread = 1 + metadata_id % 3;
    const struct blob blob = {.metadata_id = metadata_id,
                              .sequence = 1,
                              .capture_thread = thread,
                              .thread = thread,
                              .stack = stack,
                              .time_delta = 100,
                              .payload = payload,
                              .payload_size = size};
    const struct row6 row = {.metadata_id = metadata_id,
                             .sequence = 1,
                             .capture_thread = thread,
                             .thread = thread,
                             .stack = stack,
                             .labels = stack,
                             .time_delta = 100,
                             .payload = payload,
                             .payload_size = size};
    block_begin(is_6, "EventBlock", BUILD6_EVENT);
    build_block_header(&stream, 1, 0, 200);
    if (is_6)
        build6_row(&stream, &row);
    else
        build_blob(&stream, &blob);
    block_end(is_6);
}

static void fuzz_point(bool is_6)
{
    if (is_6)
        build6_point(&stream, 300, 0, 1, 9);
    else
        build_point(&stream, 300, 2, 1, 9, 2, 9);
}

static void fuzz_finish(bool is_6)
{
    if (is_6)
        build6_end(&stream);
    else
        build_end(&stream);
    uint8_t *copy = malloc(stream.size); /* of that size, for the sanitizers */
    if (!copy)
        abort();
    memcpy(copy, stream.bytes, stream.size);
    fuzz_stream(copy, stream.size);
    free(copy);
}

#endif
