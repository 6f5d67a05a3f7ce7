/* Label lists of version 6: what an event carries besides its payload. They live until the next
 * sequence point, as stacks do. The lists are kept as they are stored, once they have been checked,
 * so that an event's labels are a piece of bytes that can be copied. */
#include "reader_impl.h"

#include <inttypes.h>

#define KIND_MASK 0x7Fu
#define KIND_LAST 0x80u
#define GUID_SIZE 16u

static void take_text(struct wt_cursor *cursor, const char **text, uint32_t *size)
{
    *size = wt_cursor_var32(cursor);
    *text = (const char *)wt_cursor_bytes(cursor, *size);
}

/* Takes one label after its kind; false for an unknown kind, whose size is not known. */
static bool take_value(struct wt_cursor *cursor, struct wt_label *label)
{
    switch (label->kind) {
    case WT_LABEL_ACTIVITY_ID:
    case WT_LABEL_RELATED_ACTIVITY_ID:
    case WT_LABEL_TRACE_ID:
        label->bytes = wt_cursor_bytes(cursor, GUID_SIZE);
        return true;
    case WT_LABEL_SPAN_ID:
    case WT_LABEL_KEYWORDS:
        label->u = wt_cursor_u64(cursor);
        return true;
    case WT_LABEL_STRING:
        take_text(cursor, &label->key, &label->key_size);
        take_text(cursor, &label->text, &label->text_size);
        return true;
    case WT_LABEL_INTEGER:
        take_text(cursor, &label->key, &label->key_size);
        label->i = wt_cursor_zigzag64(cursor);
        return true;
    case WT_LABEL_OPCODE:
    case WT_LABEL_LEVEL:
    case WT_LABEL_VERSION:
        label->u = wt_cursor_u8(cursor);
        return true;
    }
    return false;
}

static bool take_label(struct wt_cursor *cursor, struct wt_label *label, bool *is_last)
{
    memset(label, 0, sizeof(*label));
    uint8_t kind = wt_cursor_u8(cursor);
    label->kind = (enum wt_label_kind)(kind & KIND_MASK);
    *is_last = (kind & KIND_LAST) != 0;
    return cursor->fault != WT_FAULT_NONE || take_value(cursor, label);
}

/* What a list says to each event that has it, so that no event has to look for it: a hostile list
 * may have millions of labels, and millions of events. */
struct summary {
    struct wt_overrides overrides;
    uint16_t kinds;
    uint8_t activity_id[GUID_SIZE], related_activity_id[GUID_SIZE];
};

static void summarize(struct summary *summary, const struct wt_label *label)
{
    summary->kinds |= (uint16_t)(1u << label->kind);
    switch (label->kind) {
    case WT_LABEL_ACTIVITY_ID:
        memcpy(summary->activity_id, label->bytes, GUID_SIZE);
        break;
    case WT_LABEL_RELATED_ACTIVITY_ID:
        memcpy(summary->related_activity_id, label->bytes, GUID_SIZE);
        break;
    case WT_LABEL_OPCODE:
        summary->overrides.opcode = (uint8_t)label->u;
        break;
    case WT_LABEL_KEYWORDS:
        summary->overrides.keywords = label->u;
        break;
    case WT_LABEL_LEVEL:
        summary->overrides.level = (uint8_t)label->u;
        break;
    case WT_LABEL_VERSION:
        summary->overrides.version = (uint8_t)label->u;
        break;
    case WT_LABEL_TRACE_ID:
    case WT_LABEL_SPAN_ID:
    case WT_LABEL_STRING:
    case WT_LABEL_INTEGER:
        break;
    }
}

/* --- Events. --------------------------------------------------------------------------------- */

bool wt_event_label(const struct wt_event *event, uint32_t *at, struct wt_label *label)
{
    bool is_last;
    if (*at >= event->label_size)
        return false;
    struct wt_cursor cursor = wt_cursor_make(event->labels + *at, event->label_size - *at);
    if (!take_label(&cursor, label, &is_last) || cursor.fault != WT_FAULT_NONE)
        return false;
    *at = (uint32_t)(cursor.at - event->labels);
    return true;
}

static bool has(const struct wt_event *event, enum wt_label_kind kind)
{
    return (event->label_kinds & 1u << kind) != 0;
}

uint8_t wt_event_opcode(const struct wt_event *event)
{
    return has(event, WT_LABEL_OPCODE) ? event->overrides.opcode : event->metadata->opcode;
}

uint64_t wt_event_keywords(const struct wt_event *event)
{
    return has(event, WT_LABEL_KEYWORDS) ? event->overrides.keywords : event->metadata->keywords;
}

int32_t wt_event_level(const struct wt_event *event)
{
    return has(event, WT_LABEL_LEVEL) ? event->overrides.level : event->metadata->level;
}

int32_t wt_event_version(const struct wt_event *event)
{
    return has(event, WT_LABEL_VERSION) ? event->overrides.version : event->metadata->version;
}

void wt_labels_find(struct wt_reader *reader, struct wt_event *event)
{
    static const struct summary nothing;
    const struct wt_piece *list =
        event->label_list_id ? wt_pieces_find(&reader->labels, event->label_list_id) : NULL;
    if (event->label_list_id && !list && !reader->window.quiet)
        wt_tell(reader, WT_RULE_LABEL_UNDEFINED, event->offset,
                "label list %" PRIu32 " is not defined at this place", event->label_list_id);
    const struct summary *summary = list ? list->head : &nothing;
    event->labels = list ? list->bytes : NULL;
    event->label_size = list ? list->size : 0;
    event->label_kinds = summary->kinds;
    event->overrides = summary->overrides;
    memcpy(event->activity_id, summary->activity_id, GUID_SIZE);
    memcpy(event->related_activity_id, summary->related_activity_id, GUID_SIZE);
}

/* --- Blocks. --------------------------------------------------------------------------------- */

static enum wt_status bad_block(struct wt_reader *reader, uint64_t offset, const char *what)
{
    return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_LABEL_BLOCK, offset, "a label list %s", what);
}

static enum wt_status add_list(struct wt_reader *reader, uint32_t id, const struct summary *summary,
                               const uint8_t *bytes, uint32_t size, uint64_t offset)
{
    reader->totals.label_lists++;
    if (id == 0)
        wt_tell(reader, WT_RULE_LABEL_BLOCK, offset, "a label list with index 0");
    else
        switch (wt_pieces_add(&reader->labels, id, summary, sizeof(*summary), bytes, size)) {
        case WT_PIECES_OK:
            break;
        case WT_PIECES_KNOWN:
            wt_tell(reader, WT_RULE_LABEL_REDEFINED, offset,
                    "label list %" PRIu32 " is defined again", id);
            break;
        case WT_PIECES_LIMIT:
            return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, offset,
                           "more than %zu bytes of labels without a sequence point",
                           reader->options.limits.stack_bytes_max);
        case WT_PIECES_MEMORY:
            return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, offset, "out of memory");
        }
    return WT_OK;
}

/* Takes the labels of one list, up to the one that is marked as the last. */
static enum wt_status take_list(struct wt_reader *reader, struct wt_cursor *cursor, uint32_t id,
                                uint64_t offset)
{
    const uint8_t *start = cursor->at;
    struct summary summary = {.kinds = 0};
    struct wt_label label;
    for (bool is_last = false; !is_last && cursor->fault == WT_FAULT_NONE;) {
        if (!take_label(cursor, &label, &is_last))
            return bad_block(reader, offset, "has a label of a kind that is not known");
        if (cursor->fault == WT_FAULT_NONE)
            summarize(&summary, &label);
    }
    if (cursor->fault == WT_FAULT_VARINT)
        return bad_block(reader, offset, "has a number that is too long");
    if (cursor->fault == WT_FAULT_NONE)
        return add_list(reader, id, &summary, start, (uint32_t)(cursor->at - start), offset);
    return reader->partial ? WT_OK : bad_block(reader, offset, "goes beyond its block's end");
}

enum wt_status wt_label_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    const uint64_t at = reader->block.body_offset;
    struct wt_cursor cursor = wt_cursor_make(body, size);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    uint32_t first = wt_cursor_u32(&cursor);
    uint32_t count = wt_cursor_u32(&cursor);
    if (cursor.fault != WT_FAULT_NONE)
        return reader->partial ? WT_OK : bad_block(reader, at, "has no count");
    enum wt_status status = WT_OK;
    for (uint32_t i = 0; i < count && cursor.fault == WT_FAULT_NONE && status == WT_OK; i++)
        status = take_list(reader, &cursor, first + i, at + (uint64_t)(cursor.at - body));
    if (status == WT_OK && wt_cursor_left(&cursor) > 0)
        wt_tell(reader, WT_RULE_LABEL_BLOCK, at + (uint64_t)(cursor.at - body),
                "%zu bytes after the last label list", wt_cursor_left(&cursor));
    return status;
}
