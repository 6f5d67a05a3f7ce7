/*
 * Where a stream's bytes go: a file, a descriptor, a function of the host, or memory. Only the
 * session's drain thread writes; control calls open, publish, finish and close.
 */
#ifndef WR_STREAM_STREAM_H
#define WR_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "base/error.h"
#include "os/os.h"

#define WR_PATH_BYTES_MAX 4096

struct wr_stream {
    int fd;                           /* -1: none; owned, and a duplicate if one was given */
    char path[WR_PATH_BYTES_MAX];     /* the file's name once it is published */
    struct wr_os_temporary temporary; /* its name until then */
    weir_write write;
    void *write_context;
    unsigned char *memory; /* pages from the system */
    uint64_t memory_bytes;
    uint64_t memory_capacity;
    uint64_t memory_bytes_max;
    uint64_t sent; /* bytes that the sink has taken */
    bool has_failed;
    char reason[160]; /* set once the sink has failed */
};

/* Opens the sink, or memory if `memory_bytes_max` is not 0. A descriptor is duplicated, so that a
 * file that gets its number later receives nothing of the stream. WEIR_BAD_ARGUMENT: the descriptor
 * is not open, or the path is too long; WEIR_IO: the file cannot be created, or the process has too
 * many descriptors. */
enum weir_result wr_stream_open(struct wr_stream *stream, const struct weir_sink *sink,
                                uint64_t memory_bytes_max, struct weir_error *error);
/* Gives the file its final name, and replaces a file that has that name. */
enum weir_result wr_stream_publish(struct wr_stream *stream, struct weir_error *error);
/* Writes all bytes. May block. False once the sink has failed; nothing is written from then on. */
bool wr_stream_write(struct wr_stream *stream, const void *bytes, uint64_t count);
/* To be called after the last write. Closes the descriptor, which may fail like a write. Memory
 * stays. */
void wr_stream_finish(struct wr_stream *stream);
/* Closes and frees everything, and removes a file that was not published. */
void wr_stream_close(struct wr_stream *stream);
/* In a forked child: closes the child's copy of the parent's descriptor, and nothing else. A second
 * call does nothing. */
void wr_stream_close_inherited(struct wr_stream *stream);

#endif
