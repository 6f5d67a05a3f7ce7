/* weir stat --json. */
#include "stat.h"
#include "json.h"

static void json_causes(struct wt_json *json, const struct wt_told *told, uint64_t unknown)
{
    wt_json_object(json, "causes");
    for (int c = 0; c < WT_CAUSE_COUNT; c++)
        wt_json_u64(json, wt_cause_name((enum wt_cause)c), told->causes[c]);
    wt_json_u64(json, "unknown", unknown);
    wt_json_end(json);
}

static void json_trace(struct wt_json *json, const struct stat *stat)
{
    const struct wt_trace_info *info = wt_reader_trace(stat->run.reader);
    if (!info)
        return;
    char utc[40];
    wt_json_i64(json, "processId", info->process_id);
    wt_json_i64(json, "processors", info->processors);
    wt_json_i64(json, "pointerSize", info->pointer_size);
    wt_json_i64(json, "samplingNs", info->sampling_ns);
    wt_json_i64(json, "frequency", info->frequency);
    wt_json_i64(json, "syncTicks", info->sync_ticks);
    wt_time_utc_text(info, info->sync_ticks, utc);
    wt_json_string(json, "syncUtc", utc);
    if (!stat->any)
        return;
    wt_time_utc_text(info, stat->first_time, utc);
    wt_json_string(json, "firstUtc", utc);
    wt_time_utc_text(info, stat->last_time, utc);
    wt_json_string(json, "lastUtc", utc);
    wt_json_i64(json, "firstTicks", stat->first_time);
    wt_json_i64(json, "lastTicks", stat->last_time);
    wt_json_i64(json, "firstNs", wt_time_relative_ns(info, stat->first_time));
    wt_json_i64(json, "lastNs", wt_time_relative_ns(info, stat->last_time));
    wt_json_i64(json, "durationNs", stat_duration_ns(stat));
}

static void json_totals(struct wt_json *json, const struct stat *stat)
{
    const struct wt_totals *totals = wt_reader_totals(stat->run.reader);
    wt_json_u64(json, "bytes", totals->bytes);
    wt_json_u64(json, "bytes_read", totals->bytes_read);
    if (wt_span_is_set(&stat->span))
        wt_json_null(json, "bytesPerEvent");
    else
        wt_json_double(json, "bytesPerEvent", stat_bytes_per_event(totals));
    wt_json_u64(json, "eventBlocks", totals->blocks[WT_BLOCK_EVENT]);
    wt_json_u64(json, "metadataBlocks", totals->blocks[WT_BLOCK_METADATA]);
    wt_json_u64(json, "stackBlocks", totals->blocks[WT_BLOCK_STACK]);
    wt_json_u64(json, "sequencePoints", totals->blocks[WT_BLOCK_POINT]);
    wt_json_u64(json, "definitions", totals->metadata);
    wt_json_u64(json, "definitionsWithV5Tags", totals->v5_tags);
    wt_json_u64(json, "stacks", totals->stacks);
    wt_json_u64(json, "eventCount", stat->counted);
    wt_json_u64(json, "payloadBytes", stat->payload_bytes);
    wt_json_double(json, "eventsPerSecond", stat_rate(stat, stat->counted));
    const struct wt_lost lost = wt_filter_lost(&stat->filter, &stat->tally, stat->run.reader);
    wt_lost_json(&lost, json);
    wt_json_u64(json, "stepsBack", totals->steps_back);
    const struct wt_told told = wt_filter_told(&stat->filter, &stat->tally, stat->run.reader);
    json_causes(json, &told, stat_unknown_total(stat));
}

static void json_events(struct wt_json *json, const struct stat *stat)
{
    wt_json_array(json, "events");
    for (size_t i = 0; i < stat->row_count; i++) {
        const struct stat_row *row = &stat->rows[i];
        wt_json_object(json, NULL);
        wt_json_string(json, "provider", row->metadata ? row->metadata->provider_name : "");
        wt_json_i64(json, "id", row->metadata ? row->metadata->event_id : 0);
        wt_json_i64(json, "version", row->metadata ? row->metadata->version : 0);
        wt_json_string(json, "name", row->metadata ? row->metadata->event_name : "");
        wt_json_u64(json, "count", row->count);
        wt_json_u64(json, "payloadBytes", row->payload_bytes);
        wt_json_double(json, "eventsPerSecond", stat_rate(stat, row->count));
        wt_json_bool(json, "undefined", row->metadata == NULL);
        wt_json_end(json);
    }
    wt_json_end(json);
}

static void json_thread_lost(struct wt_json *json, const struct stat *stat,
                             const struct wt_thread *thread)
{
    if (wt_lost_is_known(stat->run.reader))
        wt_json_u64(json, "lost", thread->lost);
    else
        wt_json_null(json, "lost");
    wt_json_u64(json, "lost_at_least", wt_lost_at_least(&stat->tally, thread));
}

static void json_threads(struct wt_json *json, const struct stat *stat)
{
    wt_json_array(json, "threads");
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(stat->run.reader, i)); i++) {
        const struct wt_told *told = wt_tally_of(&stat->tally, thread->capture_thread);
        const struct stat_thread row = stat_thread_of(stat, thread);
        if (!wt_filter_thread(&stat->filter, thread))
            continue;
        wt_json_object(json, NULL);
        wt_json_u64(json, "captureThread", thread->capture_thread);
        wt_json_u64(json, "thread", row.id);
        wt_json_string(json, "name", thread->name);
        wt_json_u64(json, "events", row.events);
        json_thread_lost(json, stat, thread);
        wt_json_u64(json, "stepsBack", thread->steps_back);
        wt_json_u64(json, "lastNumber", thread->number);
        json_causes(json, told, stat_unknown(thread->lost, told->total));
        wt_json_end(json);
    }
    wt_json_end(json);
}

void stat_print_json(const struct stat *stat)
{
    const struct wt_error *error = wt_reader_error(stat->run.reader);
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, "file", stat->run.path);
    wt_json_string(&json, "status", wt_status_word(error->status));
    wt_json_string(&json, "message", error->status == WT_END ? "" : error->text);
    wt_json_u64(&json, "offset", error->offset);
    wt_filter_json(&stat->filter, stat->run.reader, &json);
    json_trace(&json, stat);
    json_totals(&json, stat);
    json_events(&json, stat);
    json_threads(&json, stat);
    wt_json_end(&json);
}
