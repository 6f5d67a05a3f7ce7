#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"
#include "peer_options.h"

/* One emitting thread. */
struct emitter {
    pthread_t thread;
    uint32_t index;
    /* WRITER; read after the thread has ended */
    double start_s, end_s;
    double cpu_s;
    double *bursts_ns; /* per event */
};

/* CONST while threads run, except the barrier. */
static struct peer_options options;
static struct emitter emitters[PEER_THREADS_MAX];
static uint64_t burst_events, burst_count;
static pthread_barrier_t barrier;
static cpu_set_t allowed; /* the program's processors at its start */

/* --- For the peers. -------------------------------------------------------------------------- */

void peer_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "peer-%s: ", peer.name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

bool peer_variant_is(const struct peer_options *of, const char *variant)
{
    return strcmp(of->variant, variant) == 0;
}

const char *peer_output_path(const struct peer_options *of, const char *name)
{
    static char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", of->output, name);
    if (length < 0 || (size_t)length >= sizeof path)
        peer_fail("the name of the output folder is too long");
    return path;
}

/* --- Processors and clocks. ------------------------------------------------------------------ */

static double clock_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Binds to the `index`th of the allowed processors, wrapping around. */
static void bind_to(uint32_t index)
{
    cpu_set_t set;
    uint32_t left = index % (uint32_t)CPU_COUNT(&allowed);
    CPU_ZERO(&set);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && left-- == 0)
            CPU_SET(cpu, &set);
    int failure = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (failure)
        peer_fail("cannot bind a thread to a processor: %s", strerror(failure));
}

/* The main thread starts the draining thread, which inherits its binding: the last processor, if no
 * thread emits there. */
static void bind_drain(void)
{
    uint32_t processors = (uint32_t)CPU_COUNT(&allowed);
    if (options.pins && options.threads < processors)
        bind_to(processors - 1);
}

/* --- The emitting threads. ------------------------------------------------------------------- */

static void burst(struct emitter *emitter, uint64_t number)
{
    uint64_t first = number * burst_events;
    uint64_t count = options.events - first < burst_events ? options.events - first : burst_events;
    pthread_barrier_wait(&barrier);
    double start_s = clock_s(CLOCK_MONOTONIC);
    peer.emit(emitter->index, first, count);
    emitter->bursts_ns[number] = (clock_s(CLOCK_MONOTONIC) - start_s) * 1e9 / (double)count;
}

/* Processor time is taken around all bursts: the pauses between them use almost none. */
static void *emitter_run(void *context)
{
    struct emitter *emitter = context;
    if (options.pins)
        bind_to(emitter->index);
    if (peer.prepare)
        peer.prepare(emitter->index);
    pthread_barrier_wait(&barrier);
    double cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    emitter->start_s = clock_s(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < burst_count; i++) {
        const struct timespec pause = {0, PEER_BURST_PAUSE_MS * 1000000L};
        if (i > 0)
            nanosleep(&pause, NULL);
        burst(emitter, i);
    }
    if (options.kind != PEER_BURST)
        peer.emit(emitter->index, 0, options.events);
    emitter->end_s = clock_s(CLOCK_MONOTONIC);
    emitter->cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
    return NULL;
}

static void emitters_start(void)
{
    if (options.kind == PEER_BURST) {
        burst_events = PEER_BURST_EVENTS;
        burst_count = (options.events + burst_events - 1) / burst_events;
    }
    if (pthread_barrier_init(&barrier, NULL, options.threads))
        peer_fail("a barrier cannot be created");
    for (uint32_t i = 0; i < options.threads; i++) {
        struct emitter *emitter = &emitters[i];
        emitter->index = i;
        emitter->bursts_ns = calloc(burst_count + 1, sizeof *emitter->bursts_ns);
        if (!emitter->bursts_ns)
            peer_fail("no memory");
        int failure = pthread_create(&emitter->thread, NULL, emitter_run, emitter);
        if (failure)
            peer_fail("a thread cannot be started: %s", strerror(failure));
    }
}

/* --- The report. ----------------------------------------------------------------------------- */

struct figures {
    double ns_per_event, cpu_ns_per_event; /* per event and thread */
    double start_s, seconds;               /* from the first start to the last end */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median over the bursts of all threads. */
static double bursts_median_ns(void)
{
    size_t count = (size_t)(burst_count * options.threads), filled = 0;
    double *all = calloc(count, sizeof *all);
    if (!all)
        peer_fail("no memory");
    for (uint32_t i = 0; i < options.threads; i++)
        for (uint64_t j = 0; j < burst_count; j++)
            all[filled++] = emitters[i].bursts_ns[j];
    qsort(all, count, sizeof *all, by_value);
    double median = (all[(count - 1) / 2] + all[count / 2]) / 2;
    free(all);
    return median;
}

static struct figures figures_take(void)
{
    double wall_s = 0, cpu_s = 0, end_s = 0;
    double events = (double)options.events * options.threads;
    struct figures figures = {.start_s = emitters[0].start_s};
    for (uint32_t i = 0; i < options.threads; i++) {
        const struct emitter *emitter = &emitters[i];
        wall_s += emitter->end_s - emitter->start_s;
        cpu_s += emitter->cpu_s;
        figures.start_s = emitter->start_s < figures.start_s ? emitter->start_s : figures.start_s;
        end_s = emitter->end_s > end_s ? emitter->end_s : end_s;
    }
    figures.seconds = end_s - figures.start_s;
    figures.cpu_ns_per_event = cpu_s * 1e9 / events;
    figures.ns_per_event = options.kind == PEER_BURST ? bursts_median_ns() : wall_s * 1e9 / events;
    return figures;
}

static void print_count(const char *name, uint64_t value)
{
    if (value == PEER_UNKNOWN)
        printf("\"%s\": null, ", name);
    else
        printf("\"%s\": %llu, ", name, (unsigned long long)value);
}

static void print_json(const struct figures *figures, const struct peer_outcome *outcome,
                       double seconds_delivered)
{
    uint64_t emitted = options.events * options.threads;
    bool is_known = outcome->delivered != PEER_UNKNOWN;
    printf("{\"peer\": \"%s\", \"variant\": \"%s\", \"version\": \"%s\", \"case\": \"%s\", ",
           peer.name, options.variant, PEER_VERSION, peer_case_word(options.kind));
    printf("\"threads\": %u, \"payload_bytes\": %u, ", options.threads, PEER_PAYLOAD_BYTES);
    print_count("events", options.events);
    print_count("emitted", emitted);
    print_count("delivered", outcome->delivered);
    print_count("lost", is_known ? emitted - outcome->delivered : PEER_UNKNOWN);
    print_count("told_lost", outcome->told_lost);
    printf("\"ns_per_event\": %.4f, \"cpu_ns_per_event\": %.4f, \"seconds\": %.6f, ",
           figures->ns_per_event, figures->cpu_ns_per_event, figures->seconds);
    if (is_known)
        printf("\"seconds_delivered\": %.6f, ", seconds_delivered);
    else
        printf("\"seconds_delivered\": null, ");
    print_count("budget_bytes", options.budget_bytes);
    print_count("buffer_bytes", outcome->buffer_bytes);
    if (is_known && outcome->delivered && outcome->bytes != PEER_UNKNOWN)
        printf("\"bytes_per_event\": %.4f, ", (double)outcome->bytes / (double)outcome->delivered);
    else
        printf("\"bytes_per_event\": null, ");
    printf("\"pinned\": %s, \"note\": \"%s\"}\n", options.pins ? "true" : "false", outcome->note);
}

static void print_text(const struct figures *figures, const struct peer_outcome *outcome)
{
    printf("%s %s, %s, %u threads: %.2f ns per event, ", peer.name, options.variant,
           peer_case_word(options.kind), options.threads, figures->ns_per_event);
    if (outcome->delivered == PEER_UNKNOWN)
        printf("delivery unknown\n");
    else
        printf("%llu of %llu delivered\n", (unsigned long long)outcome->delivered,
               (unsigned long long)(options.events * options.threads));
    if (*outcome->note)
        printf("  %s\n", outcome->note);
}

int main(int argc, char **argv)
{
    peer_options_parse(argc, argv, &options);
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        peer_fail("cannot get the allowed processors: %s", strerror(errno));
    bind_drain();
    peer.open(&options);
    emitters_start();
    for (uint32_t i = 0; i < options.threads; i++)
        pthread_join(emitters[i].thread, NULL);
    struct peer_outcome outcome = {PEER_UNKNOWN, PEER_UNKNOWN, PEER_UNKNOWN, PEER_UNKNOWN, ""};
    struct figures figures = figures_take();
    peer.close(&outcome);
    double seconds_delivered = clock_s(CLOCK_MONOTONIC) - figures.start_s;
    if (outcome.delivered != PEER_UNKNOWN && outcome.delivered > options.events * options.threads)
        peer_fail("more events were delivered than emitted");
    if (options.json)
        print_json(&figures, &outcome, seconds_delivered);
    else
        print_text(&figures, &outcome);
    for (uint32_t i = 0; i < options.threads; i++)
        free(emitters[i].bursts_ns);
    return 0;
}
