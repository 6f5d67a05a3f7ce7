#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

#define MEMORY_SINK_BYTES (UINT64_C(1) << 30)

struct weir_session_config hs_trace_config(uint64_t budget_bytes)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "Stress";
    config.budget_bytes = budget_bytes;
    config.stop_ms_max = 60000;
    return config;
}

static void path_choose(struct hs_trace *trace, const char *path)
{
    static unsigned number;
    const char *folder = getenv("TMPDIR");
    trace->keeps_file = path != NULL;
    if (path)
        snprintf(trace->path, sizeof trace->path, "%s", path);
    else
        snprintf(trace->path, sizeof trace->path, "%s/stress-%d-%u.nettrace",
                 folder ? folder : "/tmp", (int)getpid(),
                 __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
}

bool hs_trace_create(struct hs_trace *trace, struct weir_session_config config, enum hs_sink sink,
                     const char *path)
{
    struct weir_error error = {""};
    memset(trace, 0, sizeof *trace);
    if (sink == HS_SINK_FILE) {
        path_choose(trace, path);
        config.sink.file = trace->path;
    } else if (!config.sink.write) {
        config.memory_bytes_max = MEMORY_SINK_BYTES;
    }
    enum weir_result result = weir_session_create(&config, &trace->session, &error);
    return hs_check(result == WEIR_OK, "create: %s: %s", weir_result_text(result), error.text);
}

bool hs_trace_begin(struct hs_trace *trace)
{
    struct weir_error error = {""};
    enum weir_result result = weir_session_start(trace->session, &error);
    return hs_check(result == WEIR_OK, "start: %s: %s", weir_result_text(result), error.text);
}

bool hs_trace_start(struct hs_trace *trace, struct weir_session_config config, enum hs_sink sink,
                    const char *path)
{
    return hs_trace_create(trace, config, sink, path) && hs_trace_begin(trace);
}

bool hs_trace_stop(struct hs_trace *trace)
{
    struct weir_error error = {""};
    enum weir_result result = weir_session_stop(trace->session, &error);
    bool holds = hs_check(result == WEIR_OK, "stop: %s: %s", weir_result_text(result), error.text);
    trace->stats = (struct weir_stats)WEIR_STATS_INIT;
    result = weir_session_stats(trace->session, &trace->stats);
    return hs_check(result == WEIR_OK, "stats: %s", weir_result_text(result)) && holds;
}

void hs_trace_end(struct hs_trace *trace)
{
    weir_session_destroy(trace->session);
    trace->session = NULL;
    if (trace->path[0] && !trace->keeps_file)
        unlink(trace->path);
}

uint64_t hs_lost(const struct weir_counts *counts)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        lost += counts->lost[cause];
    return lost;
}

/* Threads that have exited may still have rows, under the same id if the system has reused it: the
 * youngest capture thread is the caller's. */
uint64_t hs_trace_self(const struct hs_trace *trace, struct weir_counts *counts)
{
    struct weir_thread_stats rows[256];
    struct weir_thread_table table = WEIR_THREAD_TABLE_INIT;
    table.threads = rows;
    table.threads_max = 256;
    uint64_t self = (uint64_t)gettid(), capture = 0;
    enum weir_result result = weir_session_thread_stats(trace->session, &table);
    hs_check(result == WEIR_OK, "thread stats: %s", weir_result_text(result));
    for (uint32_t i = 0; i < table.thread_count && i < 256; i++) {
        if (rows[i].thread_id != self || rows[i].capture_thread < capture)
            continue;
        capture = rows[i].capture_thread;
        if (counts)
            *counts = rows[i].counts;
    }
    return capture;
}
