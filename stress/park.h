/*
 * Shared by the programs about BLOCK sessions: the strategies by name, a configuration, states to
 * wait for, and a log of the waits that on_park reports.
 */
#ifndef STRESS_PARK_H
#define STRESS_PARK_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "wait/strategies.h"

enum { HS_WAKES = WR_WAKE_COUNT }; /* strategies, numbered as enum weir_wake */
const char *hs_wake_name(enum weir_wake wake);
/* Are waits served in the order of their arrival? */
bool hs_wake_is_ordered(enum weir_wake wake);

/* Like hs_trace_config(), in mode BLOCK. */
struct weir_session_config hs_block_config(enum weir_wake wake, uint64_t budget_bytes,
                                           uint32_t segment_bytes);

struct weir_stats hs_stats(struct weir_session *session);

/* Waits until `threads` threads are parked and stay parked, because the sink stands still; or until
 * at most so much of the budget is in use. False after 20 s. */
bool hs_wait_parked(struct weir_session *session, uint64_t threads);
bool hs_wait_used_at_most(struct weir_session *session, uint64_t bytes);

/* One wait, as seen by the thread that waited. */
struct hs_park {
    struct weir_park told;
    uint64_t called_ns;   /* when the emit call began, by the harness's clock */
    uint64_t returned_ns; /* when on_park was called */
    uint32_t thread;
};

/* A thread's log. Set `own` on each thread that emits. Waits that do not fit are only counted. */
struct hs_park_log {
    struct hs_park *rows;
    uint64_t count, capacity;
    uint64_t called_ns; /* set before an emit call if it matters */
    uint32_t thread;
};
extern __thread struct hs_park_log *hs_park_own;

/* For weir_session_config.on_park; the context is not used. */
void hs_on_park(void *context, const struct weir_park *park);

#endif
