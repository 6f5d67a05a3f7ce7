#include "park.h"

#include "harness.h"
#include "trace.h"

#define GIVE_UP_MS 20000
#define STILL_MS   20

__thread struct hs_park_log *hs_park_own;

const char *hs_wake_name(enum weir_wake wake)
{
#define NAME(name, table, word, is_ordered) [WEIR_WAKE_##name] = #name,
    static const char *const names[HS_WAKES] = {WR_WAKE_STRATEGIES(NAME)};
#undef NAME
    return names[wake];
}

bool hs_wake_is_ordered(enum weir_wake wake)
{
#define IS_ORDERED(name, table, word, is_ordered) [WEIR_WAKE_##name] = is_ordered,
    static const bool are_ordered[HS_WAKES] = {WR_WAKE_STRATEGIES(IS_ORDERED)};
#undef IS_ORDERED
    return are_ordered[wake];
}

struct weir_session_config hs_block_config(enum weir_wake wake, uint64_t budget_bytes,
                                           uint32_t segment_bytes)
{
    struct weir_session_config config = hs_trace_config(budget_bytes);
    config.mode = WEIR_MODE_BLOCK;
    config.wake = wake;
    config.segment_bytes = segment_bytes;
    return config;
}

struct weir_stats hs_stats(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    enum weir_result result = weir_session_stats(session, &stats);
    hs_check(result == WEIR_OK, "stats: %s", weir_result_text(result));
    return stats;
}

/* A thread with a new grant is counted as parked until it runs, so the count must stay unchanged
 * for a while. */
bool hs_wait_parked(struct weir_session *session, uint64_t threads)
{
    struct weir_stats stats = hs_stats(session), before = stats;
    for (int ms = 0, still_ms = 0; ms < GIVE_UP_MS && still_ms < STILL_MS; ms++) {
        hs_sleep_us(1000);
        stats = hs_stats(session);
        bool is_still = stats.parked_now >= threads && stats.parks == before.parks &&
                        stats.parked_ns == before.parked_ns;
        still_ms = is_still ? still_ms + 1 : 0;
        before = stats;
    }
    return hs_check(stats.parked_now >= threads, "%llu threads are parked, not %llu",
                    (unsigned long long)stats.parked_now, (unsigned long long)threads);
}

bool hs_wait_used_at_most(struct weir_session *session, uint64_t bytes)
{
    for (int ms = 0; ms < GIVE_UP_MS; ms++) {
        if (hs_stats(session).budget_bytes_used <= bytes)
            return true;
        hs_sleep_us(1000);
    }
    return hs_check(false, "%llu bytes of the budget stay in use, not %llu",
                    (unsigned long long)hs_stats(session).budget_bytes_used,
                    (unsigned long long)bytes);
}

void hs_on_park(void *context, const struct weir_park *park)
{
    (void)context;
    struct hs_park_log *log = hs_park_own;
    if (!log)
        return;
    if (log->count < log->capacity)
        log->rows[log->count] = (struct hs_park){.told = *park,
                                                 .called_ns = log->called_ns,
                                                 .returned_ns = hs_now_ns(),
                                                 .thread = log->thread};
    log->count++;
}
