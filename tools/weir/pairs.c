#include "pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- The option. ----------------------------------------------------------------------------- */

/* The first `separator` after `text`, if there is a word before and after it; otherwise NULL. */
static char *word_end(char *text, char separator)
{
    char *at = text ? strchr(text, separator) : NULL;
    return at && at > text && at[1] ? at : NULL;
}

bool wt_pairs_parse(struct wt_pairs *pairs, char *text)
{
    char *slash = word_end(text, '/');
    char *comma = word_end(slash ? slash + 1 : NULL, ',');
    char *colon = word_end(comma ? comma + 1 : NULL, ':');
    if (pairs->provider_name) {
        wt_complain("--pairs checks one pair of events; check another one in a run of its own");
        return false;
    }
    if (!colon) {
        wt_complain("--pairs needs PROVIDER/FIRST,SECOND:FIELD, not \"%s\"", text);
        return false;
    }
    *slash = *comma = *colon = 0;
    pairs->provider_name = text;
    pairs->sides[0].event_name = slash + 1;
    pairs->sides[1].event_name = comma + 1;
    pairs->field_name = colon + 1;
    if (strcmp(pairs->sides[0].event_name, pairs->sides[1].event_name) == 0) {
        wt_complain("--pairs needs two events, not %s twice", pairs->sides[0].event_name);
        return false;
    }
    return true;
}

void wt_pairs_fini(struct wt_pairs *pairs)
{
    free(pairs->fields);
    free(pairs->side_of);
    free(pairs->sides[0].halves);
    free(pairs->sides[1].halves);
    memset(pairs, 0, sizeof *pairs);
}

/* --- Reading. -------------------------------------------------------------------------------- */

static bool is_integer(enum wt_type type)
{
    return (type >= WT_TYPE_SBYTE && type <= WT_TYPE_UINT64) || type == WT_TYPE_BOOLEAN;
}

void wt_pairs_define(struct wt_pairs *pairs, const struct wt_metadata *metadata)
{
    if (!pairs->provider_name)
        return;
    size_t count = (size_t)metadata->index + 1;
    pairs->fields = wt_grow(pairs->fields, &pairs->field_capacity, count, sizeof *pairs->fields);
    pairs->side_of = wt_grow(pairs->side_of, &pairs->side_capacity, count, 1);
    int field = wt_field_index(metadata, pairs->field_name);
    if (strcasecmp(metadata->provider_name, pairs->provider_name) != 0 || field < 0 ||
        !is_integer(metadata->fields[field].type))
        return;
    for (unsigned char side = 0; side < 2; side++) {
        if (strcmp(metadata->event_name, pairs->sides[side].event_name) != 0)
            continue;
        pairs->fields[metadata->index] = 1 + field;
        pairs->side_of[metadata->index] = side;
        pairs->sides[side].is_defined = true;
    }
}

void wt_pairs_add(struct wt_pairs *pairs, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    struct wt_value value;
    if (!pairs->provider_name || metadata->undefined || !pairs->fields[metadata->index] ||
        !wt_field_get(metadata, pairs->fields[metadata->index] - 1, event->payload,
                      event->payload_size, &value))
        return;
    struct wt_side *side = &pairs->sides[pairs->side_of[metadata->index]];
    side->halves = wt_grow(side->halves, &side->capacity, side->count + 1, sizeof *side->halves);
    side->halves[side->count++] = (struct wt_half){value.as.u, event->time, event->offset};
}

/* --- Matching. ------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct wt_half *a = left, *b = right;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* How many halves, from `at` on, have the same value. */
static size_t equal(const struct wt_side *side, size_t at)
{
    size_t end = at;
    while (end < side->count && side->halves[end].value == side->halves[at].value)
        end++;
    return end - at;
}

static void match(struct wt_pairs *pairs, const struct wt_half *first, const struct wt_half *second,
                  wt_found found, void *context)
{
    char text[160];
    pairs->pairs++;
    if (second->time >= first->time)
        return;
    int64_t ticks = first->time - second->time;
    pairs->reversed++;
    pairs->worst_ticks = ticks > pairs->worst_ticks ? ticks : pairs->worst_ticks;
    snprintf(text, sizeof text,
             "%.40s with %.20s %" PRIu64 " is %" PRId64 " ticks older than %.40s",
             pairs->sides[1].event_name, pairs->field_name, first->value, ticks,
             pairs->sides[0].event_name);
    found(context, WT_RULE_PAIR_ORDER, second->offset, text);
}

bool wt_pairs_finish(struct wt_pairs *pairs, wt_found found, void *context)
{
    struct wt_side *first = &pairs->sides[0], *second = &pairs->sides[1];
    for (int i = 0; i < 2; i++) {
        if (!pairs->sides[i].is_defined) {
            wt_complain("--pairs: the trace defines no event %s/%s with an integer field %s",
                        pairs->provider_name, pairs->sides[i].event_name, pairs->field_name);
            return false;
        }
        if (pairs->sides[i].count)
            qsort(pairs->sides[i].halves, pairs->sides[i].count, sizeof(struct wt_half), compare);
    }
    for (size_t a = 0, b = 0; a < first->count || b < second->count;) {
        int order = a == first->count    ? 1
                    : b == second->count ? -1
                                         : compare(&first->halves[a], &second->halves[b]);
        size_t in_first = order <= 0 ? equal(first, a) : 0;
        size_t in_second = order >= 0 ? equal(second, b) : 0;
        if (in_first > 1 || in_second > 1)
            pairs->repeated++;
        else if (order == 0)
            match(pairs, &first->halves[a], &second->halves[b], found, context);
        else
            pairs->single++;
        a += in_first;
        b += in_second;
    }
    return true;
}
