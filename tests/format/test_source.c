/* Where streams come from: files, pipes, and sources that fail. */
#include "build.h"
#include "record.h"
#include "test.h"

#include <errno.h>
#include <unistd.h>

static const struct wt_handlers none = {0};

/* --- Descriptors. ---------------------------------------------------------------------------- */

static uint64_t read_events(int fd)
{
    struct wt_fd_source state = {.fd = fd};
    const struct wt_source source = wt_source_fd(&state);
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, NULL, &none, NULL) == WT_OK);
    EXPECT_EQUAL(wt_reader_run(reader), WT_END);
    uint64_t events = wt_reader_totals(reader)->events;
    EXPECT_EQUAL(wt_reader_totals(reader)->bytes, sizeof(sample_bytes));
    wt_reader_destroy(reader);
    return events;
}

/* The stream begins where the file's offset is. */
static void test_file(void)
{
    FILE *file = tmpfile();
    EXPECT(file != NULL);
    EXPECT(fwrite("front", 1, 5, file) == 5 && fwrite(sample_bytes, 1, 422, file) == 422);
    EXPECT(fflush(file) == 0 && lseek(fileno(file), 5, SEEK_SET) == 5);
    EXPECT_EQUAL(read_events(fileno(file)), 2);
    fclose(file);
}

static void test_pipe(void)
{
    int ends[2];
    EXPECT(pipe(ends) == 0);
    EXPECT(write(ends[1], sample_bytes, 422) == 422 && close(ends[1]) == 0);
    EXPECT_EQUAL(read_events(ends[0]), 2);
    close(ends[0]);
}

static void test_closed_descriptor(void)
{
    struct wt_fd_source state = {.fd = -1};
    const struct wt_source source = wt_source_fd(&state);
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, NULL, &none, NULL) == WT_OK);
    EXPECT_EQUAL(wt_reader_run(reader), WT_ERROR_IO);
    EXPECT(strstr(wt_reader_error(reader)->text, strerror(EBADF)) != NULL);
    wt_reader_destroy(reader);
}

/* --- Sources that fail. ---------------------------------------------------------------------- */

struct failing {
    struct wt_memory_source memory;
    struct wt_source source;
    unsigned reads, fails_at; /* fails_at: the first read that fails */
};

/* Each read is interrupted once before it succeeds. */
static bool fails(struct failing *failing)
{
    errno = failing->reads / 2 >= failing->fails_at ? EIO : EINTR;
    return failing->reads++ % 2 == 0 || errno == EIO;
}

static ssize_t read_failing(void *context, void *buffer, size_t size)
{
    struct failing *failing = context;
    return fails(failing) ? -1 : failing->source.read(failing->source.context, buffer, size);
}

static ssize_t read_failing_at(void *context, void *buffer, size_t size, uint64_t offset)
{
    struct failing *failing = context;
    return fails(failing) ? -1
                          : failing->source.read_at(failing->source.context, buffer,
                                                    size < 20 ? size : 20, offset);
}

static enum wt_status read_until(unsigned fails_at, bool at,
                                 const struct wt_reader_options *options)
{
    struct failing failing = {.memory = {sample_bytes, sizeof(sample_bytes), at ? 0 : 20},
                              .fails_at = fails_at};
    failing.source = wt_source_memory(&failing.memory);
    const struct wt_source source = {.read = at ? NULL : read_failing,
                                     .read_at = at ? read_failing_at : NULL,
                                     .context = &failing};
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, options, &none, NULL) == WT_OK);
    enum wt_status status = wt_reader_run(reader);
    if (status == WT_ERROR_IO)
        EXPECT(strstr(wt_reader_error(reader)->text, strerror(EIO)) != NULL);
    EXPECT_EQUAL(wt_reader_step(reader), status);
    wt_reader_destroy(reader);
    return status;
}

/* Whichever read fails, the reading does, with the system's reason; what is only interrupted is read
 * again. */
static void test_failing(void)
{
    const struct wt_reader_options whole = {.has_window = false},
                                   part = {.has_window = true, .from = 1000300, .to = 1000390};
    for (int i = 0; i < 3; i++) {
        const struct wt_reader_options *options = i == 2 ? &part : &whole;
        unsigned fails_at = 0;
        while (read_until(fails_at, i > 0, options) == WT_ERROR_IO)
            fails_at++;
        EXPECT(fails_at > 10);
        EXPECT_EQUAL(read_until(fails_at, i > 0, options), WT_END);
    }
}

/* --- Arguments. ------------------------------------------------------------------------------ */

static void test_arguments(void)
{
    struct wt_memory_source memory = {sample_bytes, sizeof(sample_bytes), 0};
    const struct wt_source source = wt_source_memory(&memory), nothing = {0};
    const struct wt_reader_options backward = {.has_window = true, .from = 2, .to = 1},
                                   first = {.has_window = true, .from = INT64_MIN, .to = INT64_MIN};
    struct wt_reader *reader = NULL;
    EXPECT_EQUAL(wt_reader_create(NULL, &source, NULL, &none, NULL), WT_ERROR_ARGUMENT);
    EXPECT_EQUAL(wt_reader_create(&reader, NULL, NULL, &none, NULL), WT_ERROR_ARGUMENT);
    EXPECT_EQUAL(wt_reader_create(&reader, &nothing, NULL, &none, NULL), WT_ERROR_ARGUMENT);
    EXPECT_EQUAL(wt_reader_create(&reader, &source, NULL, NULL, NULL), WT_ERROR_ARGUMENT);
    EXPECT_EQUAL(wt_reader_create(&reader, &source, &backward, &none, NULL), WT_ERROR_ARGUMENT);
    EXPECT_EQUAL(wt_reader_create(&reader, &source, &first, &none, NULL), WT_ERROR_ARGUMENT);
    EXPECT(reader == NULL);
    wt_reader_destroy(NULL);
    EXPECT_TEXT(wt_rule_name(WT_RULE_COUNT), wt_rule_name(WT_RULE_NONE));
    EXPECT_TEXT(wt_rule_text(WT_RULE_COUNT), wt_rule_text(WT_RULE_NONE));
}

/* A window is set before the first block; limits have their own limits. */
static void test_late_window(void)
{
    const struct wt_reader_options vast = {
        .limits = {.block_size_max = UINT32_MAX, .depth_max = UINT32_MAX}};
    struct wt_memory_source memory = {sample_bytes, sizeof(sample_bytes), 0};
    const struct wt_source source = wt_source_memory(&memory);
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, &vast, &none, NULL) == WT_OK);
    EXPECT_EQUAL(wt_reader_run(reader), WT_END);
    EXPECT_EQUAL(wt_reader_set_window(reader, 0, 1), WT_ERROR_ARGUMENT);
    wt_reader_destroy(reader);
}

int main(void)
{
    test_file();
    test_pipe();
    test_closed_descriptor();
    test_failing();
    test_arguments();
    test_late_window();
    return 0;
}
