#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

#define HELD_S_MAX 5

void hs_gate_init(struct hs_sink_gate *gate, const char *path)
{
    const char *folder = getenv("TMPDIR");
    memset(gate, 0, sizeof *gate);
    gate_init(&gate->gate);
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
    gate_pass(&gate->gate, 0);
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

void hs_gate_close(struct hs_sink_gate *gate)
{
    gate_close(&gate->gate);
}

void hs_gate_open(struct hs_sink_gate *gate)
{
    gate_open(&gate->gate);
}

bool hs_gate_wait(struct hs_sink_gate *gate)
{
    return gate_wait(&gate->gate, HELD_S_MAX);
}

void hs_gate_finish(struct hs_sink_gate *gate, struct hs_trace *trace)
{
    if (gate->fd >= 0)
        close(gate->fd);
    gate->fd = -1;
    gate_fini(&gate->gate);
    memcpy(trace->path, gate->path, sizeof trace->path);
    trace->keeps_file = gate->keeps_file;
}
