#include "loss.h"
#include "fields.h"

#include <string.h>

const char *wt_cause_name(enum wt_cause cause)
{
#define NAME(name) [WT_CAUSE_##name] = #name,
    static const char *const names[] = {WT_CAUSES(NAME)};
#undef NAME
    return names[cause];
}

bool wt_is_weir(const struct wt_metadata *metadata)
{
    return strcmp(metadata->provider_name, "Weir") == 0;
}

static int find(const struct wt_metadata *metadata, const char *name, enum wt_type type)
{
    int index = wt_field_index(metadata, name);
    return index >= 0 && metadata->fields[index].type == type ? index : -1;
}

struct wt_loss_fields wt_loss_bind(const struct wt_metadata *metadata)
{
    struct wt_loss_fields fields = {.is_loss = wt_is_weir(metadata) &&
                                               strcmp(metadata->event_name, "Loss") == 0};
    if (!fields.is_loss)
        return fields;
    fields.capture_thread = find(metadata, "CaptureThread", WT_TYPE_UINT64);
    fields.after = find(metadata, "After", WT_TYPE_UINT32);
    fields.cause = find(metadata, "Cause", WT_TYPE_STRING);
    fields.count = find(metadata, "Count", WT_TYPE_UINT64);
    fields.usable =
        fields.capture_thread >= 0 && fields.after >= 0 && fields.cause >= 0 && fields.count >= 0;
    return fields;
}

static enum wt_cause cause_of(const struct wt_value *value)
{
    char text[32];
    wt_utf16_to_utf8(value->bytes, value->size, text, sizeof(text));
    for (enum wt_cause cause = 0; cause < WT_CAUSE_OTHER; cause++)
        if (strcmp(text, wt_cause_name(cause)) == 0)
            return cause;
    return WT_CAUSE_OTHER;
}

bool wt_loss_read(const struct wt_loss_fields *fields, const struct wt_event *event,
                  struct wt_loss *loss)
{
    const struct wt_metadata *metadata = event->metadata;
    struct wt_value thread, after, cause, count;
    if (!fields->usable ||
        !wt_field_get(metadata, fields->capture_thread, event->payload, event->payload_size,
                      &thread) ||
        !wt_field_get(metadata, fields->after, event->payload, event->payload_size, &after) ||
        !wt_field_get(metadata, fields->cause, event->payload, event->payload_size, &cause) ||
        !wt_field_get(metadata, fields->count, event->payload, event->payload_size, &count))
        return false;
    loss->capture_thread = thread.as.u;
    loss->after = (uint32_t)after.as.u;
    loss->cause = cause_of(&cause);
    loss->count = count.as.u;
    return true;
}
