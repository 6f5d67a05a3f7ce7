/* In place of ck's hash set, which the registry uses under its lock: a few entries in a row. */
#ifndef MODEL_CK_HS_H
#define MODEL_CK_HS_H

#include <stdbool.h>
#include <stddef.h>

#define CK_HS_MODE_SPMC   0
#define CK_HS_MODE_OBJECT 0
#define CK_HS_ENTRIES     4

struct ck_malloc {
    void *(*malloc)(size_t bytes);
    void (*free)(void *memory, size_t bytes, bool defer);
};

typedef struct {
    bool (*same)(const void *a, const void *b);
    void *entries[CK_HS_ENTRIES];
} ck_hs_t;

#define CK_HS_HASH(set, hash, key) hash(key, 0)

static inline bool ck_hs_init(ck_hs_t *set, unsigned mode,
                              unsigned long (*hash)(const void *entry, unsigned long seed),
                              bool (*same)(const void *a, const void *b),
                              const struct ck_malloc *allocator, unsigned long capacity,
                              unsigned long seed)
{
    (void)mode;
    (void)hash;
    (void)allocator;
    (void)capacity;
    (void)seed;
    set->same = same;
    return true;
}

static inline void **ck_hs_find(ck_hs_t *set, const void *key)
{
    for (int i = 0; i < CK_HS_ENTRIES; i++)
        if (set->entries[i] && set->same(set->entries[i], key))
            return &set->entries[i];
    return NULL;
}

static inline void *ck_hs_get(ck_hs_t *set, unsigned long hash, const void *key)
{
    void **found = ck_hs_find(set, key);
    (void)hash;
    return found ? *found : NULL;
}

static inline bool ck_hs_put(ck_hs_t *set, unsigned long hash, void *entry)
{
    int at = 0;
    (void)hash;
    while (at < CK_HS_ENTRIES && set->entries[at])
        at++;
    if (at < CK_HS_ENTRIES)
        set->entries[at] = entry;
    return at < CK_HS_ENTRIES;
}

static inline void *ck_hs_remove(ck_hs_t *set, unsigned long hash, const void *key)
{
    void **found = ck_hs_find(set, key), *entry = found ? *found : NULL;
    (void)hash;
    if (found)
        *found = NULL;
    return entry;
}

#endif
