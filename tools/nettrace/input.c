#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large enough that a read is worth its system call, small enough for the second-level cache. */
#define FIRST_CAPACITY ((size_t)256 * 1024)

static void compact(struct wt_input *input)
{
    if (input->begin == 0)
        return;
    memmove(input->buffer, input->buffer + input->begin, input->end - input->begin);
    input->end -= input->begin;
    input->begin = 0;
}

/* Makes room behind `end`: first by moving to the front, then by doubling. */
static bool make_room(struct wt_input *input, size_t size)
{
    if (input->capacity - input->begin < size || input->end == input->capacity)
        compact(input);
    if (input->end < input->capacity)
        return true;
    size_t wanted = input->capacity ? 2 * input->capacity : FIRST_CAPACITY;
    uint8_t *larger = realloc(input->buffer, wanted);
    if (!larger) {
        input->error = ENOMEM;
        return false;
    }
    input->buffer = larger;
    input->capacity = wanted;
    return true;
}

/* At least one byte, and as much as fits unless the input is sparse. */
static size_t size_of_read(const struct wt_input *input, size_t missing)
{
    size_t room = input->capacity - input->end;
    size_t wanted = missing > input->chunk ? missing : input->chunk;
    return input->sparse && wanted < room ? wanted : room;
}

static ssize_t read_once(struct wt_input *input, size_t size)
{
    const struct wt_source *source = &input->source;
    uint8_t *to = input->buffer + input->end;
    if (source->read_at)
        return source->read_at(source->context, to, size,
                               input->offset + (input->end - input->begin));
    return source->read(source->context, to, size);
}

static bool fill(struct wt_input *input, size_t missing)
{
    const size_t size = size_of_read(input, missing);
    ssize_t got;
    do
        got = read_once(input, size);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        input->error = errno;
        return false;
    }
    if (got == 0) {
        input->at_end = true;
        return false;
    }
    input->end += (size_t)got;
    input->read += (uint64_t)got;
    return true;
}

size_t wt_input_need(struct wt_input *input, size_t size)
{
    while (input->end - input->begin < size && !input->at_end && !input->error)
        if (!make_room(input, size) || !fill(input, size - (input->end - input->begin)))
            break;
    return input->end - input->begin;
}

const uint8_t *wt_input_bytes(const struct wt_input *input)
{
    static const uint8_t none; /* there is no buffer until a byte is needed */
    return input->buffer ? input->buffer + input->begin : &none;
}

void wt_input_consume(struct wt_input *input, size_t size)
{
    input->begin += size;
    input->offset += size;
    if (input->begin == input->end)
        input->begin = input->end = 0;
}

bool wt_input_skip(struct wt_input *input, size_t size)
{
    const size_t piece = 4096;
    if (input->sparse && size > input->end - input->begin) {
        input->offset += size;
        input->begin = input->end = 0;
        return true;
    }
    while (size > 0) {
        size_t wanted = size < piece ? size : piece;
        size_t there = wt_input_need(input, wanted);
        if (there < wanted) {
            wt_input_consume(input, there);
            return false;
        }
        there = there < size ? there : size;
        wt_input_consume(input, there);
        size -= there;
    }
    return true;
}

void wt_input_fini(struct wt_input *input)
{
    free(input->buffer);
    input->buffer = NULL;
    input->capacity = input->begin = input->end = 0;
}

/* --- Sources. -------------------------------------------------------------------------------- */

static ssize_t read_fd(void *context, void *buffer, size_t size)
{
    const struct wt_fd_source *state = context;
    return read(state->fd, buffer, size);
}

static ssize_t read_fd_at(void *context, void *buffer, size_t size, uint64_t offset)
{
    struct wt_fd_source *state = context;
    if (state->start < 0)
        state->start = lseek(state->fd, 0, SEEK_CUR);
    return pread(state->fd, buffer, size, (off_t)((uint64_t)state->start + offset));
}

static ssize_t read_memory(void *context, void *buffer, size_t size)
{
    struct wt_memory_source *state = context;
    if (size > state->size)
        size = state->size;
    if (state->step && size > state->step)
        size = state->step;
    if (size == 0)
        return 0;
    memcpy(buffer, state->bytes, size);
    state->bytes += size;
    state->size -= size;
    return (ssize_t)size;
}

static ssize_t read_memory_at(void *context, void *buffer, size_t size, uint64_t offset)
{
    const struct wt_memory_source *state = context;
    if (offset >= state->size)
        return 0;
    if (size > state->size - offset)
        size = (size_t)(state->size - offset);
    memcpy(buffer, state->bytes + offset, size);
    return (ssize_t)size;
}

struct wt_source wt_source_fd(struct wt_fd_source *state)
{
    struct wt_source source = {.read = read_fd, .context = state};
    struct stat stat;
    state->start = -1;
    if (fstat(state->fd, &stat) == 0 && S_ISREG(stat.st_mode))
        source.read_at = read_fd_at;
    return source;
}

struct wt_source wt_source_memory(struct wt_memory_source *state)
{
    struct wt_source source = {.read = read_memory, .context = state};
    if (state->step == 0)
        source.read_at = read_memory_at;
    return source;
}
