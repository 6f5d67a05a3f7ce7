/*
 * A session of a stress program and where its stream goes.
 */
#ifndef STRESS_TRACE_H
#define STRESS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

enum hs_sink { HS_SINK_MEMORY, HS_SINK_FILE };

struct hs_trace {
    struct weir_session *session;
    char path[256]; /* empty for the memory sink */
    bool keeps_file;
    struct weir_stats stats; /* at the stop */
};

/* The configuration that the programs start from: provider Stress, this budget, no short deadline
 * (the machine may be loaded, and deadlines are not what is tested here). */
struct weir_session_config hs_trace_config(uint64_t budget_bytes);

/* Creates a session, starts it, or both. A file goes to `path`, or to a temporary one if that is
 * NULL. */
bool hs_trace_create(struct hs_trace *trace, struct weir_session_config config, enum hs_sink sink,
                     const char *path);
bool hs_trace_begin(struct hs_trace *trace);
bool hs_trace_start(struct hs_trace *trace, struct weir_session_config config, enum hs_sink sink,
                    const char *path);
/* Stops it, which must succeed, and takes the statistics. */
bool hs_trace_stop(struct hs_trace *trace);
/* Frees the session and removes a temporary file. */
void hs_trace_end(struct hs_trace *trace);

/* The calling thread's capture id, from the thread statistics; 0 if it has none yet. `counts` may
 * be NULL. */
uint64_t hs_trace_self(const struct hs_trace *trace, struct weir_counts *counts);

uint64_t hs_lost(const struct weir_counts *counts);

#endif
