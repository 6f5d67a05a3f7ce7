#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

static bool fill(struct wt_input *input)
{
    ssize_t got;
    do
        got = input->source.read(input->source.context, input->buffer + input->end,
                                 input->capacity - input->end);
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
    return true;
}

size_t wt_input_need(struct wt_input *input, size_t size)
{
    while (input->end - input->begin < size && !input->at_end && !input->error)
        if (!make_room(input, size) || !fill(input))
            break;
    return input->end - input->begin;
}

const uint8_t *wt_input_bytes(const struct wt_input *input)
{
    return input->buffer + input->begin;
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

static ssize_t read_fd(void *context, void *buffer, size_t size)
{
    const struct wt_fd_source *state = context;
    return read(state->fd, buffer, size);
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

struct wt_source wt_source_fd(struct wt_fd_source *state)
{
    struct wt_source source = {read_fd, state};
    return source;
}

struct wt_source wt_source_memory(struct wt_memory_source *state)
{
    struct wt_source source = {read_memory, state};
    return source;
}
