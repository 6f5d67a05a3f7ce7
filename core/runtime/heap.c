/*
 * Who is asked for a walk of the heap, and when.
 *
 * The watcher of .NET's runtime provider keeps a table of the sessions that want it. One that asks
 * for a walk (keyword 0x800000 at its start) is due until somebody claims it: the host at a safe
 * point, or, once its time is over, a thread of the library's. One thread walks at a time, so that a
 * second session's walk follows the first one's.
 *
 * The registry's lock guards all of it, which a fork leaves free; a child has none of its parent's
 * sessions.
 */
#include <weir/heap.h>

#include <string.h>
#include "base/error.h"
#include "base/host_struct.h"
#include "event/event.h"
#include "os/os.h"
#include "runtime/dotnet.h"
#include "runtime/heap_walk.h"
#include "runtime/modules.h"

#define SESSIONS_MAX     64u
#define WITHOUT_HOST_MS  5000u /* how long a session waits for a host */
#define WALKING_LOOK_NS  (UINT64_C(20) * WR_NS_PER_MS)
#define HOST_BYTES_FIRST 48u /* of struct weir_heap_host, in 0.7; never changes */

struct place {
    uint64_t session_id; /* 0: free */
    uint64_t keywords;
    uint64_t deadline_ns;
    uint8_t level;
    bool is_due;
};

static struct {
    struct weir_heap_host host; /* LOCK, as all that follows; without a walk: none is registered */
    bool is_watching;
    bool is_walking;
    bool has_timer;
    uint32_t requests;   /* calls of the host's `request` that have not returned */
    uint32_t generation; /* of the process that this is about */
    struct place places[SESSIONS_MAX];
    struct wr_u32 due;     /* LOCK for stores: how many sessions are due */
    struct wr_u32 changes; /* LOCK for stores: what the timer sleeps on */
} heap;

/* --- The table. ------------------------------------------------------------------------------ */

/* A forked child starts with nothing, except that its provider is registered. */
static void forget_parent_locked(void)
{
    if (heap.generation == wr_process_generation())
        return;
    heap.generation = wr_process_generation();
    heap.is_walking = heap.has_timer = false;
    heap.requests = 0;
    memset(heap.places, 0, sizeof heap.places);
    wr_u32_store_release(&heap.due, 0);
}

static void due_set_locked(struct place *place, bool is_due)
{
    uint32_t due = wr_u32_load_relaxed(&heap.due); /* relaxed: changes under the lock only */
    if (place->is_due != is_due)
        wr_u32_store_release(&heap.due, is_due ? due + 1 : due - 1);
    place->is_due = is_due;
    wr_u32_add_acq_rel(&heap.changes, 1);
}

static struct place *place_of_locked(uint64_t session_id)
{
    struct place *free = NULL;
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        if (heap.places[i].session_id == session_id)
            return &heap.places[i];
        if (heap.places[i].session_id == 0)
            free = &heap.places[i];
    }
    return free;
}

static void claim_locked(struct place *place, struct wr_heap_order *order)
{
    *order = (struct wr_heap_order){.session_id = place->session_id,
                                    .keywords = place->keywords,
                                    .level = place->level,
                                    .host = heap.host};
    due_set_locked(place, false);
}

/* Asks the host, if there is one, to come to a safe point. */
static void ask_host(void)
{
    wr_registry_lock();
    struct weir_heap_host host = heap.host;
    heap.requests += host.request != NULL;
    wr_registry_unlock();
    if (!host.request)
        return;
    host.request(host.context);
    wr_registry_lock();
    heap.requests -= heap.requests > 0; /* 0 in a child that was forked meanwhile */
    wr_registry_unlock();
}

/* --- Sessions without a safe point. ---------------------------------------------------------- */

#ifndef WEIR_SINGLE_THREADED

/* The next session whose time is over, unless a walk is under way, behind which it comes. Otherwise how
 * long to wait; 0: nothing is due. */
static bool claim_late_locked(struct wr_heap_order *order, uint64_t *wait_ns)
{
    uint64_t now = wr_os_monotonic_ns();
    *wait_ns = 0;
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        struct place *place = &heap.places[i];
        if (!place->is_due)
            continue;
        if (place->deadline_ns <= now && !heap.is_walking) {
            claim_locked(place, order);
            return heap.is_walking = true;
        }
        uint64_t rest = place->deadline_ns > now ? place->deadline_ns - now : WALKING_LOOK_NS;
        *wait_ns = *wait_ns == 0 || rest < *wait_ns ? rest : *wait_ns;
    }
    return false;
}

static void walking_end(void)
{
    wr_registry_lock();
    heap.is_walking = false;
    wr_registry_unlock();
}

/* An empty snapshot. Those who have come meanwhile found a walk under way, and are asked again. */
static void mark(const struct wr_heap_order *order)
{
    wr_heap_walk_run(order);
    walking_end();
    if (weir_heap_is_due())
        ask_host();
}

static void *timer_run(void *unused)
{
    struct wr_heap_order order;
    uint64_t wait_ns;
    do {
        wr_registry_lock();
        uint32_t changes = wr_u32_load_acquire(&heap.changes);
        bool is_late = claim_late_locked(&order, &wait_ns);
        heap.has_timer = is_late || wait_ns;
        wr_registry_unlock();
        order.reason = "the host has not reached a safe point in time";
        if (is_late)
            mark(&order);
        else if (wait_ns)
            wr_os_futex_wait(&heap.changes, changes, wait_ns);
        else
            return unused;
    } while (true);
}

static void timer_need(void)
{
    wr_registry_lock();
    bool is_new = !heap.has_timer;
    heap.has_timer = true;
    wr_registry_unlock();
    wr_os_futex_wake_all(&heap.changes);
    if (!is_new || wr_os_thread_start("weir-heap", timer_run, NULL) == 0)
        return;
    wr_registry_lock();
    heap.has_timer = false; /* the session then waits for the host alone */
    wr_registry_unlock();
}

#else
static void timer_need(void)
{
}
#endif

/* --- The watcher. ---------------------------------------------------------------------------- */

static bool asks(const struct weir_provider_change *change)
{
    return change->what == WEIR_CHANGE_ENABLED && change->keywords & WR_DOTNET_HEAP_COLLECT;
}

static void note_locked(const struct weir_provider_change *change)
{
    struct place *place = place_of_locked(change->session_id);
    if (!place) /* more than there can be */
        return;
    uint64_t ms = heap.host.walk ? heap.host.safe_point_ms : WITHOUT_HOST_MS;
    place->session_id = change->what == WEIR_CHANGE_DISABLED ? 0 : change->session_id;
    place->keywords = change->keywords;
    place->level = change->level;
    place->deadline_ns = wr_os_monotonic_ns() + ms * UINT64_C(1000000);
    due_set_locked(place, place->session_id && (place->is_due || asks(change)));
}

static void watch(void *unused, const struct weir_provider_change *change)
{
    (void)unused;
    wr_registry_lock();
    forget_parent_locked();
    note_locked(change);
    wr_registry_unlock();
    if (!asks(change))
        return;
    timer_need();
    ask_host();
}

/* --- The host. ------------------------------------------------------------------------------- */

static enum weir_result host_take(const struct weir_heap_host *host, struct weir_heap_host *own,
                                  struct weir_error *error)
{
    static const struct wr_host_struct kind = {"host of a heap", "WEIR_HEAP_HOST_INIT",
                                               HOST_BYTES_FIRST, sizeof *own};
    if (!host)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "host must not be NULL");
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    if (result != WEIR_OK)
        return result;
    if (!own->request || !own->walk)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "request and walk must be set");
    if (own->reserved)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "reserved must be 0");
    return WEIR_OK;
}

/* False if a host is registered already. `is_first`: its provider is not registered yet. */
static bool host_set(const struct weir_heap_host *host, bool *is_first)
{
    wr_registry_lock();
    forget_parent_locked();
    bool is_free = !heap.host.walk;
    if (is_free)
        heap.host = *host;
    *is_first = is_free && !heap.is_watching;
    heap.is_watching |= is_free;
    wr_registry_unlock();
    return is_free;
}

/* Not while a call of its `request` is under way. If the first registration fails, nothing is watched. */
static void host_clear(bool is_watching)
{
    wr_registry_lock();
    while (heap.requests > 0) {
        wr_registry_unlock();
        wr_os_sleep_ns(WR_NS_PER_MS);
        wr_registry_lock();
    }
    memset(&heap.host, 0, sizeof heap.host);
    heap.is_watching &= is_watching;
    wr_registry_unlock();
}

/* Of the first host in the process. Sessions that want the provider are noted at once. */
static enum weir_result watch_begin(struct weir_error *error)
{
    struct weir_provider *runtime, *rundown;
    enum weir_result result = wr_dotnet_register(&runtime, &rundown, error);
    if (result != WEIR_OK)
        return result;
    result = weir_rundown_register(rundown, wr_modules_rundown, NULL, error);
    if (result == WEIR_OK || result == WEIR_EXISTS) /* by an attempt that failed later */
        result = weir_provider_watch(runtime, watch, NULL, error);
    return result;
}

WEIR_API enum weir_result weir_heap_register(const struct weir_heap_host *host,
                                             struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    struct weir_heap_host own = WEIR_HEAP_HOST_INIT;
    bool is_first;
    enum weir_result result = host_take(host, &own, error);
    if (result != WEIR_OK)
        return result;
    if (!host_set(&own, &is_first))
        return wr_fail(error, WEIR_EXISTS, "a heap is registered already");
    result = is_first ? watch_begin(error) : WEIR_OK;
    if (result != WEIR_OK)
        host_clear(false);
    else if (!is_first && weir_heap_is_due()) /* the first host's watcher has asked */
        ask_host();
    return result;
}

WEIR_API void weir_heap_unregister(void)
{
    host_clear(true);
}

/* --- Safe points. ---------------------------------------------------------------------------- */

WEIR_API bool weir_heap_is_due(void)
{
    return wr_u32_load_relaxed(&heap.due) != 0; /* relaxed: a hint; the claim is under the lock */
}

static bool walking_begin(void)
{
    wr_registry_lock();
    forget_parent_locked();
    bool is_free = !heap.is_walking && heap.host.walk;
    heap.is_walking |= is_free;
    wr_registry_unlock();
    return is_free;
}

/* A session from `*from` on that is due, or that wants heaps at all. */
static bool claim_from_locked(bool wants_all, uint32_t *from, struct wr_heap_order *order)
{
    while (*from < SESSIONS_MAX) {
        struct place *place = &heap.places[(*from)++];
        if (place->is_due ||
            (wants_all && place->session_id && place->keywords & WR_DOTNET_HEAP_DUMP)) {
            claim_locked(place, order);
            return true;
        }
    }
    return false;
}

/* The next session, or one that has become due meanwhile. Without any the walking ends, under the same
 * lock, so that whoever comes later walks itself. */
static bool walk_next(bool wants_all, uint32_t *from, struct wr_heap_order *order)
{
    uint32_t first = 0;
    wr_registry_lock();
    heap.is_walking =
        claim_from_locked(wants_all, from, order) || claim_from_locked(false, &first, order);
    bool is_walking = heap.is_walking;
    wr_registry_unlock();
    return is_walking;
}

static uint32_t serve(bool wants_all)
{
    WR_OS_NO_CANCEL;
    struct wr_heap_order order;
    uint32_t count = 0, from = 0;
    if (!walking_begin())
        return 0;
    for (; walk_next(wants_all, &from, &order); count++)
        wr_heap_walk_run(&order);
    return count;
}

WEIR_API uint32_t weir_heap_serve(void)
{
    return weir_heap_is_due() ? serve(false) : 0;
}

WEIR_API uint32_t weir_heap_walk(void)
{
    return serve(true);
}
