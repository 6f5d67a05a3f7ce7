/*
 * Which processor runs whom.
 */
#ifndef STRESS_BRIM_CPUS_H
#define STRESS_BRIM_CPUS_H

#include <sched.h>
#include <stdbool.h>

struct brim_cpus {
    cpu_set_t all;    /* that this process may use */
    cpu_set_t first;  /* of them: the drain's */
    cpu_set_t others; /* the producers'; the same as `first` where there is only one */
    unsigned count;
};

void brim_cpus_get(struct brim_cpus *cpus);
/* The calling thread, and the threads that it starts from now on. */
void brim_cpus_bind_self(const cpu_set_t *set);
/* The drain threads of the sessions that run; false if there is none. */
bool brim_cpus_bind_drain(const cpu_set_t *set);

/* The processor's name, or "unknown". */
void brim_cpus_name(char *text, size_t bytes);

#endif
