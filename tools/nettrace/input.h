/* Bytes from a source through one buffer that always holds the piece asked for contiguously. */
#ifndef WT_NETTRACE_INPUT_H
#define WT_NETTRACE_INPUT_H

#include "reader.h"

struct wt_input {
    struct wt_source source;
    uint8_t *buffer;
    size_t capacity;
    size_t begin, end; /* what is in the buffer and not yet consumed */
    uint64_t offset;   /* of buffer[begin] in the stream */
    bool at_end;       /* the source said so */
    int error;         /* errno of a failed read, or ENOMEM for the buffer */
};

/* Tries to have `size` bytes at buffer + begin and returns how many there are, more included; less
 * than `size` means the end or an error (then `error` is set). The buffer grows only as bytes
 * really arrive, at most to twice what there is, so that a wrong size costs no memory. */
size_t wt_input_need(struct wt_input *input, size_t size);

/* The bytes that wt_input_need() made sure of. */
const uint8_t *wt_input_bytes(const struct wt_input *input);

/* Drops bytes from the front; size <= what is there. */
void wt_input_consume(struct wt_input *input, size_t size);

void wt_input_fini(struct wt_input *input);

#endif
