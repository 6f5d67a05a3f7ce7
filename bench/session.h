/* What the sessions of sessions.h have in common. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

/* With the providers of the benchmarks. Ends the program with the library's words if it fails. */
struct weir_session *bench_session_start(struct weir_session_config *config);
/* Stops it and takes its figures; false if the stream is not whole or the figures do not add up. */
bool bench_session_stop(struct weir_session *session, struct weir_stats *stats);
uint64_t bench_lost(const struct weir_stats *stats);

#endif
