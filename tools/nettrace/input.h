/* Bytes from a source, through one buffer that always holds the requested piece contiguously. */
#ifndef WT_NETTRACE_INPUT_H
#define WT_NETTRACE_INPUT_H

#include "reader.h"

struct wt_input {
    struct wt_source source;
    uint8_t *buffer;
    size_t capacity;
    size_t begin, end; /* buffered bytes that are not yet consumed */
    uint64_t offset;   /* of buffer[begin] in the stream */
    uint64_t read;     /* bytes from the source */
    bool sparse;       /* reads no more than is needed, or `chunk`, and skips without reading */
    size_t chunk;
    bool at_end; /* the source has reported its end */
    int error;   /* errno of a failed read, or ENOMEM for the buffer */
};

/* Tries to get `size` bytes at buffer + begin and returns how many are there, possibly more; less
 * than `size` means the end or an error (then `error` is set). The buffer grows only as bytes
 * actually arrive, at most to twice their number, so a wrong size costs no memory. */
size_t wt_input_need(struct wt_input *input, size_t size);

/* The bytes that wt_input_need() provided. */
const uint8_t *wt_input_bytes(const struct wt_input *input);

/* Drops bytes from the front; `size` must not exceed what is there. */
void wt_input_consume(struct wt_input *input, size_t size);

/* Passes over bytes without keeping them; false if the stream ends or fails before. A sparse input
 * does not notice its end before the next read. */
bool wt_input_skip(struct wt_input *input, size_t size);

void wt_input_fini(struct wt_input *input);

#endif
