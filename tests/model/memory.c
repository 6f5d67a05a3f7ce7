/*
 * The memory model.
 *
 * A word keeps all its stores ("messages"), ordered by stamp: this is its modification order. A
 * thread has a view: for each word, the earliest message that it may still read. A load reads any
 * message from there on; a store goes to any place after it. A release store carries its thread's
 * view. An acquire load adds the view of the message that it reads. A read-modify-write passes on
 * the view of the message that it replaces (release sequence). This is the promise-free part of the
 * "promising semantics", which equals RC11 without sequentially consistent accesses. Every RC11
 * execution is the execution of some interleaving, because RC11 forbids cycles in program order and
 * reads-from.
 *
 *  Load buffering       not produced (stronger than C11 as written, equal to RC11): a load never
 *                       reads a store that is executed later, because values could then appear
 *                       out of thin air. Nothing in this project may rely on that.
 *  Release sequences    as in C++20: only read-modify-writes continue them. In C11 and C17 a later
 *                       relaxed store of the same thread continues them too; a model that relies
 *                       on that sets c17_sequences, and then it holds for a store that directly
 *                       follows one of the same thread.
 *  Failing CAS          may read any value that a load could read, except the expected one.
 *  Successful RMW       reads any message that no other RMW directly follows yet, not only the
 *                       newest executed. It takes the place directly after that message in
 *                       modification order.
 *  seq_cst accesses     release or acquire, and in an order S that order.c keeps.
 *  seq_cst fence        (inside membarrier) exchanges views with all fences before it, and is an
 *                       acquire and a release fence. It creates no happens-before by itself.
 *  membarrier           for each other thread, in every order and at every time within the call,
 *                       one seq_cst fence in that thread and one in the caller. This includes
 *                       threads that have ended: ending is a full barrier.
 *  futex                a wake and a sleep do not synchronize. A thread that is woken, or that
 *                       waits after the wake, reads nothing of that word older than the waker
 *                       knew (the kernel's barriers give more).
 *  mixed sizes          a word is always accessed in full.
 *  clock                a word whose later values exist from the start. A reading is a load that
 *                       may show any value that is not before one the thread has read. So two
 *                       threads may disagree about the time, like two processors that read it
 *                       ahead of or behind the accesses around it. An acquire learns what the
 *                       other thread had read before its release. That holds from the next fence
 *                       on: without a fence, a reading may be executed before the load that
 *                       precedes it.
 */
#include "engine.h"

#include <string.h>

/* Room between two neighbours for stores that are executed later but lie between them. */
#define STAMP_GAP (1u << 20)

_Alignas(128) unsigned char memory_arena[ARENA_BYTES];
static uint16_t location_of_unit[ARENA_UNITS]; /* location + 1 */

/* Static words of the product that a model shares: treated as part of the arena. */
static struct lent {
    unsigned char *bytes;
    uint32_t size;
    uint32_t at; /* offset in the arena; the bytes there are not used */
} lent[LENT_MAX];
static uint32_t lent_count;
static uintptr_t lent_first, lent_end; /* all of them lie between */

void memory_reset(void)
{
    for (uint32_t i = 0; i < engine.locations; i++)
        location_of_unit[engine.location[i].unit] = 0;
    memset(memory_arena, 0, engine.arena_used);
    engine.arena_used = 0;
    lent_count = 0;
    lent_first = UINTPTR_MAX;
    lent_end = 0;
    engine.locations = 0;
    engine.messages = 0;
    engine.clock = 0;
    engine.fences.locations = 0;
    order_reset();
}

void *model_memory(uint32_t size)
{
    uint32_t at = (engine.arena_used + 127u) & ~127u;
    if (engine.running || at + size > ARENA_BYTES) {
        model_fail("model_memory: called outside setup(), or arena full");
        return memory_arena;
    }
    engine.arena_used = at + size;
    return memory_arena + at;
}

void model_lend(void *bytes, uint32_t size)
{
    const unsigned char *at = model_memory(size);
    if (lent_count == LENT_MAX) {
        model_fail("model_lend: too many");
        return;
    }
    memset(bytes, 0, size);
    lent[lent_count++] = (struct lent){bytes, size, (uint32_t)(at - memory_arena)};
    uintptr_t first = (uintptr_t)bytes, end = first + size;
    lent_first = first < lent_first ? first : lent_first;
    lent_end = end > lent_end ? end : lent_end;
}

uint32_t memory_offset_lent(const void *bytes)
{
    uintptr_t at = (uintptr_t)bytes;
    if (at < lent_first || at >= lent_end)
        return ARENA_BYTES;
    for (uint32_t i = 0; i < lent_count; i++)
        if (at >= (uintptr_t)lent[i].bytes && at < (uintptr_t)lent[i].bytes + lent[i].size)
            return lent[i].at + (uint32_t)(at - (uintptr_t)lent[i].bytes);
    return ARENA_BYTES;
}

bool model_owns(const void *bytes)
{
    return memory_offset(bytes) != ARENA_BYTES;
}

uint32_t memory_unit(const void *cell)
{
    uint32_t offset = memory_offset(cell);
    if (offset == ARENA_BYTES) {
        model_fail("a shared word lies outside the model's memory");
        return 0;
    }
    return offset / ARENA_UNIT;
}

static uint64_t cell_value(const void *cell, uint32_t size)
{
    uint64_t value = 0;
    memcpy(&value, cell, size); /* little endian, as the rest of the project assumes */
    return value;
}

static uint32_t stamp_of(const struct view *view, uint32_t location)
{
    return location < view->locations ? view->stamp[location] : 0;
}

static void view_extend(struct view *view, uint32_t locations)
{
    while (view->locations < locations)
        view->stamp[view->locations++] = 0;
}

static void view_raise(struct view *view, uint32_t location, uint32_t stamp)
{
    view_extend(view, location + 1);
    if (view->stamp[location] < stamp)
        view->stamp[location] = stamp;
}

static void view_join_stamps(struct view *into, const struct view *from)
{
    view_extend(into, from->locations);
    for (uint32_t i = 0; i < from->locations; i++)
        if (into->stamp[i] < from->stamp[i])
            into->stamp[i] = from->stamp[i];
}

static void view_join(struct view *into, const struct view *from)
{
    view_join_stamps(into, from);
    for (uint32_t i = 0; i < MODEL_THREADS_MAX; i++)
        if (into->clock[i] < from->clock[i])
            into->clock[i] = from->clock[i];
}

static void view_copy(struct view *into, const struct view *from)
{
    into->locations = from->locations;
    memcpy(into->clock, from->clock, sizeof into->clock);
    memcpy(into->stamp, from->stamp, from->locations * sizeof into->stamp[0]);
}

static uint32_t new_message(uint64_t value, uint32_t stamp)
{
    if (engine.messages == MESSAGES_MAX) {
        model_fail("too many stores for the explorer");
        return 0;
    }
    struct message *message = &engine.message[engine.messages];
    message->value = value;
    message->stamp = stamp;
    message->writer = engine.self;
    message->taken = false;
    message->mixed = false;
    message->view.locations = 0;
    memset(message->view.clock, 0, sizeof message->view.clock);
    return engine.messages++;
}

/* Finds the word's location. Creates it if it is new, with what setup() left in the word as its
 * first message. */
uint32_t memory_location(const struct model_request *request)
{
    uint32_t unit = memory_unit(request->cell);
    if (location_of_unit[unit] != 0)
        return location_of_unit[unit] - 1u;
    if (engine.locations == LOCATIONS_MAX) {
        model_fail("too many words for the explorer");
        return 0;
    }
    uint32_t location = engine.locations++;
    location_of_unit[unit] = (uint16_t)(location + 1);
    struct location *entry = &engine.location[location];
    entry->unit = unit;
    entry->count = 1;
    entry->woken = 0;
    entry->order[0] = (uint16_t)new_message(cell_value(request->cell, request->size), 0);
    engine.message[entry->order[0]].writer = MODEL_THREADS_MAX;
    return location;
}

static uint64_t clock_last; /* the value that it shows in finish() */

void model_clock(const uint64_t *values, uint32_t count)
{
    struct model_request request = {.cell = model_memory(sizeof *values), .size = sizeof *values};
    memcpy(request.cell, values, sizeof *values);
    uint32_t index = memory_location(&request);
    struct location *location = &engine.location[index];
    for (uint32_t i = 1; i < count && i < MODEL_CLOCK_MAX; i++) {
        location->order[i] = (uint16_t)new_message(values[i], i * STAMP_GAP);
        engine.message[location->order[i]].writer = MODEL_THREADS_MAX;
        location->count++;
    }
    clock_last = values[count - 1];
    engine.clock = index + 1;
    model_name(request.cell, "clock");
}

bool memory_is_clock(uint32_t unit)
{
    return engine.clock != 0 && engine.location[engine.clock - 1].unit == unit;
}

/* Returns 0 if the model has no clock: time stands still. */
uint64_t model_clock_at(struct model_site *site)
{
    if (engine.clock == 0)
        return 0;
    struct location *location = &engine.location[engine.clock - 1];
    struct model_request request = {.site = site,
                                    .cell = memory_arena + location->unit * ARENA_UNIT,
                                    .size = sizeof clock_last};
    if (!engine.running)
        return engine.thread[0].state == THREAD_DONE ? clock_last : memory_direct(&request);
    struct thread *thread = &engine.thread[engine.self];
    bool stale = thread->stale; /* reading the clock does not change this */
    uint64_t value = model_operation(&request);
    thread->stale = stale;
    return value;
}

static bool acceptable(const struct message *message, const struct operation *operation)
{
    const struct model_request *request = &operation->request;
    switch (operation->kind) {
    case MODEL_WAIT:
        return request->until(message->value, request->argument);
    case MODEL_LOCK:
        return !message->taken && message->value == 0;
    case MODEL_EXCHANGE:
    case MODEL_ADD:
        return !message->taken;
    case MODEL_CAS:
        return message->value != *request->expected || !message->taken;
    default:
        return true;
    }
}

/* The messages that the operation may read (for a store: those that it may directly follow), newest
 * first. */
uint32_t memory_readable(const struct thread *thread, const struct operation *operation,
                         uint16_t *list)
{
    const struct location *location = &engine.location[operation->location];
    uint32_t floor = stamp_of(&thread->current, operation->location);
    if (operation->kind == MODEL_FUTEX_WAIT && floor < location->woken)
        floor = location->woken;
    bool is_store = operation->kind == MODEL_STORE;
    bool is_ordered = operation->order == MODEL_SEQ_CST && !operation->is_private;
    uint32_t count = 0;
    for (uint32_t i = location->count; i-- > 0;) {
        const struct message *message = &engine.message[location->order[i]];
        if (message->stamp < floor)
            break;
        if (is_ordered && !order_allows(thread, operation->location, message, is_store))
            continue;
        if (is_store ? !message->taken : acceptable(message, operation))
            list[count++] = location->order[i];
    }
    return count;
}

/* Keeps only the messages that an equivalent, earlier branch did not have. */
uint32_t memory_only_fresh(const struct thread *thread, uint16_t *list, uint32_t count)
{
    if (!thread->asleep)
        return count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (list[i] >= thread->horizon)
            list[kept++] = list[i];
    return kept;
}

static bool acquires(enum model_order order)
{
    return order == MODEL_ACQUIRE || order == MODEL_ACQ_REL || order == MODEL_SEQ_CST;
}

static bool releases(enum model_order order)
{
    return order == MODEL_RELEASE || order == MODEL_ACQ_REL || order == MODEL_SEQ_CST;
}

static void read_message(struct thread *thread, const struct operation *operation,
                         enum model_order order, const struct message *message)
{
    const struct location *location = &engine.location[operation->location];
    if (message != &engine.message[location->order[location->count - 1]])
        thread->stale = true;
    view_raise(&thread->current, operation->location, message->stamp);
    view_raise(&thread->acquired, operation->location, message->stamp);
    view_join(&thread->acquired, &message->view);
    if (!acquires(order))
        return;
    uint32_t clock = engine.clock ? stamp_of(&thread->current, engine.clock - 1) : 0;
    view_join(&thread->current, &message->view);
    if (engine.clock != 0 && engine.clock <= thread->current.locations)
        thread->current.stamp[engine.clock - 1] = clock; /* until the next fence */
}

/* Inserts a store directly after `after` in modification order. `attached`: nothing may come
 * between. */
static struct message *write_message(struct thread *thread, const struct operation *operation,
                                     uint64_t value, uint32_t after, bool attached)
{
    struct location *location = &engine.location[operation->location];
    uint32_t place = 0;
    while (location->order[place] != after)
        place++;
    uint32_t stamp = engine.message[after].stamp;
    uint32_t limit = place + 1 < location->count ? engine.message[location->order[place + 1]].stamp
                                                 : stamp + 2 * STAMP_GAP;
    uint32_t chosen = attached ? stamp + 1 : stamp + (limit - stamp) / 2;
    if (location->count == HISTORY_MAX || chosen == stamp || chosen >= limit)
        model_fail("too many stores to one word for the explorer");
    uint32_t index = new_message(value, chosen);
    struct message *message = &engine.message[index];
    memmove(&location->order[place + 2], &location->order[place + 1],
            (location->count - place - 1) * sizeof location->order[0]);
    location->order[place + 1] = (uint16_t)index;
    location->count++;
    view_raise(&thread->current, operation->location, chosen);
    view_raise(&thread->acquired, operation->location, chosen);
    view_copy(&message->view, releases(operation->order) ? &thread->current : &thread->released);
    view_raise(&message->view, operation->location, chosen);
    const struct message *before = &engine.message[after];
    if (engine.c17_sequences && before->writer == engine.self && !before->mixed)
        view_join(&message->view, &before->view);
    thread->iteration_own++;
    thread->stores_are_visible = false;
    uint64_t bits = engine.message[location->order[location->count - 1]].value;
    memcpy(operation->request.cell, &bits, operation->request.size);
    return message;
}

static uint32_t pick(struct thread *thread, const struct operation *operation)
{
    uint16_t list[HISTORY_MAX];
    uint32_t count = memory_readable(thread, operation, list);
    if (operation->kind != MODEL_STORE)
        count = memory_only_fresh(thread, list, count);
    if (count == 0) {
        model_fail("the explorer has nothing to read");
        return engine.location[operation->location].order[0];
    }
    return list[search_choose(count)];
}

static uint64_t modify(struct thread *thread, struct operation *operation, struct message *read)
{
    uint64_t before = read->value;
    uint64_t after = operation->request.value;
    if (operation->kind == MODEL_ADD)
        after += before;
    if (operation->request.size == 4)
        after = (uint32_t)after;
    read_message(thread, operation, operation->order, read);
    struct message *made =
        write_message(thread, operation, after, (uint32_t)(read - engine.message), true);
    read->taken = true;
    made->mixed = read->mixed || read->writer != engine.self;
    view_join(&made->view, &read->view);
    report_event(operation, before, after, true, false);
    return before;
}

static uint64_t compare_and_swap(struct thread *thread, struct operation *operation,
                                 struct message *read)
{
    if (read->value == *operation->request.expected) {
        modify(thread, operation, read);
        return 1;
    }
    read_message(thread, operation, operation->failure, read);
    report_event(operation, read->value, 0, false, thread->stale);
    *operation->request.expected = read->value;
    return 0;
}

/* Executes one step: chooses which message it reads, or where its store goes. */
uint64_t memory_execute(struct thread *thread, struct operation *operation)
{
    uint32_t index = pick(thread, operation);
    struct message *message = &engine.message[index];
    bool writes = operation->kind == MODEL_STORE || operation->kind == MODEL_EXCHANGE ||
                  operation->kind == MODEL_ADD || operation->kind == MODEL_LOCK ||
                  (operation->kind == MODEL_CAS && message->value == *operation->request.expected);
    thread->current.clock[engine.self]++;
    thread->acquired.clock[engine.self]++;
    shadow_atomic(operation->unit, operation->request.size, writes, operation->request.site);
    uint64_t result = 0;
    if (operation->kind == MODEL_STORE) {
        const struct location *location = &engine.location[operation->location];
        bool last = index == location->order[location->count - 1];
        message = write_message(thread, operation, operation->request.value, index, false);
        report_event(operation, 0, operation->request.value, true, !last);
    } else if (operation->kind == MODEL_CAS) {
        result = compare_and_swap(thread, operation, message);
    } else if (writes) {
        result = modify(thread, operation, message);
    } else {
        const struct location *location = &engine.location[operation->location];
        bool last = index == location->order[location->count - 1];
        read_message(thread, operation, operation->order, message);
        result = message->value;
        report_event(operation, result, 0, false, !last);
    }
    if (operation->order == MODEL_SEQ_CST && !operation->is_private)
        order_add(thread, operation->location, message, writes);
    /* What this store has passed on does not cover later plain accesses. */
    thread->current.clock[engine.self]++;
    thread->acquired.clock[engine.self]++;
    return result;
}

void memory_barrier(struct thread *thread)
{
    view_join_stamps(&thread->acquired, &engine.fences);
    view_join(&thread->current, &thread->acquired);
    view_join_stamps(&engine.fences, &thread->current);
    view_copy(&thread->released, &thread->current);
    uint32_t self = (uint32_t)(thread - engine.thread);
    thread->current.clock[self]++;
    thread->acquired.clock[self]++;
}

/* Remembers what the waker knows: a later futex wait reads nothing older. */
void memory_wake(const struct thread *thread, uint32_t location)
{
    uint32_t known = stamp_of(&thread->current, location);
    if (engine.location[location].woken < known)
        engine.location[location].woken = known;
}

/* The same for a thread that the wake has woken. */
void memory_woken(struct thread *thread, uint32_t location)
{
    view_raise(&thread->current, location, engine.location[location].woken);
    view_raise(&thread->acquired, location, engine.location[location].woken);
}

/* Time has passed: all stores are visible. This does not synchronize. */
void memory_settle(struct thread *thread)
{
    for (uint32_t i = 0; i < engine.locations; i++) {
        const struct location *location = &engine.location[i];
        if (i + 1 == engine.clock)
            continue;
        uint32_t newest = engine.message[location->order[location->count - 1]].stamp;
        view_raise(&thread->current, i, newest);
        view_raise(&thread->acquired, i, newest);
    }
}

/* Before the threads start and after they end, there is no other thread to race with. */
uint64_t memory_direct(const struct model_request *request)
{
    uint64_t before = cell_value(request->cell, request->size);
    uint64_t after = before;
    uint64_t result = before;
    switch (request->site->kind) {
    case MODEL_STORE:
    case MODEL_EXCHANGE:
    case MODEL_LOCK:
        after = request->value;
        break;
    case MODEL_ADD:
        after = before + request->value;
        break;
    case MODEL_CAS:
        result = before == *request->expected;
        after = result != 0 ? request->value : before;
        *request->expected = before;
        break;
    default:
        break;
    }
    memcpy(request->cell, &after, request->size);
    return result;
}
