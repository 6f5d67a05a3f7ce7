/* Shared by the sessions of sessions.h. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

/* Enables the benchmarks' providers. Ends the program with the library's message if it fails. */
struct weir_session *bench_session_start(struct weir_session_config *config);
/* Events as counted by the callers of the emit functions. */
struct bench_emitted {
    uint64_t attempted; /* the calls */
    uint64_t written;   /* those that returned true */
};

/* Stops it and takes its statistics; false if the stream is not whole, or if the session's counts
 * differ from its emitters'. */
bool bench_session_stop(struct weir_session *session, struct bench_emitted emitted,
                        struct weir_stats *stats);
bool bench_is_accounted_for(const struct weir_stats *stats, struct bench_emitted emitted);
uint64_t bench_lost(const struct weir_stats *stats);

#endif
