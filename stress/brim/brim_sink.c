#include "brim_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

#define NS_PER_MS      UINT64_C(1000000)
#define NS_PER_S       UINT64_C(1000000000)
#define STALL_FIRST_NS (UINT64_C(100) * NS_PER_MS)
#define CLOSE_BUDGETS  16
#define FILE_MARGIN    (UINT64_C(16) << 20) /* what may still arrive after the end is requested */
#define SLEEP_SLICE_NS (UINT64_C(100) * NS_PER_MS)

void brim_sink_init(struct brim_sink *sink, const struct brim_options *options, uint64_t seed,
                    double bytes_per_event)
{
    *sink = (struct brim_sink){.kind = options->sink,
                               .amount = options->sink_amount,
                               .bytes_per_event = bytes_per_event,
                               .fd = -1};
    sink->close_at = hs_random(seed, 1) % (CLOSE_BUDGETS * options->budget_bytes);
    sink->bytes_max = BRIM_FILE_BYTES_MAX - FILE_MARGIN - options->budget_bytes;
    sink->stall_at_ns = hs_now_ns() + STALL_FIRST_NS;
}

bool brim_sink_open_file(struct brim_sink *sink, const char *folder)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/weir-stress-XXXXXX", folder);
    errno = ENAMETOOLONG;
    if (length >= 0 && (size_t)length < sizeof path)
        sink->fd = mkostemp(path, O_CLOEXEC);
    if (sink->fd >= 0)
        unlink(path);
    return sink->fd >= 0;
}

void brim_sink_close(struct brim_sink *sink)
{
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = -1;
}

bool brim_sink_wants_end(const struct brim_sink *sink)
{
    return __atomic_load_n(&sink->wants_end, __ATOMIC_RELAXED) != 0;
}

static void ask_for_end(struct brim_sink *sink)
{
    /* relaxed: polled now and then; it publishes nothing else */
    __atomic_store_n(&sink->wants_end, 1, __ATOMIC_RELAXED);
}

/* --- Behaviour. ------------------------------------------------------------------------------ */

/* A stall on purpose counts as progress, so that the watchdog does not end the program. */
static void sleep_until(uint64_t end_ns)
{
    for (uint64_t now = hs_now_ns(); now < end_ns; now = hs_now_ns()) {
        uint64_t left = end_ns - now;
        hs_sleep_us((left < SLEEP_SLICE_NS ? left : SLEEP_SLICE_NS) / 1000 + 1);
        hs_progress();
    }
}

/* In processor time: a drain that does not run does not pay. The clock moves in steps, so an
 * overpayment is deducted from the next debt. */
static void pay(struct brim_sink *sink, size_t count)
{
    sink->owed_ns += (double)count / sink->bytes_per_event * (double)sink->amount;
    if (sink->owed_ns <= 0)
        return;
    uint64_t start = hs_thread_cpu_ns(), paid = 0;
    while ((double)paid < sink->owed_ns)
        paid = hs_thread_cpu_ns() - start;
    sink->owed_ns -= (double)paid;
    sink->paid_ns += paid;
}

static void take_time(struct brim_sink *sink, size_t count)
{
    uint64_t now = hs_now_ns();
    uint64_t begin = sink->free_at_ns > now ? sink->free_at_ns : now;
    sink->free_at_ns = begin + (uint64_t)((double)count / (double)sink->amount * (double)NS_PER_S);
    sleep_until(sink->free_at_ns);
}

static void stall(struct brim_sink *sink)
{
    if (hs_now_ns() < sink->stall_at_ns)
        return;
    uint64_t ns = sink->amount * NS_PER_MS, pause = 9 * ns;
    sleep_until(hs_now_ns() + ns);
    sink->stall_at_ns = hs_now_ns() + (pause > STALL_FIRST_NS ? pause : STALL_FIRST_NS);
}

/* False if the sink has closed. */
static bool behave(struct brim_sink *sink, size_t count)
{
    if (sink->kind == BRIM_SINK_COST)
        pay(sink, count);
    else if (sink->kind == BRIM_SINK_SLOW)
        take_time(sink, count);
    else if (sink->kind == BRIM_SINK_STALL)
        stall(sink);
    return sink->kind != BRIM_SINK_RANDOM_CLOSE || sink->bytes + count <= sink->close_at;
}

/* --- Bytes. ---------------------------------------------------------------------------------- */

static bool put(struct brim_sink *sink, const char *at, size_t count)
{
    while (count > 0) {
        ssize_t done = write(sink->fd, at, count);
        if (done < 0 && errno != EINTR) {
            sink->error = errno;
            return false;
        }
        at += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

bool brim_sink_write(void *context, const void *bytes, size_t count)
{
    struct brim_sink *sink = context;
    if (!behave(sink, count) || (sink->fd >= 0 && !put(sink, bytes, count))) {
        ask_for_end(sink);
        return false;
    }
    sink->bytes += count;
    if (sink->fd >= 0 && sink->kind != BRIM_SINK_PIPE && sink->bytes > sink->bytes_max)
        ask_for_end(sink);
    sink->last_ns = hs_now_ns();
    return true;
}
