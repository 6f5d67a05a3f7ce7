/* Matches what sessions want against providers. Provider names are compared without case. */
#include "event/define.h"
#include "event/event.h"

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

unsigned long wr_name_hash(const char *name, unsigned long seed)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ seed;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = (hash ^ lower(*c)) * UINT64_C(1099511628211);
    return (unsigned long)hash;
}

bool wr_names_equal(const char *a, const char *b)
{
    while (*a && lower((unsigned char)*a) == lower((unsigned char)*b)) {
        a++;
        b++;
    }
    return lower((unsigned char)*a) == lower((unsigned char)*b);
}

bool wr_interest_wants(const struct wr_interest *interest,
                       const struct wr_event_definition *definition)
{
    for (uint32_t i = 0; i < interest->count; i++) {
        const struct wr_filter *filter = &interest->filters[i];
        if (definition->schema.level <= filter->level &&
            wr_names_equal(filter->name, definition->provider_name) &&
            (definition->schema.keywords == 0 || (definition->schema.keywords & filter->keywords)))
            return true;
    }
    return false;
}

void wr_interest_add(const struct wr_interest *interest, const char *provider,
                     struct wr_provider_state *state)
{
    for (uint32_t i = 0; i < interest->count; i++) {
        const struct wr_filter *filter = &interest->filters[i];
        if (!wr_names_equal(filter->name, provider))
            continue;
        state->keywords |= filter->keywords;
        state->level = filter->level > state->level ? filter->level : state->level;
        state->is_enabled = true;
    }
}

bool wr_states_equal(const struct wr_provider_state *a, const struct wr_provider_state *b)
{
    return a->is_enabled == b->is_enabled && a->level == b->level && a->keywords == b->keywords;
}
