#include "stream/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/compiler.h"
#include "os/os.h"

#define MEMORY_BYTES_FIRST (1u << 20)

static enum weir_result file_open(struct wr_stream *stream, const char *path,
                                  struct weir_error *error)
{
    if (strlen(path) >= sizeof stream->path)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "the file's path is longer than %d bytes",
                       WR_PATH_BYTES_MAX - 1);
    memcpy(stream->path, path, strlen(path) + 1);
    int fd = wr_os_file_create(path, &stream->temporary);
    if (fd < 0)
        return wr_fail(error, WEIR_IO, "cannot write '%.100s': %s", path, strerror(-fd));
    stream->fd = fd;
    return WEIR_OK;
}

static enum weir_result fd_open(struct wr_stream *stream, int fd, struct weir_error *error)
{
    int copy = wr_os_fd_duplicate(fd);
    if (copy == -EBADF)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "descriptor is %d, which is not open", fd);
    if (copy < 0)
        return wr_fail(error, WEIR_IO, "cannot duplicate descriptor %d: %s", fd, strerror(-copy));
    stream->fd = copy;
    return WEIR_OK;
}

WR_COLD enum weir_result wr_stream_open(struct wr_stream *stream, const struct weir_sink *sink,
                                        uint64_t memory_bytes_max, struct weir_error *error)
{
    stream->fd = -1;
    stream->sent = 0;
    stream->has_failed = false;
    stream->write = sink->write;
    stream->write_context = sink->context;
    stream->memory_bytes_max = memory_bytes_max;
    if (sink->file)
        return file_open(stream, sink->file, error);
    return sink->descriptor >= 0 ? fd_open(stream, sink->descriptor, error) : WEIR_OK;
}

WR_COLD enum weir_result wr_stream_publish(struct wr_stream *stream, struct weir_error *error)
{
    if (!stream->temporary.name[0])
        return WEIR_OK;
    int failure = wr_os_file_publish(&stream->temporary, stream->path);
    if (failure)
        return wr_fail(error, WEIR_IO, "cannot write '%.100s': %s", stream->path,
                       strerror(failure));
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

WR_COLD bool wr_stream_write(struct wr_stream *stream, const void *bytes, uint64_t count)
{
    if (stream->has_failed)
        return false;
    if (stream->write) {
        if (!stream->write(stream->write_context, bytes, count))
            return fail(stream, "the write function returned false");
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

WR_COLD void wr_stream_finish(struct wr_stream *stream)
{
    int failure = wr_os_fd_close(&stream->fd);
    if (failure && !stream->has_failed)
        fail(stream, strerror(failure));
}

WR_COLD void wr_stream_close(struct wr_stream *stream)
{
    wr_os_fd_close(&stream->fd);
    wr_os_file_discard(&stream->temporary);
    wr_os_pages_unmap(stream->memory, stream->memory_capacity);
    stream->memory = NULL;
}

WR_COLD void wr_stream_close_inherited(struct wr_stream *stream)
{
    wr_os_fd_close(&stream->fd);
}
