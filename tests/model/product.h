/*
 * The product's own sources, compiled with WR_MODEL, over replacements for the system: locks and
 * barriers are the explorer's, sleeping is model_pause(), and the free list (ck_fifo_mpmc in the
 * product) is one word per segment with the same orders (edge RECYCLE).
 */
#ifndef MODEL_PRODUCT_H
#define MODEL_PRODUCT_H

#include <pthread.h>
#include <stdbool.h>
#include "base/atomic.h"
#include "buffers/buffers.h"
#include "lane/lane.h"
#include "lane/thread.h"

#define SEGMENTS_MAX 4

/* Call first in setup(). Resets the product's static words and the clocks. */
void product_reset(void);
void product_system_reset(void);
void product_threads_reset(void);
/* The initial thread-local variables of the thread. Call in setup(). */
struct wr_self *product_self(uint32_t thread);
/* Call in setup(). Lets `times` timed sleeps of the thread end by themselves, at any time.
 * Otherwise time stands still. */
void product_timed(uint32_t thread, uint32_t times);
/* Advances the calling thread's time. */
void product_pass_ns(uint64_t ns);
/* How much time has passed for the thread. */
uint64_t product_clock_ns(uint32_t thread);
/* Call in setup(). All stamps come from one clock, which advances one tick with each reading. */
void product_clock(uint32_t ticks);
/* Makes that clock leap or step back. */
void product_clock_step(int32_t ticks);
/* Call in setup(). The lock then orders nothing and excludes no thread. What it protects must be
 * ordered by something else, or a race is reported. Saves steps. */
void product_without_lock(pthread_mutex_t *mutex);
/* Call in setup(). Makes the session's bell work: it is rung and waited for. */
void product_bell(struct wr_bell *bell);
void product_ring(struct wr_bell *bell, uint32_t rings);
/* Call in setup(). Uses core/wait/bell.c as the bell; the drain then sleeps until it is rung,
 * whatever its timers say. */
void product_own_bell(struct wr_bell *bell);
void product_bell_init(struct wr_bell *bell);
void product_bell_ring(struct wr_bell *bell);
uint32_t product_bell_ticket(const struct wr_bell *bell);
void product_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns);

/* Call in setup(). Sets the process's list of threads, and whether membarrier works. */
void product_threads(struct wr_thread *first, bool membarrier);

/* Call in setup(). Makes every membarrier fail. */
void product_membarrier_fails(void);

/* Call in setup(). Adds a lane that wr_buffers_lane() may attach. */
struct wr_lane *product_spare_lane(struct wr_buffers *buffers);

/* Takes a lane for a thread that has none, without attaching it; NULL if none is free. */
struct wr_lane *product_lane_take(struct wr_buffers *buffers, struct wr_thread *thread);

/* wr_buffers_release_lane_locked(), without the next owner. */
void product_lane_release(struct wr_buffers *buffers, struct wr_lane **link);

/* Call in setup(). Attaches a lane of `thread` in the session of slot 0. */
struct wr_lane *product_attach(struct wr_buffers *buffers, struct wr_thread *thread);

/* Call in setup(). Sets the session's free segments, in the order in which they are taken. A thread
 * that gives a segment writes to all of it, as its next owner may. */
void product_free_list(struct wr_segment *const *segments, uint32_t count, uint32_t segment_bytes);

/* Call in setup(). Registers a source of rundown. */
struct weir_rundown;
void product_source(void (*source)(void *context, const struct weir_rundown *rundown));

/* Call in setup(). Sets the hooks, or none. Later each thread may set other hooks, once. */
struct weir_park_hooks;
void product_hooks_reset(void);
void product_hooks(const struct weir_park_hooks *hooks);

/* Runs the exit of a thread, like the destructor of the product's key. */
void product_thread_exit(struct wr_thread *thread);

/* Takes a record from the process's free list; NULL if it is empty. */
struct wr_thread *product_record_take(void);
/* Adds a fresh record to the process's list and to the free list. */
void product_record_list(struct wr_thread *thread);

#endif
