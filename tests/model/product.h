/*
 * The product's own sources, compiled with WR_MODEL, and what stands in for the system under them:
 * locks and barriers are the explorer's, sleeping is model_pause(), and the free list
 * (ck_fifo_mpmc in the product) is a word per segment with the same orders (edge RECYCLE).
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

/* First in setup(): the product's static words, and the clocks. */
void product_reset(void);
void product_system_reset(void);
void product_threads_reset(void);
/* In setup(): what the thread has in its thread-local variables. */
struct wr_self *product_self(uint32_t thread);
/* In setup(): so many of the thread's timed sleeps may end by themselves, at any time; for other
 * threads, and behind that, time stands still. */
void product_timed(uint32_t thread, uint32_t times);
/* The calling thread is busy for so long. */
void product_pass_ns(uint64_t ns);
/* How much time has passed for a thread. */
uint64_t product_clock_ns(uint32_t thread);
/* In setup(): stamps are of one clock, which goes on by a tick with each reading. */
void product_clock(uint32_t ticks);
/* It leaps, or steps back. */
void product_clock_step(int32_t ticks);
/* In setup(): the lock orders nothing and keeps nobody out. What it protects is then either
 * ordered by something else or reported as a race. Saves steps. */
void product_without_lock(pthread_mutex_t *mutex);
/* In setup(): the session's bell is rung and waited for. */
void product_bell(struct wr_bell *bell);
void product_ring(struct wr_bell *bell, uint32_t rings);
/* In setup(): it is core/wait/bell.c; the drain sleeps until it is rung, whatever its timers say.
 */
void product_own_bell(struct wr_bell *bell);
void product_bell_init(struct wr_bell *bell);
void product_bell_ring(struct wr_bell *bell);
uint32_t product_bell_ticket(const struct wr_bell *bell);
void product_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns);

/* In setup(): the process's list of threads, and whether wr_threads_quiesce() has a membarrier. */
void product_threads(struct wr_thread *first, bool membarrier);

/* In setup(): each membarrier is refused. */
void product_membarrier_fails(void);

/* In setup(): a lane that wr_buffers_lane() may attach. */
struct wr_lane *product_spare_lane(struct wr_buffers *buffers);

/* A lane for a thread that has none, not attached; NULL if none is free. */
struct wr_lane *product_lane_take(struct wr_buffers *buffers, struct wr_thread *thread);

/* wr_buffers_release_lane_locked(), without the next owner. */
void product_lane_release(struct wr_buffers *buffers, struct wr_lane **link);

/* In setup(): a lane of `thread` in the session of slot 0, attached. */
struct wr_lane *product_attach(struct wr_buffers *buffers, struct wr_thread *thread);

/* In setup(): the session's free segments, in the order in which they are taken. Who gives one
 * writes to all of it, as its next owner may. */
void product_free_list(struct wr_segment *const *segments, uint32_t count, uint32_t segment_bytes);

/* In setup(): there are no hooks, or these; each thread may set others, once. */
struct weir_park_hooks;
void product_hooks_reset(void);
void product_hooks(const struct weir_park_hooks *hooks);

/* The exit of a thread, as the product's key destructor runs it. */
void product_thread_exit(struct wr_thread *thread);

/* A record from the process's free list; NULL if it is empty. */
struct wr_thread *product_record_take(void);
/* Adds a fresh record to the process's list, and to those that are free. */
void product_record_list(struct wr_thread *thread);

#endif
