/* Names for the values of fields and for raw bytes, from the events Weir/Enum, and of threads. */
#include "reader_impl.h"
#include "fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NAME_CAPACITY 1024u /* of a provider or a field: its names have at most 255 bytes */

static bool get(const struct wt_event *event, const char *name, enum wt_type type,
                struct wt_value *value)
{
    const struct wt_metadata *metadata = event->metadata;
    int index = wt_field_index(metadata, name);
    return index >= 0 && metadata->fields[index].type == type &&
           wt_field_get(metadata, index, event->payload, event->payload_size, value);
}

static bool get_name(const struct wt_event *event, const char *name, char text[NAME_CAPACITY])
{
    struct wt_value value;
    if (!get(event, name, WT_TYPE_STRING, &value))
        return false;
    wt_utf16_to_utf8(value.bytes, value.size, text, NAME_CAPACITY);
    return true;
}

/* Between a definition and its names there is at most the definition of Weir/Enum itself. */
#define DEFINITIONS_BETWEEN 4u

/* The latest definition. */
static const struct wt_metadata *definition_of(const struct wt_reader *reader,
                                               const struct wt_event *event)
{
    char provider[NAME_CAPACITY];
    struct wt_value id, version;
    if (!get_name(event, "Provider", provider) || !get(event, "EventId", WT_TYPE_UINT32, &id) ||
        !get(event, "Version", WT_TYPE_UINT32, &version))
        return NULL;
    uint32_t count = reader->metadata_count;
    for (uint32_t i = count; i-- > 0 && count - i <= DEFINITIONS_BETWEEN;) {
        const struct wt_metadata *metadata = reader->metadata[i];
        if ((uint32_t)metadata->event_id == id.as.u &&
            (uint32_t)metadata->version == version.as.u &&
            strcmp(metadata->provider_name, provider) == 0)
            return metadata;
    }
    return NULL;
}

/* The reader owns the fields; they are const only for callers. */
static struct wt_field *field_of(const struct wt_reader *reader, const struct wt_event *event)
{
    char name[NAME_CAPACITY];
    const struct wt_metadata *metadata = definition_of(reader, event);
    int index = metadata && get_name(event, "Field", name) ? wt_field_index(metadata, name) : -1;
    if (index < 0)
        return NULL;
    struct wt_field *field = (struct wt_field *)(uintptr_t)&metadata->fields[index];
    bool is_integer = (field->type >= WT_TYPE_SBYTE && field->type <= WT_TYPE_UINT64) ||
                      field->type == WT_TYPE_VAR_INT || field->type == WT_TYPE_VAR_UINT;
    return is_integer ? field : NULL;
}

/* "number=name;number=name", of which it makes zero-terminated names. */
static bool parse(char *text, struct wt_named_value *values, uint32_t *count)
{
    for (*count = 0; *text; ++*count) {
        struct wt_named_value *named = &values[*count];
        char *end;
        errno = 0;
        named->value = (uint64_t)strtoll(text, &end, 10);
        if (errno || end == text || *end != '=')
            return false;
        named->name = end + 1;
        text = end + 1 + strcspn(end + 1, ";");
        if (*text)
            *text++ = '\0';
    }
    return true;
}

/* Of names: each has one of these, at least. */
static uint32_t count_of(const char *text)
{
    uint32_t count = 0;
    while ((text = strchr(text, '=')))
        text++, count++;
    return count;
}

/* By number in the field's width; of the same number, the first in the text. */
static int compare(const void *a, const void *b)
{
    const struct wt_named_value *one = a, *other = b;
    if (one->value != other->value)
        return one->value < other->value ? -1 : 1;
    return (one->name > other->name) - (one->name < other->name);
}

static void sort(struct wt_named_value *values, uint32_t count, const struct wt_field *field)
{
    for (uint32_t i = 0; i < count; i++)
        values[i].value &= wt_field_mask(field);
    qsort(values, count, sizeof *values, compare);
}

/* False: the values do not parse. Then, and without memory, the field stays a number for good. */
static bool name_values(struct wt_reader *reader, const struct wt_value *values,
                        struct wt_field *field)
{
    static const struct wt_named_value none;
    size_t needed = wt_utf16_to_utf8(values->bytes, values->size, NULL, 0) + 1;
    field->values = &none;
    char *text = wt_arena_take(&reader->metadata_arena, needed);
    if (!text)
        return true;
    wt_utf16_to_utf8(values->bytes, values->size, text, needed);
    struct wt_named_value *named =
        wt_arena_take(&reader->metadata_arena, (count_of(text) + 1) * sizeof(*named));
    uint32_t count;
    if (!named)
        return true;
    if (!parse(text, named, &count))
        return false;
    sort(named, count, field);
    field->values = named;
    field->value_count = count;
    return true;
}

/* --- Threads. -------------------------------------------------------------------------------- */

#define THREAD_NAME_CAPACITY (3u * 47 + 1) /* 47 bytes that were no UTF-8 are as many U+FFFD */

static struct wt_thread *thread_of(const struct wt_reader *reader, const struct wt_event *event)
{
    struct wt_value capture;
    return get(event, "CaptureThread", WT_TYPE_UINT64, &capture)
               ? wt_thread_find(reader, capture.as.u)
               : NULL;
}

/* Without memory the thread keeps the name that it had. */
static void name_thread(struct wt_reader *reader, const struct wt_event *event)
{
    struct wt_value name;
    struct wt_thread *thread = thread_of(reader, event);
    if (!thread || !get(event, "Name", WT_TYPE_STRING, &name) || name.size == 0 ||
        wt_utf16_to_utf8(name.bytes, name.size, NULL, 0) >= THREAD_NAME_CAPACITY) {
        if (reader->window.passed == 0) /* the thread may be in a block that was passed over */
            wt_tell(
                reader, WT_RULE_NAME_EVENT, event->offset,
                "Weir/ThreadName names no thread that was introduced before it, or it has no name, "
                "or one that is too long");
        return;
    }
    if (!thread->name_buffer)
        thread->name_buffer = malloc(THREAD_NAME_CAPACITY);
    if (!thread->name_buffer)
        return;
    wt_utf16_to_utf8(name.bytes, name.size, thread->name_buffer, THREAD_NAME_CAPACITY);
    thread->name = thread->name_buffer;
}

/* --- Events. --------------------------------------------------------------------------------- */

/* The enum `raw`, without values, names no field but the bytes behind the fields. False: the event
 * does not. Without memory they have no name. */
static bool name_raw(struct wt_reader *reader, const struct wt_event *event)
{
    char name[NAME_CAPACITY];
    struct wt_metadata *metadata =
        (struct wt_metadata *)(uintptr_t)definition_of(reader, event); /* the reader's */
    if (!metadata || !get_name(event, "Field", name) || wt_field_index(metadata, name) >= 0)
        return false;
    size_t size = strlen(name) + 1;
    char *kept = metadata->raw_name ? NULL : wt_arena_take(&reader->metadata_arena, size);
    if (kept)
        metadata->raw_name = memcpy(kept, name, size);
    return true;
}

static void name_field(struct wt_reader *reader, const struct wt_event *event)
{
    struct wt_value values;
    char name[NAME_CAPACITY];
    struct wt_field *field = field_of(reader, event);
    bool is_whole = get_name(event, "Enum", name) && get(event, "Values", WT_TYPE_STRING, &values);
    if (is_whole && values.size == 0 && strcmp(name, "raw") == 0 && name_raw(reader, event))
        return;
    if (!field || !is_whole) {
        wt_tell(reader, WT_RULE_ENUM_EVENT, event->offset,
                "Weir/Enum does not name an integer field of an event that is defined before it");
        return;
    }
    if (field->values)
        return;
    field->is_bool = field->type == WT_TYPE_BYTE && strcmp(name, "bool8") == 0;
    if (!name_values(reader, &values, field))
        wt_tell(reader, WT_RULE_ENUM_EVENT, event->offset,
                "the values of enum %.60s are not number=name;number=name", name);
}

void wt_names_take(struct wt_reader *reader, const struct wt_event *event)
{
    ((struct wt_thread *)(uintptr_t)event->thread)->writes_names = true;
    if (strcmp(event->metadata->event_name, "Enum") == 0)
        name_field(reader, event);
    else
        name_thread(reader, event);
}
