/*
 * DPDK's trace library: a buffer per thread, saved when the program asks for it; nothing reads it
 * while it runs. Ordinary trace points, not the "fast path" ones, which are compiled out by
 * default.
 */
#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_trace.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "peer_dpdk_event.h"

#define ARGUMENTS_MAX 16
#define TEXT_MAX      4200

static const char *const variants[] = {"overwrite", "discard", NULL};
static uint64_t buffer_bytes; /* of all threads */
static bool is_saved;

/* The first processor that this thread may use. */
static int processor_first(const cpu_set_t *set)
{
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set))
            return i;
    peer_fail("there is no processor to run on");
}

static void start(const struct peer_options *options, int processor, uint64_t thread_bytes)
{
    char core[16], bytes[40], mode[40], folder[TEXT_MAX];
    char *arguments[ARGUMENTS_MAX] = {"peer-dpdk",
                                      "--no-huge",
                                      "-m",
                                      "64",
                                      "--no-pci",
                                      "--no-shconf",
                                      "--no-telemetry",

                                      "--log-level=error",
                                      "-l",
                                      core,
                                      "--trace=peer.event",
                                      bytes,
                                      mode};
    int count = 13;
    snprintf(core, sizeof core, "%d", processor);
    snprintf(bytes, sizeof bytes, "--trace-bufsz=%lluK", (unsigned long long)thread_bytes >> 10);
    snprintf(mode, sizeof mode, "--trace-mode=%s", options->variant);
    if (options->output) {
        snprintf(folder, sizeof folder, "--trace-dir=%s", options->output);
        arguments[count++] = folder;
    }
    if (rte_eal_init(count, arguments) < 0)
        peer_fail("DPDK does not start: %s", rte_strerror(rte_errno));
}

static void open_trace(const struct peer_options *options)
{
    cpu_set_t set;
    uint64_t thread_bytes = options->budget_bytes / options->threads & ~UINT64_C(1023);
    if (thread_bytes == 0)
        peer_fail("a budget of %llu bytes is too small for %u threads",
                  (unsigned long long)options->budget_bytes, options->threads);
    /* DPDK binds the thread that starts it, and so every thread that this one creates. */
    if (sched_getaffinity(0, sizeof set, &set))
        peer_fail("cannot get the allowed processors: %s", strerror(errno));
    start(options, processor_first(&set), thread_bytes);
    if (sched_setaffinity(0, sizeof set, &set))
        peer_fail("cannot unbind the main thread: %s", strerror(errno));
    if (!rte_trace_point_is_enabled(&__peer_dpdk_event))
        peer_fail("the trace point is not enabled");
    buffer_bytes = thread_bytes * options->threads;
    is_saved = options->output;
}

static void emit_event(uint32_t thread, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        peer_dpdk_event(PEER_EMIT(i, thread));
}

static void close_trace(struct peer_outcome *outcome)
{
    if (is_saved && rte_trace_save())
        peer_fail("the trace cannot be saved: %s", rte_strerror(rte_errno));
    outcome->buffer_bytes = buffer_bytes;
    outcome->note = "a flight recorder: nothing reads while it runs";
}

const struct peer peer = {"dpdk", variants, open_trace, close_trace, emit_event, NULL, 0};
