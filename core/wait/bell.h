/*
 * The bell wakes a session's drain thread. It is an event count of ck: ringing is one atomic add
 * unless the drain has announced that it sleeps. A ring between the drain's look and its sleep is
 * not lost, because the drain sleeps only while the count is what it was before the look.
 */
#ifndef WR_WAIT_BELL_H
#define WR_WAIT_BELL_H

#include <stdint.h>
#include "base/atomic.h"

struct ck_ec32;

struct wr_bell {
    _Alignas(128) uint32_t event_count[2]; /* a struct ck_ec32; ck headers stay in .c files */
    uint64_t deadline_ns;                  /* DRAIN: of the current wait */
    struct wr_u64 wakes;                   /* ANY: a figure */
};

void wr_bell_init(struct wr_bell *bell);
/* Any thread, a signal handler too. Does not block. */
void wr_bell_ring(struct wr_bell *bell);
/* Rings that found the drain asleep, and cost a system call. */
uint64_t wr_bell_wakes(const struct wr_bell *bell);
/* The drain takes a ticket before it looks for work. */
uint32_t wr_bell_ticket(const struct wr_bell *bell);
/* Sleeps until the bell has rung since the drain took `ticket`, at most `ns`. */
void wr_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns);

#endif
