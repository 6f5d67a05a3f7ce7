/* Included before each of the product's sources: its locks are the explorer's, and its own checks
 * are active. */
#ifndef MODEL_PRODUCT_LOCKS_H
#define MODEL_PRODUCT_LOCKS_H

#include <pthread.h>
#include "product_clock.h"

void model_trap(void);
#define WR_CHECKS
#define __builtin_trap() model_trap()

int model_mutex_lock(pthread_mutex_t *mutex);
int model_mutex_trylock(pthread_mutex_t *mutex);
int model_mutex_unlock(pthread_mutex_t *mutex);

#define pthread_mutex_lock    model_mutex_lock
#define pthread_mutex_trylock model_mutex_trylock
#define pthread_mutex_unlock  model_mutex_unlock

#endif
