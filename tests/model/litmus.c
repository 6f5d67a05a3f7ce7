/*
 * Tests the explorer against C11. Each test states exactly which outcomes must be found; any other
 * is an error. An outcome is a number made of the values that the threads loaded.
 */
#include "base/atomic.h"

#include <stdio.h>
#include <string.h>

static struct {
    struct wr_u32 *x;
    struct wr_u32 *y;
    struct wr_u32 *z;
    uint32_t *data;
    uint32_t result[4];
} at;

static void setup(void)
{
    memset(&at, 0, sizeof at);
    at.x = model_memory(sizeof *at.x);
    at.y = model_memory(sizeof *at.y);
    at.z = model_memory(sizeof *at.z);
    at.data = model_memory(sizeof *at.data);
    model_name(at.x, "x");
    model_name(at.y, "y");
    model_name(at.z, "z");
    model_name(at.data, "data");
}

static void finish(void)
{
    model_outcome(at.result[0] | at.result[1] << 1 | at.result[2] << 2 | at.result[3] << 3);
}

/* Outcomes of two loads, as a set of bits. */
#define OUT00 (1u << 0)
#define OUT10 (1u << 1) /* the first load read 1, the second 0 */
#define OUT01 (1u << 2)
#define OUT11 (1u << 3)

/* Message passing. */
static void mp_write_relaxed(void)
{
    wr_u32_store_relaxed(at.x, 1);
    wr_u32_store_relaxed(at.y, 1);
}
static void mp_write_release(void)
{
    wr_u32_store_relaxed(at.x, 1);
    wr_u32_store_release(at.y, 1);
}
static void mp_read_acquire(void)
{
    at.result[0] = wr_u32_load_acquire(at.y);
    at.result[1] = wr_u32_load_relaxed(at.x);
}
static void mp_read_relaxed(void)
{
    at.result[0] = wr_u32_load_relaxed(at.y);
    at.result[1] = wr_u32_load_relaxed(at.x);
}

/* Store buffering. */
static void sb_x_relaxed(void)
{
    wr_u32_store_relaxed(at.x, 1);
    at.result[0] = wr_u32_load_relaxed(at.y);
}
static void sb_y_relaxed(void)
{
    wr_u32_store_relaxed(at.y, 1);
    at.result[1] = wr_u32_load_relaxed(at.x);
}
static void sb_x_release(void)
{
    wr_u32_store_release(at.x, 1);
    at.result[0] = wr_u32_load_acquire(at.y);
}
static void sb_y_release(void)
{
    wr_u32_store_release(at.y, 1);
    at.result[1] = wr_u32_load_acquire(at.x);
}
static void sb_x_seq_cst(void)
{
    wr_u32_store_seq_cst(at.x, 1);
    at.result[0] = wr_u32_load_seq_cst(at.y);
}
static void sb_y_seq_cst(void)
{
    wr_u32_store_seq_cst(at.y, 1);
    at.result[1] = wr_u32_load_seq_cst(at.x);
}
static void sb_y_membarrier(void)
{
    wr_u32_store_relaxed(at.y, 1);
    model_membarrier();
    at.result[1] = wr_u32_load_relaxed(at.x);
}
static void sb_y_exchange(void)
{
    wr_u32_exchange_acq_rel(at.y, 1);
    at.result[1] = wr_u32_load_acquire(at.x);
}

/* Load buffering. */
static void lb_x(void)
{
    at.result[0] = wr_u32_load_relaxed(at.y);
    wr_u32_store_relaxed(at.x, 1);
}
static void lb_y(void)
{
    at.result[1] = wr_u32_load_relaxed(at.x);
    wr_u32_store_relaxed(at.y, 1);
}

/* Coherence: two loads of one word. */
static void co_write(void)
{
    wr_u32_store_relaxed(at.x, 1);
}
static void co_read(void)
{
    at.result[0] = wr_u32_load_relaxed(at.x);
    at.result[1] = wr_u32_load_relaxed(at.x);
}

/* 2+2W: can each thread's first store be the last of its word? */
static void w2_first(void)
{
    wr_u32_store_relaxed(at.x, 1);
    wr_u32_store_relaxed(at.y, 0);
}
static void w2_second(void)
{
    wr_u32_store_relaxed(at.y, 1);
    wr_u32_store_relaxed(at.x, 0);
}
static void w2_finish(void)
{
    at.result[0] = wr_u32_load_relaxed(at.x);
    at.result[1] = wr_u32_load_relaxed(at.y);
    finish();
}

/* Release sequence: thread 1's read-modify-write passes thread 0's release on; otherwise the plain
 * data races. */
static void rs_head(void)
{
    *at.data = 1;
    wr_data_written(at.data, 4);
    wr_u32_store_release(at.x, 1);
}
static void rs_modify(void)
{
    uint32_t expected = 1;
    at.result[0] = wr_u32_cas_release(at.x, &expected, 2);
}
static void rs_read(void)
{
    at.result[1] = wr_u32_load_acquire(at.x) == 2;
    if (at.result[1]) {
        wr_data_read(at.data, 4);
        model_check(*at.data == 1);
    }
}

/* A plain atomic store by another thread ends the release sequence. */
static void rs_break(void)
{
    if (wr_u32_load_relaxed(at.x) == 1)
        wr_u32_store_relaxed(at.x, 2);
}

/* A relaxed store of the same thread ends it too since C++20, but not in C17. */
static void rs_own(void)
{
    rs_head();
    wr_u32_store_relaxed(at.x, 2);
}
static void rs_read_data(void)
{
    if (wr_u32_load_acquire(at.x) == 2)
        wr_data_read(at.data, 4);
}

/* Read-modify-writes are atomic: both add, and no addition is lost. */
static void rmw_add(void)
{
    wr_u32_add_acq_rel(at.x, 1);
}
static void rmw_cas(void)
{
    uint32_t seen = 0;
    while (!wr_u32_cas_release(at.x, &seen, seen + 1))
        ;
}
static void rmw_finish(void)
{
    model_outcome(wr_u32_load_relaxed(at.x));
}

/* IRIW: do two readers agree on the order of two independent stores? */
static void iriw_x_release(void)
{
    wr_u32_store_release(at.x, 1);
}
static void iriw_y_release(void)
{
    wr_u32_store_release(at.y, 1);
}
static void iriw_read_xy(void)
{
    at.result[0] = wr_u32_load_acquire(at.x);
    at.result[1] = wr_u32_load_acquire(at.y);
}
static void iriw_read_yx(void)
{
    at.result[2] = wr_u32_load_acquire(at.y);
    at.result[3] = wr_u32_load_acquire(at.x);
}
static void iriw_x_sc(void)
{
    wr_u32_store_seq_cst(at.x, 1);
}
static void iriw_y_sc(void)
{
    wr_u32_store_seq_cst(at.y, 1);
}
static void iriw_read_xy_sc(void)
{
    at.result[0] = wr_u32_load_seq_cst(at.x);
    at.result[1] = wr_u32_load_seq_cst(at.y);
}
static void iriw_read_yx_sc(void)
{
    at.result[2] = wr_u32_load_seq_cst(at.y);
    at.result[3] = wr_u32_load_seq_cst(at.x);
}
static void iriw_finish(void)
{
    bool disagree = at.result[0] && !at.result[1] && at.result[2] && !at.result[3];
    model_outcome(disagree);
}

/* Write-to-read causality through a third thread. */
static void wrc_middle(void)
{
    at.result[0] = wr_u32_load_acquire(at.x);
    wr_u32_store_release(at.y, at.result[0]);
}
static void wrc_last(void)
{
    at.result[1] = wr_u32_load_acquire(at.y);
    at.result[2] = wr_u32_load_relaxed(at.x);
}
static void wrc_finish(void)
{
    model_outcome(at.result[1] && !at.result[2]);
}

/* The membarrier reaches both of two other threads. */
static void reach_z(void)
{
    wr_u32_store_relaxed(at.z, 1);
    at.result[2] = wr_u32_load_relaxed(at.y);
}
static void reach_all(void)
{
    wr_u32_store_relaxed(at.y, 1);
    model_membarrier();
    at.result[1] = wr_u32_load_relaxed(at.x);
    at.result[3] = wr_u32_load_relaxed(at.z);
}
static void reach_finish(void)
{
    bool missed_x = !at.result[0] && !at.result[1];
    bool missed_z = !at.result[2] && !at.result[3];
    model_outcome(missed_x || missed_z);
}

/* S need not follow a relaxed hand-over: the load may precede the store in S. */
static void relaxed_then_sc_store(void)
{
    wr_u32_store_seq_cst(at.x, 1);
    wr_u32_store_relaxed(at.y, 1);
}
static void relaxed_then_sc_load(void)
{
    at.result[0] = wr_u32_load_relaxed(at.y);
    at.result[1] = wr_u32_load_seq_cst(at.x);
}

/* S through a third thread: two stores, each followed by a load of the next word. */
static void sb3_x(void)
{
    wr_u32_store_seq_cst(at.x, 1);
    at.result[0] = wr_u32_load_seq_cst(at.y);
}
static void sb3_y(void)
{
    wr_u32_store_seq_cst(at.y, 1);
    at.result[1] = wr_u32_load_seq_cst(at.z);
}
static void sb3_z(void)
{
    wr_u32_store_seq_cst(at.z, 1);
    at.result[2] = wr_u32_load_seq_cst(at.x);
}

/* Two seq_cst stores to one word with a load of another word between them. */
static void w2_first_sc(void)
{
    wr_u32_store_seq_cst(at.x, 1);
    wr_u32_store_seq_cst(at.y, 0);
}
static void w2_second_sc(void)
{
    wr_u32_store_seq_cst(at.y, 1);
    wr_u32_store_seq_cst(at.x, 0);
}

/* Races on plain data. */
static void race_write_relaxed(void)
{
    *at.data = 1;
    wr_data_written(at.data, 4);
    wr_u32_store_relaxed(at.x, 1);
}
static void race_write_early(void)
{
    wr_data_written(at.data, 4);
    wr_u32_store_release(at.x, 1);
}
static void race_read(void)
{
    if (wr_u32_load_acquire(at.x) == 1)
        wr_data_read(at.data, 4);
}
static void race_write_late(void)
{
    wr_u32_store_release(at.x, 1);
    wr_data_written(at.data, 4);
}
static void race_free(void)
{
    model_free(at.data, 4);
}
static void race_release(void)
{
    wr_data_read(at.data, 4);
    wr_u32_store_release(at.x, 1);
}
static void race_free_later(void)
{
    if (wr_u32_load_acquire(at.x) == 1)
        model_free(at.data, 4);
}

/* Waiting. */
static bool is_one(uint64_t value, uint64_t argument)
{
    (void)argument;
    return value == 1;
}
static void wait_x(void)
{
    model_wait_until_u32(at.x, is_one, 0);
    wr_data_read(at.data, 4);
}
static void pause_x(void)
{
    while (wr_u32_load_acquire(at.x) != 1)
        model_pause();
    wr_data_read(at.data, 4);
}
static void nothing(void)
{
}

/* Locks. */
static void lock_add(void)
{
    model_lock_u32(at.x);
    wr_data_read(at.data, 4);
    wr_data_written(at.data, 4);
    ++*at.data;
    wr_u32_store_release(at.x, 0);
}
static void lock_none(void)
{
    wr_data_written(at.data, 4);
    ++*at.data;
}
static void lock_finish(void)
{
    model_outcome(*at.data);
}

/* Futexes: x is waited for, y says which thread was woken, result[0] is what was read then. */
static void futex_wait_x(void)
{
    if (wr_u32_load_relaxed(at.x) == 0)
        model_futex_wait(at.x, 0, MODEL_SLEEP_LONG);
    at.result[0] = wr_u32_load_relaxed(at.x);
}
static void futex_wait_timed(void)
{
    bool ended = model_futex_wait(at.x, 0, MODEL_SLEEP_TIMED);
    at.result[0] = wr_u32_load_relaxed(at.x);
    at.result[1] = ended;
}
static void futex_wait_first(void)
{
    uint32_t nobody = 0;
    model_futex_wait(at.x, 0, MODEL_SLEEP_LONG);
    wr_u32_cas_acq_rel(at.y, &nobody, 1);
}
static void futex_wait_second(void)
{
    uint32_t nobody = 0;
    model_futex_wait(at.x, 0, MODEL_SLEEP_LONG);
    wr_u32_cas_acq_rel(at.y, &nobody, 2);
}
static bool is_any(uint64_t value, uint64_t argument)
{
    return value != argument;
}
static void futex_wake_x(void)
{
    wr_u32_store_relaxed(at.x, 1);
    model_futex_wake(at.x, 1);
}
static void futex_wake_early(void)
{
    model_futex_wake(at.x, 1);
    wr_u32_store_relaxed(at.x, 1);
}
static void futex_wake_all(void)
{
    wr_u32_store_relaxed(at.x, 1);
    model_futex_wake(at.x, UINT32_MAX);
}
static void futex_wake_in_turn(void)
{
    futex_wake_x();
    model_wait_until_u32(at.y, is_any, 0);
    model_futex_wake(at.x, UINT32_MAX);
}
static void futex_finish(void)
{
    model_outcome(at.result[0]);
}
static void futex_finish_timed(void)
{
    model_outcome(at.result[1] * 2 + at.result[0]);
}
static void futex_finish_turn(void)
{
    model_outcome(wr_u32_load_relaxed(at.y));
}

/* A wait that ends once no other thread can go on, and not before. */
static void wait_lazily(void)
{
    at.result[0] = model_wait_lazily_u32(at.x, is_any, 0);
}
static void store_late(void)
{
    wr_u32_store_relaxed(at.y, 1);
    wr_u32_store_relaxed(at.x, 1);
}

/* Single bytes. */
static void byte_first(void)
{
    wr_data_written(at.data, 1);
}
static void byte_second(void)
{
    wr_data_written((unsigned char *)at.data + 1, 1);
}
static void byte_read(void)
{
    wr_data_read(at.data, 1);
}
static void byte_all(void)
{
    wr_data_written(at.data, 4);
}

struct litmus {
    struct model model;
    bool must_fail;
    uint32_t outcomes; /* exactly these; for tests of whether two readers may disagree, bit 1 means
                        * that they may */
};

#define TEST2(name, first, second, end, expected)                                      \
    {                                                                                  \
        {name, "", 2, setup, {first, second, NULL, NULL}, end, false}, false, expected \
    }
#define TEST3(name, first, second, third, end, expected)                                \
    {                                                                                   \
        {name, "", 3, setup, {first, second, third, NULL}, end, false}, false, expected \
    }
#define TEST4(name, first, second, third, fourth, end, expected)                          \
    {                                                                                     \
        {name, "", 4, setup, {first, second, third, fourth}, end, false}, false, expected \
    }
#define FAILS(name, first, second)                                              \
    {                                                                           \
        {name, "", 2, setup, {first, second, NULL, NULL}, NULL, false}, true, 0 \
    }
#define FAILS3(name, first, second, third, c17)                                \
    {                                                                          \
        {name, "", 3, setup, {first, second, third, NULL}, NULL, c17}, true, 0 \
    }
#define ALL4  (OUT00 | OUT10 | OUT01 | OUT11)
#define NEVER 1u
#define MAYBE 3u

static const struct litmus tests[] = {
    TEST2("MP relaxed", mp_write_relaxed, mp_read_relaxed, finish, ALL4),
    TEST2("MP acquire only", mp_write_relaxed, mp_read_acquire, finish, ALL4),
    TEST2("MP release only", mp_write_release, mp_read_relaxed, finish, ALL4),
    TEST2("MP release acquire", mp_write_release, mp_read_acquire, finish, OUT00 | OUT01 | OUT11),
    TEST2("SB relaxed", sb_x_relaxed, sb_y_relaxed, finish, ALL4),
    TEST2("SB release acquire", sb_x_release, sb_y_release, finish, ALL4),
    TEST2("SB exchange", sb_y_exchange, sb_x_release, finish, ALL4),
    TEST2("SB seq_cst", sb_x_seq_cst, sb_y_seq_cst, finish, OUT10 | OUT01 | OUT11),
    TEST2("SB seq_cst one side", sb_x_seq_cst, sb_y_relaxed, finish, ALL4),
    TEST2("SB membarrier", sb_x_relaxed, sb_y_membarrier, finish, OUT10 | OUT01 | OUT11),
    TEST3("SB membarrier to two", sb_x_relaxed, reach_z, reach_all, reach_finish, NEVER),
    /* C11 as written allows OUT11; see memory.c. */
    TEST2("LB relaxed", lb_x, lb_y, finish, OUT00 | OUT10 | OUT01),
    TEST2("CoRR", co_write, co_read, finish, OUT00 | OUT01 | OUT11),
    TEST2("2+2W relaxed", w2_first, w2_second, w2_finish, ALL4),
    TEST2("2+2W seq_cst", w2_first_sc, w2_second_sc, w2_finish, OUT00 | OUT10 | OUT01),
    TEST3("SB seq_cst, three", sb3_x, sb3_y, sb3_z, finish, 0xfe),
    TEST2("S and a relaxed hand-over", relaxed_then_sc_store, relaxed_then_sc_load, finish, ALL4),
    TEST3("release sequence", rs_head, rs_modify, rs_read, finish, ALL4 & ~OUT01),
    TEST2("RMW atomic", rmw_add, rmw_cas, rmw_finish, 1u << 2),
    TEST3("RMW atomic, three", rmw_add, rmw_cas, rmw_add, rmw_finish, 1u << 3),
    TEST3("WRC release acquire", co_write, wrc_middle, wrc_last, wrc_finish, NEVER),
    TEST4("IRIW release acquire", iriw_x_release, iriw_y_release, iriw_read_xy, iriw_read_yx,
          iriw_finish, MAYBE),
    TEST4("IRIW seq_cst", iriw_x_sc, iriw_y_sc, iriw_read_xy_sc, iriw_read_yx_sc, iriw_finish,
          NEVER),
    TEST2("wait sees the data", race_write_early, wait_x, NULL, 0),
    TEST2("pause sees the data", race_write_early, pause_x, NULL, 0),
    TEST2("free after release", race_release, race_free_later, NULL, 0),
    TEST3("lock", lock_add, lock_add, lock_add, lock_finish, 1u << 3),
    TEST2("futex, store and wake", futex_wait_x, futex_wake_x, futex_finish, 1u << 1),
    TEST2("futex, timed", futex_wait_timed, futex_wake_x, futex_finish_timed, 0xe),
    TEST3("futex, all are woken", futex_wait_first, futex_wait_second, futex_wake_all,
          futex_finish_turn, 6),
    TEST3("futex, any is woken", futex_wait_first, futex_wait_second, futex_wake_in_turn,
          futex_finish_turn, 6),
    TEST2("lazy wait that ends", wait_lazily, nothing, futex_finish, 1u << 0),
    TEST2("lazy wait that does not", wait_lazily, store_late, futex_finish, 1u << 1),
    TEST2("bytes beside each other", byte_first, byte_second, NULL, 0),
    FAILS("race, no lock", lock_add, lock_none),
    FAILS("race, a byte", byte_first, byte_read),
    FAILS("race, a byte and all", byte_second, byte_all),
    FAILS("deadlock, wake too early", futex_wait_x, futex_wake_early),
    FAILS3("deadlock, one is woken", futex_wait_first, futex_wait_second, futex_wake_x, false),
    FAILS("race, relaxed publish", race_write_relaxed, race_read),
    FAILS("race, publish too early", race_write_late, race_read),
    FAILS("race, read and free", race_write_late, race_free),
    FAILS("deadlock, wait", nothing, wait_x),
    FAILS("deadlock, pause", nothing, pause_x),
    FAILS3("race, sequence broken", rs_head, rs_break, rs_read, false),
    FAILS3("race, C17 and another", rs_head, rs_break, rs_read, true),
    FAILS("race, relaxed after release", rs_own, rs_read_data),
    {{"C17: relaxed after release", "", 2, setup, {rs_own, rs_read_data, NULL, NULL}, NULL, true},
     false,
     0},
};

static bool passes(const struct litmus *test)
{
    struct model_options options = {.quiet = true};
    struct model_result result = model_explore(&test->model, &options);
    bool good =
        test->must_fail ? result.failed : result.complete && result.outcomes == test->outcomes;
    model_print_result(&test->model, &result);
    if (!good)
        printf("    WRONG: outcomes 0x%llx, expected 0x%x%s\n", (unsigned long long)result.outcomes,
               test->outcomes, test->must_fail ? " and a failure" : "");
    return good;
}

/* The reductions hide nothing: a bound that is never reached switches them off. */
static bool agrees_unreduced(const struct litmus *test)
{
    struct model_options options = {.quiet = true, .bounded = true, .preemptions = 1000};
    struct model_result result = model_explore(&test->model, &options);
    bool good =
        test->must_fail ? result.failed : result.complete && result.outcomes == test->outcomes;
    if (!good) {
        model_print_result(&test->model, &result);
        printf("    WRONG without reductions: outcomes 0x%llx, expected 0x%x\n",
               (unsigned long long)result.outcomes, test->outcomes);
    }
    return good;
}

int main(void)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        wrong += !passes(&tests[i]);
        wrong += !agrees_unreduced(&tests[i]);
    }
    printf("%u wrong\n", wrong);
    return wrong != 0;
}
