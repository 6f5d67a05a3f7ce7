#include "brim_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"

#define NS_PER_MS      UINT64_C(1000000)
#define PERIOD_NS      (UINT64_C(10) * NS_PER_MS)
#define SHORT_RUN_NS   (UINT64_C(400) * NS_PER_MS)
#define WINDOW_NS      (UINT64_C(100) * NS_PER_MS)
#define GRANTS_MIN     20.0 /* of each producer in a window */
#define ROWS_BYTES_MAX (UINT64_C(64) << 20)
#define ROWS_MIN       64u

static size_t row_words(const struct brim_sampler *sampler)
{
    return sampler->crowd->count + 1u;
}

static uint64_t *row(const struct brim_sampler *sampler, size_t at)
{
    return sampler->rows + at * row_words(sampler);
}

/* --- Looking. -------------------------------------------------------------------------------- */

/* A producer whose count has not moved between two samples has stood still at least for the time in
 * between, unless it rests because nothing is due. */
static void look_at(struct brim_sampler *sampler, uint32_t i, uint64_t now)
{
    const struct brim_producer *producer = &sampler->crowd->producers[i];
    uint64_t written = brim_written(&producer->emitter);
    bool is_idle = brim_producer_is_resting(producer) || brim_producer_has_ended(producer);
    if (written != sampler->written[i] || is_idle)
        sampler->since_ns[i] = now;
    else if (now - sampler->since_ns[i] > sampler->standstill_ns_max)
        sampler->standstill_ns_max = now - sampler->since_ns[i];
    sampler->written[i] = written;
}

/* For the watchdog: some thread attempts events, or none are due. */
static void progress_tell(struct brim_sampler *sampler)
{
    uint64_t written = 0, attempted = 0;
    bool all_rest = true;
    for (uint32_t i = 0; i < sampler->crowd->count; i++) {
        const struct brim_producer *producer = &sampler->crowd->producers[i];
        written += sampler->written[i];
        attempted += brim_attempted(&producer->emitter);
        all_rest &= brim_producer_is_resting(producer) || brim_producer_has_ended(producer);
    }
    if (written != sampler->written_seen || attempted != sampler->attempted_seen || all_rest)
        hs_progress();
    sampler->written_seen = written;
    sampler->attempted_seen = attempted;
}

/* When memory is used up, every second row is dropped, and sampling continues at half the rate. */
static void thin_out(struct brim_sampler *sampler)
{
    for (size_t i = 1; i * 2 < sampler->count; i++)
        memcpy(row(sampler, i), row(sampler, i * 2), row_words(sampler) * 8);
    sampler->count = (sampler->count + 1) / 2;
    sampler->period_ns *= 2;
}

static void keep_row(struct brim_sampler *sampler, uint64_t now)
{
    if (sampler->count == sampler->capacity)
        thin_out(sampler);
    uint64_t *to = row(sampler, sampler->count++);
    to[0] = now;
    memcpy(to + 1, sampler->written, sampler->crowd->count * sizeof *to);
}

static bool any_has_ended(const struct brim_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->crowd->count; i++)
        if (brim_producer_has_ended(&sampler->crowd->producers[i]))
            return true;
    return false;
}

static bool any_has_written(const struct brim_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->crowd->count; i++)
        if (sampler->written[i] != 0)
            return true;
    return false;
}

static void *sample(void *argument)
{
    struct brim_sampler *sampler = argument;
    bool keeps = true;
    uint64_t kept_ns = 0;
    while (!__atomic_load_n(&sampler->must_end, __ATOMIC_RELAXED)) {
        uint64_t now = hs_now_ns();
        for (uint32_t i = 0; i < sampler->crowd->count; i++)
            look_at(sampler, i, now);
        progress_tell(sampler);
        keeps = keeps && !any_has_ended(sampler);
        if (keeps && any_has_written(sampler) && now - kept_ns >= sampler->period_ns - NS_PER_MS) {
            keep_row(sampler, now);
            kept_ns = now;
        }
        hs_sleep_us(PERIOD_NS / 1000);
    }
    return NULL;
}

bool brim_sampler_start(struct brim_sampler *sampler, const struct brim_crowd *crowd)
{
    *sampler = (struct brim_sampler){.crowd = crowd, .period_ns = PERIOD_NS};
    size_t bytes = crowd->count * sizeof(uint64_t);
    sampler->capacity = ROWS_BYTES_MAX / (bytes + 8);
    if (sampler->capacity < ROWS_MIN)
        sampler->capacity = ROWS_MIN;
    sampler->rows = malloc(sampler->capacity * (bytes + 8)); /* touched only as rows are added */
    sampler->written = hs_try_allocate(bytes);
    sampler->since_ns = hs_try_allocate(bytes);
    if (!sampler->rows || !sampler->written || !sampler->since_ns)
        return false;
    for (uint32_t i = 0; i < crowd->count; i++)
        sampler->since_ns[i] = hs_now_ns();
    return pthread_create(&sampler->thread, NULL, sample, sampler) == 0;
}

void brim_sampler_stop(struct brim_sampler *sampler)
{
    __atomic_store_n(&sampler->must_end, 1, __ATOMIC_RELAXED);
    hs_thread_join(sampler->thread);
}

void brim_sampler_free(struct brim_sampler *sampler)
{
    free(sampler->rows);
    free(sampler->written);
    free(sampler->since_ns);
}

/* --- Fairness. ------------------------------------------------------------------------------- */

/* NAN if no producer wrote anything. */
static double jain(const uint64_t *first, const uint64_t *last, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 1; i <= count; i++) {
        double written = (double)(last[i] - first[i]);
        sum += written;
        squares += written * written;
    }
    return squares > 0 ? sum * sum / (count * squares) : NAN;
}

static int order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Windows of `rows` rows, end to end. */
static struct brim_fairness over_windows(const struct brim_sampler *sampler, size_t rows)
{
    struct brim_fairness fairness = {.median = NAN, .least = NAN, .window_ms = NAN};
    double *found = hs_try_allocate((sampler->count / rows + 1) * sizeof *found);
    if (!found)
        return fairness;
    uint64_t ns = 0;
    for (size_t end = rows; end < sampler->count; end += rows) {
        const uint64_t *first = row(sampler, end - rows), *last = row(sampler, end);
        double index = jain(first, last, sampler->crowd->count);
        if (isnan(index))
            continue;
        found[fairness.windows++] = index;
        ns += last[0] - first[0];
    }
    if (fairness.windows > 0) {
        qsort(found, fairness.windows, sizeof *found, order);
        fairness.median = found[fairness.windows / 2];
        fairness.least = found[0];
        fairness.window_ms = (double)ns / (double)fairness.windows / (double)NS_PER_MS;
    }
    free(found);
    return fairness;
}

struct brim_fairness brim_sampler_fairness(const struct brim_sampler *sampler, double grants)
{
    struct brim_fairness none = {.median = NAN, .least = NAN, .window_ms = NAN};
    if (sampler->count < 2)
        return none;
    size_t steps = sampler->count - 1;
    uint64_t ns = row(sampler, steps)[0] - row(sampler, 0)[0];
    double step_ns = (double)ns / (double)steps;
    double wanted = ns < SHORT_RUN_NS ? (double)PERIOD_NS : (double)WINDOW_NS;
    double enough =
        grants > 0 ? GRANTS_MIN * sampler->crowd->count / grants * (double)ns : INFINITY;
    double rows = fmax(fmax(round(wanted / step_ns), ceil(enough / step_ns)), 1);
    return rows <= (double)steps ? over_windows(sampler, (size_t)rows) : none;
}
