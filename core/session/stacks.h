/*
 * The stacks that a stream has since its last sequence point, where readers forget them: each is
 * written once, and its events have its id.
 *
 * The memory is bounded. When it is full, all stacks are forgotten, and a point is due. The drain writes
 * it where it can: until then the ids go on, so that a reader never finds one id twice, and a stack that
 * comes again is written again. Without memory, each is.
 */
#ifndef WR_SESSION_STACKS_H
#define WR_SESSION_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#define WR_STACK_BYTES_DEFAULT (1u << 20)
#define WR_STACK_BYTES_MIN     (64u << 10)
#define WR_STACK_BYTES_MAX     (1u << 30)

struct wr_stack_slot {
    uint64_t head; /* of the stack's record; 0: the slot is free */
    uint32_t code; /* of its id: see nettrace/writer.h */
    uint32_t at;   /* in the store */
};

struct wr_stacks {
    struct wr_stack_slot *slots; /* a quarter of the memory, or NULL; the store is behind them */
    unsigned char *store;
    uint64_t bytes;      /* of the memory */
    uint32_t slot_count; /* a power of two */
    uint32_t store_bytes;
    uint32_t used;    /* slots */
    uint32_t stored;  /* bytes */
    uint32_t written; /* bytes that these stacks have in the stream */
    uint32_t last_id; /* since the last point */
    bool was_full;    /* since the last point */
};

/* Maps `bytes` of memory. False if there is none. */
bool wr_stacks_reserve(struct wr_stacks *stacks, uint32_t bytes);
void wr_stacks_release(struct wr_stacks *stacks);

/* A stack is as a record has it (lane/record.h): its head, and `bytes` behind it, at most 8,000. */

/* The id of a stack, from 1. `is_new`: the stream does not have it. */
uint32_t wr_stacks_find(struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                        bool *is_new);
/* Of `count` stacks, one every `stride` bytes: finds the codes of the ids of the first ones that
 * the stream has, and returns how many. */
uint32_t wr_stacks_known(const struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                         uint32_t stride, uint32_t count, uint32_t *codes);
/* Remembers the first of these stacks, up to one that the stream has, that is of another form or that
 * there is no memory for, and returns how many. Their ids follow the last one. */
uint32_t wr_stacks_add(struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                       uint32_t stride, uint32_t count);

/* The stream has a sequence point, or another stream begins. */
void wr_stacks_forget(struct wr_stacks *stacks);

#endif
