#include "brim_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <reader.h>
#include "harness.h"

#define PIPE_BYTES   (1 << 20)
#define FIRST_NUMBER 2u /* of a thread's events; number 1 introduces the thread */

bool brim_verifier_init(struct brim_verifier *verifier, const struct brim_options *options,
                        uint64_t seed)
{
    *verifier =
        (struct brim_verifier){.options = options, .seed = seed, .read_fd = -1, .write_fd = -1};
    verifier->seen = hs_try_allocate(options->threads * sizeof *verifier->seen);
    verifier->next = hs_try_allocate(options->threads * sizeof *verifier->next);
    return verifier->seen && verifier->next;
}

void brim_verifier_free(struct brim_verifier *verifier)
{
    hs_stream_free(&verifier->stream);
    free(verifier->seen);
    free(verifier->next);
    if (verifier->read_fd >= 0)
        close(verifier->read_fd);
}

/* --- Events. --------------------------------------------------------------------------------- */

/* `number` is the stream's. If payloads are empty, it is all that can be checked. */
static void take(struct brim_verifier *verifier, const void *payload, uint32_t bytes,
                 uint64_t number)
{
    uint64_t index, counter;
    bool is_sized = bytes == verifier->options->payload_bytes;
    if (is_sized && bytes == 0)
        return;
    if (!hs_check(is_sized && brim_payload_read(payload, bytes, verifier->seed, &index, &counter) &&
                      index < verifier->options->threads,
                  "event %" PRIu64 " of a thread: its %u bytes are not what any producer emitted",
                  number, bytes))
        return;
    if (counter < verifier->next[index] || number != counter + FIRST_NUMBER)
        hs_check(false,
                 "producer %" PRIu64 ": event %" PRIu64 " has number %" PRIu64
                 " in the stream, but %" PRIu64 " is the next",
                 index, counter, number, verifier->next[index]);
    verifier->next[index] = counter + 1;
    verifier->seen[index]++;
}

static void on_event(void *context, const struct hs_event *event)
{
    take(context, event->payload, event->payload_bytes, event->number);
}

static void on_cut_event(void *context, const struct wt_event *event)
{
    if (strcmp(event->metadata->provider_name, BRIM_PROVIDER_NAME) == 0)
        take(context, event->payload, event->payload_size, event->number);
}

/* --- Reading. -------------------------------------------------------------------------------- */

/* The stream reader opens a path; files without a name and pipes have one in /proc. */
static void path_set(struct brim_verifier *verifier, int fd)
{
    snprintf(verifier->trace.path, sizeof verifier->trace.path, "/proc/self/fd/%d", fd);
}

static void read_whole(struct brim_verifier *verifier)
{
    verifier->is_whole = hs_stream_read(&verifier->stream, &verifier->trace, on_event, verifier);
}

void brim_verifier_read(struct brim_verifier *verifier, int fd, const struct weir_stats *stats)
{
    path_set(verifier, fd);
    verifier->trace.stats = *stats;
    read_whole(verifier);
}

void brim_verifier_read_cut(struct brim_verifier *verifier, int fd, const struct weir_stats *stats)
{
    struct wt_fd_source file = {.fd = fd};
    struct wt_source source = wt_source_fd(&file);
    struct wt_handlers handlers = {.event = on_cut_event};
    struct wt_reader *reader;
    lseek(fd, 0, SEEK_SET);
    if (!hs_check(wt_reader_create(&reader, &source, NULL, &handlers, verifier) == WT_OK,
                  "no reader"))
        return;
    enum wt_status status = wt_reader_run(reader);
    hs_check(status == WT_TRUNCATED || status == WT_END, "the cut stream cannot be read: %s",
             wt_reader_error(reader)->text);
    hs_check(wt_reader_totals(reader)->bytes == stats->bytes_sent,
             "%" PRIu64 " bytes in the stream, bytes_sent is %" PRIu64,
             wt_reader_totals(reader)->bytes, stats->bytes_sent);
    wt_reader_destroy(reader);
}

/* --- The pipe. ------------------------------------------------------------------------------- */

/* A reader that has given up must still empty the pipe, or the session would wait for ever. */
static void *pipe_read(void *context)
{
    struct brim_verifier *verifier = context;
    char rest[4096];
    ssize_t count;
    read_whole(verifier);
    while ((count = read(verifier->read_fd, rest, sizeof rest)) > 0 ||
           (count < 0 && errno == EINTR))
        hs_progress();
    return NULL;
}

int brim_verifier_pipe_start(struct brim_verifier *verifier)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* if refused, the run is only slower */
    verifier->read_fd = ends[0];
    verifier->write_fd = ends[1];
    path_set(verifier, ends[0]);
    errno = pthread_create(&verifier->thread, NULL, pipe_read, verifier);
    if (errno == 0)
        return ends[1];
    close(ends[1]);
    verifier->write_fd = -1;
    return -1;
}

/* The reader reads this after the end of the stream, which it learns only from the close of the
 * pipe: an order that ThreadSanitizer does not see. */
static __attribute__((no_sanitize("thread"))) void bytes_tell(struct brim_verifier *verifier,
                                                              uint64_t bytes)
{
    verifier->trace.stats.bytes_sent = bytes;
}

void brim_verifier_pipe_end(struct brim_verifier *verifier, const struct weir_stats *stats)
{
    bytes_tell(verifier, stats->bytes_sent);
    close(verifier->write_fd);
    verifier->write_fd = -1;
    hs_thread_join(verifier->thread);
}

/* --- Comparing. ------------------------------------------------------------------------------ */

static const struct hs_capture *capture_of(const struct hs_stream *stream, uint64_t thread_id)
{
    for (size_t i = 0; i < stream->capture_count; i++)
        if (stream->captures[i].thread_id == thread_id)
            return &stream->captures[i];
    return NULL;
}

/* A thread without an event in the stream has no thread id there, only a capture id; the sums over
 * all threads cover it. */
static void compare_producer(const struct brim_verifier *verifier,
                             const struct brim_producer *producer)
{
    const struct hs_capture *capture = capture_of(&verifier->stream, producer->thread_id);
    uint64_t attempts = producer->emitter.counter, written = producer->emitter.written;
    uint64_t events = capture ? capture->events : 0;
    uint32_t index = producer->emitter.index;
    bool may_be_gone = verifier->options->mode == WEIR_MODE_OVERWRITE;
    hs_check(events == written || (may_be_gone && events < written),
             "producer %u: %" PRIu64 " events written, %" PRIu64 " in the stream", index, written,
             events);
    hs_check(verifier->options->payload_bytes == 0 || verifier->seen[index] == events,
             "producer %u: %" PRIu64 " events in the stream, %" PRIu64 " of its thread", index,
             verifier->seen[index], events);
    if (capture)
        hs_check(capture->last_number == attempts + 1 && capture->lost == attempts - events,
                 "producer %u: %" PRIu64 " attempts, but the last number is %" PRIu64
                 ", with %" PRIu64 " events and %" PRIu64 " lost",
                 index, attempts, capture->last_number, events, capture->lost);
}

static void compare_whole(const struct brim_verifier *verifier, const struct brim_crowd *crowd,
                          const struct weir_stats *stats)
{
    for (uint32_t i = 0; i < crowd->count; i++)
        compare_producer(verifier, &crowd->producers[i]);
    hs_check(verifier->stream.events == stats->counts.written,
             "%" PRIu64 " events in the stream, %" PRIu64 " written", verifier->stream.events,
             stats->counts.written);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        hs_check(stats->counts.lost[cause] == verifier->stream.lost_by_cause[cause],
                 "lost by %s: %" PRIu64 " in the stream, %" PRIu64 " counted",
                 weir_loss_name((enum weir_loss)cause), verifier->stream.lost_by_cause[cause],
                 stats->counts.lost[cause]);
}

/* What the sink took before it closed counts as written. */
static void compare_cut(const struct brim_verifier *verifier, const struct brim_crowd *crowd,
                        const struct weir_stats *stats)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < crowd->count; i++) {
        seen += verifier->seen[i];
        hs_check(verifier->seen[i] <= crowd->producers[i].emitter.written,
                 "producer %u: more events in the stream than were written", i);
    }
    hs_check(verifier->options->payload_bytes == 0 || seen == stats->counts.written,
             "%" PRIu64 " events in the stream that was cut, %" PRIu64 " written", seen,
             stats->counts.written);
}

void brim_verifier_compare(struct brim_verifier *verifier, const struct brim_crowd *crowd,
                           const struct weir_stats *stats)
{
    if (verifier->options->sink == BRIM_SINK_RANDOM_CLOSE)
        compare_cut(verifier, crowd, stats);
    else if (verifier->is_whole)
        compare_whole(verifier, crowd, stats);
}
