/* Weir itself: one session, whose sink is a file or a function that discards. */
#include <string.h>
#include <weir/session.h>
#include <weir/trace.h>

#include "buffers/modes.h"
#include "events.h"
#include "kernel.h"
#include "peer.h"

#define WORD(name, table, word) word,
static const char *const variants[] = {WR_MODES(WORD) NULL};
#undef WORD
#define MODE(name, table, word) WEIR_MODE_##name,
static const enum weir_mode modes[] = {WR_MODES(MODE)};
#undef MODE
static struct weir_session *session;
static uint64_t emitted;

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

static enum weir_mode mode_of(const char *variant)
{
    for (size_t i = 0; variants[i]; i++)
        if (strcmp(variant, variants[i]) == 0)
            return modes[i];
    peer_fail("no mode '%s'", variant);
}

static void open_weir(const struct peer_options *options)
{
    struct weir_error error = {""};
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "WeirBench";
    config.mode = mode_of(options->variant);
    config.budget_bytes = options->budget_bytes;
    if (options->output)
        config.sink.file = peer_output_path(options, "weir.nettrace");
    else
        config.sink.write = discard;
    emitted = options->events * options->threads;
    if (!bench_events_register())
        peer_fail("the events cannot be registered");
    if (weir_session_create(&config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        peer_fail("%s", error.text);
}

static void emit_weir(uint32_t thread, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        WEIR_EMIT(WeirBench, Bytes32, PEER_EMIT(i, thread));
}

static void close_weir(struct peer_outcome *outcome)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    if (weir_session_stop(session, NULL) != WEIR_OK ||
        weir_session_stats(session, &stats) != WEIR_OK)
        peer_fail("the trace is not whole");
    weir_session_destroy(session);
    if (stats.counts.attempted != emitted)
        peer_fail("%llu events were emitted, but the session counts %llu",
                  (unsigned long long)emitted, (unsigned long long)stats.counts.attempted);
    outcome->delivered = stats.counts.written;
    outcome->told_lost = 0;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        outcome->told_lost += stats.counts.lost[cause];
    outcome->bytes = stats.bytes_sent;
    outcome->buffer_bytes = stats.budget_bytes;
}

const struct peer peer = {"weir", variants, open_weir, close_weir, emit_weir, NULL, 0};
