/*
 * Structs that a host passes in, which may be of an earlier version of the headers than ours.
 */
#ifndef WR_BASE_HOST_STRUCT_H
#define WR_BASE_HOST_STRUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <weir/result.h>

struct wr_host_struct {
    const char *name;
    const char *init;   /* what a host starts from */
    size_t bytes_first; /* in 0.2; never changes */
    size_t bytes;       /* today */
};

/* Is the size one that a version up to ours has? They grow in steps of eight bytes. */
bool wr_host_size_is_known(size_t size, size_t bytes_first, size_t bytes);

/* Copies the host's struct over `own`, which has our size and the defaults, and keeps our size.
 * WEIR_BAD_ARGUMENT: the host's size is not a known one. */
enum weir_result wr_host_struct_take(const struct wr_host_struct *kind, void *own, const void *host,
                                     struct weir_error *error);

#endif
