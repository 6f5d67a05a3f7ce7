/* What a schema change means for programs that know the old one. Fields are found by their name and
 * place; events by provider and id, or by name where the id is 0. */
#include "schema.h"
#include "tool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct comparison {
    const struct wt_metadata *old, *now;
    wt_schema_note note;
    void *context;
    uint32_t *now_of; /* by the old field: where it is now, or NONE */
    uint32_t *old_of;
};

static void tell(const struct comparison *c, bool is_finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell(const struct comparison *c, bool is_finding, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    c->note(c->context, is_finding, c->now, text);
}

/* --- Types. ---------------------------------------------------------------------------------- */

/* A byte that is a boolean by its enum is the same as one by its type. */
static enum wt_type type_of(const struct wt_field *field)
{
    return field->is_bool ? WT_TYPE_BOOLEAN8 : field->type;
}

static bool same_type(const struct wt_field *a, const struct wt_field *b)
{
    if (type_of(a) != type_of(b) || a->count != b->count || a->field_count != b->field_count)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
            !same_type(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}

static bool same_values(const struct wt_field *a, const struct wt_field *b)
{
    uint32_t i = 0, j = 0;
    if (type_of(a) == WT_TYPE_BOOLEAN8)
        return true;
    for (; i < a->value_count && j < b->value_count; i++, j++) {
        while (i > 0 && i < a->value_count && a->values[i].value == a->values[i - 1].value)
            i++;
        while (j > 0 && j < b->value_count && b->values[j].value == b->values[j - 1].value)
            j++;
        if (i == a->value_count || j == b->value_count)
            break;
        if (a->values[i].value != b->values[j].value ||
            strcmp(a->values[i].name, b->values[j].name) != 0)
            return false;
    }
    return i >= a->value_count && j >= b->value_count;
}

/* "uint32", "array of string", "fixedarray[4] of byte", "object {a: int32, b: string}"; cut off
 * where `out` ends. */
static void type_text(const struct wt_field *field, char *out, size_t size)
{
    char name[24];
    wt_schema_type_name(field, name);
    size_t used = (size_t)snprintf(out, size, "%s", name);
    if (field->type == WT_TYPE_FIXED_ARRAY && used + 1 < size)
        used += (size_t)snprintf(out + used, size - used, "[%" PRIu32 "]", field->count);
    for (uint32_t i = 0; i < field->field_count && used + 1 < size; i++) {
        const struct wt_field *part = &field->fields[i];
        const char *before = field->type != WT_TYPE_OBJECT ? " of " : i ? ", " : " {";
        used += (size_t)snprintf(out + used, size - used, "%s%.40s%s", before, part->name,
                                 field->type != WT_TYPE_OBJECT ? "" : ": ");
        if (used + 1 >= size)
            return;
        type_text(part, out + used, size - used);
        used += strlen(out + used);
    }
    if (field->type == WT_TYPE_OBJECT && used + 1 < size)
        snprintf(out + used, size - used, "%s", field->field_count ? "}" : " {}");
}

/* --- Fields. --------------------------------------------------------------------------------- */

/* The first field of that name without a partner; usually it is at the old place. */
static uint32_t find_now(const struct comparison *c, uint32_t old)
{
    const struct wt_metadata *now = c->now;
    const char *name = c->old->fields[old].name;
    if (old < now->field_count && c->old_of[old] == NONE &&
        strcmp(name, now->fields[old].name) == 0)
        return old;
    for (uint32_t j = 0; j < now->field_count; j++)
        if (c->old_of[j] == NONE && strcmp(name, now->fields[j].name) == 0)
            return j;
    return NONE;
}

/* By name. Then, a field of another name in the same place with the same type is the same field. */
static void match(struct comparison *c)
{
    const struct wt_metadata *old = c->old, *now = c->now;
    for (uint32_t j = 0; j < now->field_count; j++)
        c->old_of[j] = NONE;
    for (uint32_t i = 0; i < old->field_count; i++) {
        c->now_of[i] = find_now(c, i);
        if (c->now_of[i] != NONE)
            c->old_of[c->now_of[i]] = i;
    }
    for (uint32_t i = 0; i < old->field_count && i < now->field_count; i++)
        if (c->now_of[i] == NONE && c->old_of[i] == NONE &&
            same_type(&old->fields[i], &now->fields[i]))
            c->now_of[i] = c->old_of[i] = i;
}

static void compare_field(const struct comparison *c, const struct wt_field *old,
                          const struct wt_field *now)
{
    char was[160], is[160];
    if (strcmp(old->name, now->name) != 0)
        tell(c, true, "field %.60s was renamed to %.60s", old->name, now->name);
    if (!same_type(old, now)) {
        type_text(old, was, sizeof(was));
        type_text(now, is, sizeof(is));
        tell(c, true, "field %.60s changed from %s to %s", now->name, was, is);
    } else if (!same_values(old, now)) {
        tell(c, false, "the values of field %.60s have other names", now->name);
    }
}

/* The fields that stay are in another order if one comes before its predecessor. */
static void compare_order(const struct comparison *c)
{
    uint32_t last = NONE;
    for (uint32_t i = 0; i < c->old->field_count; i++) {
        uint32_t at = c->now_of[i];
        if (at == NONE)
            continue;
        if (last != NONE && at < last)
            tell(c, true, "field %.60s moved before %.60s", c->now->fields[at].name,
                 c->now->fields[last].name);
        else
            last = at;
    }
}

static void find_added(const struct comparison *c)
{
    const struct wt_metadata *now = c->now;
    for (uint32_t j = 0; j < now->field_count; j++) {
        if (c->old_of[j] != NONE)
            continue;
        uint32_t next = j + 1;
        while (next < now->field_count && c->old_of[next] == NONE)
            next++;
        if (next < now->field_count)
            tell(c, true, "field %.60s was added before %.60s", now->fields[j].name,
                 now->fields[next].name);
        else if (c->old->raw_name)
            tell(c, true, "field %.60s was added before the raw bytes", now->fields[j].name);
        else
            tell(c, false, "field %.60s was added at the end", now->fields[j].name);
    }
}

static void compare_fields(struct comparison *c)
{
    size_t old_capacity = 0, now_capacity = 0;
    c->now_of = wt_grow(NULL, &old_capacity, (size_t)c->old->field_count + 1, sizeof(uint32_t));
    c->old_of = wt_grow(NULL, &now_capacity, (size_t)c->now->field_count + 1, sizeof(uint32_t));
    match(c);
    for (uint32_t i = 0; i < c->old->field_count; i++) {
        if (c->now_of[i] == NONE)
            tell(c, true, "field %.60s went away", c->old->fields[i].name);
        else
            compare_field(c, &c->old->fields[i], &c->now->fields[c->now_of[i]]);
    }
    compare_order(c);
    find_added(c);
    free(c->now_of);
    free(c->old_of);
}

/* They are all that is left of the payload. */
static void compare_raw(const struct comparison *c)
{
    const char *old = c->old->raw_name, *now = c->now->raw_name;
    if (old && !now)
        tell(c, true, "raw bytes %.60s went away", old);
    else if (!old && now)
        tell(c, false, "raw bytes %.60s were added at the end", now);
    else if (old && strcmp(old, now) != 0)
        tell(c, true, "raw bytes %.60s were renamed to %.60s", old, now);
}

void wt_schema_compare_event(const struct wt_metadata *old, const struct wt_metadata *now,
                             wt_schema_note note, void *context)
{
    struct comparison c = {old, now, note, context, NULL, NULL};
    compare_fields(&c);
    compare_raw(&c);
    if (strcmp(old->event_name, now->event_name) != 0)
        tell(&c, false, "was called %.100s", old->event_name);
    if (old->level != now->level)
        tell(&c, false, "has level %" PRId32 " instead of %" PRId32, now->level, old->level);
    if (old->keywords != now->keywords)
        tell(&c, false, "has keywords 0x%" PRIx64 " instead of 0x%" PRIx64, now->keywords,
             old->keywords);
    if (old->has_opcode != now->has_opcode || (old->has_opcode && old->opcode != now->opcode))
        tell(&c, false, "has another opcode");
}

/* --- Events. --------------------------------------------------------------------------------- */

static bool is_same_event(const struct wt_metadata *a, const struct wt_metadata *b)
{
    return a->event_id == b->event_id && strcmp(a->provider_name, b->provider_name) == 0 &&
           (a->event_id != 0 || strcmp(a->event_name, b->event_name) == 0);
}

/* The same event with that version, otherwise with the highest one; NULL if there is none. */
static const struct wt_metadata *find(const struct wt_schema *schema,
                                      const struct wt_metadata *event)
{
    const struct wt_metadata *found = NULL;
    size_t first = 0, end = schema->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const struct wt_metadata *at = schema->events[middle];
        int order = strcmp(at->provider_name, event->provider_name);
        if (order < 0 || (order == 0 && at->event_id < event->event_id))
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < schema->count && schema->events[first]->event_id == event->event_id; first++) {
        if (!is_same_event(schema->events[first], event))
            continue;
        found = schema->events[first];
        if (found->version == event->version)
            break;
    }
    return found;
}

static void compare_old(const struct wt_metadata *old, const struct wt_schema *now,
                        wt_schema_note note, void *context)
{
    char text[120];
    const struct wt_metadata *found = find(now, old);
    if (!found) {
        note(context, true, old, "is gone");
    } else if (found->version == old->version) {
        wt_schema_compare_event(old, found, note, context);
    } else {
        snprintf(text, sizeof(text), "version %" PRId32 " gave way to version %" PRId32,
                 old->version, found->version);
        note(context, found->version < old->version, found, text);
    }
}

void wt_schema_compare(const struct wt_schema *old, const struct wt_schema *now,
                       wt_schema_note note, void *context)
{
    for (size_t i = 0; i < old->count; i++)
        compare_old(old->events[i], now, note, context);
    for (size_t i = 0; i < now->count; i++) {
        const struct wt_metadata *found = find(old, now->events[i]);
        if (!found || found->version != now->events[i]->version)
            note(context, false, now->events[i], found ? "is a new version" : "is new");
    }
}
