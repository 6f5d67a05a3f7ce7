/*
 * A sink that can be made to stand still: while its gate is closed, the drain blocks in its write,
 * and nothing is recycled. The stream goes to a file.
 */
#ifndef STRESS_SINK_H
#define STRESS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include "gate.h"
#include "trace.h"

struct hs_sink_gate {
    struct gate gate;
    int fd;
    char path[256];
    bool keeps_file;
};

/* If `path` is NULL, a temporary file. */
void hs_gate_init(struct hs_sink_gate *gate, const char *path);
bool hs_gate_write(void *gate, const void *bytes, size_t count);
void hs_gate_close(struct hs_sink_gate *gate);
/* Waits until the drain is held by the closed gate; false after 5 s. */
bool hs_gate_wait(struct hs_sink_gate *gate);
void hs_gate_open(struct hs_sink_gate *gate);
/* After the stop; from then on `trace` is read from the file. */
void hs_gate_finish(struct hs_sink_gate *gate, struct hs_trace *trace);

#endif
