#include "session/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "event/event.h"

WR_COLD enum weir_result wr_text_fail(const struct wr_text *text, const char *field,
                                      const char *expected, struct weir_error *error)
{
    return wr_fail(error, WEIR_BAD_ARGUMENT, "%s, position %zu: '%.60s': expected %s", text->what,
                   (size_t)(field - text->start) + 1, field, expected);
}

WR_COLD bool wr_text_number(const char *text, bool is_hex, uint64_t *value)
{
    bool has_prefix = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && text[2];
    bool is_digit = text[0] >= '0' && text[0] <= '9';
    bool is_letter = (text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'f';
    if (!is_digit && !(is_hex && is_letter))
        return false;
    char *end;
    errno = 0;
    *value = strtoull(text, &end, is_hex || has_prefix ? 16 : 10);
    return *end == 0 && errno == 0;
}

static bool is_end(const struct wr_text *text, char c, const char *ends)
{
    return c == 0 || strchr(ends, c) || strchr(text->ends, c);
}

/* Ends the field here, and goes behind what ended it. */
static char end_at(struct wr_text *text, char *here)
{
    char end = *here;
    text->at = here + (end != 0);
    *here = 0;
    return end;
}

WR_COLD char wr_text_take(struct wr_text *text, const char *ends)
{
    char *here = text->at;
    while (!is_end(text, *here, ends))
        here++;
    return end_at(text, here);
}

WR_COLD bool wr_text_take_quoted(struct wr_text *text, const char *ends, char **field, char *end)
{
    char *to = text->at + 1, *from = to;
    *field = to;
    while (*from && (from[0] != '"' || from[1] == '"')) {
        from += *from == '"';
        *to++ = *from++;
    }
    if (*from != '"' || !is_end(text, from[1], ends))
        return false;
    *end = end_at(text, from + 1);
    *to = 0;
    return true;
}

/* --- Providers. ------------------------------------------------------------------------------ */

/* Takes a number if the field before it ended with a colon. If there is none, the value stays.
 * False: it is not a number up to `max`. `*field` receives where it is. */
static bool take_number(struct wr_text *text, char *end, uint64_t *value, uint64_t max, bool is_hex,
                        const char **field)
{
    if (*end != ':')
        return true;
    *field = text->at;
    *end = wr_text_take(text, ":,");
    return !**field || (wr_text_number(*field, is_hex, value) && *value <= max);
}

static enum weir_result arguments_take(struct wr_text *text, struct weir_enable *entry, char *end,
                                       struct weir_error *error)
{
    char *field = text->at;
    if (*field != '"')
        *end = wr_text_take(text, ",");
    else if (!wr_text_take_quoted(text, ",", &field, end))
        return wr_text_fail(text, text->at,
                            "a closing double quote, and then the next provider; write those "
                            "inside twice",
                            error);
    entry->arguments = *field ? field : NULL;
    return WEIR_OK;
}

static enum weir_result entry_take(struct wr_text *text, struct weir_enable *entry, char *end,
                                   struct weir_error *error)
{
    const char *field = text->at;
    uint64_t level = 0;
    *entry = (struct weir_enable)WEIR_ENABLE_INIT;
    entry->provider = field;
    entry->keywords = text->is_hex ? UINT64_MAX : 0;
    *end = wr_text_take(text, ":,");
    if (!wr_name_is_valid(entry->provider))
        return wr_text_fail(text, field, "a provider: a name of 1 to 255 bytes, or *", error);
    if (!take_number(text, end, &entry->keywords, UINT64_MAX, text->is_hex, &field))
        return wr_text_fail(text, field,
                            text->is_hex ? "keywords, a hexadecimal number such as ff"
                                         : "keywords, a number such as 0xff",
                            error);
    if (!take_number(text, end, &level, WEIR_LEVEL_VERBOSE, false, &field))
        return wr_text_fail(text, field, "a level from 0 to 5", error);
    entry->level = (uint8_t)level;
    return *end == ':' ? arguments_take(text, entry, end, error) : WEIR_OK;
}

WR_COLD enum weir_result wr_text_take_enables(struct wr_text *text, struct weir_enable *entries,
                                              uint32_t *count, char *end, struct weir_error *error)
{
    *count = 0;
    do {
        if (*count == WR_ENABLES_MAX)
            return wr_text_fail(text, text->at, "no more than 1000 providers", error);
        enum weir_result result = entry_take(text, &entries[(*count)++], end, error);
        if (result != WEIR_OK)
            return result;
    } while (*end == ',');
    return WEIR_OK;
}
