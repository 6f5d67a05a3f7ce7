/*
 * BLOCK loses nothing: threads emit flat out through a small budget, under each wake strategy, and
 * every event arrives once, whole and in order. The stream goes through a pipe into the reader,
 * which runs at the same time; nothing is stored.
 *
 *  - plain: threads that live for the whole run;
 *  - hard: threads that exit right after their last emit, one after the other; a pipe that takes
 *    only some bytes, none, or is interrupted; a reader that stands still once; a DROP session at
 *    the same time;
 *  - two BLOCK sessions of different strategies at once, for the same events;
 *  - large: records of many segments between small ones; only what the format cannot take is lost;
 *  - mixed: some threads may not be parked and lose events; the others still lose none.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "pipe.h"

#define LIVES 40u /* of each thread, in the hard rounds */

static uint64_t threads = 8, events = 10000000, budget = 1u << 20, stall_ms = 200, is_long;
static bool writes_are_hard; /* ANY */

/* --- A write() that does less than it could. ------------------------------------------------- */

static uint64_t short_writes, interrupted_writes, refused_writes; /* of the drain threads */

static ssize_t write_for_real(int fd, const void *bytes, size_t count)
{
    return syscall(SYS_write, fd, bytes, count);
}

static ssize_t fail_with(int error, uint64_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    errno = error;
    return -1;
}

/* Overrides the C library's write() for the whole program, and so for the library. */
ssize_t write(int fd, const void *bytes, size_t count)
{
    static __thread uint64_t state;
    if (!__atomic_load_n(&writes_are_hard, __ATOMIC_RELAXED) || count < 2)
        return write_for_real(fd, bytes, count);
    uint64_t random = hs_next(&state);
    if (random % 8 == 0)
        return fail_with(EINTR, &interrupted_writes);
    if (random % 256 == 1)
        return fail_with(EAGAIN, &refused_writes);
    if (random % 2 == 0) {
        __atomic_fetch_add(&short_writes, 1, __ATOMIC_RELAXED);
        count = 1 + (random >> 32) % (count - 1);
    }
    return write_for_real(fd, bytes, count);
}

/* --- Threads. -------------------------------------------------------------------------------- */

/* A sequence of short-lived threads, each with its own emitter. */
struct lives {
    struct hs_emitter *emitters;
    uint32_t count;
    uint64_t events; /* of each */
    bool may_lose;   /* one of the sessions may lose events */
    uint64_t refused;
};

/* Mostly fixed; no shape that BLOCK could refuse. */
static enum hs_shape shape_of(uint64_t counter)
{
    return counter % 16 ? HS_FIXED : counter % 32 ? HS_TEXT : HS_BYTES;
}

struct life {
    struct lives *lives;
    struct hs_emitter *emitter;
};

static void *live(void *argument)
{
    struct life *life = argument;
    for (uint64_t i = 0; i < life->lives->events; i++)
        if (!hs_emit(life->emitter, shape_of(i)))
            life->lives->refused++;
    return NULL; /* without delay: the thread's exit hands over its last segment */
}

static void *live_all(void *argument)
{
    struct lives *lives = argument;
    for (uint32_t i = 0; i < lives->count; i++) {
        struct life life = {lives, &lives->emitters[i]};
        pthread_t thread;
        hs_thread_start(&thread, live, &life);
        hs_thread_join(thread);
    }
    hs_check(lives->may_lose || lives->refused == 0, "%llu emit calls returned false",
             (unsigned long long)lives->refused);
    return NULL;
}

static void emit_all(struct hs_emitter *emitters, uint32_t lives_each, uint64_t total,
                     bool may_lose)
{
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    struct lives *lives = hs_allocate(threads * sizeof *lives);
    for (uint64_t i = 0; i < threads; i++) {
        lives[i] = (struct lives){.emitters = emitters + i * lives_each,
                                  .count = lives_each,
                                  .events = total / threads / lives_each,
                                  .may_lose = may_lose};
        hs_thread_start(&handles[i], live_all, &lives[i]);
    }
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_join(handles[i]);
    free(handles);
    free(lives);
}

/* --- Rounds. --------------------------------------------------------------------------------- */

static void figures_add(const struct hs_pipe *pipe)
{
    hs_figure_add("events", (double)pipe->events);
    hs_figure_add("stream_bytes", (double)pipe->bytes);
    hs_figure_add("parks", (double)pipe->stats.parks);
    hs_figure_add("wakes", (double)pipe->stats.wakes);
}

static void plain_run(enum weir_wake wake, uint64_t total)
{
#define FIGURE(name, table, word, is_ordered) [WEIR_WAKE_##name] = "plain_" #table "_s",
    static const char *const names[HS_WAKES] = {WR_WAKE_STRATEGIES(FIGURE)};
#undef FIGURE
    struct hs_pipe pipe = {.stall_us = is_long ? 5000000 : 0, .stall_at_event = total / 2};
    struct hs_emitter *emitters = hs_allocate(threads * sizeof *emitters);
    for (uint32_t i = 0; i < threads; i++)
        emitters[i] = (struct hs_emitter){.index = i, .capacity = UINT64_MAX};
    uint64_t start_ns = hs_now_ns();
    if (hs_pipe_start(&pipe, hs_block_config(wake, budget, 32768), (uint32_t)threads)) {
        emit_all(emitters, 1, total, false);
        hs_pipe_stop(&pipe, emitters);
        hs_check(pipe.stats.parks > 0, "%s: no thread was parked", hs_wake_name(wake));
        figures_add(&pipe);
    }
    hs_figure(names[wake], (double)(hs_now_ns() - start_ns) / 1e9);
    free(emitters);
}

/* The DROP session may lose events; its losses are checked against its stream as usual. */
static void hard_run(enum weir_wake wake, uint64_t total)
{
    uint32_t count = (uint32_t)threads * LIVES;
    struct hs_pipe pipe = {.stall_us = stall_ms * 1000,
                           .stall_at_event = total / 3,
                           .is_non_blocking = wake == WEIR_WAKE_FIFO};
    struct hs_emitter *emitters = hs_emitters_new(count, total / count);
    struct hs_trace beside;
    if (hs_trace_start(&beside, hs_trace_config(256u << 10), HS_SINK_FILE, NULL) &&
        hs_pipe_start(&pipe, hs_block_config(wake, 128u << 10, 8192), count)) {
        __atomic_store_n(&writes_are_hard, true, __ATOMIC_RELAXED);
        emit_all(emitters, LIVES, total, true);
        hs_pipe_stop(&pipe, emitters);
        figures_add(&pipe);
        hs_check(
            pipe.stats.parked_ns_max >= stall_ms * 1000000,
            "%s: a reader that stood still for %llu ms parked no thread for longer than %llu ns",
            hs_wake_name(wake), (unsigned long long)stall_ms,
            (unsigned long long)pipe.stats.parked_ns_max);
        if (hs_trace_stop(&beside))
            hs_oracle_run(emitters, count, &beside);
        __atomic_store_n(&writes_are_hard, false, __ATOMIC_RELAXED);
    }
    hs_trace_end(&beside);
    hs_emitters_free(emitters, count);
}

static void two_run(enum weir_wake wake, uint64_t total)
{
    enum weir_wake other = (enum weir_wake)((wake + 1) % HS_WAKES);
    struct hs_pipe first = {.is_non_blocking = false}, second = {.is_non_blocking = false};
    struct hs_emitter *emitters = hs_allocate(threads * sizeof *emitters);
    for (uint32_t i = 0; i < threads; i++)
        emitters[i] = (struct hs_emitter){.index = i, .capacity = UINT64_MAX};
    if (hs_pipe_start(&first, hs_block_config(wake, budget, 32768), (uint32_t)threads) &&
        hs_pipe_start(&second, hs_block_config(other, budget / 4, 4096), (uint32_t)threads)) {
        emit_all(emitters, 1, total, false);
        hs_pipe_stop(&first, emitters);
        hs_pipe_stop(&second, emitters);
        figures_add(&first);
        figures_add(&second);
    }
    free(emitters);
}

static void *emit_large(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint64_t i = 0; i < emitter->capacity; i++)
        hs_emit(emitter, hs_random(emitter->index, i) % 8 ? shape_of(i) : HS_LARGE);
    return NULL;
}

/* The largest records take half of the budget: two threads that gathered room at the same time,
 * each holding a part of it, would wait for ever. */
static void large_run(enum weir_wake wake, uint64_t each)
{
    struct hs_trace trace;
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, each);
    if (hs_trace_start(&trace, hs_block_config(wake, 36 * 4096, 4096), HS_SINK_FILE, NULL)) {
        for (uint64_t i = 0; i < threads; i++) {
            emitters[i].scratch = hs_allocate(HS_SCRATCH_BYTES);
            hs_thread_start(&handles[i], emit_large, &emitters[i]);
        }
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_join(handles[i]);
        if (hs_trace_stop(&trace))
            hs_oracle_run(emitters, (uint32_t)threads, &trace);
        for (uint64_t i = 0; i < threads; i++) {
            hs_check(emitters[i].attempts == emitters[i].written + emitters[i].too_large,
                     "%s: emitter %llu lost more than the events that are too large",
                     hs_wake_name(wake), (unsigned long long)i);
            hs_figure_add("large", (double)emitters[i].large);
            free(emitters[i].scratch);
        }
    }
    hs_trace_end(&trace);
    hs_emitters_free(emitters, (uint32_t)threads);
    free(handles);
}

/* One in four may not be parked. */
static void *emit_mixed(void *argument)
{
    struct hs_emitter *emitter = argument;
    bool may_park = emitter->index % 4 != 0;
    if (!may_park)
        weir_no_block_begin();
    for (uint64_t i = 0; i < emitter->capacity; i++)
        if (!hs_emit(emitter, shape_of(i)) &&
            hs_check(!may_park, "an event was lost: %s", weir_loss_name(weir_last_loss())))
            hs_sleep_us(50);
    if (!may_park)
        weir_no_block_end();
    return NULL;
}

static void mixed_run(enum weir_wake wake, uint64_t total)
{
    struct hs_trace trace;
    uint64_t lost = 0, lost_by_scope = 0;
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, total / threads);
    if (hs_trace_start(&trace, hs_block_config(wake, 64u << 10, 4096), HS_SINK_FILE, NULL)) {
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_start(&handles[i], emit_mixed, &emitters[i]);
        for (uint64_t i = 0; i < threads; i++) {
            hs_thread_join(handles[i]);
            lost += emitters[i].attempts - emitters[i].written;
            lost_by_scope += i % 4 ? 0 : emitters[i].attempts - emitters[i].written;
        }
        if (hs_trace_stop(&trace))
            hs_oracle_run(emitters, (uint32_t)threads, &trace);
        hs_check(lost == lost_by_scope && lost > 0, "%s: %llu lost, %llu of them in a scope",
                 hs_wake_name(wake), (unsigned long long)lost, (unsigned long long)lost_by_scope);
        hs_figure_add("lost_in_scopes", (double)lost_by_scope);
    }
    hs_trace_end(&trace);
    hs_emitters_free(emitters, (uint32_t)threads);
    free(handles);
}

static uint64_t at_most(uint64_t most, uint64_t count)
{
    return count < most ? count : most;
}

/* Three quarters of the events are for the plain round, an eighth for two sessions. The other
 * rounds store something, so they share the rest and do not grow with a long run. */
static void round_run(void)
{
    for (int i = 0; i < HS_WAKES; i++) {
        enum weir_wake wake = (enum weir_wake)i;
        plain_run(wake, events * 3 / 4 / HS_WAKES);
        two_run(wake, events / 8 / HS_WAKES);
        hard_run(wake, at_most(5000000, events / 8 / HS_WAKES));
        large_run(wake, at_most(2000, events / 10000 / HS_WAKES));
        mixed_run(wake, at_most(2000000, events / 20));
    }
    hs_check(short_writes && interrupted_writes && refused_writes,
             "%llu short, %llu interrupted, %llu refused writes", (unsigned long long)short_writes,
             (unsigned long long)interrupted_writes, (unsigned long long)refused_writes);
    hs_figure("short_writes", (double)short_writes);
    hs_figure("interrupted_writes", (double)interrupted_writes);
    hs_figure("refused_writes", (double)refused_writes);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "that emit at once", &threads, NULL},
        {"events", "in total", &events, NULL},
        {"budget", "bytes", &budget, NULL},
        {"stall-ms", "how long the reader stands still", &stall_ms, NULL},
        {"long", "1: 10^9 events, and stalls of 5 s", &is_long, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "BLOCK under each strategy, streamed into the reader, loses nothing.",
            options);
    if (is_long) {
        events = 1000000000;
        stall_ms = 5000;
    }
    hs_emitters_init();
    do {
        round_run();
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
