#include "functions.h"

#include "provider.h"
#include "text.h"

#include <lauxlib.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The description of a function for readers. Appended to the list and never changed or freed: the
 * rundown walks it on another thread while the script continues. */
struct function {
    uint64_t id;
    const char *name;
    const char *file;
    int32_t line;
    char kind[5];
    const void *code; /* of a C function that is in `described` */
    struct function *_Atomic next;
};

static struct function *_Atomic first_function;
static struct function *_Atomic *last_link = &first_function;
static uint64_t function_count;

/* The functions of one source by line: open addressing; an id of 0 is a free slot. */
struct line_id {
    int line;
    uint64_t id;
};

struct source {
    const void *place; /* NULL: a free slot */
    struct line_id *lines;
    size_t line_capacity; /* a power of two */
    size_t line_count;
};

static struct source *sources; /* open addressing, linear probing */
static size_t source_capacity; /* a power of two */
static size_t source_count;

/* Searched before the tables: most calls are found here. */
enum { CACHE_SLOTS = 2048 };
static struct {
    const void *place;
    int line;
    uint64_t id;
} cache[CACHE_SLOTS];

/* One bit per 16 bytes of address, folded: rules out most freed blocks as sources. */
enum { FILTER_BITS = 65536 };
static uint64_t filter[FILTER_BITS / 64];

/* Offsets from a string's block to its text: for short strings and for long ones. */
static size_t text_offsets[2];

static size_t hash(const void *place, int line)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)place >> 3) + (uint64_t)(unsigned int)line * 0x9e3779b1u;
    mixed *= 0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 32);
}

/* ---- The tables. ----------------------------------------------------------------------------- */

static struct source *source_slot(const void *place)
{
    size_t at = hash(place, 0) & (source_capacity - 1);
    while (sources[at].place != NULL && sources[at].place != place)
        at = (at + 1) & (source_capacity - 1);
    return &sources[at];
}

static bool sources_grow(void)
{
    struct source *old = sources;
    size_t old_capacity = source_capacity;
    size_t capacity = old_capacity != 0 ? 2 * old_capacity : 256;
    struct source *table = calloc(capacity, sizeof *table);
    if (table == NULL)
        return false;
    sources = table;
    source_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].place != NULL)
            *source_slot(old[i].place) = old[i];
    free(old);
    return true;
}

static struct source *source_take(const void *place)
{
    if (2 * source_count >= source_capacity && !sources_grow())
        return NULL;
    struct source *source = source_slot(place);
    if (source->place == NULL) {
        *source = (struct source){.place = place};
        source_count++;
        size_t bit = ((uintptr_t)place >> 4) % FILTER_BITS;
        filter[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
    return source;
}

static struct line_id *line_slot(const struct source *source, int line)
{
    size_t at = hash(NULL, line) & (source->line_capacity - 1);
    while (source->lines[at].id != 0 && source->lines[at].line != line)
        at = (at + 1) & (source->line_capacity - 1);
    return &source->lines[at];
}

static bool lines_grow(struct source *source)
{
    struct source grown = *source;
    grown.line_capacity = source->line_capacity != 0 ? 2 * source->line_capacity : 4;
    grown.lines = calloc(grown.line_capacity, sizeof *grown.lines);
    if (grown.lines == NULL)
        return false;
    for (size_t i = 0; i < source->line_capacity; i++)
        if (source->lines[i].id != 0)
            *line_slot(&grown, source->lines[i].line) = source->lines[i];
    free(source->lines);
    *source = grown;
    return true;
}

static struct line_id *line_take(struct source *source, int line)
{
    if (2 * source->line_count >= source->line_capacity && !lines_grow(source))
        return NULL;
    return line_slot(source, line);
}

/* Removes a source; those behind it move up, so that linear probing still finds them. */
static void source_remove(struct source *source)
{
    size_t mask = source_capacity - 1;
    size_t hole = (size_t)(source - sources);
    free(source->lines);
    sources[hole].place = NULL;
    for (size_t at = (hole + 1) & mask; sources[at].place != NULL; at = (at + 1) & mask) {
        size_t home = hash(sources[at].place, 0) & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        sources[hole] = sources[at];
        sources[at].place = NULL;
        hole = at;
    }
    source_count--;
}

static void source_forget(const void *place)
{
    if (source_capacity == 0)
        return;
    struct source *source = source_slot(place);
    if (source->place == NULL)
        return;
    for (size_t i = 0; i < source->line_capacity; i++) {
        size_t slot = hash(place, source->lines[i].line) % CACHE_SLOTS;
        if (cache[slot].place == place)
            cache[slot].place = NULL;
    }
    source_remove(source);
}

void functions_block_freed(const void *block)
{
    for (size_t i = 0; i < sizeof text_offsets / sizeof text_offsets[0]; i++) {
        const char *place = (const char *)block + text_offsets[i];
        size_t bit = ((uintptr_t)place >> 4) % FILTER_BITS;
        if ((filter[bit / 64] & UINT64_C(1) << (bit % 64)) != 0)
            source_forget(place);
        if (text_offsets[0] == text_offsets[1])
            return;
    }
}

void functions_forget(void)
{
    for (size_t i = 0; i < source_capacity; i++)
        if (sources[i].place != NULL)
            free(sources[i].lines);
    free(sources);
    sources = NULL;
    source_capacity = 0;
    source_count = 0;
    memset(cache, 0, sizeof cache);
    memset(filter, 0, sizeof filter);
}

/* ---- First call. ----------------------------------------------------------------------------- */

/* Finds the function on top of the stack in the loaded modules: "string.format", "print". Reads
 * tables raw and converts nothing, so the script cannot notice. */
static bool name_from_modules(struct text *name, lua_State *L)
{
    int function = lua_gettop(L);
    bool found = false;
    if (!lua_checkstack(L, 6))
        return false;
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (lua_pushnil(L); !found && lua_next(L, function + 1) != 0; lua_settop(L, function + 2)) {
        if (lua_type(L, -2) != LUA_TSTRING || !lua_istable(L, -1))
            continue;
        for (lua_pushnil(L); !found && lua_next(L, function + 3) != 0; lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING || !lua_rawequal(L, -1, function))
                continue;
            const char *module = lua_tostring(L, function + 2);
            struct text field;
            text_copy(&field, lua_tostring(L, -2), SIZE_MAX);
            text_copy(name, module, SIZE_MAX);
            bool global = strcmp(module, LUA_GNAME) == 0;
            size_t length = global ? 0 : strlen(name->bytes);
            if (length + strlen(field.bytes) + 2 > TEXT_BYTES_MAX)
                continue;
            if (!global)
                name->bytes[length++] = '.';
            strcpy(name->bytes + length, field.bytes);
            found = true;
        }
    }
    lua_settop(L, function);
    return found;
}

static void name_find(struct text *name, lua_State *L, lua_Debug *record)
{
    if (record->what[0] == 'm') {
        text_copy(name, "main chunk", SIZE_MAX);
        return;
    }
    if (record->what[0] == 'C') {
        lua_getinfo(L, "f", record);
        bool found = name_from_modules(name, L);
        lua_pop(L, 1);
        if (found)
            return;
    }
    lua_getinfo(L, "n", record);
    text_copy(name, record->name != NULL ? record->name : "?", SIZE_MAX);
}

static struct function *function_create(lua_State *L, lua_Debug *record)
{
    struct text name;
    struct text file;
    name_find(&name, L, record);
    text_from_source(&file, record->source, record->srclen);
    struct function *function = calloc(1, sizeof *function);
    char *name_copy = strdup(name.bytes);
    char *file_copy = strdup(file.bytes);
    if (function == NULL || name_copy == NULL || file_copy == NULL) {
        free(function);
        free(name_copy);
        free(file_copy);
        return NULL;
    }
    function->id = ++function_count;
    function->name = name_copy;
    function->file = file_copy;
    function->line = record->linedefined;
    strncpy(function->kind, record->what, sizeof function->kind - 1);
    return function;
}

/* Publishes the function: pairs with the acquire loads in functions_rundown(). */
static void function_append(struct function *function)
{
    atomic_store_explicit(last_link, function, memory_order_release);
    last_link = &function->next;
    WEIR_EMIT(Lua, Function, function->id, function->name, function->file, function->line,
              function->kind);
}

/* The entry for a function's number, created if needed; NULL without memory. */
static struct line_id *entry_take(const void *place, int line, struct source **source)
{
    *source = source_take(place);
    return *source != NULL ? line_take(*source, line) : NULL;
}

static uint64_t id_slow(lua_State *L, lua_Debug *record, const void *place)
{
    struct source *source;
    int line = record->linedefined;
    struct line_id *entry = entry_take(place, line, &source);
    if (entry == NULL || entry->id != 0)
        return entry != NULL ? entry->id : 0;
    struct function *function = function_create(L, record);
    if (function == NULL)
        return 0;
    /* Looked up again: finding the name may have grown Lua's stack, and an emergency collection for
     * that may have removed other sources. There is room now, so this cannot fail. */
    entry = entry_take(place, line, &source);
    *entry = (struct line_id){.line = line, .id = function->id};
    source->line_count++;
    function_append(function);
    return function->id;
}

/* Of a C function. */
static const void *code_of(lua_State *L, lua_Debug *record)
{
    const void *code;
    lua_getinfo(L, "f", record);
    lua_CFunction function = lua_tocfunction(L, -1);
    memcpy(&code, &function, sizeof code); /* ISO C has no cast for this */
    lua_pop(L, 1);
    return code;
}

uint64_t functions_id(lua_State *L, lua_Debug *record)
{
    lua_getinfo(L, "S", record);
    const void *place = record->what[0] == 'C' ? code_of(L, record) : record->source;
    size_t slot = hash(place, record->linedefined) % CACHE_SLOTS;
    if (cache[slot].place == place && cache[slot].line == record->linedefined)
        return cache[slot].id;
    uint64_t id = id_slow(L, record, place);
    if (id != 0) {
        cache[slot].place = place;
        cache[slot].line = record->linedefined;
        cache[slot].id = id;
    }
    return id;
}

/* ---- Functions by their description. --------------------------------------------------------- */

enum { DESCRIBED_MAX = 65536, DESCRIBED_SLOTS = 2 * DESCRIBED_MAX };

/* Open addressing, linear probing. */
static struct function *described[DESCRIBED_SLOTS];
static size_t described_count;

static struct function **described_slot(const char *file, int line, const void *code)
{
    size_t at = hash(code, line);
    for (const char *c = file; *c != '\0'; c++)
        at = at * 31 + (unsigned char)*c;
    at %= DESCRIBED_SLOTS;
    for (; described[at] != NULL; at = (at + 1) % DESCRIBED_SLOTS)
        if (described[at]->line == line && described[at]->code == code &&
            strcmp(described[at]->file, file) == 0)
            break;
    return &described[at];
}

uint64_t functions_id_described(lua_State *L, lua_Debug *record)
{
    struct text file;
    lua_getinfo(L, "S", record);
    const void *code = record->what[0] == 'C' ? code_of(L, record) : NULL;
    text_from_source(&file, record->source, record->srclen);
    struct function **slot = described_slot(file.bytes, record->linedefined, code);
    if (*slot != NULL)
        return (*slot)->id;
    struct function *function = described_count < DESCRIBED_MAX ? function_create(L, record) : NULL;
    if (function == NULL)
        return 0;
    function->code = code;
    *slot = function;
    described_count++;
    function_append(function);
    return function->id;
}

/* ---- Start and end. -------------------------------------------------------------------------- */

struct probe {
    lua_Alloc allocate;
    void *context;
    const char *block; /* of the first string that was created */
};

static void *probe_allocate(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    struct probe *probe = context;
    void *result = probe->allocate(probe->context, block, old_bytes, new_bytes);
    if (block == NULL && old_bytes == LUA_TSTRING && probe->block == NULL)
        probe->block = result;
    return result;
}

static size_t text_offset(lua_State *L, const char *text)
{
    struct probe probe = {.block = NULL};
    probe.allocate = lua_getallocf(L, &probe.context);
    lua_setallocf(L, probe_allocate, &probe);
    const char *place = lua_pushstring(L, text);
    lua_setallocf(L, probe.allocate, probe.context);
    size_t offset = probe.block != NULL ? (size_t)(place - probe.block) : 0;
    lua_pop(L, 1);
    return offset;
}

void functions_init(lua_State *L)
{
    text_offsets[0] = text_offset(L, "lua-host: a short string");
    text_offsets[1] = text_offset(L, "lua-host: a string that is too long for Lua to keep only one "
                                     "of its kind, as it does with short ones");
}

/* To .NET's tools, functions are what a runtime's jitted code is to them. */
#define RUNDOWN_FUNCTIONS 0x10

void functions_rundown(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    if ((rundown->keywords & RUNDOWN_FUNCTIONS) == 0)
        return;
    struct function *function = atomic_load_explicit(&first_function, memory_order_acquire);
    for (; function != NULL; function = atomic_load_explicit(&function->next, memory_order_acquire))
        Lua_Function(function->id, function->name, function->file, function->line, function->kind);
}
