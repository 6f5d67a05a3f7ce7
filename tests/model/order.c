/*
 * The order S of sequentially consistent accesses: not their execution order, but any order that
 * C11 allows. It is kept as a relation that must stay free of cycles:
 *
 *   - an access precedes every access that it happens before;
 *   - of two stores to one word, the one that is earlier in modification order precedes;
 *   - a load precedes the stores to its word that come after the one it has read.
 *
 * These are the edges of RC11's psc for accesses, except that the first kind is all of
 * happens-before. That is stronger than C11 in one known shape ("Z6.U", a word accessed both with
 * seq_cst and with other orders). What a membarrier orders and what S orders do not support each
 * other here, which is weaker than C11: a protocol must rely on one of them alone.
 *
 * The last store to a word can always be read, and a store can always go last, so S can be
 * continued from every state, whatever was chosen. Whether a set of accesses is consistent does not
 * depend on the order in which they are added; so steps commute (explorer.c).
 */
#include "engine.h"

struct access {
    uint32_t thread;
    uint32_t clock;
    uint32_t location;
    uint32_t stamp; /* of the message that was stored or read */
    bool is_store;
    uint64_t before; /* the set of accesses that precede this one, transitively closed */
};

static struct access accesses[ORDERED_MAX];
static uint32_t access_count;

void order_reset(void)
{
    access_count = 0;
}

/* The set of accesses that must precede a new one: those that happen before it, and those in
 * `direct`. */
static uint64_t predecessors(const uint32_t *clock, uint64_t direct)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < access_count; i++)
        if ((direct >> i & 1) != 0 || clock[accesses[i].thread] >= accesses[i].clock)
            set |= accesses[i].before | 1ull << i;
    return set;
}

static uint64_t stores_after(uint32_t location, uint32_t stamp)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < access_count; i++)
        if (accesses[i].location == location && accesses[i].is_store && accesses[i].stamp > stamp)
            set |= 1ull << i;
    return set;
}

/* Stores to the word up to `stamp`, and loads that have read a message up to it. */
static uint64_t accesses_until(uint32_t location, uint32_t stamp)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < access_count; i++)
        if (accesses[i].location == location && accesses[i].stamp <= stamp)
            set |= 1ull << i;
    return set;
}

static void joined_clock(uint32_t *clock, const struct thread *thread,
                         const struct message *message)
{
    for (uint32_t i = 0; i < MODEL_THREADS_MAX; i++)
        clock[i] = thread->current.clock[i] > message->view.clock[i] ? thread->current.clock[i]
                                                                     : message->view.clock[i];
}

bool order_allows(const struct thread *thread, uint32_t location, const struct message *message,
                  bool is_store)
{
    uint32_t clock[MODEL_THREADS_MAX];
    uint64_t after = stores_after(location, message->stamp);
    if (after == 0)
        return true;
    if (is_store)
        return (predecessors(thread->current.clock, accesses_until(location, message->stamp)) &
                after) == 0;
    joined_clock(clock, thread, message);
    return (predecessors(clock, 0) & after) == 0;
}

/* Adds an access after its step: `message` was read or stored. */
void order_add(const struct thread *thread, uint32_t location, const struct message *message,
               bool is_store)
{
    if (access_count == ORDERED_MAX) {
        model_fail("too many seq_cst accesses for the explorer");
        return;
    }
    uint64_t direct = is_store ? accesses_until(location, message->stamp - 1) : 0;
    uint64_t before = predecessors(thread->current.clock, direct);
    uint64_t after = stores_after(location, message->stamp);
    uint64_t self = 1ull << access_count;
    for (uint32_t i = 0; i < access_count; i++)
        if ((after >> i & 1) != 0 || (accesses[i].before & after) != 0)
            accesses[i].before |= before | self;
    accesses[access_count++] = (struct access){.thread = engine.self,
                                               .clock = thread->current.clock[engine.self],
                                               .location = location,
                                               .stamp = message->stamp,
                                               .is_store = is_store,
                                               .before = before};
}
