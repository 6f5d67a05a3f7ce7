#include "wait/bell.h"

#include <time.h>
#include <ck_ec.h>
#include "base/atomic.h"
#include "os/os.h"

_Static_assert(sizeof(struct ck_ec32) <= sizeof(((struct wr_bell *)0)->event_count), "it fits");

static struct ck_ec32 *count_of(const struct wr_bell *bell)
{
    return (struct ck_ec32 *)(uintptr_t)bell->event_count;
}

static int now(const struct ck_ec_ops *ops, struct timespec *out)
{
    (void)ops;
    return clock_gettime(CLOCK_MONOTONIC, out);
}

static uint64_t timespec_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static void wait32(const struct ck_ec_wait_state *state, const uint32_t *word, uint32_t expected,
                   const struct timespec *deadline)
{
    (void)state;
    uint64_t ns = UINT64_MAX;
    if (deadline) {
        uint64_t at = timespec_ns(deadline), current = wr_os_monotonic_ns();
        ns = at > current ? at - current : 0;
    }
    wr_os_futex_wait((const struct wr_u32 *)(const void *)word, expected, ns);
}

static void wait64(const struct ck_ec_wait_state *state, const uint64_t *word, uint64_t expected,
                   const struct timespec *deadline)
{
    (void)word;
    (void)expected;
    wait32(state, NULL, 0, deadline); /* not used: the bell has 32 bits */
}

static void wake32(const struct ck_ec_ops *ops, const uint32_t *word)
{
    (void)ops;
    wr_os_futex_wake_all((struct wr_u32 *)(uintptr_t)word);
}

static void wake64(const struct ck_ec_ops *ops, const uint64_t *word)
{
    (void)ops;
    (void)word; /* not used: the bell has 32 bits */
}

static const struct ck_ec_ops operations = {
    .gettime = now, .wait32 = wait32, .wait64 = wait64, .wake32 = wake32, .wake64 = wake64,
    /* The drain has nothing to gain from spinning: it would take a producer's processor. */
    .busy_loop_iter = 1, .initial_wait_ns = 100000000
};
static const struct ck_ec_mode mode = { .ops = &operations, .single_producer = false };

void wr_bell_init(struct wr_bell *bell)
{
    ck_ec32_init(count_of(bell), 0);
}

void wr_bell_ring(struct wr_bell *bell)
{
    ck_ec32_inc(count_of(bell), &mode);
}

uint32_t wr_bell_ticket(const struct wr_bell *bell)
{
    return ck_ec32_value(count_of(bell));
}

void wr_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns)
{
    struct timespec deadline;
    uint64_t at = wr_os_monotonic_ns() + ns;
    deadline.tv_sec = (time_t)(at / 1000000000u);
    deadline.tv_nsec = (long)(at % 1000000000u);
    ck_ec32_wait(count_of(bell), &mode, ticket, &deadline);
}
