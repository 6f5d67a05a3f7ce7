#include "wait/bell.h"
#include "base/ck.h"

#include <time.h>
#include <ck_ec.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "os/os.h"

WR_CK_HIDDEN(ck_ec32_wait_slow);
WR_CK_HIDDEN(ck_ec32_wake);
WR_CK_ABSENT(ck_ec64_wake);
_Static_assert(sizeof(struct ck_ec32) <= sizeof(((struct wr_bell *)0)->event_count), "it fits");

static struct ck_ec32 *count_of(const struct wr_bell *bell)
{
    return (struct ck_ec32 *)(uintptr_t)bell->event_count;
}

static int now(const struct ck_ec_ops *ops, struct timespec *out)
{
    (void)ops;
    uint64_t ns = wr_os_monotonic_ns(); /* the system's own clock may step back */
    out->tv_sec = (time_t)(ns / 1000000000u);
    out->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}

/* `slice` is the end of ck's own time slice, which ignores the caller's deadline. */
static void wait32(const struct ck_ec_wait_state *state, const uint32_t *word, uint32_t expected,
                   const struct timespec *slice)
{
    (void)state;
    (void)slice;
    const struct wr_bell *bell = WR_CONTAINER(word, struct wr_bell, event_count);
    uint64_t current = wr_os_monotonic_ns();
    if (bell->deadline_ns > current)
        wr_os_futex_wait((const struct wr_u32 *)(const void *)word, expected,
                         bell->deadline_ns - current);
}

static void wait64(const struct ck_ec_wait_state *state, const uint64_t *word, uint64_t expected,
                   const struct timespec *deadline)
{
    (void)state;
    (void)word;
    (void)expected;
    (void)deadline; /* not used: the bell has 32 bits */
}

static void wake32(const struct ck_ec_ops *ops, const uint32_t *word)
{
    struct wr_bell *bell =
        (struct wr_bell *)(uintptr_t)WR_CONTAINER(word, struct wr_bell, event_count);
    (void)ops;
    wr_u64_add_relaxed(&bell->wakes, 1); /* relaxed: a figure */
    wr_os_futex_wake_all((struct wr_u32 *)(uintptr_t)word);
}

static void wake64(const struct ck_ec_ops *ops, const uint64_t *word)
{
    (void)ops;
    (void)word; /* not used: the bell has 32 bits */
}

static const struct ck_ec_ops operations = {
    .gettime = now,
    .wait32 = wait32,
    .wait64 = wait64,
    .wake32 = wake32,
    .wake64 = wake64,
    /* The drain has nothing to gain from spinning: it would take a producer's processor. */
    .busy_loop_iter = 1};
static const struct ck_ec_mode mode = {.ops = &operations, .single_producer = false};

WR_COLD void wr_bell_init(struct wr_bell *bell)
{
    ck_ec32_init(count_of(bell), 0);
}

WR_COLD void wr_bell_ring(struct wr_bell *bell)
{
    ck_ec32_inc(count_of(bell), &mode);
}

WR_COLD uint64_t wr_bell_wakes(const struct wr_bell *bell)
{
    return wr_u64_load_relaxed(&bell->wakes); /* relaxed: a figure */
}

WR_COLD uint32_t wr_bell_ticket(const struct wr_bell *bell)
{
    return ck_ec32_value(count_of(bell));
}

WR_COLD void wr_bell_wait(struct wr_bell *bell, uint32_t ticket, uint64_t ns)
{
    struct timespec deadline;
    bell->deadline_ns = wr_os_monotonic_ns() + ns;
    deadline.tv_sec = (time_t)(bell->deadline_ns / 1000000000u);
    deadline.tv_nsec = (long)(bell->deadline_ns % 1000000000u);
    ck_ec32_wait(count_of(bell), &mode, ticket, &deadline);
}
