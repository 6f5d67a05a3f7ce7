/* Builds streams of version 6, on top of build.h. */
#ifndef FORMAT_TEST_BUILD6_H
#define FORMAT_TEST_BUILD6_H

#include "build.h"

enum build6_kind {
    BUILD6_END = 0,
    BUILD6_TRACE = 1,
    BUILD6_EVENT = 2,
    BUILD6_METADATA = 3,
    BUILD6_POINT = 4,
    BUILD6_STACK = 5,
    BUILD6_THREAD = 6,
    BUILD6_REMOVE_THREAD = 7,
    BUILD6_LABEL = 8,
};

void build_text8(struct build *build, const char *text);

/* Header and Trace block: frequency 1e9, ProcessId 4242, pointers of 8 bytes. */
void build6_start(struct build *build);
void build6_block(struct build *build, unsigned kind);
void build6_block_end(struct build *build);

/* A Thread block with one row; `name` may be NULL. */
void build6_thread(struct build *build, uint64_t index, uint64_t os_id, const char *name);

/* A metadata block with one row of provider "Demo"; `fields` start with their count. */
void build6_metadata(struct build *build, uint32_t id, const char *name, const void *fields,
                     size_t field_size, const void *options, size_t option_size);
void build6_plain_metadata(struct build *build, uint32_t id, const char *name);

/* An event block with the header that event blocks have. */
void build6_events(struct build *build, unsigned flags, int64_t min, int64_t max);

struct row6 {
    uint32_t metadata_id;
    uint32_t previous_sequence, sequence;
    uint64_t capture_thread, thread;
    uint32_t stack, labels;
    uint64_t time_delta;
    bool sorted;
    const void *payload;
    uint32_t payload_size;
};
void build6_row(struct build *build, const struct row6 *row);

/* A sequence point with one thread, or none if the index is 0. */
void build6_point(struct build *build, int64_t time, uint32_t flags, uint64_t thread,
                  uint32_t number);

void build6_end(struct build *build);

extern const uint8_t sample6_bytes[294];

#endif
