#include "stream/stream.h"

#include <stdio.h>
#include <string.h>
#include "os/os.h"

#define MEMORY_BYTES_FIRST (1u << 20)

static enum weir_result file_open(struct wr_stream *stream, const char *path,
                                  struct weir_error *error)
{
    if (strlen(path) >= sizeof stream->path)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "the file's path is longer than %d bytes",
                       WR_PATH_BYTES_MAX - 1);
    memcpy(stream->path, path, strlen(path) + 1);
    int fd = wr_os_file_create(path, stream->temporary, sizeof stream->temporary);
    if (fd < 0)
        return wr_fail(error, WEIR_IO, "cannot write '%.100s': %s", path, strerror(-fd));
    stream->fd = fd;
    stream->owns_fd = true;
    return WEIR_OK;
}

enum weir_result wr_stream_open(struct wr_stream *stream, const struct weir_session_config *config,
                                struct weir_error *error)
{
    stream->fd = config->fd;
    stream->write = config->write;
    stream->write_context = config->write_context;
    stream->memory_bytes_max = config->memory_bytes_max;
    return config->file ? file_open(stream, config->file, error) : WEIR_OK;
}

enum weir_result wr_stream_publish(struct wr_stream *stream, struct weir_error *error)
{
    if (!stream->temporary[0])
        return WEIR_OK;
    int failure = wr_os_file_publish(stream->temporary, stream->path);
    if (failure)
        return wr_fail(error, WEIR_IO, "cannot write '%.100s': %s", stream->path,
                       strerror(failure));
    stream->temporary[0] = 0;
    return WEIR_OK;
}

static bool fail(struct wr_stream *stream, const char *reason)
{
    stream->has_failed = true;
    snprintf(stream->reason, sizeof stream->reason, "the sink failed after %llu bytes: %s",
             (unsigned long long)stream->sent, reason);
    return false;
}

static bool memory_append(struct wr_stream *stream, const void *bytes, uint64_t count)
{
    uint64_t needed = stream->memory_bytes + count;
    if (needed > stream->memory_bytes_max)
        return fail(stream, "the memory sink is full (memory_bytes_max)");
    if (needed > stream->memory_capacity) {
        uint64_t capacity = stream->memory_capacity ? stream->memory_capacity : MEMORY_BYTES_FIRST;
        while (capacity < needed)
            capacity *= 2;
        void *grown = stream->memory
                          ? wr_os_pages_grow(stream->memory, stream->memory_capacity, capacity)
                          : wr_os_pages_map(capacity);
        if (!grown)
            return fail(stream, "no memory for the memory sink");
        stream->memory = grown;
        stream->memory_capacity = capacity;
    }
    memcpy(stream->memory + stream->memory_bytes, bytes, count);
    stream->memory_bytes = needed;
    return true;
}

bool wr_stream_write(struct wr_stream *stream, const void *bytes, uint64_t count)
{
    if (stream->has_failed)
        return false;
    if (stream->write) {
        if (!stream->write(stream->write_context, bytes, count))
            return fail(stream, "its function returned false");
    } else if (stream->fd >= 0) {
        int failure = wr_os_file_write(stream->fd, bytes, count);
        if (failure)
            return fail(stream, strerror(failure));
    } else if (!memory_append(stream, bytes, count)) {
        return false;
    }
    stream->sent += count;
    return true;
}

void wr_stream_finish(struct wr_stream *stream)
{
    int failure = stream->owns_fd ? wr_os_file_close(stream->fd) : 0;
    if (failure && !stream->has_failed)
        fail(stream, strerror(failure));
    stream->fd = -1;
    stream->owns_fd = false;
}

void wr_stream_close(struct wr_stream *stream)
{
    if (stream->owns_fd)
        wr_os_file_discard(stream->fd, stream->temporary);
    stream->fd = -1;
    stream->owns_fd = false;
    wr_os_pages_unmap(stream->memory, stream->memory_capacity);
    stream->memory = NULL;
}
