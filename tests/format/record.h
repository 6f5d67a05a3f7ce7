/* Reads a stream and records what the reader reports. */
#ifndef FORMAT_TEST_RECORD_H
#define FORMAT_TEST_RECORD_H

#include "reader.h"

#define RECORD_MAX 64

struct record {
    struct wt_reader *reader; /* while handlers run, and until record_free */
    enum wt_status status;
    struct wt_event events[RECORD_MAX];
    char texts[RECORD_MAX][64];      /* "Provider/Event payload-in-hex" */
    char labels[RECORD_MAX][96];     /* "kind key=value,..." */
    char overridden[RECORD_MAX][32]; /* opcode, keywords, level and version as the labels say */
    unsigned event_count;
    struct wt_gap gaps[RECORD_MAX];
    unsigned gap_count;
    unsigned gap_before[RECORD_MAX]; /* number of events before the gap */
    enum wt_rule rules[RECORD_MAX];
    unsigned rule_count;
    unsigned point_count, metadata_count, block_count;
    const struct wt_metadata *metadata; /* the last one */
};

/* `step`: most bytes per read, 0 for no limit. Call record_free at the end. */
void record_read(struct record *record, const uint8_t *bytes, size_t size, size_t step,
                 const struct wt_reader_options *options);
void record_free(struct record *record);

#endif
