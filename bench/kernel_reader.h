/* The independent reader of tools/, over a stream in memory. */
#ifndef BENCH_KERNEL_READER_H
#define BENCH_KERNEL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hands each event to a function that reads its payload, in file order or by time. Returns the
 * number of events; 0 if the stream has no proper end or events are missing. */
uint64_t bench_read(const void *bytes, size_t count, bool by_time);

#ifdef __cplusplus
}
#endif
#endif
