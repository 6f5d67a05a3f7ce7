/*
 * A file in memory that has no name: what a file in a tmpfs is, without the need for one that is
 * mounted and large enough. Its pages are gone when it is closed or the program ends.
 */
#ifndef BENCH_TMPFS_H
#define BENCH_TMPFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor. Ends the program with a message if there can be none. */
int bench_tmpfs_open(void);
/* All of it; false if the system refuses. */
bool bench_tmpfs_write(int fd, const void *bytes, size_t count);
/* Gives its pages back and starts anew. */
void bench_tmpfs_clear(int fd);

/* Seconds, by the wall, that so many bytes in pieces of that size take into new pages; 0 if they
 * cannot be written. */
double bench_tmpfs_timed_s(uint64_t bytes, uint64_t piece_bytes);

#ifdef __cplusplus
}
#endif
#endif
