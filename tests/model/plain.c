/*
 * Checks every plain access in the product's sources for races. The sources are compiled with
 * ThreadSanitizer's instrumentation, and this file replaces the runtime functions that it calls. So
 * a plain field on both sides of an edge is checked without a mark in the source.
 *
 * Bytes outside the model's memory (stacks, constants) are ignored. Calls of memset and memcpy are
 * not instrumented; the model marks the few that touch shared bytes.
 */
#include "engine.h"

#define SITES_MAX 4096u /* far more than the product has */

extern const char __executable_start;

/* Where in the product: reported as "plain:N", for `addr2line -e PROGRAM $(printf %x N)`. */
static inline const struct model_site *site_of(const char *from, bool writes)
{
    static struct model_site sites[SITES_MAX];
    int line = (int)(from - &__executable_start);
    uint32_t at = (uint32_t)line * 2654435761u / (UINT32_MAX / SITES_MAX + 1);
    while (sites[at].line != line && sites[at].line != 0)
        at = (at + 1) % SITES_MAX;
    sites[at].file = "plain";
    sites[at].line = line;
    sites[at].kind = writes ? MODEL_DATA_WRITE : MODEL_DATA_READ;
    return &sites[at];
}

static inline void access_at(const void *bytes, uint32_t count, const void *from, bool writes)
{
    uint32_t offset = engine.running && count > 0 ? memory_offset(bytes) : ARENA_BYTES;
    if (offset != ARENA_BYTES) /* else private to a thread: nothing to race with */
        shadow_plain(site_of(from, writes), offset, count, writes);
}

#define ACCESSES(size)                                              \
    void __tsan_read##size(void *bytes);                            \
    void __tsan_write##size(void *bytes);                           \
    void __tsan_unaligned_read##size(void *bytes);                  \
    void __tsan_unaligned_write##size(void *bytes);                 \
    void __tsan_read##size(void *bytes)                             \
    {                                                               \
        access_at(bytes, size, __builtin_return_address(0), false); \
    }                                                               \
    void __tsan_write##size(void *bytes)                            \
    {                                                               \
        access_at(bytes, size, __builtin_return_address(0), true);  \
    }                                                               \
    void __tsan_unaligned_read##size(void *bytes)                   \
    {                                                               \
        access_at(bytes, size, __builtin_return_address(0), false); \
    }                                                               \
    void __tsan_unaligned_write##size(void *bytes)                  \
    {                                                               \
        access_at(bytes, size, __builtin_return_address(0), true);  \
    }

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *bytes, unsigned long count);
void __tsan_write_range(void *bytes, unsigned long count);
void __tsan_init(void);
void __tsan_func_entry(void *from);
void __tsan_func_exit(void);

void __tsan_read_range(void *bytes, unsigned long count)
{
    access_at(bytes, (uint32_t)count, __builtin_return_address(0), false);
}

void __tsan_write_range(void *bytes, unsigned long count)
{
    access_at(bytes, (uint32_t)count, __builtin_return_address(0), true);
}

/* A host tests an event's word this way: a hint. */
uint64_t __tsan_atomic64_load(const volatile uint64_t *word, int order);
uint64_t __tsan_atomic64_load(const volatile uint64_t *word, int order)
{
    (void)order;
    return *word;
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *from)
{
    (void)from;
}

void __tsan_func_exit(void)
{
}
