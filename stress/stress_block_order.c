/*
 * Strategies whose row says so serve waits in the order of arrival. This is checked by the numbers
 * that on_park reports, over very many grants, with deadlines among them; by the harness's clock,
 * where waits are long; and one by one, where the order of parking is known. A strategy without an
 * order, such as AUTO_RESET, shows that the checks can fail.
 */
#include <stdlib.h>
#include <string.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define SEGMENT_BYTES 4096u
#define EVENT_BYTES   3600u /* one to a segment */
#define SLOW_THREADS  256u
#define SLOW_US       150000u
#define MARGIN_NS     (UINT64_C(150) * 1000000)
#define ONE_BY_ONE    12u

static uint64_t threads = 64, grants = 300000, slow_ms = 1000;
static bool is_over; /* ANY */

static unsigned char data[EVENT_BYTES];
static uint64_t data_sum;

struct producer {
    struct hs_park_log log;
    uint64_t attempts, written;
    uint64_t most; /* attempts */
};

/* --- Producers. ------------------------------------------------------------------------------ */

static void *produce(void *argument)
{
    struct producer *producer = argument;
    hs_park_own = &producer->log;
    while (producer->attempts < producer->most && !__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        producer->log.called_ns = hs_now_ns();
        producer->written += Stress_Bytes(producer->log.thread, producer->attempts++, EVENT_BYTES,
                                          data_sum, data, EVENT_BYTES);
        hs_progress();
    }
    return NULL;
}

static struct producer *producers_new(uint32_t count, uint64_t most)
{
    struct producer *producers = hs_allocate(count * sizeof *producers);
    for (uint32_t i = 0; i < count; i++) {
        producers[i].most = most;
        producers[i].log = (struct hs_park_log){
            .rows = hs_allocate(most * sizeof(struct hs_park)), .capacity = most, .thread = i};
    }
    return producers;
}

static void producers_free(struct producer *producers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(producers[i].log.rows);
    free(producers);
}

/* --- The logs. ------------------------------------------------------------------------------- */

static struct hs_park *merge(const struct producer *producers, uint32_t count, uint64_t *total)
{
    *total = 0;
    for (uint32_t i = 0; i < count; i++) {
        hs_check(producers[i].log.count <= producers[i].log.capacity, "a log is full");
        *total += producers[i].log.count;
    }
    struct hs_park *rows = hs_allocate(*total * sizeof *rows);
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; at += producers[i++].log.count)
        memcpy(rows + at, producers[i].log.rows, producers[i].log.count * sizeof *rows);
    return rows;
}

static int by_queue_number(const void *left, const void *right)
{
    const struct hs_park *a = left, *b = right;
    return a->told.queue_number < b->told.queue_number
               ? -1
               : a->told.queue_number > b->told.queue_number;
}

static int by_call(const void *left, const void *right)
{
    const struct hs_park *a = left, *b = right;
    return a->called_ns < b->called_ns ? -1 : a->called_ns > b->called_ns;
}

/* Each wait is reported once, and no two report the same grant. Grants that came too late for their
 * threads leave gaps in the numbers. Returns how often a later wait was granted before an earlier
 * one. */
static uint64_t inversions_by_number(struct hs_park *rows, uint64_t count, uint64_t *granted)
{
    uint64_t inversions = 0, last = 0;
    bool *is_given = hs_allocate((count + 1) * sizeof *is_given);
    *granted = 0;
    qsort(rows, count, sizeof *rows, by_queue_number);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = rows[i].told.grant_number;
        hs_check(rows[i].told.queue_number == i + 1, "wait %llu is reported as number %llu",
                 (unsigned long long)i + 1, (unsigned long long)rows[i].told.queue_number);
        if (number == 0)
            continue;
        if (!hs_check(number <= count, "grant %llu of %llu waits", (unsigned long long)number,
                      (unsigned long long)count) ||
            !hs_check(!is_given[number], "grant %llu is reported twice",
                      (unsigned long long)number))
            continue;
        is_given[number] = true;
        inversions += number < last;
        last = number > last ? number : last;
        ++*granted;
    }
    free(is_given);
    return inversions;
}

/* How often a wait was overtaken that had already lasted for a while, by our own clock. */
static uint64_t inversions_by_clock(struct hs_park *rows, uint64_t count)
{
    uint64_t inversions = 0, latest_return = 0, at = 0;
    qsort(rows, count, sizeof *rows, by_call);
    for (uint64_t i = 0; i < count; i++) {
        for (; rows[at].called_ns + MARGIN_NS <= rows[i].called_ns; at++)
            if (rows[at].returned_ns > latest_return)
                latest_return = rows[at].returned_ns;
        inversions += latest_return >= rows[i].returned_ns + MARGIN_NS;
    }
    return inversions;
}

/* --- Many grants. ---------------------------------------------------------------------------- */

static uint64_t sum_of_all; /* DRAIN */

/* Slower than emitting, so that the threads wait for the drain. */
static bool take_dearly(void *context, const void *bytes, size_t count)
{
    (void)context;
    sum_of_all = hs_checksum(sum_of_all, bytes, count);
    return true;
}

static bool take_slowly(void *context, const void *bytes, size_t count)
{
    if (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        hs_sleep_us(SLOW_US);
    return take_dearly(context, bytes, count);
}

static struct weir_session_config config_of(enum weir_wake wake, uint64_t segments)
{
    struct weir_session_config config =
        hs_block_config(wake, segments * SEGMENT_BYTES, SEGMENT_BYTES);
    config.grant_bytes = wake == WEIR_WAKE_RELAY ? SEGMENT_BYTES : 0;
    config.on_park = hs_on_park;
    config.sink.write = take_dearly;
    return config;
}

/* Runs the producers to their end or for the given time, and stops the session. */
static void session_run(struct weir_session_config config, struct producer *producers,
                        uint32_t count, uint64_t ms)
{
    struct hs_trace trace;
    pthread_t *handles = hs_allocate(count * sizeof *handles);
    uint64_t attempts = 0, written = 0;
    __atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return;
    for (uint32_t i = 0; i < count; i++)
        hs_thread_start(&handles[i], produce, &producers[i]);
    if (ms)
        hs_sleep_us(ms * 1000);
    __atomic_store_n(&is_over, ms != 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count; i++) {
        hs_thread_join(handles[i]);
        attempts += producers[i].attempts;
        written += producers[i].written;
    }
    hs_trace_stop(&trace);
    hs_check(trace.stats.counts.attempted == attempts && trace.stats.counts.written == written,
             "%llu attempts, %llu written; the statistics say %llu and %llu",
             (unsigned long long)attempts, (unsigned long long)written,
             (unsigned long long)trace.stats.counts.attempted,
             (unsigned long long)trace.stats.counts.written);
    hs_check(trace.stats.counts.lost[WEIR_LOSS_DEADLINE] == attempts - written,
             "%llu lost by the deadline, but %llu emit calls reported it",
             (unsigned long long)trace.stats.counts.lost[WEIR_LOSS_DEADLINE],
             (unsigned long long)(attempts - written));
    hs_trace_end(&trace);
    free(handles);
}

static uint64_t given_up; /* waits that ended at their deadline, in all runs */

/* Returns the mean wait. */
static uint64_t many_run(enum weir_wake wake, uint64_t most, uint64_t max_block_ns)
{
    struct producer *producers = producers_new((uint32_t)threads, most / threads);
    struct weir_session_config config = config_of(wake, 32);
    uint64_t count, granted, sum_ns = 0;
    config.max_block_ns = max_block_ns;
    session_run(config, producers, (uint32_t)threads, 0);
    struct hs_park *rows = merge(producers, (uint32_t)threads, &count);
    uint64_t inversions = inversions_by_number(rows, count, &granted);
    for (uint64_t i = 0; i < count; i++)
        sum_ns += rows[i].told.parked_ns;
    hs_check(max_block_ns || granted == count, "%s: a wait without a deadline was given up",
             hs_wake_name(wake));
    hs_check(granted > (max_block_ns ? 0 : most / 100), "%s: only %llu of %llu waits were granted",
             hs_wake_name(wake), (unsigned long long)granted, (unsigned long long)count);
    if (hs_wake_is_ordered(wake))
        hs_check(inversions == 0, "%s: %llu of %llu grants overtook an earlier wait",
                 hs_wake_name(wake), (unsigned long long)inversions, (unsigned long long)granted);
    else
        hs_check(inversions > 0, "%s served in order, so the check shows nothing",
                 hs_wake_name(wake));
    hs_figure_add(hs_wake_is_ordered(wake) ? "inversions" : "unordered_inversions",
                  (double)inversions);
    hs_figure_add("grants", (double)granted);
    given_up += count - granted;
    hs_figure_add("given_up", (double)(count - granted));
    free(rows);
    producers_free(producers, (uint32_t)threads);
    return sum_ns / (count + 1);
}

/* With a deadline that passes for some waits; how many depends on the current speed of the
 * machine. */
static void deadline_run(enum weir_wake wake, uint64_t max_block_ns)
{
    uint64_t before = given_up;
    for (; given_up == before && max_block_ns > 0; max_block_ns /= 2)
        many_run(wake, grants / 10, max_block_ns);
    hs_check(given_up > before, "%s: no deadline passed", hs_wake_name(wake));
}

/* --- By our own clock. ----------------------------------------------------------------------- */

static void slow_run(enum weir_wake wake)
{
    struct producer *producers = producers_new(SLOW_THREADS, 20000);
    struct weir_session_config config = config_of(wake, 16);
    uint64_t count;
    config.sink.write = take_slowly;
    session_run(config, producers, SLOW_THREADS, slow_ms);
    struct hs_park *rows = merge(producers, SLOW_THREADS, &count);
    uint64_t inversions = inversions_by_clock(rows, count), longest_ns = 0;
    for (uint64_t i = 0; i < count; i++)
        if (rows[i].returned_ns - rows[i].called_ns > longest_ns)
            longest_ns = rows[i].returned_ns - rows[i].called_ns;
    hs_check(longest_ns > 2 * MARGIN_NS,
             "%s: no wait is long enough to be overtaken; the longest took %llu ns",
             hs_wake_name(wake), (unsigned long long)longest_ns);
    if (hs_wake_is_ordered(wake))
        hs_check(inversions == 0, "%s: %llu of %llu waits were overtaken", hs_wake_name(wake),
                 (unsigned long long)inversions, (unsigned long long)count);
    hs_figure(hs_wake_is_ordered(wake) ? "overtaken_of_slow" : "unordered_overtaken_of_slow",
              (double)inversions);
    hs_figure_add("slow_waits", (double)count);
    free(rows);
    producers_free(producers, SLOW_THREADS);
}

/* --- One by one. ----------------------------------------------------------------------------- */

/* Each holder has a grant of two segments and uses one. The drain stands still. Waiters park one
 * after the other. Then each holder that exits frees one segment, for the oldest waiter. */
struct person {
    struct producer producer;
    pthread_t handle;
    bool may_exit; /* ANY */
    bool is_done;  /* ANY: has emitted */
};

static void *emit_one(void *argument)
{
    struct person *person = argument;
    person->producer.written =
        Stress_Bytes(person->producer.log.thread, 0, EVENT_BYTES, data_sum, data, EVENT_BYTES);
    __atomic_store_n(&person->is_done, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&person->may_exit, __ATOMIC_ACQUIRE))
        hs_sleep_us(200);
    return NULL;
}

static bool is_done(const struct person *person)
{
    return __atomic_load_n(&person->is_done, __ATOMIC_ACQUIRE);
}

static bool wait_done(const struct person *person)
{
    for (int ms = 0; ms < 5000 && !is_done(person); ms++)
        hs_sleep_us(1000);
    return is_done(person);
}

static void person_start(struct person *person)
{
    hs_thread_start(&person->handle, emit_one, person);
}

static void person_end(struct person *person)
{
    __atomic_store_n(&person->may_exit, true, __ATOMIC_RELEASE);
    hs_thread_join(person->handle);
}

/* Returns how many waiters were served. */
static uint32_t serve_one_by_one(struct weir_session *session, struct person *holders,
                                 struct person *waiters)
{
    for (uint32_t i = 0; i < ONE_BY_ONE; i++) {
        person_start(&waiters[i]);
        hs_wait_parked(session, i + 1);
    }
    for (uint32_t i = 0; i < ONE_BY_ONE; i++) {
        hs_check(!is_done(&waiters[i]), "waiter %u was served before there was room", i);
        person_end(&holders[i]);
        if (!hs_check(wait_done(&waiters[i]), "waiter %u was not served although there is room", i))
            return i + 1;
        hs_progress();
    }
    return ONE_BY_ONE;
}

static void one_by_one_run(void)
{
    struct person holders[ONE_BY_ONE] = {{.may_exit = false}},
                  waiters[ONE_BY_ONE] = {{.may_exit = false}};
    struct hs_sink_gate gate;
    struct hs_trace trace;
    struct weir_session_config config = config_of(WEIR_WAKE_RELAY, (uint64_t)2 * ONE_BY_ONE);
    config.grant_bytes = (uint64_t)2 * SEGMENT_BYTES;
    config.flush_ms = 5;
    hs_gate_init(&gate, NULL);
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    hs_gate_close(&gate); /* the drain stands still from its first write on */
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL) ||
        !hs_check(hs_gate_wait(&gate), "the drain does not write"))
        return;
    for (uint32_t i = 0; i < ONE_BY_ONE; i++) {
        person_start(&holders[i]);
        hs_check(wait_done(&holders[i]), "holder %u got no grant", i);
    }
    uint32_t served = serve_one_by_one(trace.session, holders, waiters);
    hs_gate_open(&gate);
    for (uint32_t i = 0; i < ONE_BY_ONE; i++)
        person_end(&waiters[i]);
    for (uint32_t i = served; i < ONE_BY_ONE; i++)
        person_end(&holders[i]);
    hs_trace_stop(&trace);
    hs_check(trace.stats.counts.written == (uint64_t)2 * ONE_BY_ONE, "%llu events were written",
             (unsigned long long)trace.stats.counts.written);
    hs_gate_finish(&gate, &trace);
    hs_trace_end(&trace);
}

int main(int argc, char **argv)
{
    uint64_t is_long = 0;
    const struct hs_option options[] = {
        {"threads", "that wait", &threads, NULL},
        {"grants", "per round and strategy", &grants, NULL},
        {"slow-ms", "length of the run with a slow sink", &slow_ms, NULL},
        {"long", "1: 10^6 grants per strategy, 10 s with a slow sink", &is_long, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Strategies with an order serve in the order of arrival.", options);
    grants = is_long ? 1000000 : grants;
    slow_ms = is_long ? 10000 : slow_ms;
    hs_emitters_init();
    data_sum = hs_checksum(HS_CHECKSUM_START, data, sizeof data);
    do {
        for (int wake = 0; wake < HS_WAKES; wake++) {
            uint64_t most = hs_wake_is_ordered((enum weir_wake)wake) ? grants : grants / 10;
            uint64_t mean_ns = many_run((enum weir_wake)wake, most, 0);
            deadline_run((enum weir_wake)wake, mean_ns);
            slow_run((enum weir_wake)wake);
        }
        one_by_one_run();
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
