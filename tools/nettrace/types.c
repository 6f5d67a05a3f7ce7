/* Sizes of the types of fields. */
#include "parser.h"

static void set(struct wt_field *field, uint32_t size, bool fixed)
{
    field->min_size = size;
    field->fixed = fixed;
}

bool wt_type_set_size(struct wt_field *field)
{
    switch (field->type) {
    case WT_TYPE_SBYTE:
    case WT_TYPE_BYTE:
    case WT_TYPE_UTF8_UNIT:
    case WT_TYPE_BOOLEAN8:
        set(field, 1, true);
        return true;
    case WT_TYPE_CHAR:
    case WT_TYPE_INT16:
    case WT_TYPE_UINT16:
        set(field, 2, true);
        return true;
    case WT_TYPE_BOOLEAN:
    case WT_TYPE_INT32:
    case WT_TYPE_UINT32:
    case WT_TYPE_SINGLE:
        set(field, 4, true);
        return true;
    case WT_TYPE_INT64:
    case WT_TYPE_UINT64:
    case WT_TYPE_DOUBLE:
    case WT_TYPE_DATETIME:
        set(field, 8, true);
        return true;
    case WT_TYPE_DECIMAL:
    case WT_TYPE_GUID:
        set(field, 16, true);
        return true;
    case WT_TYPE_VAR_INT:
    case WT_TYPE_VAR_UINT:
        set(field, 1, false);
        return true;
    case WT_TYPE_STRING:
        set(field, 2, false);
        return true;
    case WT_TYPE_OBJECT:
    case WT_TYPE_ARRAY:
    case WT_TYPE_FIXED_ARRAY:
    case WT_TYPE_REL_LOC:
    case WT_TYPE_DATA_LOC:
        break;
    }
    return false;
}

bool wt_field_has_empty_value(const struct wt_field *field)
{
    if (field->min_size == 0)
        return true;
    for (uint32_t i = 0; i < field->field_count; i++)
        if (wt_field_has_empty_value(&field->fields[i]))
            return true;
    return false;
}

/* Sizes stop at the largest one: no payload is that long. */
static uint32_t add(uint32_t size, uint32_t more)
{
    return more > UINT32_MAX - size ? UINT32_MAX : size + more;
}

void wt_object_set_size(struct wt_field *field)
{
    set(field, 0, true);
    for (uint32_t i = 0; i < field->field_count; i++) {
        field->min_size = add(field->min_size, field->fields[i].min_size);
        field->fixed = field->fixed && field->fields[i].fixed;
        field->located = field->located || field->fields[i].located;
    }
}

bool wt_elements_set_size(struct wt_field *field)
{
    const struct wt_field *element = &field->fields[0];
    if (wt_field_has_empty_value(element))
        return false;
    field->located = element->located;
    switch (field->type) {
    case WT_TYPE_ARRAY:
        set(field, 2, false);
        return true;
    case WT_TYPE_FIXED_ARRAY:
        set(field,
            element->min_size > UINT32_MAX / 65535 ? UINT32_MAX : field->count * element->min_size,
            element->fixed);
        return true;
    default:
        set(field, 4, true);
        field->located = true;
        return element->fixed;
    }
}
