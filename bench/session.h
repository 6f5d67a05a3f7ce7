/* What the sessions of sessions.h have in common. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

/* With the providers of the benchmarks. Ends the program with the library's words if it fails. */
struct weir_session *bench_session_start(struct weir_session_config *config);
/* What the callers of an emit function have seen. */
struct bench_emitted {
    uint64_t attempted; /* the calls */
    uint64_t written;   /* those that returned true */
};

/* Stops it and takes its figures; false if the stream is not whole, or if the session has counted
 * other events than its emitters have. */
bool bench_session_stop(struct weir_session *session, struct bench_emitted emitted,
                        struct weir_stats *stats);
bool bench_is_accounted_for(const struct weir_stats *stats, struct bench_emitted emitted);
uint64_t bench_lost(const struct weir_stats *stats);

#endif
