#include "session.h"

#include <stdio.h>
#include <stdlib.h>

struct weir_session *bench_session_start(struct weir_session_config *config)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    config->providers = "WeirBench";
    config->stop_ms_max = 60000;
    if (weir_session_create(config, &session, &error) == WEIR_OK &&
        weir_session_start(session, &error) == WEIR_OK)
        return session;
    fprintf(stderr, "weir-bench: %s\n", error.text);
    exit(1);
}

uint64_t bench_lost(const struct weir_stats *stats)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        lost += stats->counts.lost[cause];
    return lost;
}

/* A session's three counts always add up, by how they are computed, so they are compared with
 * counts taken outside it. */
bool bench_is_accounted_for(const struct weir_stats *stats, struct bench_emitted emitted)
{
    uint64_t overwritten = stats->counts.lost[WEIR_LOSS_OVERWRITTEN]; /* written first */
    return stats->counts.attempted == emitted.attempted &&
           stats->counts.written + overwritten == emitted.written &&
           bench_lost(stats) - overwritten == emitted.attempted - emitted.written;
}

bool bench_session_stop(struct weir_session *session, struct bench_emitted emitted,
                        struct weir_stats *stats)
{
    bool is_whole = weir_session_stop(session, NULL) == WEIR_OK;
    *stats = (struct weir_stats)WEIR_STATS_INIT;
    is_whole &= weir_session_stats(session, stats) == WEIR_OK;
    return is_whole && bench_is_accounted_for(stats, emitted);
}
