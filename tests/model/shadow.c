/*
 * Detects races on plain bytes with vector clocks (FastTrack without its compression: models are
 * small). Two accesses race if they touch the same unit of four bytes, at least one of them writes,
 * at least one is plain, and neither happens before the other. Single bytes (such as two
 * neighbouring bools) have separate shadows; an access to the whole unit touches all of them.
 */
#include "engine.h"

#include <stddef.h>
#include <string.h>

struct shadow {
    uint64_t execution; /* if not the current one, the rest is stale */
    bool freed;
    bool is_split; /* some access touched a single byte */
    uint32_t writer;
    uint32_t write_clock; /* 0: never written */
    uint32_t read_clock[MODEL_THREADS_MAX];
    uint32_t atomic_read_clock[MODEL_THREADS_MAX];
    uint32_t atomic_write_clock[MODEL_THREADS_MAX];
    uint32_t last_clock[MODEL_THREADS_MAX]; /* the latest of these three */
    /* Of the accesses whose clocks are not 0; begin_execution() leaves them as they are. */
    const struct model_site *write_site;
    const struct model_site *read_site[MODEL_THREADS_MAX];
    const struct model_site *atomic_site[MODEL_THREADS_MAX];
};

#define FREED_MAX 16u

static struct shadow shadows[ARENA_UNITS];
static struct shadow byte_shadows[ARENA_BYTES];

/* Of this execution. */
static uint32_t touched[ARENA_UNITS]; /* units */
static uint32_t touched_count;
static struct {
    uint32_t first, last; /* units */
} freed[FREED_MAX];
static uint32_t freed_count;

void shadow_reset(void)
{
    touched_count = freed_count = 0;
}

static bool is_freed(uint32_t unit)
{
    for (uint32_t i = 0; i < freed_count; i++)
        if (unit >= freed[i].first && unit <= freed[i].last)
            return true;
    return false;
}

static void begin_execution(struct shadow *shadow)
{
    memset(shadow, 0, offsetof(struct shadow, write_site));
    shadow->execution = engine.execution;
}

static inline struct shadow *shadow_at(uint32_t unit)
{
    struct shadow *shadow = &shadows[unit];
    if (shadow->execution != engine.execution) {
        begin_execution(shadow);
        shadow->freed = is_freed(unit);
        touched[touched_count++] = unit;
    }
    return shadow;
}

static struct shadow *byte_shadow_at(uint32_t offset)
{
    struct shadow *shadow = &byte_shadows[offset];
    if (shadow->execution != engine.execution)
        begin_execution(shadow);
    return shadow;
}

static void report_race(const struct model_site *site, const struct model_site *other,
                        uint32_t other_thread, uint32_t unit)
{
    model_fail("data race on %s: thread %u at %s, thread %u at %s", report_name(unit), engine.self,
               model_site_text(site), other_thread, other ? model_site_text(other) : "?");
}

static bool ordered(uint32_t thread, uint32_t clock)
{
    return engine.thread[engine.self].current.clock[thread] >= clock;
}

/* All of them; a thread's own clock never is ahead. */
static inline bool all_ordered(const uint32_t *clocks)
{
    const uint32_t *known = engine.thread[engine.self].current.clock;
    uint32_t ahead = 0;
    for (uint32_t i = 0; i < MODEL_THREADS_MAX; i++)
        ahead |= clocks[i] > known[i];
    return ahead == 0;
}

/* Does an access at `site` race with what `clocks` say that others did? */
static inline void check_others(const struct model_site *site, const uint32_t *clocks,
                                const struct model_site *const *sites, uint32_t unit)
{
    if (all_ordered(clocks))
        return;
    for (uint32_t i = 0; i < engine.threads; i++)
        if (!ordered(i, clocks[i]))
            report_race(site, sites[i], i, unit);
}

static inline void check_writer(const struct shadow *shadow, const struct model_site *site,
                                uint32_t unit)
{
    if (shadow->freed)
        model_fail("use after free of %s: thread %u at %s", report_name(unit), engine.self,
                   model_site_text(site));
    if (!ordered(shadow->writer, shadow->write_clock))
        report_race(site, shadow->write_site, shadow->writer, unit);
}

static inline void check_write(const struct shadow *shadow, const struct model_site *site,
                               uint32_t unit)
{
    check_writer(shadow, site, unit);
    if (all_ordered(shadow->last_clock))
        return;
    check_others(site, shadow->read_clock, shadow->read_site, unit);
    check_others(site, shadow->atomic_read_clock, shadow->atomic_site, unit);
    check_others(site, shadow->atomic_write_clock, shadow->atomic_site, unit);
}

static inline void check_read(const struct shadow *shadow, const struct model_site *site,
                              uint32_t unit)
{
    check_writer(shadow, site, unit);
    check_others(site, shadow->atomic_write_clock, shadow->atomic_site, unit);
}

static void plain_write(struct shadow *shadow, const struct model_site *site, uint32_t unit)
{
    check_write(shadow, site, unit);
    shadow->writer = engine.self;
    shadow->write_clock = engine.thread[engine.self].current.clock[engine.self];
    shadow->write_site = site;
}

static void plain_read(struct shadow *shadow, const struct model_site *site, uint32_t unit)
{
    check_read(shadow, site, unit);
    shadow->read_clock[engine.self] = shadow->last_clock[engine.self] =
        engine.thread[engine.self].current.clock[engine.self];
    shadow->read_site[engine.self] = site;
}

void shadow_atomic(uint32_t unit, uint32_t size, bool writes, const struct model_site *site)
{
    uint32_t clock = engine.thread[engine.self].current.clock[engine.self];
    for (uint32_t i = unit; i < unit + size / ARENA_UNIT; i++) {
        struct shadow *shadow = shadow_at(i);
        check_writer(shadow, site, i);
        if (writes)
            check_others(site, shadow->read_clock, shadow->read_site, i);
        if (writes)
            shadow->atomic_write_clock[engine.self] = clock;
        else
            shadow->atomic_read_clock[engine.self] = clock;
        shadow->last_clock[engine.self] = clock;
        shadow->atomic_site[engine.self] = site;
    }
}

static struct model_site free_site = {.file = "free", .kind = MODEL_DATA_WRITE};

/* Has this thread done the same since it last learned or passed on anything? Who came between was
 * compared with that. */
static inline bool is_repeated(const struct shadow *shadow, bool writes)
{
    uint32_t clock = engine.thread[engine.self].current.clock[engine.self];
    if (shadow->freed)
        return false;
    return (shadow->writer == engine.self && shadow->write_clock == clock) ||
           (!writes && shadow->read_clock[engine.self] == clock);
}

static void access_unit(const struct model_site *site, uint32_t unit, bool writes)
{
    struct shadow *shadow = shadow_at(unit);
    if (!shadow->is_split && is_repeated(shadow, writes))
        return;
    if (writes)
        plain_write(shadow, site, unit);
    else
        plain_read(shadow, site, unit);
    for (uint32_t i = 0; shadow->is_split && i < ARENA_UNIT; i++) {
        const struct shadow *byte = byte_shadow_at(unit * ARENA_UNIT + i);
        if (writes)
            check_write(byte, site, unit);
        else
            check_read(byte, site, unit);
    }
}

static void access_byte(const struct model_site *site, uint32_t offset, bool writes)
{
    struct shadow *unit = shadow_at(offset / ARENA_UNIT);
    struct shadow *own = byte_shadow_at(offset);
    unit->is_split = true;
    if (!unit->freed && is_repeated(own, writes))
        return;
    if (writes) {
        check_write(unit, site, offset / ARENA_UNIT);
        plain_write(own, site, offset / ARENA_UNIT);
    } else {
        check_read(unit, site, offset / ARENA_UNIT);
        plain_read(own, site, offset / ARENA_UNIT);
    }
}

void shadow_plain(const struct model_site *site, uint32_t offset, uint32_t count, bool writes)
{
    if (count == 1) {
        access_byte(site, offset, writes);
        return;
    }
    uint32_t last = (offset + count - 1) / ARENA_UNIT;
    for (uint32_t unit = offset / ARENA_UNIT; unit <= last; unit++)
        access_unit(site, unit, writes);
}

void model_count_at(struct model_site *site, const void *word, uint32_t size)
{
    if (engine.running && model_owns(word))
        shadow_atomic(memory_unit(word), size, true, site);
}

void model_data_at(struct model_site *site, const void *bytes, uint32_t count)
{
    report_register(site);
    uint32_t offset = count > 0 && engine.running ? memory_offset(bytes) : ARENA_BYTES;
    if (offset != ARENA_BYTES)
        shadow_plain(site, offset, count, site->kind == MODEL_DATA_WRITE);
}

/* Reports a race with every earlier access to the bytes that does not happen before this call. */
void model_free(const void *bytes, uint32_t count)
{
    if (!engine.running)
        return;
    uint32_t first = memory_unit(bytes), last = memory_unit((const char *)bytes + count - 1);
    for (uint32_t i = 0; i < touched_count; i++) {
        if (touched[i] < first || touched[i] > last)
            continue;
        access_unit(&free_site, touched[i], true);
        shadow_at(touched[i])->freed = true;
    }
    if (freed_count == FREED_MAX)
        model_fail("too many frees for the explorer");
    freed[freed_count].first = first;
    freed[freed_count++].last = last;
}
