#include "heap_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a key, a type or a name. */
struct entry {
    const void *what; /* NULL: free */
    int number;
    uint64_t type; /* 0: none */
    char *name;    /* NULL: none */
};

struct table {
    struct entry *entries;
    size_t count, used;
};

struct heap_types {
    struct weir_heap_graph *graph;
    struct table types, names;
    uint64_t last_type;
};

/* --- Tables. --------------------------------------------------------------------------------- */

static struct entry *entry_of(const struct table *table, const void *what, int number)
{
    uint64_t hash = ((uintptr_t)what + (unsigned)number) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t at = (size_t)(hash >> 32);; at++) {
        struct entry *entry = &table->entries[at & (table->count - 1)];
        if (entry->what == NULL || (entry->what == what && entry->number == number))
            return entry;
    }
}

static bool table_grow(struct table *table)
{
    struct table larger = {.count = table->count != 0 ? 2 * table->count : 256};
    larger.entries = calloc(larger.count, sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    larger.used = table->used;
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].what != NULL)
            *entry_of(&larger, table->entries[i].what, table->entries[i].number) =
                table->entries[i];
    free(table->entries);
    *table = larger;
    return true;
}

static const struct entry *find(const struct table *table, const void *what, int number)
{
    return table->count != 0 ? entry_of(table, what, number) : NULL;
}

/* NULL if there is no memory. */
static struct entry *add(struct table *table, const void *what, int number)
{
    if (table->used >= table->count / 2 && !table_grow(table))
        return NULL;
    struct entry *entry = entry_of(table, what, number);
    if (entry->what == NULL)
        table->used++;
    entry->what = what;
    entry->number = number;
    return entry;
}

static void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->entries[i].name);
    free(table->entries);
}

/* --- Names. ---------------------------------------------------------------------------------- */

struct heap_types *heap_types_create(struct weir_heap_graph *graph)
{
    struct heap_types *types = calloc(1, sizeof *types);
    if (types != NULL)
        types->graph = graph;
    return types;
}

void heap_types_destroy(struct heap_types *types)
{
    if (types == NULL)
        return;
    table_free(&types->types);
    table_free(&types->names);
    free(types);
}

void heap_types_name(struct heap_types *types, const void *table, const char *owner,
                     const char *name)
{
    struct entry *entry = add(&types->names, table, 0);
    if (entry == NULL || entry->name != NULL)
        return;
    size_t bytes = strlen(owner) + strlen(name) + 2;
    entry->name = malloc(bytes);
    if (entry->name != NULL)
        snprintf(entry->name, bytes, "%s%s%s", owner, *owner != '\0' ? "." : "", name);
}

const char *heap_types_name_of(const struct heap_types *types, const void *table)
{
    const struct entry *entry = find(&types->names, table, 0);
    return entry != NULL ? entry->name : NULL;
}

/* --- Types. ---------------------------------------------------------------------------------- */

uint64_t heap_types_known(const struct heap_types *types, const void *what, int number)
{
    const struct entry *entry = find(&types->types, what, number);
    return entry != NULL ? entry->type : 0;
}

static uint64_t tell(struct heap_types *types, const void *what, int number, const char *name,
                     uint64_t module)
{
    struct entry *entry = add(&types->types, what, number);
    if (entry == NULL) {
        weir_heap_fail(types->graph, "not enough memory for the names of types");
        return 0;
    }
    entry->type = types->last_type += 8; /* the low bits are free */
    weir_heap_type(types->graph, entry->type, name, module, 0);
    return entry->type;
}

uint64_t heap_types_of(struct heap_types *types, const void *what, int number, const char *name)
{
    uint64_t type = heap_types_known(types, what, number);
    return type != 0 ? type : tell(types, what, number, name, 0);
}

/* The number of a file, the same in each walk of a process: snapshots that overlap share the list of
 * modules. */
static uint64_t number_of(const char *path)
{
    uint64_t number = UINT64_C(0xCBF29CE484222325);
    for (; *path != '\0'; path++)
        number = (number ^ (unsigned char)*path) * UINT64_C(0x100000001B3);
    return number << 3 | 8; /* FNV-1a, with the low bits free, and not 0 */
}

/* 0: the source is no file. */
static uint64_t module_of(struct heap_types *types, const char *source)
{
    struct entry *entry = add(&types->names, source, -1);
    if (*source != '@' || entry == NULL)
        return 0;
    if (entry->type == 0) {
        entry->type = number_of(source + 1);
        weir_heap_module(types->graph, entry->type, source + 1);
    }
    return entry->type;
}

uint64_t heap_types_of_function(struct heap_types *types, const lua_Debug *record)
{
    char name[LUA_IDSIZE + 32];
    uint64_t type = heap_types_known(types, record->source, record->linedefined);
    if (type != 0)
        return type;
    snprintf(name, sizeof name, "function %s:%d", record->short_src, record->linedefined);
    return tell(types, record->source, record->linedefined, name, module_of(types, record->source));
}
