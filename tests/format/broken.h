/* Streams with something wrong, and what the reader must make of them. */
#ifndef FORMAT_TEST_BROKEN_H
#define FORMAT_TEST_BROKEN_H

#include "build.h"
#include "record.h"

/* With check_trailing; `limits` may be NULL. Call record_free() at the end. */
void read_built(struct record *record, const struct build *build, const struct wt_limits *limits);

/* The stream is read to its end, and exactly this rule is reported, `count` times. Returns the
 * number of events. */
unsigned expect_told(const struct build *build, enum wt_rule rule, unsigned count);

/* The reading ends with this status and rule. */
void expect_failure(const struct build *build, enum wt_status status, enum wt_rule rule,
                    const struct wt_limits *limits);

/* Any single byte may be wrong: the reader may fail or continue, but it must return. */
void expect_return_with_wrong_bytes(const uint8_t *bytes, size_t size);

/* The definition of both worked examples. */
void expect_tick(const struct wt_metadata *metadata);

#endif
