#include <time.h>
#include <unistd.h>

#include "crowd.h"
#include "session.h"
#include "sessions.h"
#include "timing.h"
#include "tmpfs.h"

#define RECORD_BYTES    40u
#define STREAM_MIN      34u /* of an event, except where the clock's step is small */
#define DRAIN_LOOKS_MAX 5000

/* Where the stream goes. DRAIN, except where marked. */
struct sink {
    int fd;
    uint64_t bytes; /* ANY, relaxed: bytes taken so far */
    uint64_t pieces;
    double last_s;
};

struct warm {
    struct sink *sink;
    uint64_t bytes; /* least bytes of the warm-up events */
};

static bool take(void *context, const void *bytes, size_t count)
{
    struct sink *sink = context;
    bool is_taken = bench_tmpfs_write(sink->fd, bytes, count);
    sink->last_s = bench_now_s(CLOCK_MONOTONIC);
    sink->pieces++;
    __atomic_fetch_add(&sink->bytes, count, __ATOMIC_RELAXED);
    return is_taken;
}

/* Gives up after five seconds: the rest then shows in the time, not in the counts. */
static void wait_until_written(void *context)
{
    const struct warm *warm = context;
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (int look = 0; look < DRAIN_LOOKS_MAX; look++) {
        if (__atomic_load_n(&warm->sink->bytes, __ATOMIC_RELAXED) >= warm->bytes)
            return;
        nanosleep(&millisecond, NULL);
    }
}

struct bench_sustained bench_sustain(uint32_t producers, uint64_t events_each)
{
    struct sink sink = {.fd = bench_tmpfs_open()};
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.mode = WEIR_MODE_BLOCK;
    config.sink.write = take;
    config.sink.context = &sink;
    uint64_t warm_each = (config.budget_bytes / RECORD_BYTES + 1) / producers + 1;
    struct warm warm = {.sink = &sink, .bytes = warm_each * producers * (STREAM_MIN - 1)};
    struct bench_crowd crowd = {.kernel = bench_emit_32,
                                .threads = producers,
                                .warm_events = warm_each,
                                .events = events_each,
                                .when_warm = wait_until_written,
                                .context = &warm};
    struct weir_session *session = bench_session_start(&config);
    struct weir_stats stats;
    struct bench_sustained result = {.wall_s = 0};
    bench_crowd_run(&crowd);
    struct bench_emitted emitted = {(warm_each + events_each) * producers, crowd.written};
    result.is_whole = bench_session_stop(session, emitted, &stats);
    result.lost = bench_lost(&stats);
    result.wall_s = sink.last_s - crowd.start_s;
    result.producer_s = crowd.cpu_s;
    result.events = stats.counts.attempted;
    result.bytes = sink.bytes;
    result.pieces = sink.pieces;
    weir_session_destroy(session);
    close(sink.fd);
    return result;
}
