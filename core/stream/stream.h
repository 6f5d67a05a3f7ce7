/*
 * Where a session's bytes go: a file, a descriptor, a function of the host, or memory.
 * Used by the session's drain thread only, except open and close.
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
    int fd;                           /* -1: none; ours, also where the caller has given one */
    char path[WR_PATH_BYTES_MAX];     /* the file's name after publish */
    struct wr_os_temporary temporary; /* until then */
    weir_write write;
    void *write_context;
    unsigned char *memory; /* pages */
    uint64_t memory_bytes;
    uint64_t memory_capacity;
    uint64_t memory_bytes_max;
    uint64_t sent; /* bytes that the sink has taken */
    bool has_failed;
    char reason[160]; /* once it has failed */
};

/* To the sink, or to memory if `memory_bytes_max` is not 0. A descriptor is duplicated, so that the
 * number's next owner gets nothing of the stream. WEIR_BAD_ARGUMENT: it is not open, or the path is
 * too long; WEIR_IO: the file cannot be created, or no more descriptors are available. */
enum weir_result wr_stream_open(struct wr_stream *stream, const struct weir_sink *sink,
                                uint64_t memory_bytes_max, struct weir_error *error);
/* Gives the file its name, replacing what is there. */
enum weir_result wr_stream_publish(struct wr_stream *stream, struct weir_error *error);
/* False once the sink has failed; nothing is written then. May block. */
bool wr_stream_write(struct wr_stream *stream, const void *bytes, uint64_t count);
/* The last byte is written: closes the descriptor, which may fail as a write may. Memory stays. */
void wr_stream_finish(struct wr_stream *stream);
/* Closes what was opened; a file that was not published is removed. */
void wr_stream_close(struct wr_stream *stream);
/* In a forked child: closes the copy of the parent's descriptor that the child has, and nothing
 * else. Once it is closed a second call does nothing. */
void wr_stream_close_inherited(struct wr_stream *stream);

#endif
