#include "brim_run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "brim_order.h"
#include "brim_sink.h"
#include "brim_verify.h"
#include "harness.h"
#include "park.h"
#include "session/ablation.h"

#define NS_PER_MS       UINT64_C(1000000)
#define NS_PER_S        1e9
#define LOOK_NS         (UINT64_C(20) * NS_PER_MS)  /* between checks of sink and time */
#define PROGRESS_NS     (UINT64_C(500) * NS_PER_MS) /* between two progress lines */
#define PROGRESS_MIN_NS (UINT64_C(2000) * NS_PER_MS)
#define STOP_MS_MAX     600000 /* a slow sink is not a failure */

/* A run in progress. */
struct run {
    const struct brim_options *options;
    const struct brim_cpus *cpus;
    struct brim_result *result;
    struct weir_session *session;
    struct brim_sink sink;
    struct brim_crowd *crowd;
    struct brim_sampler sampler;
    struct brim_verifier verifier;
    struct brim_order order;
    struct weir_thread_stats *rows;
    uint32_t rows_max;
    uint64_t *written; /* by producer */
    bool is_started;   /* the session */
    bool verifies;     /* by file or pipe */
    uint64_t failures_before;
    uint64_t start_cpu_ns;
};

static double ratio(double above, double below)
{
    return below > 0 ? above / below : NAN;
}

static uint64_t process_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * UINT64_C(1000000000) +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* --- Beginning. ------------------------------------------------------------------------------ */

static void on_error(void *context, enum weir_result what, const char *text)
{
    const struct run *run = context;
    bool is_wanted = run->options->sink == BRIM_SINK_RANDOM_CLOSE;
    hs_check(is_wanted, "the session reports: %s: %s", weir_result_text(what), text);
}

static struct weir_session_config config_of(struct run *run)
{
    const struct brim_options *options = run->options;
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = BRIM_PROVIDER_NAME;
    config.sink.write = brim_sink_write;
    config.sink.context = &run->sink;
    config.mode = options->mode;
    config.wake = options->mode == WEIR_MODE_BLOCK ? options->wake : WEIR_WAKE_RELAY;
    config.grant_bytes = options->grant_bytes;
    config.max_block_ns = options->max_block_ms * NS_PER_MS;
    config.budget_bytes = options->budget_bytes;
    config.segment_bytes = (uint32_t)options->segment_bytes;
    config.no_yield = options->no_yield;
    config.stop_ms_max = STOP_MS_MAX;
    config.on_error = on_error;
    config.on_error_context = run;
    config.on_park = options->mode == WEIR_MODE_BLOCK ? brim_crowd_on_park : NULL;
    return config;
}

/* In words, with the system's reason if there is one. */
static enum weir_result fail(struct weir_error *error, enum weir_result result, const char *what,
                             int reason)
{
    snprintf(error->text, sizeof error->text, "%s%s%s", what, reason ? ": " : "",
             reason ? strerror(reason) : "");
    return result;
}

static enum weir_result session_start(struct run *run, struct weir_error *error)
{
    enum weir_result result = weir_session_start(run->session, error);
    run->is_started = result == WEIR_OK;
    if (result != WEIR_OK || !run->options->pins)
        return result;
    hs_check(brim_cpus_bind_drain(&run->cpus->first), "no drain thread could be bound");
    brim_cpus_bind_self(&run->cpus->others); /* and the threads that are started from here on */
    return WEIR_OK;
}

static enum weir_result sink_open(struct run *run, struct weir_error *error)
{
    brim_sink_init(&run->sink, run->options, run->result->seed,
                   run->result->ceilings.bytes_per_event);
    if (isnan(run->sink.bytes_per_event))
        run->sink.bytes_per_event = (double)run->options->payload_bytes + 2;
    run->verifies = run->options->verifies || run->options->sink == BRIM_SINK_PIPE;
    if (run->verifies && !brim_verifier_init(&run->verifier, run->options, run->result->seed))
        return fail(error, WEIR_NO_MEMORY, "no memory for the reader's figures", 0);
    if (run->options->sink == BRIM_SINK_PIPE) {
        run->sink.fd = brim_verifier_pipe_start(&run->verifier);
        if (run->sink.fd < 0)
            return fail(error, WEIR_IO, "no pipe into the reader", errno);
    }
    const char *folder = run->options->trace_folder;
    if (!run->options->verifies || brim_sink_open_file(&run->sink, folder))
        return WEIR_OK;
    snprintf(error->text, sizeof error->text, "no file in %s: %s", folder, strerror(errno));
    return WEIR_IO;
}

/* Everything that the run needs later, so that it does not fail halfway. */
static bool allocate(struct run *run)
{
    size_t producers = run->options->threads;
    run->rows_max = (uint32_t)producers + 64; /* other threads, such as this one, have rows too */
    run->rows = hs_try_allocate(run->rows_max * sizeof *run->rows);
    run->written = hs_try_allocate(producers * sizeof *run->written);
    run->result->waits = histogram_new();
    bool is_ordered = run->options->mode == WEIR_MODE_BLOCK;
    return run->rows && run->written && run->result->waits &&
           (!is_ordered || brim_order_init(&run->order));
}

static enum weir_result crowd_start(struct run *run, struct weir_event *event,
                                    struct weir_error *error)
{
    bool is_ordered = run->options->mode == WEIR_MODE_BLOCK;
    run->crowd =
        brim_crowd_new(run->options, event, run->result->seed, is_ordered ? &run->order : NULL);
    if (!run->crowd)
        return fail(error, WEIR_NO_MEMORY, "the producers cannot be started", 0);
    if (brim_sampler_start(&run->sampler, run->crowd))
        return WEIR_OK;
    brim_crowd_dismiss(run->crowd);
    return fail(error, WEIR_NO_MEMORY, "the sampler cannot be started", 0);
}

static enum weir_result begin(struct run *run, struct weir_event *event, struct weir_error *error)
{
    struct weir_session_config config = config_of(run);
    /* First, because it checks the options before anything is measured. */
    enum weir_result result = weir_session_create(&config, &run->session, error);
    if (result != WEIR_OK)
        return result;
    if (run->options->wake_flags)
        wr_session_ablate(run->session, run->options->wake_flags);
    run->result->ceilings = brim_ceilings_measure(run->options, event, run->cpus);
    result = sink_open(run, error);
    if (result != WEIR_OK)
        return result;
    if (!allocate(run))
        return fail(error, WEIR_NO_MEMORY, "no memory for the figures", 0);
    result = session_start(run, error);
    return result == WEIR_OK ? crowd_start(run, event, error) : result;
}

/* --- Waiting. -------------------------------------------------------------------------------- */

static void progress_show(const struct run *run, uint64_t elapsed_ns)
{
    uint64_t written = 0;
    for (uint32_t i = 0; i < run->crowd->count; i++)
        written += brim_written(&run->crowd->producers[i].emitter);
    double seconds = (double)elapsed_ns / NS_PER_S;
    fprintf(stderr, "\r\033[K%.0f s, %.1f million events written", seconds, (double)written / 1e6);
    fflush(stderr);
}

static void wait_for_end(struct run *run)
{
    bool is_shown = isatty(STDERR_FILENO) == 1;
    uint64_t shown_ns = 0;
    while (!brim_crowd_wait(run->crowd, LOOK_NS)) {
        uint64_t elapsed_ns = hs_now_ns() - run->crowd->start_ns;
        bool is_over =
            run->options->seconds > 0 && (double)elapsed_ns >= run->options->seconds * NS_PER_S;
        run->result->ended_early |= !is_over && brim_sink_wants_end(&run->sink);
        if (is_over || run->result->ended_early)
            brim_crowd_end(run->crowd);
        if (is_shown && elapsed_ns > PROGRESS_MIN_NS && elapsed_ns - shown_ns > PROGRESS_NS) {
            progress_show(run, elapsed_ns);
            shown_ns = elapsed_ns;
        }
    }
    if (shown_ns)
        fprintf(stderr, "\r\033[K");
}

/* --- Checks. --------------------------------------------------------------------------------- */

uint64_t brim_lost(const struct weir_counts *counts)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        lost += counts->lost[cause];
    return lost;
}

static const struct weir_thread_stats *row_of(const struct weir_thread_stats *rows, uint32_t count,
                                              uint64_t thread_id)
{
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].thread_id == thread_id)
            return &rows[i];
    return NULL;
}

/* A sink that has closed ends the session: later calls are not even attempts. */
static void check_producer(const struct run *run, const struct brim_producer *producer,
                           const struct weir_thread_stats *row)
{
    static const struct weir_counts none;
    const struct weir_counts *counts = row ? &row->counts : &none;
    uint64_t attempts = producer->emitter.counter, written = producer->emitter.written;
    bool has_failed = brim_sink_wants_end(&run->sink);
    bool may_be_gone = has_failed || run->options->mode == WEIR_MODE_OVERWRITE;
    hs_check(counts->attempted == counts->written + brim_lost(counts) &&
                 (counts->attempted == attempts || (has_failed && counts->attempted < attempts)),
             "producer %u: %" PRIu64 " attempts; the session counts %" PRIu64 ", written %" PRIu64
             ", lost %" PRIu64,
             producer->emitter.index, attempts, counts->attempted, counts->written,
             brim_lost(counts));
    hs_check(counts->written == written || (may_be_gone && counts->written < written),
             "producer %u: %" PRIu64 " events written; the session counts %" PRIu64,
             producer->emitter.index, written, counts->written);
}

/* After the stop, while the producers still exist: a thread that has exited has no statistics. */
static void check_threads(const struct run *run)
{
    struct weir_thread_table table = WEIR_THREAD_TABLE_INIT;
    table.threads = run->rows;
    uint32_t max = table.threads_max = run->rows_max;
    enum weir_result result = weir_session_thread_stats(run->session, &table);
    uint32_t count = table.thread_count;
    hs_check(result == WEIR_OK && count <= max, "thread stats: %s", weir_result_text(result));
    for (uint32_t i = 0; i < run->crowd->count && count <= max; i++)
        check_producer(run, &run->crowd->producers[i],
                       row_of(run->rows, count, run->crowd->producers[i].thread_id));
}

static uint64_t calls_of(const struct brim_crowd *crowd)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < crowd->count; i++)
        calls += crowd->producers[i].emitter.counter;
    return calls;
}

static void check_sums(const struct run *run)
{
    const struct brim_result *result = run->result;
    const struct weir_counts *counts = &result->stats.counts;
    bool has_failed = brim_sink_wants_end(&run->sink);
    bool is_lossless = run->options->mode == WEIR_MODE_BLOCK && !run->options->max_block_ms &&
                       run->options->sink != BRIM_SINK_RANDOM_CLOSE;
    uint64_t lost = brim_lost(counts), emitted = calls_of(run->crowd);
    hs_check(counts->attempted == counts->written + lost,
             "%" PRIu64 " attempts are not %" PRIu64 " written and %" PRIu64 " lost",
             counts->attempted, counts->written, lost);
    hs_check(counts->attempted == emitted || (has_failed && counts->attempted < emitted),
             "%" PRIu64 " events emitted; the session counts %" PRIu64, emitted, counts->attempted);
    hs_check(!is_lossless || lost == 0, "mode block lost %" PRIu64 " events", lost);
    hs_check(result->stats.budget_bytes_used <= result->stats.budget_bytes,
             "%" PRIu64 " bytes of a budget of %" PRIu64 " are used",
             result->stats.budget_bytes_used, result->stats.budget_bytes);
    hs_check(result->waits->count == result->stats.parks &&
                 result->waits->max == result->stats.parked_ns_max,
             "%" PRIu64 " waits reported, the longest of %" PRIu64
             " ns; the session counts %" PRIu64 " and %" PRIu64,
             result->waits->count, result->waits->max, result->stats.parks,
             result->stats.parked_ns_max);
    hs_check(!(result->inversions > 0) || !hs_wake_is_ordered(run->options->wake),
             "%.0f waits were granted before an older one", result->inversions);
}

/* --- Ending. --------------------------------------------------------------------------------- */

static void stop(struct run *run)
{
    struct brim_result *result = run->result;
    uint64_t ended_ns = hs_now_ns();
    enum weir_result stopped = weir_session_stop(run->session, NULL);
    bool may_fail = run->options->sink == BRIM_SINK_RANDOM_CLOSE && stopped == WEIR_IO;
    hs_check(stopped == WEIR_OK || may_fail, "stop: %s", weir_result_text(stopped));
    hs_check(run->sink.error == 0, "the stream cannot be written: %s", strerror(run->sink.error));
    brim_sampler_stop(&run->sampler);
    check_threads(run);
    result->cpu_seconds = (double)(process_cpu_ns() - run->start_cpu_ns) / NS_PER_S;
    /* OVERWRITE writes after the end, which is not part of its producers' time. */
    if (run->options->mode != WEIR_MODE_OVERWRITE && run->sink.last_ns > ended_ns)
        ended_ns = run->sink.last_ns;
    result->seconds = (double)(ended_ns - run->crowd->start_ns) / NS_PER_S;
    result->stats = (struct weir_stats)WEIR_STATS_INIT;
    stopped = weir_session_stats(run->session, &result->stats);
    hs_check(stopped == WEIR_OK, "stats: %s", weir_result_text(stopped));
}

static void verify(struct run *run)
{
    const struct weir_stats *stats = &run->result->stats;
    if (!run->verifies)
        return;
    if (run->options->sink == BRIM_SINK_PIPE)
        brim_verifier_pipe_end(&run->verifier, stats);
    else if (run->options->sink == BRIM_SINK_RANDOM_CLOSE)
        brim_verifier_read_cut(&run->verifier, run->sink.fd, stats);
    else
        brim_verifier_read(&run->verifier, run->sink.fd, stats);
    brim_verifier_compare(&run->verifier, run->crowd, stats);
    run->result->verified =
        hs_failures() == run->failures_before ? BRIM_VERIFIED : BRIM_NOT_VERIFIED;
}

/* --- Figures. -------------------------------------------------------------------------------- */

static int order(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void figures_of_producers(struct run *run)
{
    struct brim_result *result = run->result;
    uint32_t count = run->crowd->count;
    uint64_t *written = run->written;
    for (uint32_t i = 0; i < count; i++) {
        const struct brim_emitter *emitter = &run->crowd->producers[i].emitter;
        written[i] = emitter->written;
        result->written_mean += (double)emitter->written / count;
        if (emitter->loss_ns_max > result->starvation_ns)
            result->starvation_ns = emitter->loss_ns_max;
    }
    qsort(written, count, sizeof *written, order);
    result->written_least = written[0];
    result->written_median = written[count / 2];
    result->written_most = written[count - 1];
    brim_crowd_waits(run->crowd, result->waits);
    if (result->waits->max > result->starvation_ns)
        result->starvation_ns = result->waits->max;
    if (run->sampler.standstill_ns_max > result->starvation_ns)
        result->starvation_ns = run->sampler.standstill_ns_max;
}

/* G is the events of a grant, and X those of all grants: the part of a segment that no record can
 * use is in neither. */
static double park_law_ns(const struct brim_result *result)
{
    double grants = (double)result->stats.grants;
    double cycle_ns = (double)result->options->threads * result->seconds * NS_PER_S / grants;
    double fill_ns = (double)result->stats.counts.written / grants * result->ceilings.producer_ns;
    return grants > 0 && cycle_ns > fill_ns ? cycle_ns - fill_ns : NAN;
}

static void figures_of_session(struct run *run)
{
    struct brim_result *result = run->result;
    const struct weir_stats *stats = &result->stats;
    const struct brim_options *options = run->options;
    bool is_block = options->mode == WEIR_MODE_BLOCK;
    double segment = (double)options->segment_bytes;
    /* A thread without a grant takes one segment at a time. */
    double segments =
        (double)stats->counts.attempted * brim_record_bytes(options->payload_bytes) / segment;
    double grants = is_block ? (double)stats->grants : segments;
    result->grant_bytes = ratio((double)stats->grant_bytes, (double)stats->grants);
    result->park_law_ns = park_law_ns(result);
    result->wakes_per_segment =
        is_block ? ratio((double)stats->wakes * segment, (double)stats->grant_bytes) : 0;
    result->fairness = brim_sampler_fairness(&run->sampler, grants);
    result->bound_events_per_s = brim_ceilings_bound(&result->ceilings, options, run->cpus);
    result->sink_cost_ns = options->sink == BRIM_SINK_COST
                               ? ratio((double)run->sink.paid_ns, (double)stats->counts.written)
                               : NAN;
    result->inversions = is_block ? (double)brim_order_inversions(&run->order, stats->parks) : NAN;
}

/* The reader of a pipe ends when it has read everything. */
static void verifier_free(struct run *run)
{
    static const struct weir_stats none;
    if (!run->verifies)
        return;
    if (run->verifier.write_fd >= 0)
        brim_verifier_pipe_end(&run->verifier, &none);
    brim_verifier_free(&run->verifier);
}

static void run_free(struct run *run)
{
    brim_sampler_free(&run->sampler);
    if (run->crowd)
        brim_crowd_free(run->crowd);
    brim_order_fini(&run->order);
    verifier_free(run);
    if (run->options->sink != BRIM_SINK_PIPE) /* the verifier has closed that one */
        brim_sink_close(&run->sink);
    weir_session_destroy(run->session);
    brim_cpus_bind_self(&run->cpus->all);
    free(run->rows);
    free(run->written);
    free(run);
}

static void run_whole(struct run *run)
{
    run->start_cpu_ns = process_cpu_ns();
    brim_crowd_go(run->crowd);
    wait_for_end(run);
    stop(run);
    brim_crowd_release(run->crowd);
    figures_of_producers(run);
    figures_of_session(run);
    check_sums(run);
    verify(run);
}

enum weir_result brim_run(const struct brim_options *options, const struct brim_cpus *cpus,
                          struct weir_event *event, uint64_t seed, struct brim_result *result,
                          struct weir_error *error)
{
    *result = (struct brim_result){.options = options, .seed = seed};
    struct run *run = hs_try_allocate(sizeof *run);
    if (!run)
        return fail(error, WEIR_NO_MEMORY, "no memory for a run", 0);
    run->options = options;
    run->cpus = cpus;
    run->result = result;
    run->sink.fd = -1;
    run->verifier.read_fd = run->verifier.write_fd = -1;
    run->failures_before = hs_failures();
    enum weir_result failure = begin(run, event, error);
    if (failure == WEIR_OK)
        run_whole(run);
    else if (run->is_started)
        hs_check(weir_session_stop(run->session, NULL) == WEIR_OK, "the session does not stop");
    run_free(run);
    if (failure != WEIR_OK)
        brim_result_free(result);
    return failure;
}

double brim_events_per_s(const struct brim_result *result)
{
    return ratio((double)result->stats.counts.written, result->seconds);
}

double brim_cpu_ns_per_event(const struct brim_result *result)
{
    return ratio(result->cpu_seconds * NS_PER_S, (double)result->stats.counts.written);
}

double brim_park_ns(const struct brim_result *result, uint32_t per_mille)
{
    uint64_t value;
    return histogram_percentile(result->waits, per_mille, &value) ? (double)value : NAN;
}

void brim_result_free(struct brim_result *result)
{
    free(result->waits);
    result->waits = NULL;
}
