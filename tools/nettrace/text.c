/* UTF-16 to UTF-8, GUIDs and times as text. */
#include "fields.h"
#include "cursor.h"

#include <inttypes.h>
#include <stdio.h>

#define SECONDS_1601_TO_1970 11644473600
#define NS_PER_S             1000000000

struct out {
    char *at;
    size_t left; /* without the final NUL */
    size_t needed;
    bool full;
};

static void put_code(struct out *out, uint32_t code)
{
    char bytes[4];
    size_t size = 0;
    if (code < 0x80) {
        bytes[size++] = (char)code;
    } else if (code < 0x800) {
        bytes[size++] = (char)(0xC0 | code >> 6);
        bytes[size++] = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        bytes[size++] = (char)(0xE0 | code >> 12);
        bytes[size++] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[size++] = (char)(0x80 | (code & 0x3F));
    } else {
        bytes[size++] = (char)(0xF0 | code >> 18);
        bytes[size++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[size++] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[size++] = (char)(0x80 | (code & 0x3F));
    }
    out->needed += size;
    out->full = out->full || size > out->left;
    if (out->full)
        return;
    memcpy(out->at, bytes, size);
    out->at += size;
    out->left -= size;
}

size_t wt_utf16_to_utf8(const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
    struct out out = {text, capacity ? capacity - 1 : 0, 0, capacity == 0};
    for (size_t i = 0; i + 2 <= size; i += 2) {
        uint32_t unit = wt_load_u16(bytes + i);
        if (unit >= 0xD800 && unit <= 0xDFFF) {
            uint32_t low = i + 4 <= size ? wt_load_u16(bytes + i + 2) : 0;
            if (unit <= 0xDBFF && low >= 0xDC00 && low <= 0xDFFF) {
                unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            } else {
                unit = 0xFFFD;
            }
        }
        put_code(&out, unit);
    }
    if (capacity)
        *out.at = '\0';
    return out.needed;
}

/* The code that begins at bytes[*at], which moves behind it; 0 for a byte that is part of none. */
static uint32_t take_code(const uint8_t *bytes, size_t size, size_t *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = bytes[(*at)++];
    size_t count = first < 0x80   ? 1
                   : first < 0xC0 ? 0
                   : first < 0xE0 ? 2
                   : first < 0xF0 ? 3
                   : first < 0xF8 ? 4
                                  : 0;
    if (count < 2)
        return count ? first : 0;
    if (count - 1 > size - *at)
        return 0;
    uint32_t code = first & (0xFFu >> (count + 1));
    for (size_t i = 0; i < count - 1; i++) {
        if ((bytes[*at + i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (bytes[*at + i] & 0x3Fu);
    }
    if (code < least[count] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    *at += count - 1;
    return code;
}

size_t wt_utf8_clean(const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
    struct out out = {text, capacity ? capacity - 1 : 0, 0, capacity == 0};
    for (size_t at = 0; at < size;) {
        uint32_t code = take_code(bytes, size, &at);
        put_code(&out, code ? code : 0xFFFD);
    }
    if (capacity)
        *out.at = '\0';
    return out.needed;
}

void wt_guid_text(const uint8_t guid[16], char out[37])
{
    snprintf(out, 37, "%08" PRIx32 "-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             wt_load_u32(guid), wt_load_u16(guid + 4), wt_load_u16(guid + 6), guid[8], guid[9],
             guid[10], guid[11], guid[12], guid[13], guid[14], guid[15]);
}

__extension__ typedef __int128 wide;

static int64_t hold(wide value)
{
    if (value > INT64_MAX)
        return INT64_MAX;
    if (value < INT64_MIN)
        return INT64_MIN;
    return (int64_t)value;
}

int64_t wt_ticks_to_ns(const struct wt_trace_info *info, int64_t ticks)
{
    if (info->frequency <= 0)
        return 0;
    return hold((wide)ticks * NS_PER_S / info->frequency);
}

int64_t wt_ns_to_ticks(const struct wt_trace_info *info, int64_t ns)
{
    if (info->frequency <= 0)
        return 0;
    wide product = (wide)ns * info->frequency, ticks = product / NS_PER_S;
    return hold(ticks + (product % NS_PER_S > 0) + info->sync_ticks);
}

int64_t wt_time_relative_ns(const struct wt_trace_info *info, int64_t time)
{
    if (info->frequency <= 0)
        return 0;
    return hold(((wide)time - info->sync_ticks) * NS_PER_S / info->frequency);
}

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar, and back. Years start in
 * March, so that the leap day is the last day of a year. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    days += 719468;
    int64_t era = days / 146097;
    int64_t of_era = days - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * of_year + 2) / 153;
    *day = of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = year_of_era + era * 400 + (*month <= 2);
}

/* Seconds since 1970 must lie in the years 1601 to 9999. */
static bool put_utc(int64_t seconds, int64_t ns, char out[40])
{
    if (seconds < -SECONDS_1601_TO_1970 || seconds > 253402300799)
        return false;
    int64_t days = (seconds + SECONDS_1601_TO_1970) / 86400 - SECONDS_1601_TO_1970 / 86400;
    int64_t rest = seconds - days * 86400;
    int64_t year, month, day;
    date_of_days(days, &year, &month, &day);
    /* These remainders change nothing; they show the compiler that the text fits. */
    unsigned second = (unsigned)rest;
    snprintf(out, 40, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", (unsigned)year % 10000u,
             (unsigned)month % 100u, (unsigned)day % 100u, second / 3600 % 100u, second / 60 % 60u,
             second % 60u, (unsigned)ns % 1000000000u);
    return true;
}

void wt_time_utc_text(const struct wt_trace_info *info, int64_t time, char out[40])
{
    snprintf(out, 40, "unknown");
    if (info->frequency <= 0 || info->year < 1601 || info->year > 9999 || info->month < 1 ||
        info->month > 12 || info->day < 1 || info->day > 31)
        return;
    int64_t relative = wt_time_relative_ns(info, time);
    int64_t seconds = days_of_date(info->year, info->month, info->day) * 86400 +
                      (int64_t)info->hour * 3600 + (int64_t)info->minute * 60 + info->second;
    int64_t ns = relative % NS_PER_S + (int64_t)info->millisecond * 1000000;
    seconds += relative / NS_PER_S + ns / NS_PER_S;
    ns %= NS_PER_S;
    if (ns < 0) {
        ns += NS_PER_S;
        seconds--;
    }
    put_utc(seconds, ns, out);
}

bool wt_datetime_text(uint64_t filetime, char out[40])
{
    if (filetime / 10000000 > INT64_MAX / 2)
        return false;
    return put_utc((int64_t)(filetime / 10000000) - SECONDS_1601_TO_1970,
                   (int64_t)(filetime % 10000000) * 100, out);
}
