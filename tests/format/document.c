/* Writes one of the files that core/nettrace/FORMAT.md shows to standard output: `document 4`, `5` or
 * `6`. The writer is called as a session's drain calls it; times and ids are fixed, so the bytes
 * are too. */
#include "nettrace/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD 5001

static const struct wr_nettrace_header header = {.realtime_ns = UINT64_C(1768480245500000000),
                                                 .sync_ticks = 1000000,
                                                 .frequency_hz = 1000000000,
                                                 .process_id = 4242,
                                                 .processor_count = 4};

static const struct weir_field tick_fields[] = {{"n", WEIR_TYPE_i32}};
static const struct weir_schema tick = {.name = "Tick",
                                        .event_id = 7,
                                        .keywords = 1,
                                        .level = WEIR_LEVEL_INFO,
                                        .opcode = 10,
                                        .fields = tick_fields,
                                        .field_count = 1};

/* What needs no tag is of V4. */
static const struct weir_schema plain_tick = {.name = "Tick",
                                              .event_id = 7,
                                              .keywords = 1,
                                              .level = WEIR_LEVEL_INFO,
                                              .fields = tick_fields,
                                              .field_count = 1};

static const struct weir_field load_fields[] = {{"v", WEIR_TYPE_array_i32}, {"s", WEIR_TYPE_str}};
static const struct weir_schema load = {.name = "Load",
                                        .event_id = 8,
                                        .keywords = 1,
                                        .level = WEIR_LEVEL_INFO,
                                        .fields = load_fields,
                                        .field_count = 2};

static void write_point(struct wr_nettrace *nettrace, uint64_t ticks, uint64_t number)
{
    const struct wr_nettrace_thread_number row = {THREAD, number};
    wr_nettrace_point(nettrace, ticks, &row, 1);
}

/* An event with a stack of two addresses and an activity, whose parent it names. */
static void write_tick_with(struct wr_nettrace *nettrace)
{
    static const uint64_t addresses[] = {0x7f00001000, 0x7f00002000}, payload = 44;
    static const unsigned char activity[16] = {0x11, 0x20}, related[16] = {0x11};
    wr_nettrace_stacks(nettrace, 1, (const unsigned char *)addresses, sizeof addresses, 0, 1);
    wr_nettrace_block_begin(nettrace, THREAD, THREAD);
    wr_nettrace_event_with(nettrace, 1, 4, 1000400, &payload, 4,
                           &(struct wr_nettrace_with){.stack_id = 1,
                                                      .activity_id = activity,
                                                      .related_activity_id = related});
}

static void write_ticks(struct wr_nettrace *nettrace, const struct weir_schema *schema)
{
    const uint64_t payloads[] = {42, 43};
    wr_nettrace_metadata(nettrace, 1, "Demo", schema, false, 1000100);
    wr_nettrace_block_begin(nettrace, THREAD, THREAD);
    wr_nettrace_event(nettrace, 1, 2, 1000100, &payloads[0], 4);
    wr_nettrace_event(nettrace, 1, 3, 1000350, &payloads[1], 4);
}

/* Number 5 is lost before the event, number 7 after it. */
static void write_load(struct wr_nettrace *nettrace)
{
    /* Two elements, as stored in a record: an array is its count and its values, a string its count
     * of UTF-8 bytes and those bytes. */
    static const unsigned char record[] = {2, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 'o', 'k'};
    unsigned char payload[64] = {0};
    struct wr_payload_step steps[3];
    wr_payload_steps(&load, steps);
    uint32_t bytes = wr_nettrace_payload(steps, record, payload);
    wr_nettrace_metadata(nettrace, 2, "Demo", &load, true, 1000500);
    wr_nettrace_block_begin(nettrace, THREAD, THREAD);
    wr_nettrace_event(nettrace, 2, 6, 1000500, payload, bytes);
}

static void write_plain(struct wr_nettrace *nettrace)
{
    write_ticks(nettrace, &plain_tick);
    write_point(nettrace, 1000600, 3);
}

static void write_all(struct wr_nettrace *nettrace)
{
    write_ticks(nettrace, &tick);
    write_tick_with(nettrace);
    write_load(nettrace);
    write_point(nettrace, 1000600, 7);
    wr_nettrace_remove_threads(nettrace, &(struct wr_nettrace_thread_number){THREAD, 7}, 1);
}

int main(int argc, char **argv)
{
    const char *version = argc > 1 ? argv[1] : "";
    struct wr_nettrace nettrace;
    unsigned char *buffer = malloc(WR_NETTRACE_BUFFER_BYTES);
    if (!buffer)
        return 1;
    wr_nettrace_init(&nettrace, NULL, buffer); /* no sink: the bytes stay in the buffer */
    if (strcmp(version, "6") == 0)
        wr_nettrace_use_v6(&nettrace);
    wr_nettrace_header(&nettrace, &header);
    wr_nettrace_thread(&nettrace, THREAD, header.process_id, THREAD, "main");
    write_point(&nettrace, 1000000, 1);
    if (strcmp(version, "4") == 0)
        write_plain(&nettrace);
    else
        write_all(&nettrace);
    wr_nettrace_end(&nettrace);
    bool is_written = fwrite(buffer, 1, nettrace.length, stdout) == nettrace.length;
    free(buffer);
    return is_written && fflush(stdout) == 0 ? 0 : 1;
}
