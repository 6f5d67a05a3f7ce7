/*
 * The product's own sources, compiled with WR_MODEL, and what stands in for the system under them:
 * locks and barriers are the explorer's, sleeping is model_pause(), and the free list (ck_stack in
 * the product) is a word per segment with the same orders (edge RECYCLE).
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

/* First in setup(): the product's static words. */
void product_reset(void);

/* In setup(): the process's list of threads, and whether wr_threads_quiesce() has a membarrier. */
void product_threads(struct wr_thread *first, bool membarrier);

/* In setup(): a lane that wr_buffers_lane() may attach. */
struct wr_lane *product_spare_lane(struct wr_buffers *buffers);

/* In setup(): a lane of `thread` in the session of slot 0, attached. */
struct wr_lane *product_attach(struct wr_buffers *buffers, struct wr_thread *thread);

/* In setup(): the session's free segments, in the order in which they are taken. */
void product_free_list(struct wr_segment *const *segments, uint32_t count);

/* The exit of a thread, as the product's key destructor runs it. */
void product_thread_exit(struct wr_thread *thread);

/* A record from the process's free list; NULL if it is empty. */
struct wr_thread *product_record_take(void);

#endif
