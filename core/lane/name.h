/*
 * The name of a thread, as the drains read it.
 *
 * The thread itself writes it, with signals blocked, and may be suspended in the middle; so no lock
 * guards it. There are two copies, of which `turn` names the current one; the thread writes the other
 * one and then counts the turn. So there is always a name to read. A reader that finds another turn
 * behind the words than in front of them may have read the name after the next one, and tries again.
 */
#ifndef WR_LANE_NAME_H
#define WR_LANE_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"

struct wr_thread;

#define WR_THREAD_NAME_BYTES 48 /* with its zero, in whose place the origin is kept */
#define WR_THREAD_NAME_WORDS (WR_THREAD_NAME_BYTES / 8)

enum wr_name_origin {
    WR_NAME_NONE,
    WR_NAME_SYSTEM, /* what the system called the thread when it last asked */
    WR_NAME_LAST,   /* the same at its exit: its id may belong to another thread by now */
    WR_NAME_HOST    /* weir_thread_name_set() */
};

struct wr_name {
    struct wr_u32 turn;                           /* ANY(NAME) */
    struct wr_u64 words[2][WR_THREAD_NAME_WORDS]; /* ANY(NAME) */
};

/* A copy, and how it is kept. */
union wr_name_text {
    uint64_t words[WR_THREAD_NAME_WORDS];
    char bytes[WR_THREAD_NAME_BYTES]; /* UTF-8, if the host keeps to it; the rest is 0 */
};

static inline enum wr_name_origin wr_name_origin_of(const union wr_name_text *text)
{
    return (enum wr_name_origin)text->bytes[WR_THREAD_NAME_BYTES - 1];
}

static inline uint32_t wr_name_turn(const struct wr_name *name)
{
    return wr_u32_load_acquire(&name->turn); /* edge NAME.acquire */
}

/* By the thread, with signals blocked. */
static inline void wr_name_write(struct wr_name *name, const union wr_name_text *text)
{
    uint32_t turn = wr_u32_load_relaxed(&name->turn) + 1; /* relaxed: its own */
    for (uint32_t i = 0; i < WR_THREAD_NAME_WORDS; i++)
        /* edge NAME.release: the turn before */
        wr_u64_store_release(&name->words[turn & 1][i], text->words[i]);
    wr_u32_store_release(&name->turn, turn); /* edge NAME.release: the words */
}

/* The name at `turn`. False if it has changed meanwhile. */
static inline bool wr_name_read(const struct wr_name *name, uint32_t *turn,
                                union wr_name_text *text)
{
    *turn = wr_name_turn(name);
    for (uint32_t i = 0; i < WR_THREAD_NAME_WORDS; i++)
        text->words[i] = wr_u64_load_acquire(&name->words[*turn & 1][i]); /* edge NAME.acquire */
    /* relaxed: behind the loads of the words, because they acquire */
    return wr_u32_load_relaxed(&name->turn) == *turn;
}

/* --- name.c. By the thread itself. ---------------------------------------------------------- */

/* Takes the system's name, unless the host has set one. Signals are blocked. */
void wr_thread_name_ask(struct wr_thread *thread);
/* The host's name; NULL or "" for the system's. */
void wr_thread_name_give(struct wr_thread *thread, const char *text);
/* At the thread's exit: takes the system's name for the last time. */
void wr_thread_name_end(struct wr_thread *thread);
/* A record gets another thread. */
void wr_thread_name_forget(struct wr_thread *thread);

#endif
