#include "stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <reader.h>
#include "harness.h"

typedef unsigned long long ull;

static void *grow(void *rows, size_t count, size_t *capacity, size_t row_bytes)
{
    if (count < *capacity)
        return rows;
    *capacity = *capacity ? *capacity * 2 : 64;
    rows = realloc(rows, *capacity * row_bytes);
    if (!rows)
        abort();
    return rows;
}

/* --- Ranges of numbers. ---------------------------------------------------------------------- */

static void range_add(struct hs_ranges *ranges, uint64_t capture, uint64_t after, uint64_t count)
{
    ranges->rows = grow(ranges->rows, ranges->count, &ranges->capacity, sizeof *ranges->rows);
    ranges->rows[ranges->count++] = (struct hs_range){capture, after, count};
}

static int range_order(const void *left, const void *right)
{
    const struct hs_range *a = left, *b = right;
    if (a->capture != b->capture)
        return a->capture < b->capture ? -1 : 1;
    return a->after < b->after ? -1 : a->after > b->after;
}

/* A point in the middle of a gap may split it, and a gap may have two causes. */
static void ranges_join(struct hs_ranges *ranges)
{
    size_t count = 0;
    if (ranges->count)
        qsort(ranges->rows, ranges->count, sizeof *ranges->rows, range_order);
    for (size_t i = 0; i < ranges->count; i++) {
        struct hs_range *row = &ranges->rows[i], *last = count ? &ranges->rows[count - 1] : NULL;
        if (last && last->capture == row->capture && last->after + last->count == row->after)
            last->count += row->count;
        else
            ranges->rows[count++] = *row;
    }
    ranges->count = count;
}

static void ranges_compare(const struct hs_ranges *gaps, const struct hs_ranges *losses)
{
    hs_check(gaps->count == losses->count, "%zu gaps, but Weir/Loss events for %zu", gaps->count,
             losses->count);
    for (size_t i = 0; i < gaps->count && i < losses->count; i++) {
        const struct hs_range *gap = &gaps->rows[i], *loss = &losses->rows[i];
        bool equal =
            gap->capture == loss->capture && gap->after == loss->after && gap->count == loss->count;
        if (!hs_check(equal,
                      "thread %llu has a gap of %llu after %llu; the reported loss is of thread "
                      "%llu: %llu "
                      "after %llu",
                      (ull)gap->capture, (ull)gap->count, (ull)gap->after, (ull)loss->capture,
                      (ull)loss->count, (ull)loss->after))
            return;
    }
}

/* --- Capture threads. ------------------------------------------------------------------------ */

/* The first place whose id is not below `id`. */
static size_t capture_place(const struct hs_stream *stream, uint64_t id)
{
    size_t low = 0, high = stream->capture_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stream->captures[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct hs_capture *capture_find(const struct hs_stream *stream, uint64_t id)
{
    if (stream->recent < stream->capture_count && stream->captures[stream->recent].id == id)
        return &stream->captures[stream->recent];
    size_t place = capture_place(stream, id);
    return place < stream->capture_count && stream->captures[place].id == id
               ? &stream->captures[place]
               : NULL;
}

/* Created on first use. The pointer is valid until the next one is created. */
static struct hs_capture *capture_of(struct hs_stream *stream, uint64_t id)
{
    struct hs_capture *found = capture_find(stream, id);
    if (!found) {
        size_t place = capture_place(stream, id);
        stream->captures = grow(stream->captures, stream->capture_count, &stream->capture_capacity,
                                sizeof *stream->captures);
        found = &stream->captures[place];
        memmove(found + 1, found, (stream->capture_count++ - place) * sizeof *found);
        *found = (struct hs_capture){.id = id, .last_time = 0};
    }
    stream->recent = (size_t)(found - stream->captures);
    return found;
}

const struct hs_capture *hs_stream_capture(const struct hs_stream *stream, uint64_t id)
{
    return capture_find(stream, id);
}

/* --- Handlers of the reader. ----------------------------------------------------------------- */

static void on_trace(void *context, const struct wt_trace_info *info)
{
    struct hs_stream *stream = context;
    stream->frequency = info->frequency;
    stream->sync_ticks = info->sync_ticks;
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    hs_check(false, "rule %s broken at offset %llu: %s", wt_rule_name(violation->rule),
             (ull)violation->offset, violation->text);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct hs_stream *stream = context;
    struct hs_capture *capture = capture_of(stream, gap->thread->capture_thread);
    if (!hs_check(!gap->back, "thread %llu: the number %u does not follow %u", (ull)capture->id,
                  gap->sequence, gap->after))
        return;
    capture->lost += gap->count;
    range_add(&stream->gaps, capture->id, gap->after_number, gap->count);
}

/* CaptureThread u64, After u32, Cause string, Count u64. */
static void on_loss(struct hs_stream *stream, const struct wt_event *event)
{
    uint64_t capture, count;
    uint32_t after, at = 12, length = 0;
    char cause[32] = "";
    memcpy(&capture, event->payload, 8);
    memcpy(&after, event->payload + 8, 4);
    for (; at + 2 <= event->payload_size && event->payload[at] && length + 1 < sizeof cause;
         at += 2)
        cause[length++] = (char)event->payload[at];
    if (!hs_check(at + 2 + 8 == event->payload_size, "a Weir/Loss event of %u bytes",
                  event->payload_size))
        return;
    memcpy(&count, event->payload + at + 2, 8);
    unsigned number = 0;
    while (number < WEIR_LOSS_COUNT && strcmp(weir_loss_name((enum weir_loss)number), cause) != 0)
        number++;
    if (!hs_check(number < WEIR_LOSS_COUNT, "a Weir/Loss event with cause '%s'", cause))
        return;
    stream->loss_events++;
    stream->lost_by_cause[number] += count;
    range_add(&stream->losses, capture, after, count);
    struct hs_capture *of = capture_find(stream, capture);
    if (hs_check(of != NULL, "a Weir/Loss event of thread %llu, which no point has introduced",
                 (ull)capture))
        of->lost_by_cause[number] += count;
}

/* CaptureThread u64, 0: all; Ticks u64. */
static void on_clock_step(struct hs_stream *stream, const struct wt_event *event)
{
    uint64_t capture, ticks;
    if (!hs_check(event->payload_size == 16, "a Weir/ClockStep event of %u bytes",
                  event->payload_size))
        return;
    memcpy(&capture, event->payload, 8);
    memcpy(&ticks, event->payload + 8, 8);
    hs_check(ticks != 0, "a Weir/ClockStep event of 0 ticks");
    hs_check(capture == 0 || capture_find(stream, capture) != NULL,
             "a Weir/ClockStep event of thread %llu, which no point has introduced", (ull)capture);
    stream->steps += capture == 0;
    stream->steps_of_threads += capture != 0;
    stream->step_ticks += capture == 0 ? ticks : 0;
}

/* CaptureThread u64, ThreadId u64, Name. No event of the thread precedes its first name. */
static void on_name(struct hs_stream *stream, const struct wt_event *event)
{
    uint64_t ids[2];
    if (!hs_check(event->payload_size > 18, "a Weir/ThreadName event of %u bytes",
                  event->payload_size))
        return;
    memcpy(ids, event->payload, sizeof ids);
    struct hs_capture *of = capture_find(stream, ids[0]);
    if (!hs_check(of != NULL,
                  "a Weir/ThreadName event of thread %llu, which no point has introduced",
                  (ull)ids[0]))
        return;
    hs_check(!of->thread_id || of->thread_id == ids[1], "thread %llu is named as %llu", (ull)of->id,
             (ull)ids[1]);
    hs_check(of->is_named || of->events == 0 || of->id == event->capture_thread,
             "thread %llu gets its name after %llu events", (ull)of->id, (ull)of->events);
    of->is_named = true;
}

static void check_time(struct hs_stream *stream, struct hs_capture *capture,
                       const struct wt_event *event)
{
    hs_check(event->time >= capture->last_time,
             "thread %llu, number %llu: time falls by %lld ticks", (ull)capture->id,
             (ull)event->number, (long long)(capture->last_time - event->time));
    hs_check(event->time >= stream->point_time,
             "thread %llu, number %llu: %lld ticks older than the previous point", (ull)capture->id,
             (ull)event->number, (long long)(stream->point_time - event->time));
    capture->last_time = event->time;
    if (event->time > stream->latest)
        stream->latest = event->time;
}

static void on_event(void *context, const struct wt_event *event)
{
    struct hs_stream *stream = context;
    struct hs_capture *capture = capture_of(stream, event->capture_thread);
    check_time(stream, capture, event);
    if (!capture->thread_id)
        capture->thread_id = event->thread_id;
    hs_check(capture->thread_id == event->thread_id, "thread %llu has two thread ids",
             (ull)capture->id);
    capture->events++;
    if (strcmp(event->metadata->provider_name, "Weir") == 0) {
        if (event->metadata->event_id == 2)
            on_clock_step(stream, event);
        else if (event->metadata->event_id == 4)
            on_name(stream, event);
        else
            on_loss(stream, event);
        return;
    }
    stream->events++;
    struct hs_event out = {capture,
                           (uint32_t)event->metadata->event_id,
                           event->number,
                           event->time,
                           stream->point_time,
                           event->payload,
                           event->payload_size};
    if (stream->on_event)
        stream->on_event(stream->context, &out);
}

static void on_point(void *context, const struct wt_point *point)
{
    struct hs_stream *stream = context;
    stream->points++;
    for (uint32_t i = 0; i < point->thread_count; i++)
        capture_of(stream, wt_point_entry(point, i).capture_thread);
    hs_check(stream->latest <= point->time,
             "a record before a point is %lld ticks later than the point",
             (long long)(stream->latest - point->time));
    hs_check(point->time > 0 && point->time >= stream->point_time,
             "a point at %lld is older than the previous one, or has no time",
             (long long)point->time);
    stream->point_time = point->time;
    hs_progress();
}

/* --- Reading. -------------------------------------------------------------------------------- */

static void take_threads(struct hs_stream *stream, const struct wt_reader *reader)
{
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(reader, i)) != NULL; i++) {
        struct hs_capture *capture = capture_of(stream, thread->capture_thread);
        capture->last_number = thread->number;
        hs_check(thread->first_seen_in_point && thread->first_sequence == 1,
                 "thread %llu is not introduced by a point with number 1", (ull)capture->id);
        hs_check(capture->events + capture->lost == capture->last_number - 1,
                 "thread %llu: %llu events, %llu lost, but the last number is %llu",
                 (ull)capture->id, (ull)capture->events, (ull)capture->lost,
                 (ull)capture->last_number);
        uint64_t told = 0;
        for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
            told += capture->lost_by_cause[cause];
        hs_check(told == capture->lost, "thread %llu: %llu lost, but the causes sum to %llu",
                 (ull)capture->id, (ull)capture->lost, (ull)told);
    }
}

static void run(struct hs_stream *stream, const struct wt_source *source)
{
    struct wt_handlers handlers = {.trace = on_trace,
                                   .event = on_event,
                                   .gap = on_gap,
                                   .point = on_point,
                                   .violation = on_violation};
    struct wt_reader_options options = {.check_trailing = true};
    struct wt_reader *reader;
    if (!hs_check(wt_reader_create(&reader, source, &options, &handlers, stream) == WT_OK,
                  "no reader"))
        return;
    enum wt_status status = wt_reader_run(reader);
    hs_check(status == WT_END, "the stream does not end properly: %s",
             wt_reader_error(reader)->text);
    stream->bytes = wt_reader_totals(reader)->bytes;
    take_threads(stream, reader);
    wt_reader_destroy(reader);
    ranges_join(&stream->gaps);
    ranges_join(&stream->losses);
    ranges_compare(&stream->gaps, &stream->losses);
}

bool hs_stream_read(struct hs_stream *stream, const struct hs_trace *trace,
                    void (*event)(void *context, const struct hs_event *event), void *context)
{
    uint64_t failures = hs_failures();
    *stream = (struct hs_stream){.on_event = event, .context = context};
    if (trace->path[0]) {
        struct wt_fd_source file = {.fd = open(trace->path, O_RDONLY | O_CLOEXEC)};
        if (!hs_check(file.fd >= 0, "cannot open %s", trace->path))
            return false;
        struct wt_source source = wt_source_fd(&file);
        run(stream, &source);
        close(file.fd);
    } else {
        const void *bytes = NULL;
        uint64_t count = 0;
        enum weir_result result = weir_session_memory(trace->session, &bytes, &count);
        hs_check(result == WEIR_OK, "memory: %s", weir_result_text(result));
        struct wt_memory_source memory = {.bytes = bytes, .size = count};
        struct wt_source source = wt_source_memory(&memory);
        run(stream, &source);
    }
    hs_check(stream->bytes == trace->stats.bytes_sent,
             "%llu bytes in the stream, bytes_sent is %llu", (ull)stream->bytes,
             (ull)trace->stats.bytes_sent);
    return hs_failures() == failures;
}

void hs_stream_free(struct hs_stream *stream)
{
    free(stream->captures);
    free(stream->gaps.rows);
    free(stream->losses.rows);
}
