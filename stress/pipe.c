#include "pipe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <reader.h>
#include "harness.h"
#include "park.h"

typedef unsigned long long ull;

/* --- The reading side. ----------------------------------------------------------------------- */

static void on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    hs_check(false, "rule %s broken at offset %llu: %s", wt_rule_name(violation->rule),
             (ull)violation->offset, violation->text);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct hs_pipe *pipe = context;
    pipe->losses += gap->count;
    hs_check(false, "thread %llu has a gap of %llu events after number %llu",
             (ull)gap->thread->capture_thread, (ull)gap->count, (ull)gap->after_number);
}

static void on_point(void *context, const struct wt_point *point)
{
    struct hs_pipe *pipe = context;
    hs_check(point->time >= pipe->point_time, "a point is older than the previous one");
    pipe->point_time = point->time;
    hs_progress();
}

static void check_place(struct hs_pipe *pipe, const struct wt_event *event, uint32_t emitter,
                        uint64_t counter)
{
    if (pipe->next[emitter] == 0)
        pipe->captures[emitter] = event->capture_thread;
    hs_check(pipe->captures[emitter] == event->capture_thread, "emitter %u is on two threads",
             emitter);
    hs_check(counter == pipe->next[emitter], "emitter %u: event %llu comes where %llu is expected",
             emitter, (ull)counter, (ull)pipe->next[emitter]);
    hs_check(event->time >= pipe->point_time, "emitter %u: event %llu is older than a point",
             emitter, (ull)counter);
    pipe->next[emitter] = counter + 1;
}

/* A busy machine may need longer than the stall until all that is on the way is full: until a thread
 * was parked for all of one. */
static void stand_still(const struct hs_pipe *pipe)
{
    struct weir_stats before;
    while (!__atomic_load_n(&pipe->is_started, __ATOMIC_ACQUIRE))
        hs_sleep_us(100);
    do {
        if (!hs_wait_parked(pipe->session, 1))
            return;
        before = hs_stats(pipe->session);
        hs_sleep_us(pipe->stall_us);
    } while (!before.parked_now || hs_stats(pipe->session).parked_ns != before.parked_ns);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct hs_pipe *pipe = context;
    if (strcmp(event->metadata->event_name, "ThreadName") == 0)
        return;
    if (strcmp(event->metadata->provider_name, "Stress") != 0) {
        pipe->losses++;
        return;
    }
    if (pipe->events++ == pipe->stall_at_event && pipe->stall_us)
        stand_still(pipe);
    struct hs_event ours = {.id = (uint32_t)event->metadata->event_id,
                            .payload = event->payload,
                            .payload_bytes = event->payload_size};
    uint32_t emitter = hs_event_emitter(&ours);
    uint64_t counter = hs_event_counter(&ours);
    if (!hs_check(emitter < pipe->count && hs_event_is_intact(&ours), "an event is not intact"))
        return;
    check_place(pipe, event, emitter, counter);
}

/* Keeps reading after a failure, so that the session does not wait for a reader that has given
 * up. */
static void read_rest(int fd)
{
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0) {
    }
}

static void *read_all(void *argument)
{
    struct hs_pipe *pipe = argument;
    struct wt_fd_source end = {.fd = pipe->read_fd};
    struct wt_source source = wt_source_fd(&end);
    struct wt_handlers handlers = {
        .event = on_event, .gap = on_gap, .point = on_point, .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    if (!hs_check(wt_reader_create(&reader, &source, &options, &handlers, pipe) == WT_OK,
                  "no reader"))
        abort();
    enum wt_status status = wt_reader_run(reader);
    hs_check(status == WT_END, "the stream does not end properly: %s",
             wt_reader_error(reader)->text);
    pipe->bytes = wt_reader_totals(reader)->bytes;
    wt_reader_destroy(reader);
    read_rest(pipe->read_fd);
    return NULL;
}

/* --- The session. ---------------------------------------------------------------------------- */

static bool ends_make(struct hs_pipe *pipe)
{
    int ends[2];
    if (!hs_check(pipe2(ends, O_CLOEXEC) == 0, "no pipe"))
        return false;
    pipe->read_fd = ends[0];
    pipe->write_fd = ends[1];
    if (pipe->is_non_blocking)
        hs_check(fcntl(pipe->write_fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
    return true;
}

bool hs_pipe_start(struct hs_pipe *pipe, struct weir_session_config config, uint32_t count)
{
    struct weir_error error = {""};
    if (!ends_make(pipe))
        return false;
    pipe->count = count;
    pipe->next = hs_allocate(count * sizeof *pipe->next);
    pipe->captures = hs_allocate(count * sizeof *pipe->captures);
    config.sink.descriptor = pipe->write_fd;
    hs_thread_start(&pipe->thread, read_all, pipe);
    enum weir_result result = weir_session_create(&config, &pipe->session, &error);
    if (result == WEIR_OK)
        result = weir_session_start(pipe->session, &error);
    __atomic_store_n(&pipe->is_started, true, __ATOMIC_RELEASE);
    return hs_check(result == WEIR_OK, "start: %s: %s", weir_result_text(result), error.text);
}

static void verify(const struct hs_pipe *pipe, const struct hs_emitter *emitters)
{
    const struct weir_counts *counts = &pipe->stats.counts;
    uint64_t attempts = 0;
    for (uint32_t i = 0; i < pipe->count; i++) {
        attempts += emitters[i].attempts;
        hs_check(pipe->next[i] == emitters[i].attempts,
                 "emitter %u: %llu attempts, %llu events in the stream", i,
                 (ull)emitters[i].attempts, (ull)pipe->next[i]);
    }
    hs_check(pipe->events == attempts && pipe->losses == 0,
             "%llu attempts, %llu events in the stream, %llu losses reported", (ull)attempts,
             (ull)pipe->events, (ull)pipe->losses);
    hs_check(counts->attempted == attempts && counts->written == attempts && hs_lost(counts) == 0,
             "%llu attempts; the statistics say %llu, %llu written, %llu lost", (ull)attempts,
             (ull)counts->attempted, (ull)counts->written, (ull)hs_lost(counts));
    hs_check(pipe->bytes == pipe->stats.bytes_sent, "%llu bytes in the stream, bytes_sent is %llu",
             (ull)pipe->bytes, (ull)pipe->stats.bytes_sent);
}

void hs_pipe_stop(struct hs_pipe *pipe, const struct hs_emitter *emitters)
{
    enum weir_result result = weir_session_stop(pipe->session, NULL);
    hs_check(result == WEIR_OK, "stop: %s", weir_result_text(result));
    pipe->stats = (struct weir_stats)WEIR_STATS_INIT;
    hs_check(weir_session_stats(pipe->session, &pipe->stats) == WEIR_OK, "stats");
    close(pipe->write_fd);
    hs_thread_join(pipe->thread);
    verify(pipe, emitters);
    close(pipe->read_fd);
    weir_session_destroy(pipe->session);
    free(pipe->next);
    free(pipe->captures);
}
