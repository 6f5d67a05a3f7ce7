#include "wait/gate.h"

#include <weir/session.h>
#include "os/os.h"
#include "wait/strategy.h"

/* How long the head of the queue spins: a few times the cost of waking a sleeping thread. */
#define SPIN_NS 50000u
/* How long a thread waits at its deadline for the lock, to take itself out of the queue. */
#define GIVE_UP_NS 1000000u
/* The longest sleep before a waiting thread checks whether the queue could be served. */
#define RECHECK_NS 100000000u
/* The grant size found at run time: the bytes drained between two computations, the inverse of the
 * weight of a new value, the first size, and the bounds. */
#define TUNE_BYTES (UINT64_C(1) << 20)
/* A thread waits for as long as the turns of all threads before it last. The size must change
 * slowly, or some waits would be several times longer than others. */
#define TUNE_WEIGHT       32
#define GRANT_BYTES_FIRST (UINT64_C(64) << 10)
#define GRANT_BYTES_MIN   (UINT64_C(32) << 10)
#define GRANT_BYTES_MAX   (UINT64_C(128) << 10)
/* A grant lasts this many times longer than the hand-off to the next thread, which producers lose
 * if they are the bottleneck. Until one is measured, it takes what it takes in a guest. */
#define HAND_OFFS         16
#define HAND_OFF_NS_FIRST 4000u
/* Where the grant size is found, a thread that need not wait takes at most this share of what is
 * free. It may keep that while it does not run, and eight whole grants are all of 1 MiB. */
#define FREE_SHARE 32

/* --- The grant size. ------------------------------------------------------------------------- */

/* The grant size in units: as configured, or as found, then at least one and at most a quarter of
 * all. */
static uint32_t grant_units_of(const struct wr_gate *gate)
{
    if (gate->grant_fixed)
        return gate->grant_fixed;
    uint64_t units = gate->grant_bytes / gate->unit_bytes, most = gate->unit_count / 4;
    units = units > most ? most : units;
    return units ? (uint32_t)units : 1;
}

WR_COLD void wr_gate_tune(struct wr_gate *gate, uint64_t bytes, uint64_t ns)
{
    gate->drained_at_ns = wr_os_monotonic_ns();
    gate->drained_bytes += bytes;
    gate->drained_ns += ns;
    if (gate->drained_bytes < TUNE_BYTES)
        return;
    /* relaxed: a hint */
    uint64_t hand_off_ns = wr_u64_load_relaxed(&gate->hand_off_ns);
    uint64_t found = HAND_OFFS * hand_off_ns * gate->drained_bytes / (gate->drained_ns + 1);
    found = found < GRANT_BYTES_MIN ? GRANT_BYTES_MIN : found;
    found = found > GRANT_BYTES_MAX ? GRANT_BYTES_MAX : found;
    gate->drained_bytes = 0;
    gate->drained_ns = 0;
    gate->grant_bytes += found / TUNE_WEIGHT - gate->grant_bytes / TUNE_WEIGHT;
    pthread_mutex_lock(&gate->lock);
    gate->grant_units = grant_units_of(gate);
    pthread_mutex_unlock(&gate->lock);
}

/* --- Life. ----------------------------------------------------------------------------------- */

WR_COLD void wr_gate_init(struct wr_gate *gate, const struct wr_gate_config *config,
                          unsigned char *area, uint32_t unit_bytes, uint32_t unit_count)
{
#define ROW(name, table, word, is_ordered) [WEIR_WAKE_##name] = &wr_gate_##table,
    static const struct wr_gate_strategy *const strategies[] = {WR_WAKE_STRATEGIES(ROW)};
#undef ROW
    _Static_assert(sizeof strategies / sizeof strategies[0] == WR_WAKE_COUNT,
                   "each strategy is listed");
    gate->strategy = strategies[config->wake];
    gate->area = area;
    gate->unit_bytes = unit_bytes;
    gate->unit_count = unit_count;
    gate->free_count = unit_count;
    gate->grant_fixed = config->grant_units;
    gate->head_spins = gate->strategy->spins;
    gate->epoch = 1;
    /* One processor is the drain's. */
    gate->cap = config->processors > 1 ? config->processors - 1 : 1;
    gate->blocks_signals = config->blocks_signals;
    gate->process_id = wr_os_process_id();
    wr_os_mutex_init(&gate->lock);
    wr_u64_store_relaxed(&gate->hand_off_ns, HAND_OFF_NS_FIRST); /* relaxed: not shared yet */
    gate->grant_bytes = GRANT_BYTES_FIRST;
    gate->grant_units = grant_units_of(gate);
}

WR_COLD void wr_gate_ablate(struct wr_gate *gate, uint32_t flags)
{
    WR_CHECK(gate->strategy == &wr_gate_relay);
    gate->flags = flags;
    gate->head_spins = !(flags & WR_WAKE_NO_SPIN);
}

WR_COLD void wr_gate_fini(struct wr_gate *gate)
{
    pthread_mutex_destroy(&gate->lock);
}

/* --- Units. ---------------------------------------------------------------------------------- */

static struct wr_unit *unit_pop(struct wr_gate *gate)
{
    struct wr_unit *unit = gate->free;
    gate->free_count--;
    if (unit) {
        gate->free = unit->next;
        return unit;
    }
    WR_CHECK(gate->carved < gate->unit_count); /* never above the budget */
    return (void *)(gate->area + (uint64_t)gate->carved++ * gate->unit_bytes);
}

/* Puts the unit last: one that has just come back is still in the cache of the drain's processor,
 * and a thread on another one would wait for each of its lines. */
static void unit_push(struct wr_gate *gate, struct wr_unit *unit)
{
    unit->next = NULL;
    if (gate->free)
        gate->free_last->next = unit;
    else
        gate->free = unit;
    gate->free_last = unit;
    gate->free_count++;
    WR_CHECK(gate->free_count <= gate->unit_count);
}

static void units_push(struct wr_gate *gate, struct wr_unit *units)
{
    while (units) {
        struct wr_unit *next = units->next;
        unit_push(gate, units);
        units = next;
    }
}

WR_COLD void wr_gate_take(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t count)
{
    for (; count > 0 && gate->free_count > 0; count--) {
        struct wr_unit *unit = unit_pop(gate);
        unit->next = waiter->units;
        waiter->units = unit;
        waiter->unit_count++;
    }
}

/* --- The queue. ------------------------------------------------------------------------------ */

static void enqueue(struct wr_gate *gate, struct wr_waiter *waiter)
{
    waiter->next = NULL;
    waiter->previous = gate->tail;
    if (gate->tail)
        gate->tail->next = waiter;
    else
        gate->head = waiter;
    gate->tail = waiter;
    gate->waiting++;
    gate->large += waiter->needed > 1;
    waiter->is_queued = true;
    waiter->queue_number = ++gate->queue_numbers;
    waiter->grant_number = 0;
}

WR_COLD void wr_gate_unlink(struct wr_gate *gate, struct wr_waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        gate->head = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    else
        gate->tail = waiter->previous;
    gate->waiting--;
    gate->large -= waiter->needed > 1;
    waiter->is_queued = false;
}

static void run(struct wr_gate *gate, struct wr_waiter *waiter)
{
    wr_gate_run(gate, waiter);
    gate->grants++;
    gate->granted_units += waiter->unit_count;
    waiter->turn_units += waiter->unit_count;
}

WR_COLD void wr_gate_grant(struct wr_gate *gate, struct wr_waiter *waiter)
{
    wr_gate_unlink(gate, waiter);
    waiter->grant_number = ++gate->grant_numbers;
    waiter->turn_units = 0;
    run(gate, waiter);
}

WR_COLD void wr_gate_units_leave(struct wr_gate *gate, struct wr_waiter *waiter)
{
    units_push(gate, waiter->units);
    waiter->units = NULL;
    waiter->unit_count = 0;
}

WR_COLD void wr_gate_remove(struct wr_gate *gate, struct wr_waiter *waiter)
{
    wr_gate_unlink(gate, waiter);
    wr_gate_units_leave(gate, waiter);
}

/* --- Leaving without the lock. --------------------------------------------------------------- */

WR_COLD bool wr_waiter_leave(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t *word)
{
    /* edge LEAVE.release: the thread does not look at the waiter any more; edge GRANT.acquire: or it
     * has been granted units */
    if (!wr_u32_cas_acq_rel(&waiter->word, word, WR_WAITER_LEFT))
        return false;
    wr_u32_add_acq_rel(&gate->left, 1); /* edge LEAVE.release: clear_left() looks for the word */
    return true;
}

WR_COLD bool wr_waiter_has_left(const struct wr_waiter *waiter)
{
    return wr_u32_load_acquire(&waiter->word) == WR_WAITER_LEFT; /* edge LEAVE.acquire */
}

WR_COLD void wr_waiter_release(struct wr_waiter *waiter)
{
    /* edge LEAVE.release, in the other direction: no other thread looks at the waiter any more */
    wr_u32_store_release(&waiter->word, WR_WAITER_AWAKE);
}

WR_COLD bool wr_waiter_stay(struct wr_waiter *waiter)
{
    uint32_t word = wr_u32_load_acquire(&waiter->word); /* edge LEAVE.acquire */
    while (word != WR_WAITER_LEFT)
        if (wr_u32_cas_acq_rel(&waiter->word, &word, WR_WAITER_CLOSING))
            return true;
    wr_waiter_release(waiter);
    return false;
}

static void clear_left(struct wr_gate *gate)
{
    struct wr_waiter *waiter, *next;
    /* relaxed: a thread that leaves after this load rings the drain, which looks again */
    if (WR_LIKELY(wr_u32_load_relaxed(&gate->left) == 0))
        return;
    wr_u32_exchange_acq_rel(&gate->left, 0); /* edge LEAVE.acquire */
    for (waiter = gate->head; waiter; waiter = next) {
        next = waiter->next;
        if (!wr_waiter_has_left(waiter))
            continue;
        wr_gate_remove(gate, waiter);
        wr_waiter_release(waiter);
    }
    wr_outside_clear_left(gate);
}

/* LOCK. Called when units were taken, or when the queue was served with them. */
static void note_shortage(struct wr_gate *gate)
{
    uint32_t is_short = gate->waiting > 0 && gate->free_count < gate->strategy->grant_units(gate);
    if (is_short != wr_u32_load_relaxed(&gate->is_short)) /* relaxed, twice: a hint */
        wr_u32_store_relaxed(&gate->is_short, is_short);
}

WR_COLD void wr_gate_serve(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes)
{
    clear_left(gate);
    gate->strategy->serve(gate, why, wakes);
    note_shortage(gate);
}

/* --- Wakes. ---------------------------------------------------------------------------------- */

WR_COLD void wr_gate_wake_later(struct wr_wakes *wakes, struct wr_waiter *waiter)
{
    waiter->next = NULL;
    if (wakes->last)
        wakes->last->next = waiter;
    else
        wakes->first = waiter;
    wakes->last = waiter;
    wakes->is_served = true;
}

WR_COLD enum wr_waiter_word wr_waiter_set(struct wr_waiter *waiter, enum wr_waiter_word word)
{
    uint32_t before;
    /* edge GRANT.release: the units, or the counted loss; edge LEAVE, in both directions */
    before = wr_u32_exchange_acq_rel(&waiter->word, word);
    /* The thread may be in its next wait by now; this then wakes it for nothing. */
    if (before == WR_WAITER_ASLEEP || before == WR_WAITER_CLOSING)
        wr_os_futex_wake(&waiter->word, 1);
    return (enum wr_waiter_word)before;
}

static bool event_set(struct wr_gate *gate)
{
    /* edge GRANT.release: says only that a try under the lock is worthwhile */
    uint32_t reset = WR_GATE_EVENT_RESET;
    if (!wr_u32_cas_acq_rel(&gate->event, &reset, WR_GATE_EVENT_SET))
        return false;
    wr_os_futex_wake(&gate->event, 1);
    return true;
}

WR_COLD void wr_gate_wake_all(struct wr_gate *gate, const struct wr_wakes *wakes)
{
    uint64_t count = 0;
    for (struct wr_waiter *waiter = wakes->first, *next; waiter; waiter = next) {
        next = waiter->next; /* read `next` and `units` before the thread may queue again */
        struct wr_unit *units = waiter->units;
        waiter->granted_at_ns = wr_os_monotonic_ns();
        wr_u64_store_relaxed(&gate->granted_at_ns, waiter->granted_at_ns); /* relaxed: a hint */
        enum wr_waiter_word before = wr_waiter_set(waiter, WR_WAITER_GRANTED);
        count += before == WR_WAITER_ASLEEP;
        if (WR_UNLIKELY(before == WR_WAITER_LEFT)) /* its thread will not take the grant */
            wr_gate_give(gate, units, UINT64_MAX);
    }
    if (wakes->word) {
        wr_os_futex_wake(wakes->word, 1); /* uses the address only: the waiter may have left */
        count++;
    }
    count += wakes->set_event && event_set(gate);
    if (count)
        wr_u64_add_relaxed(&gate->wakes, count); /* relaxed: a figure */
}

/* --- The lock. ------------------------------------------------------------------------------- */

WR_COLD bool wr_gate_enter(struct wr_gate *gate, uint64_t deadline_ns, uint64_t *signals)
{
    uint64_t now = deadline_ns == UINT64_MAX ? 0 : wr_os_monotonic_ns();
    *signals = gate->blocks_signals ? wr_os_signals_block() : 0;
    if (wr_os_mutex_lock_for(&gate->lock, deadline_ns > now ? deadline_ns - now : 0))
        return true;
    if (gate->blocks_signals)
        wr_os_signals_restore(*signals);
    return false;
}

WR_COLD void wr_gate_leave(struct wr_gate *gate, const struct wr_wakes *wakes, uint64_t signals)
{
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, wakes);
    if (gate->blocks_signals)
        wr_os_signals_restore(signals);
}

/* --- Asking. --------------------------------------------------------------------------------- */

/* Enough is free, and no older thread waits, unless this one may go on ahead of them. In AUTO_RESET only
 * large records have a queue. */
static bool may_take(const struct wr_gate *gate, const struct wr_waiter *waiter, uint32_t needed)
{
    const struct wr_gate_strategy *strategy = gate->strategy;
    uint32_t older = strategy->queues_all ? gate->waiting : gate->large;
    return gate->free_count >= needed &&
           (older == 0 || (strategy->keeps_turn && strategy->keeps_turn(gate, waiter)));
}

WR_COLD bool wr_gate_has_room(struct wr_gate *gate, const struct wr_waiter *waiter)
{
    if (pthread_mutex_trylock(&gate->lock) != 0)
        return false;
    bool has_room = !gate->is_closing && may_take(gate, waiter, 1);
    pthread_mutex_unlock(&gate->lock);
    return has_room;
}

static void park(struct wr_gate *gate, struct wr_waiter *waiter, struct wr_wakes *wakes)
{
    /* relaxed: no other thread stores the word while the waiter is in no list */
    wr_u32_store_relaxed(&waiter->word, WR_WAITER_AWAKE);
    waiter->is_signaled = waiter->has_taken = waiter->has_quit = false;
    wr_gate_rest_locked(gate, waiter);
    waiter->must_ring = gate->waiting == 0;
    enqueue(gate, waiter);
    wr_u32_add_acq_rel(&gate->parked, 1);
    wr_gate_serve(gate, WR_SERVE_PARK, wakes);
    waiter->must_ring |= gate->running == 0;
    waiter->may_spin = gate->head_spins && gate->head == waiter && gate->running == 0;
}

/* Units for a thread that need not wait, unless it needs more. */
static uint32_t unwaited_units(const struct wr_gate *gate)
{
    uint32_t grant = gate->strategy->grant_units(gate), share = gate->free_count / FREE_SHARE;
    return gate->grant_fixed || grant < share ? grant : share;
}

static enum wr_asked ask(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t needed,
                         bool may_park, struct wr_wakes *wakes)
{
    if (gate->is_closing)
        return WR_ASKED_ABORTED;
    clear_left(gate);
    /* edge LEAVE.acquire, in the other direction */
    if (wr_u32_load_acquire(&waiter->word) == WR_WAITER_LEFT)
        return may_park ? WR_ASKED_LATE : WR_ASKED_FULL; /* a granter still uses the waiter */
    waiter->units = NULL;
    waiter->unit_count = 0;
    waiter->needed = needed;
    if (may_take(gate, waiter, needed)) {
        uint32_t grant = unwaited_units(gate);
        wr_gate_take(gate, waiter, grant > needed ? grant : needed);
        run(gate, waiter);
        note_shortage(gate);
        return WR_ASKED_GRANTED;
    }
    if (!may_park)
        return WR_ASKED_FULL;
    park(gate, waiter, wakes);
    return WR_ASKED_PARKED;
}

WR_COLD enum wr_asked wr_gate_ask(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t needed,
                                  uint64_t limit_ns)
{
    struct wr_wakes wakes = {0};
    uint64_t begin_ns = 0; /* when the wait began, if the thread had to wait for the lock, too */
    if (!wr_os_mutex_lock_for(&gate->lock, 0)) {
        begin_ns = limit_ns ? wr_os_monotonic_ns() : 0;
        if (limit_ns == 0 || !wr_os_mutex_lock_for(&gate->lock, limit_ns))
            return limit_ns ? WR_ASKED_LATE : WR_ASKED_FULL;
    }
    enum wr_asked asked = ask(gate, waiter, needed, limit_ns != 0, &wakes);
    pthread_mutex_unlock(&gate->lock);
    if (asked == WR_ASKED_PARKED)
        waiter->parked_at_ns = begin_ns ? begin_ns : wr_os_monotonic_ns();
    wr_gate_wake_all(gate, &wakes);
    return asked;
}

/* --- Waiting. -------------------------------------------------------------------------------- */

WR_COLD bool wr_gate_is_inherited(const struct wr_gate *gate)
{
    return wr_os_process_id() != gate->process_id;
}

static void recheck(struct wr_gate *gate)
{
    struct wr_wakes wakes = {0};
    uint64_t signals;
    if (!wr_gate_enter(gate, 0, &signals)) /* its holder may serve the queue, or the next recheck */
        return;
    wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    wr_gate_leave(gate, &wakes, signals);
}

WR_COLD enum wr_waited wr_waiter_sleep(struct wr_gate *gate, struct wr_waiter *waiter,
                                       uint64_t deadline_ns)
{
    bool may_spin = waiter->may_spin;
    for (;;) {
        uint32_t word = wr_u32_load_acquire(&waiter->word); /* edge GRANT.acquire */
        if (word == WR_WAITER_GRANTED || word == WR_WAITER_ABORTED)
            return word == WR_WAITER_GRANTED ? WR_WAITED_GRANTED : WR_WAITED_ABORTED;
        if (word == WR_WAITER_CLOSING) {
            wr_os_futex_wait(&waiter->word, word, UINT64_MAX);
            continue;
        }
        if (word == WR_WAITER_AWAKE) {
            if (!may_spin || !wr_os_spin_while(&waiter->word, WR_WAITER_AWAKE, SPIN_NS))
                wr_u32_cas_acq_rel(&waiter->word, &word, WR_WAITER_ASLEEP);
            continue;
        }
        uint64_t now = wr_os_monotonic_ns();
        if (now >= deadline_ns)
            return WR_WAITED_DEADLINE;
        uint64_t left_ns = deadline_ns - now;
        wr_os_futex_wait(&waiter->word, WR_WAITER_ASLEEP,
                         left_ns < RECHECK_NS ? left_ns : RECHECK_NS);
        if (wr_gate_is_inherited(gate))
            return WR_WAITED_ABORTED;
        /* RELAY's cap may keep the head waiting, and the drain, which normally lifts the cap, may
         * be blocked in the sink. */
        if (wr_os_monotonic_ns() - now >= RECHECK_NS)
            recheck(gate);
        may_spin = true; /* if the word is AWAKE now, the head was roused to spin */
    }
}

/* A handler may jump out of the wait right after this. Whoever finds LEFT changes the word, so
 * wr_gate_cancel() needs a note of the thread's own. */
static bool leave_noted(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t *word)
{
    uint64_t signals = gate->blocks_signals ? wr_os_signals_block() : 0;
    waiter->has_quit = wr_waiter_leave(gate, waiter, word);
    if (gate->blocks_signals)
        wr_os_signals_restore(signals);
    return waiter->has_quit;
}

/* Leaves without the lock, unless a grant or an abort has come first. FIFO's GRANTED is only a
 * signal. */
static enum wr_waited leave(struct wr_gate *gate, struct wr_waiter *waiter)
{
    uint32_t word = wr_u32_load_acquire(&waiter->word); /* edge GRANT.acquire */
    for (;;) {
        if (word == WR_WAITER_CLOSING || word == WR_WAITER_ABORTED)
            return wr_waiter_sleep(gate, waiter, UINT64_MAX);
        if (word == WR_WAITER_GRANTED && !gate->strategy->grants_tries)
            return WR_WAITED_GRANTED;
        if (leave_noted(gate, waiter, &word))
            return WR_WAITED_DEADLINE;
    }
}

/* Ends a wait whose deadline has passed, unless a grant or an abort has come first. */
static enum wr_waited give_up(struct wr_gate *gate, struct wr_waiter *waiter)
{
    struct wr_wakes wakes = {0};
    uint64_t signals;
    if (!wr_gate_enter(gate, wr_os_monotonic_ns() + GIVE_UP_NS, &signals))
        return leave(gate, waiter);
    bool is_queued = waiter->is_queued;
    if (is_queued) {
        wr_gate_remove(gate, waiter);
        waiter->has_quit = true;
        wr_gate_serve(gate, WR_SERVE_GIVE, &wakes); /* for the units and the signal that it had */
    }
    wr_gate_leave(gate, &wakes, signals);
    return is_queued ? WR_WAITED_DEADLINE : leave(gate, waiter);
}

WR_COLD enum wr_waited wr_gate_cancel(struct wr_gate *gate, struct wr_waiter *waiter)
{
    if (waiter->has_taken)
        return WR_WAITED_GRANTED;
    if (waiter->has_quit || wr_u32_load_acquire(&waiter->word) == WR_WAITER_LEFT)
        return WR_WAITED_DEADLINE;
    return give_up(gate, waiter);
}

static void figures_add(struct wr_gate *gate, uint64_t parked_ns)
{
    wr_u64_add_relaxed(&gate->parked_ns, parked_ns); /* relaxed: figures, here and below */
    uint64_t max = wr_u64_load_relaxed(&gate->parked_ns_max);
    while (parked_ns > max && !wr_u64_cas_release(&gate->parked_ns_max, &max, parked_ns)) {
    }
}

WR_COLD enum wr_waited wr_gate_wait(struct wr_gate *gate, struct wr_waiter *waiter,
                                    uint64_t deadline_ns)
{
    enum wr_waited waited = gate->strategy->sleep(gate, waiter, deadline_ns);
    if (waited == WR_WAITED_DEADLINE)
        waited = give_up(gate, waiter);
    waiter->parked_ns = wr_os_monotonic_ns() - waiter->parked_at_ns;
    figures_add(gate, waiter->parked_ns);
    return waited;
}

WR_COLD void wr_gate_unpark(struct wr_gate *gate)
{
    struct wr_u32 *parked = &gate->parked;
    /* edge UNPARK.release: all that this thread did with the gate */
    if (wr_u32_add_acq_rel(parked, UINT32_MAX) == (WR_GATE_IS_AWAITED | 1))
        wr_os_futex_wake(parked, 1); /* uses the address only: the gate may be gone */
}

/* --- The drain in its sink. ------------------------------------------------------------------ */

WR_COLD void wr_gate_drain_leaves(struct wr_gate *gate)
{
    wr_u64_store_relaxed(&gate->away_since_ns, wr_os_monotonic_ns()); /* relaxed: a hint */
}

WR_COLD void wr_gate_drain_returns(struct wr_gate *gate)
{
    wr_u64_store_relaxed(&gate->away_since_ns, 0); /* relaxed: a hint */
}

WR_COLD uint32_t wr_gate_grant_units(const struct wr_gate *gate)
{
    return gate->strategy->grant_units(gate); /* without the lock: only the drain changes it */
}

/* --- Giving. --------------------------------------------------------------------------------- */

WR_COLD bool wr_gate_give(struct wr_gate *gate, struct wr_unit *units, uint64_t limit_ns)
{
    struct wr_wakes wakes = {0};
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return false;
    units_push(gate, units); /* in this order: reusable, free, then a waiter is woken */
    wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, &wakes);
    return true;
}

WR_COLD void wr_gate_rest(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t limit_ns)
{
    struct wr_wakes wakes = {0};
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return;
    if (waiter->running_since || wr_waiter_has_left(waiter)) {
        wr_gate_rest_locked(gate, waiter);
        wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    }
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, &wakes);
}

WR_COLD bool wr_gate_is_done_with(const struct wr_waiter *waiter)
{
    return !wr_waiter_has_left(waiter); /* LEFT: a granter still uses it, or it is in a list */
}

WR_COLD enum wr_gate_state wr_gate_idle(struct wr_gate *gate)
{
    struct wr_wakes wakes = {0};
    enum wr_gate_state state = WR_GATE_QUIET;
    pthread_mutex_lock(&gate->lock);
    if (gate->waiting) {
        wr_gate_serve(gate, WR_SERVE_IDLE, &wakes);
        if (wakes.is_served)
            state = WR_GATE_SERVED;
        else if (gate->free_count == 0)
            state = WR_GATE_STUCK;
    }
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, &wakes);
    return state;
}

/* --- The end. -------------------------------------------------------------------------------- */

WR_COLD bool wr_gate_close(struct wr_gate *gate, uint64_t limit_ns,
                           void (*lose)(struct wr_waiter *waiter), struct wr_waiter **waiters)
{
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return false;
    gate->is_closing = true;
    wr_outside_close(gate, lose);
    *waiters = NULL;
    for (struct wr_waiter *waiter = gate->tail, *previous; waiter; waiter = previous) {
        previous = waiter->previous;
        wr_gate_remove(gate, waiter);
        if (!wr_waiter_stay(waiter))
            continue;
        waiter->next = *waiters;
        *waiters = waiter;
    }
    pthread_mutex_unlock(&gate->lock);
    return true;
}

WR_COLD void wr_gate_abort(struct wr_gate *gate, struct wr_waiter *waiter)
{
    wr_waiter_set(waiter, WR_WAITER_ABORTED);
    if (!gate->strategy->has_event)
        return;
    /* The waiter may sleep on the event, but does so only while that is RESET. */
    wr_u32_exchange_acq_rel(&gate->event, WR_GATE_EVENT_CLOSED);
    wr_os_futex_wake_all(&gate->event);
}

WR_COLD bool wr_gate_wait_unparked(struct wr_gate *gate, uint64_t deadline_ns)
{
    uint32_t parked;
    bool is_over;
    wr_u32_add_acq_rel(&gate->parked, WR_GATE_IS_AWAITED);
    /* edge UNPARK.acquire */
    while (!(is_over = (parked = wr_u32_load_acquire(&gate->parked)) == WR_GATE_IS_AWAITED)) {
        uint64_t now = wr_os_monotonic_ns();
        if (now >= deadline_ns)
            break;
        wr_os_futex_wait(&gate->parked, parked, deadline_ns - now);
    }
    wr_u32_add_acq_rel(&gate->parked, WR_GATE_IS_AWAITED); /* clears the bit, by overflow */
    return is_over;
}

WR_COLD bool wr_gate_figures(struct wr_gate *gate, struct wr_gate_figures *figures,
                             uint64_t limit_ns)
{
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return false;
    figures->parks = gate->queue_numbers;
    figures->grants = gate->grants;
    figures->grant_bytes = gate->granted_units * gate->unit_bytes;
    figures->grant_bytes_now = (uint64_t)gate->strategy->grant_units(gate) * gate->unit_bytes;
    figures->free_bytes = (uint64_t)gate->free_count * gate->unit_bytes;
    pthread_mutex_unlock(&gate->lock);
    figures->parked_now = wr_gate_parked(gate);
    /* relaxed: figures, here and below */
    figures->parked_ns = wr_u64_load_relaxed(&gate->parked_ns);
    figures->parked_ns_max = wr_u64_load_relaxed(&gate->parked_ns_max);
    figures->wakes = wr_u64_load_relaxed(&gate->wakes);
    return true;
}
