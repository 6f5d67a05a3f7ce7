/* core/wait/bell.c for the explorer. Most models use a simpler bell under its names. */
#define wr_bell_init   product_bell_init
#define wr_bell_ring   product_bell_ring
#define wr_bell_ticket product_bell_ticket
#define wr_bell_wait   product_bell_wait

#include "wait/bell.c" /* NOLINT: over ck/ck_ec.h */
