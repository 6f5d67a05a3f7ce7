/*
 * What each side could do if the other cost nothing, measured in a separate session.
 *
 * Its sink stands still while a burst that fits the budget is emitted, and then goes on until all
 * of it is encoded and taken. So the producer runs alone and fills segments that have been used
 * before, and the drain runs alone and reads what another processor has written. Both are processor
 * time, which a busy machine does not lengthen.
 */
#ifndef STRESS_BRIM_CEILINGS_H
#define STRESS_BRIM_CEILINGS_H

#include "brim_cpus.h"
#include "brim_options.h"

struct weir_event;

/* NAN where a figure could not be measured or has no meaning. */
struct brim_ceilings {
    double producer_ns;     /* p: of one event */
    double drain_ns;        /* d: of one event, into the same sink */
    double bytes_per_event; /* of the stream */
};

/* `folder`: where the stream goes; NULL discards it. The calling thread is the producer. */
struct brim_ceilings brim_ceilings_measure(const struct brim_options *options,
                                           struct weir_event *event, const struct brim_cpus *cpus);

/* Events per second that no strategy can exceed; NAN if one of its terms is. */
double brim_ceilings_bound(const struct brim_ceilings *ceilings, const struct brim_options *options,
                           const struct brim_cpus *cpus);

#endif
