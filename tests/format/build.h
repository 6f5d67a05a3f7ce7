/* Builds streams byte by byte, for tests. Independent of the reader's code. */
#ifndef FORMAT_TEST_BUILD_H
#define FORMAT_TEST_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct build {
    uint8_t bytes[12 << 20];
    size_t size;
    size_t block_size_at, block_body_at; /* of the open block */
};

void build_bytes(struct build *build, const void *bytes, size_t size);
void build_u8(struct build *build, unsigned value);
void build_u16(struct build *build, unsigned value);
void build_u32(struct build *build, uint32_t value);
void build_u64(struct build *build, uint64_t value);
void build_var(struct build *build, uint64_t value);
void build_utf16(struct build *build, const char *ascii); /* with the zero */

/* Magic and Trace object: frequency 1e9, pid 4242, pointers of 8 bytes. */
void build_start(struct build *build);

/* Starts a block with that type name; build_block_end fills in its size. */
void build_block(struct build *build, const char *type);
void build_block_end(struct build *build);

/* The 20-byte header of event and metadata blocks. */
void build_block_header(struct build *build, unsigned flags, int64_t min, int64_t max);

/* A metadata block with one definition of an event of provider "Demo"; `fields` follow the level.
 */
void build_metadata(struct build *build, uint32_t id, const char *name, const void *fields,
                    size_t size);

/* The same of another provider. */
void build_metadata_of(struct build *build, const char *provider, uint32_t id, const char *name,
                       const void *fields, size_t size);

/* A field of a definition: its type code and name. */
void build_field(struct build *build, uint32_t type, const char *name);

/* The definitions of what gives names to values and threads: Weir's Enum and ThreadName. */
void build_names(struct build *build, uint32_t enum_id, uint32_t thread_name_id);

/* The first one, with no fields. */
void build_plain_metadata(struct build *build, uint32_t id, const char *name);

/* A compressed blob with everything in its header; `previous` numbers follow the block's state. */
struct blob {
    uint32_t metadata_id;
    uint32_t previous_sequence, sequence;
    uint64_t capture_thread, thread;
    uint32_t stack;
    uint64_t time_delta;
    bool sorted;
    const void *payload;
    uint32_t payload_size;
};
void build_blob(struct build *build, const struct blob *blob);

/* A sequence point with `count` threads, up to two. */
void build_point(struct build *build, int64_t time, unsigned count, uint64_t thread0,
                 uint32_t number0, uint64_t thread1, uint32_t number1);

void build_end(struct build *build);

/* The worked example of the format page: 422 bytes. */
extern const uint8_t sample_bytes[422];

#endif
