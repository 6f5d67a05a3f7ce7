/* Records over two segments, like those that core/event/span.c writes and core/session/drain.c
 * joins. */
#include "lane_bench.h"

#include <string.h>
#include "lane/lane_span.h"

static uint64_t first_word(uint64_t number, uint32_t words)
{
    return SPAN_MARK | (uint64_t)words << 32 | number;
}

static void fill(const struct wr_span *span, uint64_t number, uint32_t words)
{
    struct wr_record_out out = {.segment_bytes = bench.segment_bytes};
    wr_record_out_segment(&out, span->oldest);
    uint64_t word = first_word(number, words);
    for (uint32_t i = 0; i < words; i++)
        wr_record_put(&out, &word, sizeof word);
}

/* wr_emit_span() of span.c. */
static bool prepare(struct writer *writer, uint32_t words, struct wr_span *span)
{
    uint64_t number = ++writer->attempts;
    uint32_t bytes = words * RECORD_BYTES;
    model_check(wr_buffers_must_span(bench.buffers, bytes));
    struct wr_segment *first;
    if (wr_buffers_span_room(writer->lane, bytes, &first) != WR_ROOM)
        return false;
    wr_span_begin(span, writer->lane, first, bench.segment_bytes, bytes, 0);
    model_check(span->count == 2);
    fill(span, number, words);
    writer->written[writer->written_count++] = number;
    return true;
}

static void emit(uint32_t index, uint32_t words,
                 bool (*open)(struct wr_lane *lane, const struct wr_span *span))
{
    struct writer *writer = &bench.writer[index];
    struct wr_span span;
    uint64_t pin = bench_pin_enter(writer->thread);
    if (prepare(writer, words, &span))
        open(writer->lane, &span);
    wr_pin_leave(writer->thread, pin);
}

void bench_emit_span(uint32_t index, uint32_t words)
{
    emit(index, words, wr_buffers_span_open);
}

static bool open_parts(struct wr_lane *lane, const struct wr_span *span)
{
    wr_lane_push(lane, span->oldest, span->oldest, bench.segment_bytes);
    wr_lane_push(lane, span->newest, span->newest, bench.segment_bytes);
    return true;
}

void bench_emit_parts(uint32_t index, uint32_t words)
{
    emit(index, words, open_parts);
}

/* record_join() of drain.c. */
uint64_t bench_join(const struct wr_segment *segment, uint64_t commit, uint32_t offset)
{
    uint64_t word[WORDS_MAX];
    const unsigned char *record = (const unsigned char *)segment + offset;
    memcpy(&word[0], record, sizeof word[0]);
    uint32_t words = (uint32_t)(word[0] >> 32) & 0xff;
    model_check(words <= WORDS_MAX);
    model_check(segment->newer != NULL);
    wr_span_read(segment, wr_commit_offset(commit), record, words * RECORD_BYTES,
                 (unsigned char *)word);
    for (uint32_t i = 1; i < words; i++)
        model_check(word[i] == word[0]);
    return (uint32_t)word[0];
}
