#include "span.h"
#include "tool.h"

#define NS_PER_S        INT64_C(1000000000)
#define SECONDS_MAX     INT64_C(9000000000) /* in nanoseconds, below 2^63 */
#define FRACTION_DIGITS 9

/* Digits up to the first other character, which *text then points at; false if there are none, or
 * if the number is above SECONDS_MAX. */
static bool take_digits(const char **text, int64_t *value, int *count)
{
    *value = 0;
    for (*count = 0; **text >= '0' && **text <= '9'; ++*count, ++*text) {
        *value = 10 * *value + (**text - '0');
        if (*value > SECONDS_MAX)
            return false;
    }
    return *count > 0;
}

static bool parse(const char *text, int64_t *ns)
{
    int64_t seconds, fraction = 0;
    int count;
    bool is_negative = *text == '-';
    text += is_negative;
    if (!take_digits(&text, &seconds, &count))
        return false;
    if (*text == '.') {
        text++;
        if (!take_digits(&text, &fraction, &count) || count > FRACTION_DIGITS)
            return false;
        for (; count < FRACTION_DIGITS; count++)
            fraction *= 10;
    }
    *ns = (seconds * NS_PER_S + fraction) * (is_negative ? -1 : 1);
    return *text == '\0';
}

bool wt_span_take(struct wt_span *span, int option, const char *text)
{
    const bool is_from = option == WT_OPTION_FROM;
    const char *name = is_from ? "--from" : "--to";
    if (!parse(text, is_from ? &span->from_ns : &span->to_ns)) {
        wt_complain("%s needs seconds since the start of the trace, such as 1.25, not \"%s\"", name,
                    text);
        return false;
    }
    span->has_from = span->has_from || is_from;
    span->has_to = span->has_to || !is_from;
    if (span->has_from && span->has_to && span->from_ns >= span->to_ns) {
        wt_complain("--from must be before --to");
        return false;
    }
    return true;
}

bool wt_span_is_set(const struct wt_span *span)
{
    return span->has_from || span->has_to;
}

void wt_span_apply(const struct wt_span *span, struct wt_reader *reader,
                   const struct wt_trace_info *info)
{
    if (!wt_span_is_set(span))
        return;
    int64_t from = span->has_from ? wt_ns_to_ticks(info, span->from_ns) : INT64_MIN;
    int64_t to = span->has_to ? wt_ns_to_ticks(info, span->to_ns) : INT64_MAX;
    if (info->frequency <= 0 || wt_reader_set_window(reader, from, to) != WT_OK)
        wt_complain("the trace has no usable clock, so --from and --to are ignored");
}
