#include "report_event.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[REPORT_KINDS] = {"",
                                                     "Call",
                                                     "TailCall",
                                                     "Return",
                                                     "Frame",
                                                     "Function",
                                                     "CoroutineCreate",
                                                     "CoroutineResume",
                                                     "CoroutineYield"};

/* --- Definitions. ---------------------------------------------------------------------------- */

static bool is_integer(enum wt_type type)
{
    return type >= WT_TYPE_SBYTE && type <= WT_TYPE_UINT64;
}

static int find(const struct wt_metadata *metadata, const char *name, enum wt_type type)
{
    int index = wt_field_index(metadata, name);
    if (index < 0)
        return -1;
    enum wt_type is = metadata->fields[index].type;
    return is == type || (is_integer(type) && is_integer(is)) ? index : -1;
}

static enum report_kind kind_of(const struct wt_metadata *metadata)
{
    for (int kind = REPORT_CALL; kind < REPORT_KINDS; kind++)
        if (strcmp(metadata->event_name, kind_names[kind]) == 0)
            return (enum report_kind)kind;
    return REPORT_OTHER;
}

static void bind(struct report_binding *binding, const struct wt_metadata *metadata)
{
    binding->kind = kind_of(metadata);
    binding->function = find(metadata, "FunctionId", WT_TYPE_UINT64);
    binding->coroutine = find(metadata, "Coroutine", WT_TYPE_UINT64);
    if ((binding->kind >= REPORT_CREATE ? binding->coroutine : binding->function) < 0)
        binding->kind = REPORT_OTHER;
    binding->other = find(metadata, binding->kind == REPORT_RESUME ? "From" : "To", WT_TYPE_UINT64);
    binding->finished = find(metadata, "Finished", WT_TYPE_BOOLEAN);
    if (binding->finished < 0)
        binding->finished = find(metadata, "Finished", WT_TYPE_BYTE); /* bool8 */
    binding->name = find(metadata, "Name", WT_TYPE_STRING);
    binding->file = find(metadata, "File", WT_TYPE_STRING);
    binding->line = find(metadata, "Line", WT_TYPE_INT32);
    binding->function_kind = wt_field_index(metadata, "Kind"); /* a string, or an enum */
}

struct report_binding *report_bindings_add(struct report_bindings *bindings,
                                           const struct wt_metadata *metadata)
{
    bindings->rows = wt_grow(bindings->rows, &bindings->capacity, (size_t)metadata->index + 1,
                             sizeof(*bindings->rows));
    bind(&bindings->rows[metadata->index], metadata);
    return &bindings->rows[metadata->index];
}

/* --- Events. --------------------------------------------------------------------------------- */

static bool take_number(const struct wt_event *event, int field, uint64_t *number)
{
    struct wt_value value;
    if (!wt_field_get(event->metadata, field, event->payload, event->payload_size, &value))
        return false;
    *number = value.kind == WT_VALUE_SIGNED ? (uint64_t)value.as.i : value.as.u;
    return true;
}

struct report_step report_step_of(const struct report_binding *binding,
                                  const struct wt_event *event)
{
    uint64_t finished = 0;
    struct report_step step = {.kind = binding->kind,
                               .provider = binding->provider,
                               .thread = event->thread->index,
                               .time = event->time};
    if (step.kind == REPORT_OTHER)
        return step;
    take_number(event, binding->coroutine, &step.coroutine);
    step.has_other = take_number(event, binding->other, &step.other);
    step.is_finished = take_number(event, binding->finished, &finished) && finished;
    if (step.kind < REPORT_CREATE && !take_number(event, binding->function, &step.function))
        step.kind = REPORT_OTHER;
    return step;
}

static void take_text(const struct wt_event *event, int field, char **text)
{
    struct wt_value value;
    if (!wt_field_get(event->metadata, field, event->payload, event->payload_size, &value))
        return;
    if (!value.name && value.kind != WT_VALUE_STRING)
        return;
    size_t capacity = 0,
           bytes = value.name ? strlen(value.name) + 1 : (size_t)value.size * 3 / 2 + 4;
    char *copy = wt_grow(NULL, &capacity, bytes, 1);
    if (value.name)
        memcpy(copy, value.name, bytes);
    else
        wt_utf16_to_utf8(value.bytes, value.size, copy, capacity);
    free(*text);
    *text = copy;
}

bool report_function_id(const struct report_binding *binding, const struct wt_event *event,
                        uint64_t *id)
{
    return take_number(event, binding->function, id);
}

void report_function_read(struct report_function *function, const struct report_binding *binding,
                          const struct wt_event *event)
{
    uint64_t line;
    take_text(event, binding->name, &function->name);
    take_text(event, binding->file, &function->file);
    take_text(event, binding->function_kind, &function->kind);
    if (take_number(event, binding->line, &line))
        function->line = (int64_t)line;
}

void report_function_fini(struct report_function *function)
{
    free(function->name);
    free(function->file);
    free(function->kind);
}
