#include "kernel.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "timing.h"

/* Odd: it is the partner's turn. */
struct game {
    uint32_t word; /* ANY */
    uint32_t end;
};

static void wait_for(struct game *game, uint32_t value)
{
    for (;;) {
        uint32_t now = __atomic_load_n(&game->word, __ATOMIC_ACQUIRE);
        if (now == value)
            return;
        syscall(SYS_futex, &game->word, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
    }
}

static void pass(struct game *game, uint32_t value)
{
    __atomic_store_n(&game->word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, &game->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *play(void *argument)
{
    struct game *game = argument;
    bench_bind(1);
    for (uint32_t at = 1; at < game->end; at += 2) {
        wait_for(game, at);
        pass(game, at + 1);
    }
    return NULL;
}

static void serve(struct game *game, uint32_t from, uint32_t to)
{
    for (uint32_t at = from; at < to; at += 2) {
        pass(game, at);
        wait_for(game, at + 1);
    }
}

/* The first trip waits until the partner has started, and is not counted. */
double bench_futex_round_trips_s(uint64_t count)
{
    struct game game = {.word = 0, .end = 2 + 2 * (uint32_t)count};
    pthread_t partner;
    if (pthread_create(&partner, NULL, play, &game) != 0)
        return -1;
    bench_bind(0);
    serve(&game, 1, 2);
    double start_s = bench_now_s(CLOCK_MONOTONIC);
    serve(&game, 3, game.end);
    double seconds = bench_now_s(CLOCK_MONOTONIC) - start_s;
    bench_bind(-1);
    pthread_join(partner, NULL);
    return seconds;
}
