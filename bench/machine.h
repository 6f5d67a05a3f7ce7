/*
 * The state of the machine, which in a guest changes within a second: how much of its core a thread
 * has, and how far apart two processors are. Measured in half a millisecond, before and after each
 * group of figures. judge/state.py names the states.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_machine {
    double step_ns; /* sixteen independent additions: bench_issue() */
    double trip_ns; /* a cache line, to another processor and back; NAN: not measured */
};

/* Of the processor that the calling thread is on; with `is_parallel`, of that and another one: the
 * slower step of the two, taken at the same time, and the trip between them. Leaves the thread
 * unbound. */
struct bench_machine bench_machine_take(bool is_parallel);

#ifdef __cplusplus
}
#endif
#endif
