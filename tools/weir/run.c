#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_AFTER_MS 2000
#define PROGRESS_EVERY_MS 250
#define READ_BYTES        65536

void wt_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "weir: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

const char *wt_one_file(int argc, char **argv, int first)
{
    if (first == argc) {
        wt_complain("%s: no file given; give its name, or - for standard input", argv[0]);
        return NULL;
    }
    if (first + 1 < argc) {
        wt_complain("%s: one file at a time; \"%s\" is one too many", argv[0], argv[first + 1]);
        return NULL;
    }
    return argv[first];
}

bool wt_parse_count(const char *option, const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end || errno) {
        wt_complain("%s needs a whole number, not \"%s\"", option, text);
        return false;
    }
    *out = value;
    return true;
}

void *wt_grow(void *old, size_t *capacity, size_t count, size_t element_size)
{
    if (count <= *capacity)
        return old;
    size_t wanted = *capacity ? *capacity : 16;
    while (wanted < count && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    void *larger = NULL;
    if (wanted >= count && wanted <= SIZE_MAX / element_size)
        larger = realloc(old, wanted * element_size);
    if (!larger) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    memset((char *)larger + *capacity * element_size, 0, (wanted - *capacity) * element_size);
    *capacity = wanted;
    return larger;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void show_progress(struct wt_run *run)
{
    int64_t now = now_ms();
    if (now - run->start_ms < PROGRESS_AFTER_MS || now - run->shown_ms < PROGRESS_EVERY_MS)
        return;
    run->shown_ms = now;
    run->shown = true;
    fprintf(stderr, "\r%" PRIu64 " MB read, %" PRIu64 " events", run->bytes / 1000000,
            wt_reader_totals(run->reader)->events);
}

static void hide_progress(const struct wt_run *run)
{
    if (run->shown)
        fprintf(stderr, "\r%60s\r", "");
}

static ssize_t read_run(void *context, void *buffer, size_t size)
{
    struct wt_run *run = context;
    size_t head = run->head_size - run->head_next;
    if (head > 0) {
        size_t given = head < size ? head : size;
        memcpy(buffer, run->head + run->head_next, given);
        run->head_next += given;
        return (ssize_t)given;
    }
    ssize_t got = read(run->fd, buffer, size);
    if (got > 0)
        run->bytes += (uint64_t)got;
    if (run->progress)
        show_progress(run);
    return got;
}

static ssize_t read_run_at(void *context, void *buffer, size_t size, uint64_t offset)
{
    struct wt_run *run = context;
    ssize_t got = pread(run->fd, buffer, size, (off_t)((uint64_t)run->start + offset));
    if (got > 0)
        run->bytes += (uint64_t)got;
    if (run->progress)
        show_progress(run);
    return got;
}

/* A regular file can be read at any place. */
static struct wt_source source_of(struct wt_run *run)
{
    struct wt_source source = {.read = read_run, .context = run};
    struct stat stat;
    run->start = lseek(run->fd, 0, SEEK_CUR);
    if (run->start >= 0 && fstat(run->fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        source.read_at = read_run_at;
        run->is_file = run->fd != STDIN_FILENO;
    }
    return source;
}

bool wt_run_open(struct wt_run *run, const char *path, const struct wt_reader_options *options,
                 const struct wt_handlers *handlers, void *context)
{
    memset(run, 0, sizeof(*run));
    bool is_stdin = strcmp(path, "-") == 0;
    run->path = is_stdin ? "standard input" : path;
    run->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (run->fd < 0) {
        wt_complain("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    run->progress = isatty(STDERR_FILENO) == 1;
    run->start_ms = now_ms();
    const struct wt_source source = source_of(run);
    if (wt_reader_create(&run->reader, &source, options, handlers, context) == WT_OK)
        return true;
    wt_complain("out of memory");
    wt_run_close(run);
    return false;
}

size_t wt_run_peek(struct wt_run *run, size_t size)
{
    ssize_t got = 1;
    while (got > 0 && run->head_size < size && size <= sizeof(run->head)) {
        got = read(run->fd, run->head + run->head_size, size - run->head_size);
        if (got > 0)
            run->head_size += (size_t)got;
    }
    run->bytes += run->head_size;
    return run->head_size;
}

void *wt_run_take(struct wt_run *run, size_t *size)
{
    unsigned char *bytes = NULL;
    size_t capacity = 0;
    ssize_t got = 1;
    *size = 0;
    while (got > 0) {
        bytes = wt_grow(bytes, &capacity, *size + READ_BYTES, 1);
        got = read_run(run, bytes + *size, capacity - *size);
        if (got > 0)
            *size += (size_t)got;
    }
    hide_progress(run);
    if (got == 0)
        return bytes;
    wt_complain("cannot read %s: %s", run->path, strerror(errno));
    free(bytes);
    return NULL;
}

enum wt_status wt_run_read(struct wt_run *run)
{
    enum wt_status status = wt_reader_run(run->reader);
    hide_progress(run);
    if (status == WT_END || status == WT_STOPPED)
        return status;
    fflush(stdout);
    const struct wt_error *error = wt_reader_error(run->reader);
    if (status == WT_TRUNCATED)
        wt_complain("%s: %s (at offset %" PRIu64 "); what came before it was read", run->path,
                    error->text, error->offset);
    else
        wt_complain("%s: %s (at offset %" PRIu64 ")", run->path, error->text, error->offset);
    return status;
}

void wt_run_close(struct wt_run *run)
{
    wt_reader_destroy(run->reader);
    if (run->fd > STDIN_FILENO)
        close(run->fd);
    run->reader = NULL;
    run->fd = -1;
}

int wt_run_exit(const struct wt_run *run, uint64_t lost)
{
    const struct wt_totals *totals = wt_reader_totals(run->reader);
    switch (wt_reader_error(run->reader)->status) {
    case WT_OK:
    case WT_END:
    case WT_STOPPED:
        return lost + totals->lost > 0 ? WT_EXIT_LOST : WT_EXIT_OK;
    case WT_TRUNCATED:
        return WT_EXIT_TRUNCATED;
    case WT_ERROR_FORMAT:
    case WT_ERROR_VERSION:
    case WT_ERROR_LIMIT:
    case WT_ERROR_MEMORY:
    case WT_ERROR_IO:
    case WT_ERROR_ARGUMENT:
        break;
    }
    return WT_EXIT_FAILED;
}

int wt_finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    wt_complain("cannot write to standard output: %s", strerror(errno));
    return WT_EXIT_FAILED;
}

const char *wt_status_word(enum wt_status status)
{
    if (status == WT_END || status == WT_OK)
        return "complete";
    if (status == WT_TRUNCATED)
        return "truncated";
    return status == WT_STOPPED ? "stopped" : "error";
}
