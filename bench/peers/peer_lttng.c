/*
 * LTTng-UST, with its provider linked statically. The caller provides buffers, session and daemons:
 * lttng.py starts a session daemon, and the variant names what the channel does when it is full.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_lttng_event.h"

#include <stdlib.h>
#include "peer.h"

static const char *const variants[] = {"discard", "blocking", NULL};

/* Budget and output belong to the session. Before main() the library has connected to the daemon
 * and learned which events are enabled. */
static void open_trace(const struct peer_options *options)
{
    const char *allowed = getenv("LTTNG_UST_ALLOW_BLOCKING");
    if (peer_variant_is(options, "blocking") && !allowed)
        peer_fail("for --variant blocking, set LTTNG_UST_ALLOW_BLOCKING=1, and enable the channel "
                  "with --blocking-timeout=inf");
    if (!lttng_ust_tracepoint_enabled(peer, event))
        peer_fail("no session has enabled the event peer:event; ./dev bench peers starts one");
}

static void emit_event(uint32_t thread, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        lttng_ust_tracepoint(peer, event, PEER_EMIT(i, thread));
}

/* The delivered events are in the session's files. */
static void close_trace(struct peer_outcome *outcome)
{
    (void)outcome;
}

const struct peer peer = {
    "lttng", variants, open_trace, close_trace, emit_event, NULL, PEER_NO_BUDGET | PEER_NO_OUTPUT};
