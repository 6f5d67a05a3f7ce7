#include <stdio.h>
#include <stdlib.h>

#include "sessions.h"
#include "timing.h"
#include <weir/session.h>

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

static void must(enum weir_result result, const struct weir_error *error)
{
    if (result == WEIR_OK)
        return;
    fprintf(stderr, "weir-bench: %s\n", error->text);
    exit(1);
}

/* Seconds since `*since`, which becomes now. */
static double lap_s(double *since)
{
    double now = bench_now_s(CLOCK_MONOTONIC), lap = now - *since;
    *since = now;
    return lap;
}

struct bench_calls bench_calls_run(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    struct bench_calls calls;
    config.providers = "WeirBench";
    config.sink.write = discard;
    double now_s = bench_now_s(CLOCK_MONOTONIC);
    must(weir_session_create(&config, &session, &error), &error);
    calls.create_s = lap_s(&now_s);
    must(weir_session_start(session, &error), &error);
    calls.start_s = lap_s(&now_s);
    calls.is_whole = bench_emit_32(1) == 1;
    lap_s(&now_s);
    must(weir_session_stop(session, &error), &error);
    calls.stop_s = lap_s(&now_s);
    must(weir_session_destroy(session), &error);
    calls.destroy_s = lap_s(&now_s);
    return calls;
}
