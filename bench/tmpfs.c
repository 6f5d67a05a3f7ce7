#include "tmpfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "timing.h"

int bench_tmpfs_open(void)
{
    int fd = memfd_create("weir-bench", MFD_CLOEXEC);
    if (fd >= 0)
        return fd;
    fprintf(stderr, "weir-bench: cannot create a file in memory: %s\n", strerror(errno));
    exit(1);
}

bool bench_tmpfs_write(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t done = write(fd, at, count);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

void bench_tmpfs_clear(int fd)
{
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        fprintf(stderr, "weir-bench: cannot empty the file in memory: %s\n", strerror(errno));
        exit(1);
    }
}

double bench_tmpfs_timed_s(uint64_t bytes, uint64_t piece_bytes)
{
    int fd = bench_tmpfs_open();
    char *piece = malloc(piece_bytes);
    bool is_written = piece != NULL;
    if (piece)
        memset(piece, 1, piece_bytes);
    double start_s = bench_now_s(CLOCK_MONOTONIC);
    for (uint64_t done = 0; is_written && done < bytes; done += piece_bytes)
        is_written =
            bench_tmpfs_write(fd, piece, bytes - done < piece_bytes ? bytes - done : piece_bytes);
    double seconds = bench_now_s(CLOCK_MONOTONIC) - start_s;
    free(piece);
    close(fd);
    return is_written ? seconds : 0;
}
