/*
 * Parts of RELAY that benchmarks and models switch off, to show what each is worth. No host needs
 * them. Without hand-on, spinning and cap, and with grant_bytes set, the rest is a plain quantum
 * hand-off.
 */
#ifndef WR_WAIT_ABLATION_H
#define WR_WAIT_ABLATION_H

#include <stdint.h>

struct wr_gate;

enum wr_wake_flags {
    WR_WAKE_NO_HAND_ON = 1, /* a thread that parks leaves waking others to the drain */
    WR_WAKE_NO_SPIN = 2,    /* the head of the queue does not wait awake */
    WR_WAKE_NO_CAP = 4      /* any number of granted threads may run at once */
};

/* `flags`: of enum wr_wake_flags. The gate is RELAY's, and no thread has used it yet. */
void wr_gate_ablate(struct wr_gate *gate, uint32_t flags);

#endif
