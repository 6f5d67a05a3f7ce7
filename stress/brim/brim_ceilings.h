/*
 * What one side could do if the other cost nothing, measured in a session of its own.
 *
 * Its sink stands still while a burst that fits the budget is emitted, and then goes on until all
 * of it is encoded and taken: so the producer fills segments that have been used before, alone, and
 * the drain reads, alone, what another processor has written. Both in processor time, which is not
 * longer on a busy machine.
 */
#ifndef STRESS_BRIM_CEILINGS_H
#define STRESS_BRIM_CEILINGS_H

#include "brim_cpus.h"
#include "brim_options.h"

struct weir_event;

/* NAN where it could not be measured, or means nothing. */
struct brim_ceilings {
    double producer_ns;     /* p: of one event */
    double drain_ns;        /* d: of one event, into the same sink */
    double bytes_per_event; /* of the stream */
};

/* `folder`: where the stream goes; NULL: nowhere. The calling thread is the producer. */
struct brim_ceilings brim_ceilings_measure(const struct brim_options *options,
                                           struct weir_event *event, const struct brim_cpus *cpus);

/* Events per second that no strategy can exceed; NAN if a part of it is. */
double brim_ceilings_bound(const struct brim_ceilings *ceilings, const struct brim_options *options,
                           const struct brim_cpus *cpus);

#endif
