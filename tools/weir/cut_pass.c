/* Which events stay, and their numbers.
 *
 * A number that is missing in a thread means a lost event. So the events that stay are numbered
 * anew, from 2, as the threads are introduced with 1: an event that was filtered out takes no
 * number, and a gap takes as many as before. Loss events say after which number events are missing;
 * they get the new number. The events of Weir that name threads and values, and those about losses,
 * stay if they are about something that stays, whatever the filters say of themselves.
 *
 * Version 6 has the names of threads in their rows. The new file has an event for each of them. */
#include "cut.h"

#include <stdlib.h>
#include <string.h>

#define THREAD_NAME_MAX 141u /* bytes; readers take no longer one from an event */

/* --- The window. ----------------------------------------------------------------------------- */

static void on_trace(void *context, const struct wt_trace_info *info)
{
    struct cut *cut = context;
    cut->from = INT64_MIN;
    cut->to = INT64_MAX;
    cut->wrong_clock = wt_span_is_set(&cut->span) && info->frequency <= 0;
    if (cut->wrong_clock)
        wt_reader_stop(cut->run.reader);
    if (cut->span.has_from)
        cut->from = wt_ns_to_ticks(info, cut->span.from_ns);
    if (cut->span.has_to)
        cut->to = wt_ns_to_ticks(info, cut->span.to_ns);
    if (cut->span.has_to && cut->to > INT64_MIN)
        cut->to--;
}

static bool is_in_window(const struct cut *cut, int64_t time)
{
    return time >= cut->from && time <= cut->to;
}

static int64_t into_window(const struct cut *cut, int64_t time)
{
    return time < cut->from ? cut->from : time > cut->to ? cut->to : time;
}

/* --- Definitions and threads. ---------------------------------------------------------------- */

static enum cut_kind kind_of(const struct cut *cut, const struct wt_metadata *metadata)
{
    if (cut->tally.fields[metadata->index].usable)
        return CUT_LOSS;
    if (!metadata->is_naming)
        return CUT_ORDINARY;
    return strcmp(metadata->event_name, "Enum") == 0 ? CUT_ENUM : CUT_NAME;
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct cut *cut = context;
    size_t count = (size_t)metadata->index + 1;
    wt_tally_define(&cut->tally, metadata);
    wt_filter_define(&cut->filter, metadata);
    cut->metadata = wt_grow(cut->metadata, &cut->metadata_capacity, count, sizeof(*cut->metadata));
    cut->metadata[metadata->index] = metadata;
    cut->metadata_count = count;
    cut->definitions =
        wt_grow(cut->definitions, &cut->definition_capacity, count, sizeof(*cut->definitions));
    cut->definitions[metadata->index].kind = kind_of(cut, metadata);
}

static struct cut_thread *thread_of(struct cut *cut, uint32_t index)
{
    cut->threads =
        wt_grow(cut->threads, &cut->thread_capacity, (size_t)index + 1, sizeof(*cut->threads));
    return &cut->threads[index];
}

/* Not all threads at each point: a hostile file may have many of both. */
static void touch(struct cut *cut, struct cut_thread *thread)
{
    if (thread->is_touched)
        return;
    cut->touched = wt_grow(cut->touched, &cut->touched_capacity, cut->touched_count + 1,
                           sizeof(*cut->touched));
    cut->touched[cut->touched_count++] = (uint32_t)(thread - cut->threads);
    thread->is_touched = true;
}

static void forget_touched(struct cut *cut)
{
    for (size_t i = 0; i < cut->touched_count; i++)
        cut->threads[cut->touched[i]].is_touched = false;
    cut->touched_count = 0;
}

void cut_name_all(struct cut *cut)
{
    for (uint32_t i = 0; i < cut->thread_count; i++) {
        cut->threads[i].in_point = cut->points;
        touch(cut, &cut->threads[i]);
    }
}

static struct cut_thread *thread_with(const struct cut *cut, uint64_t capture_thread)
{
    const uint32_t *index = wt_map_find(&cut->thread_map, capture_thread);
    return index ? &cut->threads[*index] : NULL;
}

static bool has_kept_gap(const struct cut_thread *thread)
{
    for (size_t i = 0; i < thread->gap_count; i++)
        if (thread->gaps[i].is_kept)
            return true;
    return false;
}

/* A loss belongs to the time at which it shows. */
static void time_gaps(const struct cut *cut, struct cut_thread *thread, int64_t time)
{
    for (; thread->timed_gaps < thread->gap_count; thread->timed_gaps++)
        thread->gaps[thread->timed_gaps].is_kept = is_in_window(cut, time);
}

/* The name in its row, which its events may replace later. */
static void note_name(struct cut_thread *row, const struct wt_thread *thread)
{
    row->os_thread_id = thread->os_thread_id;
    if (row->row_name || !thread->name || !*thread->name || thread->name == thread->name_buffer)
        return;
    size_t size = 0, length = strlen(thread->name);
    if (length > THREAD_NAME_MAX)
        for (length = THREAD_NAME_MAX; (thread->name[length] & 0xC0) == 0x80;)
            length--;
    row->row_name = wt_grow(NULL, &size, length + 1, 1);
    memcpy(row->row_name, thread->name, length);
}

/* With a window, a thread that is idle in it goes. */
void cut_choose(struct cut *cut)
{
    const bool has_window = wt_span_is_set(&cut->span);
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(cut->run.reader, i)); i++) {
        struct cut_thread *row = thread_of(cut, i);
        row->capture_thread = thread->capture_thread;
        note_name(row, thread);
        time_gaps(cut, row, cut->last_time); /* shown by a thread's removal, at the end */
        bool is_active = !has_window || row->has_event || has_kept_gap(row);
        row->is_kept = row->carries || (is_active && wt_filter_thread(&cut->filter, thread));
        if (wt_map_find(&cut->thread_map, row->capture_thread)) {
            cut->repeats_threads = true;
        } else if (!wt_map_insert(&cut->thread_map, row->capture_thread, i)) {
            wt_complain("out of memory");
            exit(WT_EXIT_FAILED);
        }
        cut->thread_count = i + 1;
    }
}

/* --- Gaps. ----------------------------------------------------------------------------------- */

static void add_gap(struct cut_thread *thread, const struct wt_gap *gap)
{
    thread->gaps =
        wt_grow(thread->gaps, &thread->gap_capacity, thread->gap_count + 1, sizeof(*thread->gaps));
    struct cut_gap *row = &thread->gaps[thread->gap_count++];
    row->after = gap->after_number;
    row->count = gap->count;
}

static void number_gap(struct cut *cut, struct cut_thread *thread)
{
    if (thread->next_gap == thread->gap_count)
        return; /* the file has changed, which is noticed at the end */
    struct cut_gap *gap = &thread->gaps[thread->next_gap++];
    gap->out_after = thread->number;
    if (!gap->is_kept || !thread->is_kept)
        return;
    thread->number += gap->count;
    touch(cut, thread);
    if (cut->pass == CUT_NUMBER)
        cut->lost += gap->count;
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct cut *cut = context;
    if (gap->back)
        return;
    struct cut_thread *thread = thread_of(cut, gap->thread->index);
    if (cut->pass != CUT_FIND) {
        number_gap(cut, thread);
        return;
    }
    add_gap(thread, gap);
    touch(cut, thread);
}

/* The gap that a Loss event explains; NULL if there is none. */
static const struct cut_gap *gap_of(struct cut_thread *thread, uint32_t after)
{
    for (size_t i = 0; i < thread->gap_count; i++) {
        size_t at = (thread->loss_gap + i) % thread->gap_count;
        const struct cut_gap *gap = &thread->gaps[at];
        if ((uint32_t)(after - (uint32_t)gap->after) >= gap->count)
            continue;
        thread->loss_gap = at;
        return gap;
    }
    return NULL;
}

/* --- Events that stay. ----------------------------------------------------------------------- */

static bool get_number(const struct wt_event *event, const char *name, enum wt_type type,
                       uint64_t *out)
{
    struct wt_value value;
    int index = wt_field_index(event->metadata, name);
    if (index < 0 || event->metadata->fields[index].type != type ||
        !wt_field_get(event->metadata, index, event->payload, event->payload_size, &value))
        return false;
    *out = value.as.u;
    return true;
}

/* The definition whose values a Weir/Enum names; NULL if there is none. */
static const struct wt_metadata *target_of(const struct cut *cut, const struct wt_event *event)
{
    uint64_t id = 0, version = 0;
    struct wt_value provider;
    char text[1024];
    int index = wt_field_index(event->metadata, "Provider");
    if (!get_number(event, "EventId", WT_TYPE_UINT32, &id) ||
        !get_number(event, "Version", WT_TYPE_UINT32, &version) || index < 0 ||
        event->metadata->fields[index].type != WT_TYPE_STRING ||
        !wt_field_get(event->metadata, index, event->payload, event->payload_size, &provider))
        return NULL;
    wt_utf16_to_utf8(provider.bytes, provider.size, text, sizeof(text));
    for (size_t i = cut->metadata_count; i-- > 0;) {
        const struct wt_metadata *metadata = cut->metadata[i];
        if ((uint32_t)metadata->event_id == id && (uint32_t)metadata->version == version &&
            strcmp(metadata->provider_name, text) == 0)
            return metadata;
    }
    return NULL;
}

static bool loss_stays(struct cut *cut, const struct wt_event *event)
{
    struct wt_loss loss;
    if (!wt_loss_read(&cut->tally.fields[event->metadata->index], event, &loss))
        return false;
    struct cut_thread *thread = thread_with(cut, loss.capture_thread);
    if (!thread || !thread->is_kept)
        return false;
    const struct cut_gap *gap = gap_of(thread, loss.after);
    return gap ? gap->is_kept : is_in_window(cut, event->time);
}

static bool name_stays(const struct cut *cut, const struct wt_event *event)
{
    uint64_t capture_thread;
    if (event->time > cut->to ||
        !get_number(event, "CaptureThread", WT_TYPE_UINT64, &capture_thread))
        return false;
    const struct cut_thread *thread = thread_with(cut, capture_thread);
    return thread && thread->is_kept;
}

static bool enum_stays(const struct cut *cut, const struct wt_event *event)
{
    const struct wt_metadata *target = event->time > cut->to ? NULL : target_of(cut, event);
    return target && cut->definitions[target->index].is_used;
}

/* The same answer in each pass, once the threads are chosen. */
static bool stays(struct cut *cut, const struct wt_event *event, enum cut_kind kind)
{
    switch (kind) {
    case CUT_LOSS:
        return loss_stays(cut, event);
    case CUT_NAME:
        return name_stays(cut, event);
    case CUT_ENUM:
        return enum_stays(cut, event);
    case CUT_ORDINARY:
        break;
    }
    return wt_filter_event(&cut->filter, event) && is_in_window(cut, event->time);
}

/* --- Writing. -------------------------------------------------------------------------------- */

static uint32_t define(struct cut *cut, const struct wt_metadata *metadata, int64_t time)
{
    struct cut_definition *definition = &cut->definitions[metadata->index];
    if (definition->out_id == 0)
        definition->out_id = wt_trace_writer_define(&cut->writer, metadata, time);
    return definition->out_id;
}

static uint32_t stack_of(struct cut *cut, const struct wt_event *event)
{
    if (!event->stack)
        return 0;
    const uint32_t *known = wt_map_find(&cut->stacks, event->stack_id);
    if (known)
        return *known;
    uint32_t id = wt_trace_writer_stack(&cut->writer, event->stack, event->stack_size);
    if (!wt_map_insert(&cut->stacks, event->stack_id, id)) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    return id;
}

/* The payload of a Loss event with the number that the gap has now. */
static const uint8_t *renumber(struct cut *cut, const struct wt_event *event)
{
    const struct wt_loss_fields *fields = &cut->tally.fields[event->metadata->index];
    struct wt_metadata before = *event->metadata;
    struct wt_loss loss;
    size_t at = 0;
    before.field_count = (uint32_t)fields->after;
    struct cut_thread *thread =
        wt_loss_read(fields, event, &loss) ? thread_with(cut, loss.capture_thread) : NULL;
    const struct cut_gap *gap = thread ? gap_of(thread, loss.after) : NULL;
    if (thread)
        wt_tally_add(&cut->tally, &loss);
    if (!gap || !wt_fields_walk(&before, event->payload, event->payload_size, NULL, NULL, &at))
        return event->payload;
    uint32_t after = (uint32_t)gap->out_after + (uint32_t)(loss.after - (uint32_t)gap->after);
    cut->payload.at =
        wt_grow(cut->payload.at, &cut->payload.capacity, (size_t)event->payload_size + 1, 1);
    memcpy(cut->payload.at, event->payload, event->payload_size);
    for (unsigned i = 0; i < 4; i++)
        cut->payload.at[at + i] = (uint8_t)(after >> 8 * i);
    return cut->payload.at;
}

static void write_event(struct cut *cut, struct cut_thread *thread, enum cut_kind kind,
                        const struct wt_event *event, int64_t time)
{
    struct wt_event out = *event;
    if (kind == CUT_ENUM) /* its target comes directly before it */
        define(cut, target_of(cut, event), time);
    if (kind == CUT_LOSS)
        out.payload = renumber(cut, event);
    out.metadata_id = define(cut, event->metadata, time);
    out.stack_id = stack_of(cut, event);
    out.sequence = (uint32_t)thread->number;
    out.time = time;
    /* Moved back to the end of the window, it may precede events that follow it in the file. */
    out.sorted = event->sorted && time >= event->time;
    wt_trace_writer_event(&cut->writer, &out);
    thread->revealed = thread->number;
}

static void note_time(struct cut *cut, int64_t time)
{
    if (!cut->any || time < cut->min_time)
        cut->min_time = time;
    if (!cut->any || time > cut->max_time)
        cut->max_time = time;
    cut->any = true;
}

static int by_index(const void *a, const void *b)
{
    const uint32_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

void cut_write_point(struct cut *cut, int64_t time)
{
    uint32_t count = 0;
    if (cut->touched_count)
        qsort(cut->touched, cut->touched_count, sizeof(*cut->touched), by_index);
    for (size_t i = 0; i < cut->touched_count; i++) {
        struct cut_thread *thread = &cut->threads[cut->touched[i]];
        bool is_wanted = thread->in_point == cut->points || thread->revealed != thread->number;
        if (!thread->is_kept || !is_wanted)
            continue;
        cut->entries =
            wt_grow(cut->entries, &cut->entry_capacity, (size_t)count + 1, sizeof(*cut->entries));
        cut->entries[count++] =
            (struct wt_point_entry){thread->capture_thread, (uint32_t)thread->number};
        thread->revealed = thread->number;
    }
    cut->points++;
    forget_touched(cut);
    wt_trace_writer_point(&cut->writer, time, cut->entries, count);
}

static bool needs_name(const struct cut_thread *thread)
{
    return thread->is_kept && thread->row_name;
}

void cut_write_names(struct cut *cut, int64_t time)
{
    static const struct wt_field fields[] = {{.name = "CaptureThread", .type = WT_TYPE_UINT64},
                                             {.name = "ThreadId", .type = WT_TYPE_UINT64},
                                             {.name = "Name", .type = WT_TYPE_STRING}};
    static const struct wt_metadata definition = {.provider_name = "Weir",
                                                  .event_name = "ThreadName",
                                                  .event_id = 4,
                                                  .level = 4,
                                                  .field_count = 3,
                                                  .fields = fields};
    struct wt_bytes payload = {0};
    uint32_t id = 0;
    for (uint32_t i = 0; i < cut->thread_count; i++) {
        const struct cut_thread *thread = &cut->threads[i];
        if (!needs_name(thread))
            continue;
        if (id == 0)
            id = wt_trace_writer_define(&cut->writer, &definition, time);
        payload.size = 0;
        wt_bytes_u64(&payload, thread->capture_thread);
        wt_bytes_u64(&payload, thread->os_thread_id);
        wt_bytes_text(&payload, thread->row_name);
        const struct wt_event event = {.metadata_id = id,
                                       .capture_thread = thread->capture_thread,
                                       .thread_id = thread->os_thread_id,
                                       .sequence = (uint32_t)thread->number + 1,
                                       .time = time,
                                       .payload = payload.at,
                                       .payload_size = (uint32_t)payload.size,
                                       .sorted = true};
        wt_trace_writer_event(&cut->writer, &event);
    }
    free(payload.at);
}

static void count_names(struct cut *cut)
{
    for (uint32_t i = 0; i < cut->thread_count; i++) {
        if (!needs_name(&cut->threads[i]))
            continue;
        cut->threads[i].number = ++cut->threads[i].revealed;
        cut->carried += cut->pass == CUT_NUMBER;
    }
}

/* --- Reading. -------------------------------------------------------------------------------- */

/* Version 4 and 5 have these only in the definition. */
static bool is_overridden(const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    return wt_event_opcode(event) != (metadata->has_opcode ? metadata->opcode : 0) ||
           wt_event_keywords(event) != metadata->keywords ||
           wt_event_level(event) != metadata->level || wt_event_version(event) != metadata->version;
}

/* Those that cannot be written; activities can. */
static bool has_labels(const struct wt_event *event)
{
    return (event->label_kinds & (1u << WT_LABEL_TRACE_ID | 1u << WT_LABEL_SPAN_ID |
                                  1u << WT_LABEL_STRING | 1u << WT_LABEL_INTEGER)) != 0;
}

static void find(struct cut *cut, struct cut_thread *thread, const struct wt_event *event,
                 enum cut_kind kind)
{
    time_gaps(cut, thread, event->time);
    if (kind != CUT_ORDINARY) {
        thread->carries = true;
        cut->matched += wt_filter_event(&cut->filter, event) && is_in_window(cut, event->time);
    } else if (stays(cut, event, kind)) {
        thread->has_event = cut->definitions[event->metadata->index].is_used = true;
        cut->matched++;
        if (!cut->overridden && is_overridden(event))
            cut->overridden = event->metadata;
    }
}

static void on_event(void *context, const struct wt_event *event)
{
    struct cut *cut = context;
    struct cut_thread *thread = thread_of(cut, event->thread->index);
    cut->last_time = event->time;
    if (cut->pass == CUT_FIND)
        note_name(thread, event->thread);
    if (event->metadata->undefined) {
        if (cut->pass == CUT_FIND)
            time_gaps(cut, thread, event->time);
        cut->without_definition += cut->pass == CUT_FIND;
        return;
    }
    const enum cut_kind kind = cut->definitions[event->metadata->index].kind;
    if (cut->pass == CUT_FIND) {
        find(cut, thread, event, kind);
        return;
    }
    if (!thread->is_kept || !stays(cut, event, kind))
        return;
    const int64_t time = into_window(cut, event->time);
    thread->number++;
    touch(cut, thread);
    if (cut->pass == CUT_WRITE) {
        write_event(cut, thread, kind, event, time);
        return;
    }
    note_time(cut, time);
    cut->labelled += has_labels(event);
    cut->passed += kind == CUT_ORDINARY;
    cut->carried += kind != CUT_ORDINARY;
}

static void on_point(void *context, const struct wt_point *point)
{
    struct cut *cut = context;
    cut->any_point = true;
    cut->last_point = cut->last_time = point->time;
    if (cut->pass == CUT_FIND) {
        for (size_t i = 0; i < cut->touched_count; i++)
            time_gaps(cut, &cut->threads[cut->touched[i]], point->time);
        forget_touched(cut);
        return;
    }
    wt_map_clear(&cut->stacks);
    if (!is_in_window(cut, point->time))
        return;
    if (cut->pass == CUT_NUMBER) {
        note_time(cut, point->time);
        return;
    }
    for (uint32_t i = 0; i < point->thread_count; i++) {
        struct cut_thread *thread = thread_with(cut, wt_point_entry(point, i).capture_thread);
        if (!thread)
            continue;
        thread->in_point = cut->points;
        touch(cut, thread);
    }
    cut_write_point(cut, point->time);
}

void cut_reset(struct cut *cut)
{
    forget_touched(cut);
    for (size_t i = 0; i < cut->thread_capacity; i++) {
        cut->threads[i].next_gap = cut->threads[i].loss_gap = 0;
        cut->threads[i].number = cut->threads[i].revealed = 1;
        cut->threads[i].in_point = 0;
    }
}

enum wt_status cut_read(struct cut *cut, enum cut_pass pass)
{
    static const struct wt_handlers handlers = {.trace = on_trace,
                                                .metadata = on_metadata,
                                                .event = on_event,
                                                .gap = on_gap,
                                                .point = on_point};
    cut->pass = pass;
    cut->metadata_count = 0;
    cut_reset(cut);
    if (pass != CUT_FIND)
        count_names(cut);
    if (!wt_run_open(&cut->run, cut->path, NULL, &handlers, cut))
        return WT_ERROR_IO;
    if (pass == CUT_FIND)
        return wt_run_read(&cut->run);
    return wt_reader_run(cut->run.reader); /* how it ends has been said */
}
