#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

void hs_gate_init(struct hs_sink_gate *gate, const char *path)
{
    const char *folder = getenv("TMPDIR");
    memset(gate, 0, sizeof *gate);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
    gate->keeps_file = path != NULL;
    if (path)
        snprintf(gate->path, sizeof gate->path, "%s", path);
    else
        snprintf(gate->path, sizeof gate->path, "%s/stress-gate-%d.nettrace",
                 folder ? folder : "/tmp", (int)getpid());
    gate->fd = open(gate->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    hs_check(gate->fd >= 0, "cannot write %s: %s", gate->path, strerror(errno));
}

bool hs_gate_write(void *context, const void *bytes, size_t count)
{
    struct hs_sink_gate *gate = context;
    pthread_mutex_lock(&gate->lock);
    while (gate->is_closed) {
        gate->is_waiting = true;
        pthread_cond_broadcast(&gate->changed);
        pthread_cond_wait(&gate->changed, &gate->lock);
    }
    gate->is_waiting = false;
    pthread_mutex_unlock(&gate->lock);
    const char *at = bytes;
    while (count > 0) {
        ssize_t done = write(gate->fd, at, count);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static void gate_set(struct hs_sink_gate *gate, bool is_closed)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_closed = is_closed;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void hs_gate_close(struct hs_sink_gate *gate)
{
    gate_set(gate, true);
}

void hs_gate_open(struct hs_sink_gate *gate)
{
    gate_set(gate, false);
}

bool hs_gate_wait(struct hs_sink_gate *gate)
{
    bool is_waiting = false;
    for (int i = 0; i < 5000 && !is_waiting; i++) {
        pthread_mutex_lock(&gate->lock);
        is_waiting = gate->is_waiting;
        pthread_mutex_unlock(&gate->lock);
        if (!is_waiting)
            hs_sleep_us(1000);
    }
    return is_waiting;
}

void hs_gate_finish(struct hs_sink_gate *gate, struct hs_trace *trace)
{
    if (gate->fd >= 0)
        close(gate->fd);
    gate->fd = -1;
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
    memcpy(trace->path, gate->path, sizeof trace->path);
    trace->keeps_file = gate->keeps_file;
}
