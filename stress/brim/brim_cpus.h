/*
 * Which processors run which threads.
 */
#ifndef STRESS_BRIM_CPUS_H
#define STRESS_BRIM_CPUS_H

#include <sched.h>
#include <stdbool.h>

struct brim_cpus {
    cpu_set_t all;    /* the processors that this process may use */
    cpu_set_t first;  /* the first of them: the drain's */
    cpu_set_t others; /* the producers'; equals `first` if there is only one processor */
    unsigned count;
};

void brim_cpus_get(struct brim_cpus *cpus);
/* Binds the calling thread, and the threads that it starts from now on. */
void brim_cpus_bind_self(const cpu_set_t *set);
/* Binds the drain threads of all running sessions; false if there is none. */
bool brim_cpus_bind_drain(const cpu_set_t *set);

/* The processor's name, or "unknown". */
void brim_cpus_name(char *text, size_t bytes);

#endif
