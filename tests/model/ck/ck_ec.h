/*
 * ck's event count for several producers, as ck's own ck_ec.h describes it: 31 bits of count, and
 * above them a flag that says that some thread sleeps. The word is the explorer's, because ck uses
 * inline assembly and code inside its library. This version does not spin, and a wait ends only by
 * a wake.
 */
#ifndef MODEL_CK_EC_H
#define MODEL_CK_EC_H

#include <time.h>
#include "base/atomic.h"

#define CK_EC_FLAG (UINT32_C(1) << 31)

struct ck_ec32 {
    struct wr_u32 counter;
};

struct ck_ec_ops;

struct ck_ec_wait_state {
    const struct ck_ec_ops *ops;
};

struct ck_ec_ops {
    int (*gettime)(const struct ck_ec_ops *ops, struct timespec *out);
    void (*wait32)(const struct ck_ec_wait_state *state, const uint32_t *word, uint32_t expected,
                   const struct timespec *deadline);
    void (*wait64)(const struct ck_ec_wait_state *state, const uint64_t *word, uint64_t expected,
                   const struct timespec *deadline);
    void (*wake32)(const struct ck_ec_ops *ops, const uint32_t *word);
    void (*wake64)(const struct ck_ec_ops *ops, const uint64_t *word);
    uint32_t busy_loop_iter;
};

struct ck_ec_mode {
    const struct ck_ec_ops *ops;
    bool single_producer;
};

static inline void ck_ec32_init(struct ck_ec32 *count, uint32_t value)
{
    wr_u32_store_relaxed(&count->counter, value);
}

static inline uint32_t ck_ec32_value(const struct ck_ec32 *count)
{
    return wr_u32_load_acquire(&count->counter) & ~CK_EC_FLAG;
}

static inline void ck_ec32_inc(struct ck_ec32 *count, const struct ck_ec_mode *mode)
{
    uint32_t seen = wr_u32_add_acq_rel(&count->counter, 1);
    if ((seen & CK_EC_FLAG) == 0)
        return;
    while (!wr_u32_cas_acq_rel(&count->counter, &seen, seen & ~CK_EC_FLAG)) {
    }
    mode->ops->wake32(mode->ops, &count->counter.cell);
}

/* Sleeps once the flag is set, unless the count has changed by then. */
static inline int ck_ec32_wait(struct ck_ec32 *count, const struct ck_ec_mode *mode, uint32_t old,
                               const struct timespec *deadline)
{
    struct ck_ec_wait_state state = {mode->ops};
    while (ck_ec32_value(count) == old) {
        uint32_t seen = old;
        if (wr_u32_cas_acq_rel(&count->counter, &seen, old | CK_EC_FLAG) ||
            seen == (old | CK_EC_FLAG))
            mode->ops->wait32(&state, &count->counter.cell, old | CK_EC_FLAG, deadline);
    }
    return 0;
}

#endif
