/*
 * The bell: wakes a session's drain thread. An event count of ck: ringing is one atomic add unless
 * the drain has announced that it sleeps, and a ring between the drain's look and its sleep is not
 * lost, because the drain sleeps only while the count is what it was before the look.
 */
#ifndef WR_WAIT_BELL_H
#define WR_WAIT_BELL_H

#include <stdint.h>

struct ck_ec32;

struct wr_bell {
    _Alignas(128) uint32_t event_count[2]; /* struct ck_ec32; no ck header in ours */
    uint64_t deadline_ns;                  /* DRAIN: of the wait that goes on */
};

void wr_bell_init(struct wr_bell *bell);
/* Any thread, a signal handler too. Does not block. */
void wr_bell_ring(struct wr_bell *bell);
/* To be taken before the look for work. */
uint32_t wr_bell_ticket(const struct wr_bell *bell);
/* Sleeps until the bell has rung since `ticket` was taken, at most `ns`. */
void wr_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns);

#endif
