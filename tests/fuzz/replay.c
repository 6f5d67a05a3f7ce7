/* A fuzz target without a fuzzer: each file of a folder as it is and then with mutations that are
 * the same in every run. usage: fuzz_NAME_replay MUTATIONS FOLDER */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED_MAX_SIZE ((size_t)64 * 1024)

static uint64_t random_state = 0x9E3779B97F4A7C15u;

static uint64_t random_next(void)
{
    uint64_t mixed = random_state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

static size_t random_below(size_t limit)
{
    return limit ? (size_t)(random_next() % limit) : 0;
}

/* One change of the kinds that break decoders: a byte, an extreme number, a piece moved or cut. */
static size_t mutate(uint8_t *bytes, size_t size)
{
    static const uint32_t extremes[] = {
        0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE};
    size_t at = random_below(size);
    size_t piece = random_below(64);
    if (size < 8)
        return size;
    switch (random_below(6)) {
    case 0:
        bytes[at] = (uint8_t)random_next();
        break;
    case 1:
        bytes[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 2:
        at = random_below(size - 4);
        memcpy(bytes + at, &extremes[random_below(sizeof(extremes) / sizeof(extremes[0]))], 4);
        break;
    case 3:
        if (at + piece < size && piece > 0)
            memmove(bytes + random_below(size - piece), bytes + at, piece);
        break;
    case 4:
        if (at + piece < size) {
            memmove(bytes + at, bytes + at + piece, size - at - piece);
            return size - piece;
        }
        break;
    default:
        return random_below(8) == 0 ? at : size;
    }
    return size;
}

static void run(const uint8_t *bytes, size_t size)
{
    /* Of exactly that size: a sanitizer sees a read beyond it. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        exit(1);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_seed(const char *path, long mutations)
{
    static uint8_t seed[SEED_MAX_SIZE], changed[SEED_MAX_SIZE];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t size = fread(seed, 1, sizeof(seed), file);
    bool is_whole = fgetc(file) == EOF;
    fclose(file);
    if (!is_whole) {
        fprintf(stderr, "%s: more than %zu bytes\n", path, SEED_MAX_SIZE);
        exit(1);
    }
    run(seed, size);
    for (long i = 0; i < mutations; i++) {
        /* Mostly a short front: small inputs are fast, and the header of each block is near. */
        size_t used = i % 4 == 0 ? size : size - random_below(size);
        memcpy(changed, seed, used);
        for (size_t changes = 1 + random_below(6); changes > 0; changes--)
            used = mutate(changed, used);
        run(changed, used);
    }
}

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s MUTATIONS FOLDER\n", argv[0]);
        return 2;
    }
    struct dirent **seeds;
    int count = scandir(argv[2], &seeds, is_seed, alphasort);
    if (count <= 0) {
        fprintf(stderr, "%s: no seeds\n", argv[2]);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[2], seeds[i]->d_name);
        run_seed(path, strtol(argv[1], NULL, 10));
        free(seeds[i]);
    }
    free(seeds);
    printf("%d seeds, %s mutations of each\n", count, argv[1]);
    return 0;
}
