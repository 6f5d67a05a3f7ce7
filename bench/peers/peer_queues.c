#include "peer_queues.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define BATCH_ELEMENTS 4096u
#define REST_NS_MAX    500000u
#define ELEMENT_NS     10u /* a fast writer's time for one element */

/* CONST while the reader runs, except where marked. */
static struct {
    pthread_t thread;
    peer_queue_take take;
    uint32_t queues;
    uint64_t emitted;
    uint64_t few; /* the reader rests after a round that yielded less */
    struct timespec rest;
    int fd;                     /* -1: nowhere */
    struct peer_element *batch; /* the reader's */
    uint64_t delivered;         /* the reader's */
    _Atomic bool is_ending;
} reader;

static void write_all(const void *bytes, size_t count)
{
    const char *from = bytes;
    while (count) {
        ssize_t written = write(reader.fd, from, count);
        if (written < 0 && errno != EINTR)
            peer_fail("cannot write: %s", strerror(errno));
        from += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
}

/* Reads each queue once. */
static uint64_t sweep(void)
{
    uint64_t got = 0;
    for (uint32_t i = 0; i < reader.queues; i++) {
        size_t count = reader.take(i, reader.batch, BATCH_ELEMENTS);
        if (reader.fd >= 0)
            write_all(reader.batch, count * sizeof *reader.batch);
        got += count;
    }
    reader.delivered += got;
    return got;
}

/* The writers have ended before `is_ending` is set, so a sweep that begins after that and finds
 * nothing leaves nothing behind. */
static void *read_queues(void *context)
{
    (void)context;
    prctl(PR_SET_TIMERSLACK, 1UL); /* or a rest of 50 us would take 100 */
    for (;;) {
        bool is_last = atomic_load_explicit(&reader.is_ending, memory_order_acquire);
        uint64_t got = sweep();
        if (is_last && got == 0)
            return NULL;
        if (!is_last && got < reader.few)
            nanosleep(&reader.rest, NULL);
    }
}

/* Sets a rest so short that a queue left empty is not full when the reader returns. */
static void rest_set(uint64_t elements)
{
    uint64_t rest_ns = elements / 4 * ELEMENT_NS;
    reader.rest.tv_nsec = (long)(rest_ns < REST_NS_MAX ? rest_ns : REST_NS_MAX);
    reader.few = elements / 16 < BATCH_ELEMENTS ? elements / 16 : BATCH_ELEMENTS;
    reader.few += reader.few == 0; /* a round that finds nothing always rests */
}

void peer_queues_start(const struct peer_options *options, uint64_t elements, peer_queue_take take)
{
    rest_set(elements);
    reader.take = take;
    reader.queues = options->threads;
    reader.emitted = options->events * options->threads;
    reader.fd = -1;
    reader.batch = calloc(BATCH_ELEMENTS, sizeof *reader.batch);
    if (!reader.batch)
        peer_fail("no memory");
    if (options->output) {
        const char *path = peer_output_path(options, "elements");
        reader.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (reader.fd < 0)
            peer_fail("cannot write %s: %s", path, strerror(errno));
    }
    int failure = pthread_create(&reader.thread, NULL, read_queues, NULL);
    if (failure)
        peer_fail("a thread cannot be started: %s", strerror(failure));
}

void peer_queues_stop(struct peer_outcome *outcome, uint64_t refused, uint64_t capacity)
{
    atomic_store_explicit(&reader.is_ending, true, memory_order_release);
    pthread_join(reader.thread, NULL);
    if (reader.fd >= 0)
        close(reader.fd);
    free(reader.batch);
    if (reader.delivered + refused != reader.emitted)
        peer_fail("%llu elements were read and %llu refused, of %llu",
                  (unsigned long long)reader.delivered, (unsigned long long)refused,
                  (unsigned long long)reader.emitted);
    outcome->delivered = reader.delivered;
    outcome->told_lost = refused;
    outcome->bytes = reader.delivered * sizeof(struct peer_element);
    outcome->buffer_bytes = capacity * sizeof(struct peer_element);
}
