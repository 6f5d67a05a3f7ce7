/*
 * Included first in each mutated source. The environment selects the active mutant:
 *
 *     WR_MUTANT=7         mutant 7; unset: none
 *     WR_MUTANT_SEEN=FILE one byte per mutant, set when its site is reached, also in children
 *                         and in processes that are killed
 *
 * All definitions are weak, so that a program needs no extra source file, whatever it links. Both
 * variables are written only before main().
 */
#ifndef MUTATION_MUTANT_H
#define MUTATION_MUTANT_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

int close(int file); /* <unistd.h> has names that are the product's own */

#define WR_MUTANTS_MAX 65536

__attribute__((weak)) unsigned wr_mutant;
__attribute__((weak)) volatile unsigned char *wr_mutant_seen;

#ifdef WR_MODEL /* has only the explorer's atomics */
#define WR_MUTANT_NOTE(byte) ((void)((byte) = 1))
#else
#define WR_MUTANT_NOTE(byte) __atomic_store_n(&(byte), 1, __ATOMIC_RELAXED)
#endif
#define WR_MUTANT(number) \
    ((wr_mutant_seen ? WR_MUTANT_NOTE(wr_mutant_seen[number]) : (void)0), wr_mutant == (number))

__attribute__((weak, constructor)) void wr_mutant_begin(void)
{
    const char *number = getenv("WR_MUTANT"), *path = getenv("WR_MUTANT_SEEN");
    if (number)
        wr_mutant = (unsigned)strtoul(number, NULL, 10);
    if (!path || wr_mutant_seen)
        return;
    int file = open(path, O_RDWR);
    void *bytes = mmap(NULL, WR_MUTANTS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (bytes != MAP_FAILED)
        wr_mutant_seen = bytes;
}

#endif
