#include "broken.h"
#include "test.h"

static struct record record;

void read_built(struct record *read, const struct build *build, const struct wt_limits *limits)
{
    struct wt_reader_options options = {.check_trailing = true};
    if (limits)
        options.limits = *limits;
    record_read(read, build->bytes, build->size, 0, &options);
}

unsigned expect_told(const struct build *build, enum wt_rule rule, unsigned count)
{
    read_built(&record, build, NULL);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.rule_count, count);
    for (unsigned i = 0; i < count; i++)
        EXPECT_TEXT(wt_rule_name(record.rules[i]), wt_rule_name(rule));
    record_free(&record);
    return record.event_count;
}

void expect_failure(const struct build *build, enum wt_status status, enum wt_rule rule,
                    const struct wt_limits *limits)
{
    read_built(&record, build, limits);
    EXPECT_EQUAL(record.status, status);
    EXPECT_TEXT(wt_rule_name(wt_reader_error(record.reader)->rule), wt_rule_name(rule));
    EXPECT(wt_reader_error(record.reader)->text[0] != '\0');
    record_free(&record);
}

void expect_return_with_wrong_bytes(const uint8_t *bytes, size_t size)
{
    uint8_t *changed = malloc(size);
    EXPECT(changed != NULL);
    for (size_t at = 0; at < size; at++) {
        for (unsigned value = 0; value < 256; value += value < 8 || value > 247 ? 1 : 15) {
            struct wt_reader_options options = {.time_order = (value & 1) != 0};
            memcpy(changed, bytes, size);
            changed[at] = (uint8_t)value;
            record_read(&record, changed, size, 0, &options);
            EXPECT(record.status != WT_OK && record.status != WT_ERROR_IO);
            record_free(&record);
        }
    }
    free(changed);
}

void expect_tick(const struct wt_metadata *metadata)
{
    EXPECT_TEXT(metadata->provider_name, "Demo");
    EXPECT_TEXT(metadata->event_name, "Tick");
    EXPECT_EQUAL(metadata->event_id, 7);
    EXPECT_EQUAL(metadata->keywords, 1);
    EXPECT_EQUAL(metadata->version, 0);
    EXPECT_EQUAL(metadata->level, 4);
    EXPECT(metadata->has_opcode && metadata->opcode == 10);
    EXPECT_EQUAL(metadata->field_count, 1);
    EXPECT_TEXT(metadata->fields[0].name, "n");
    EXPECT_EQUAL(metadata->fields[0].type, WT_TYPE_INT32);
}
