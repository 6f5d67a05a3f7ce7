/*
 * A file in memory without a name. It behaves like a file in a tmpfs, but needs no tmpfs that is
 * mounted and large enough. Its pages are freed when it is closed or the program ends.
 */
#ifndef BENCH_TMPFS_H
#define BENCH_TMPFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns a descriptor. Ends the program with a message if that fails. */
int bench_tmpfs_open(void);
/* Writes all bytes; false if the system refuses. */
bool bench_tmpfs_write(int fd, const void *bytes, size_t count);
/* Frees its pages and starts again at the beginning. */
void bench_tmpfs_clear(int fd);

/* Wall seconds to write `bytes` in pieces of `piece_bytes` into new pages; 0 if they cannot be
 * written. */
double bench_tmpfs_timed_s(uint64_t bytes, uint64_t piece_bytes);

#ifdef __cplusplus
}
#endif
#endif
