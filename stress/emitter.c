#include "emitter.h"

#include <stdlib.h>
#include <string.h>
#include <weir/context.h>
#include "harness.h"

#define POOL_BYTES           65536u
#define FILE_BYTES_MAX       65535u /* the format's limit */
#define TOO_LARGE_BYTES      65520u /* exceeds that limit together with the fields before them */
#define HEAD_BYTES           24u    /* Emitter, Counter, Length, Sum */
#define FIRST_NUMBER         2u     /* number 1 introduces the thread */
#define SEGMENT_HEADER_BYTES 256u
#define RECORD_HEADER_BYTES  16u /* two words */

typedef unsigned long long ull;

WEIR_PROVIDER_DEFINE(Stress, STRESS_EVENTS)

static unsigned char pool[POOL_BYTES]; /* CONST after init */

void hs_emitters_init(void)
{
    uint64_t state = hs_random(0, 0);
    for (size_t i = 0; i < POOL_BYTES; i++)
        pool[i] = (unsigned char)(hs_next(&state) >> 24);
    struct weir_error error = {""};
    hs_check(weir_provider_register(&weir_provider_Stress, NULL, NULL, NULL, &error) == WEIR_OK,
             "register: %s", error.text);
}

uint32_t hs_large_max(uint64_t budget_bytes, uint32_t segment_bytes)
{
    uint64_t most = budget_bytes / segment_bytes / 2 * (segment_bytes - SEGMENT_HEADER_BYTES) -
                    RECORD_HEADER_BYTES;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* --- Emitters. ------------------------------------------------------------------------------- */

static size_t bitmap_bytes(uint64_t capacity)
{
    return (size_t)(capacity / 64 + 1) * 8;
}

struct hs_emitter *hs_emitters_new(uint32_t count, uint64_t capacity)
{
    struct hs_emitter *emitters = hs_allocate(count * sizeof *emitters);
    for (uint32_t i = 0; i < count; i++) {
        emitters[i].index = i;
        emitters[i].capacity = capacity;
        emitters[i].is_written = hs_allocate(bitmap_bytes(capacity));
        emitters[i].is_seen = hs_allocate(bitmap_bytes(capacity));
    }
    return emitters;
}

void hs_emitters_reset(struct hs_emitter *emitters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct hs_emitter old = emitters[i];
        memset(old.is_written, 0, bitmap_bytes(old.capacity));
        memset(old.is_seen, 0, bitmap_bytes(old.capacity));
        emitters[i] = (struct hs_emitter){.index = i,
                                          .capacity = old.capacity,
                                          .is_shared = old.is_shared,
                                          .is_visiting = old.is_visiting,
                                          .large_max = old.large_max,
                                          .scratch = old.scratch,
                                          .around = old.around,
                                          .is_written = old.is_written,
                                          .is_seen = old.is_seen};
    }
}

void hs_emitters_free(struct hs_emitter *emitters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(emitters[i].is_written);
        free(emitters[i].is_seen);
    }
    free(emitters);
}

static bool bit(const uint64_t *bits, uint64_t at)
{
    return bits[at / 64] >> at % 64 & 1;
}

static void bit_set(uint64_t *bits, uint64_t at)
{
    bits[at / 64] |= UINT64_C(1) << at % 64;
}

/* --- Emitting. ------------------------------------------------------------------------------- */

/* Text of 1-byte and 2-byte characters: the record holds UTF-8, the file UTF-16. */
static uint64_t text_make(char *out, const unsigned char *from, uint32_t length)
{
    uint64_t sum = HS_CHECKSUM_START;
    for (uint32_t i = 0; i < length; i++) {
        uint16_t unit = from[i] < 0x20 ? (uint16_t)(0x100 + from[i]) : from[i] & 0x7f;
        unit = unit < 0x20 ? (uint16_t)(unit + 0x20) : unit;
        sum = hs_checksum(sum, &unit, sizeof unit);
        if (unit < 0x80) {
            *out++ = (char)unit;
        } else {
            *out++ = (char)(0xC0 | unit >> 6);
            *out++ = (char)(0x80 | (unit & 0x3F));
        }
    }
    *out = 0;
    return sum;
}

static bool around(const struct hs_emitter *emitter, bool begins)
{
    if (emitter->around)
        emitter->around(begins);
    return true;
}

/* Only the call into the library runs between the two calls of `around`. */
#define AROUND(emitter, call) around(emitter, true) && after(emitter, call)

static bool after(const struct hs_emitter *emitter, bool is_written)
{
    around(emitter, false);
    return is_written;
}

static uint64_t stamp_of(uint64_t random)
{
    uint64_t now = weir_clock(), distance = random >> (random >> 24 & 63);
    switch (random >> 44 & 7) {
    case 0:
        return distance;
    case 1:
        return now + distance;
    case 2:
        return now - distance;
    default:
        return now;
    }
}

#define EMIT(emitter, random, Name, ...)                                                \
    ((emitter)->is_stamping && (random) >> 43 & 1                                       \
         ? Stress_##Name##_at(stamp_of(random), (emitter)->index, counter, __VA_ARGS__) \
         : Stress_##Name((emitter)->index, counter, __VA_ARGS__))

static bool emit_fixed(const struct hs_emitter *emitter, uint64_t counter, uint64_t random)
{
    uint64_t values[2] = {random, ~random * 3};
    uint64_t sum = hs_checksum(HS_CHECKSUM_START, values, sizeof values);
    return AROUND(emitter, EMIT(emitter, random, Fixed, sizeof values, sum, values[0], values[1]));
}

static uint64_t counter_read(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static bool emit_clock(const struct hs_emitter *emitter, uint64_t counter)
{
    uint64_t values[2] = {hs_now_ns(), counter_read()};
    uint64_t sum = hs_checksum(HS_CHECKSUM_START, values, sizeof values);
    return AROUND(emitter,
                  Stress_Fixed(emitter->index, counter, sizeof values, sum, values[0], values[1]));
}

struct hs_clocks hs_event_clocks(const struct hs_event *event)
{
    struct hs_clocks clocks = {0, 0};
    if (event->payload_bytes == HEAD_BYTES + 16) {
        memcpy(&clocks.monotonic_ns, event->payload + HEAD_BYTES, 8);
        memcpy(&clocks.counter, event->payload + HEAD_BYTES + 8, 8);
    }
    return clocks;
}

uint32_t hs_event_emitter(const struct hs_event *event)
{
    uint32_t index = UINT32_MAX;
    if (event->payload_bytes >= HEAD_BYTES)
        memcpy(&index, event->payload, 4);
    return index;
}

uint64_t hs_event_counter(const struct hs_event *event)
{
    uint64_t counter = UINT64_MAX;
    if (event->payload_bytes >= HEAD_BYTES)
        memcpy(&counter, event->payload + 4, 8);
    return counter;
}

static bool emit_text(const struct hs_emitter *emitter, uint64_t counter, uint64_t random)
{
    char text[600];
    uint32_t length = (uint32_t)(random % (random & 1u << 20 ? 290 : 40));
    uint64_t sum = text_make(text, pool + (random >> 32) % (POOL_BYTES - 300), length);
    return AROUND(emitter, EMIT(emitter, random, Text, length, sum, text));
}

static bool emit_bytes(const struct hs_emitter *emitter, uint64_t counter, uint64_t random,
                       uint32_t length)
{
    const unsigned char *data = pool + (random >> 32) % (POOL_BYTES - length);
    uint64_t sum = hs_checksum(HS_CHECKSUM_START, data, length);
    return AROUND(emitter, EMIT(emitter, random, Bytes, length, sum, data, length));
}

/* `bytes` in the record, `file_bytes` at most in the file. */
static bool settle_large(struct hs_emitter *emitter, uint32_t bytes, uint32_t file_bytes,
                         bool is_written)
{
    uint32_t most = emitter->large_max ? emitter->large_max : FILE_BYTES_MAX;
    bool is_too_large = bytes > most || file_bytes > FILE_BYTES_MAX;
    emitter->too_large += is_too_large;
    emitter->large += is_written;
    hs_check(!is_too_large || !is_written, "emitter %u: an event of %u bytes was written",
             emitter->index, bytes);
    return is_written;
}

static bool emit_large(struct hs_emitter *emitter, uint64_t counter, uint64_t random)
{
    if (random >> 22 & 1) {
        uint32_t length = (uint32_t)(random % (POOL_BYTES - 1));
        return settle_large(emitter, HEAD_BYTES + 2 + length, HEAD_BYTES + 2 + length,
                            emit_bytes(emitter, counter, random, length));
    }
    char *text = (char *)emitter->scratch;
    uint32_t length = (uint32_t)(random % 30000);
    uint64_t sum = text_make(text, pool + (random >> 32) % (POOL_BYTES - length), length);
    uint32_t bytes = (uint32_t)strlen(text);
    return settle_large(emitter, HEAD_BYTES + 2 + bytes, HEAD_BYTES + 2 + 2 * bytes,
                        AROUND(emitter, EMIT(emitter, random, Text, length, sum, text)));
}

static bool emit_mismatch(const struct hs_emitter *emitter)
{
    struct weir_value value = {.type = WEIR_TYPE_u64, .unsigned_value = 0};
    return AROUND(emitter, weir_event_emit(&weir_events_Stress.Fixed, &value, 1, sizeof value));
}

static enum hs_shape mix(uint64_t random)
{
    uint64_t way = random >> 40 & 4095;
    if (way < 2)
        return way ? HS_TOO_LARGE : HS_MISMATCH;
    return way & 3 ? HS_FIXED : way & 4 ? HS_TEXT : HS_BYTES;
}

static bool emit_shape(struct hs_emitter *emitter, enum hs_shape shape, uint64_t counter,
                       uint64_t random)
{
    switch (shape == HS_MIX ? mix(random) : shape) {
    case HS_TEXT:
        return emit_text(emitter, counter, random);
    case HS_BYTES:
        return emit_bytes(emitter, counter, random,
                          (uint32_t)(random % ((random >> 20 & 63) ? 60 : 3000)));
    case HS_TOO_LARGE:
        emitter->too_large++;
        return hs_check(!emit_bytes(emitter, counter, random, TOO_LARGE_BYTES),
                        "an event that is too large was written") &&
               false;
    case HS_MISMATCH:
        emitter->mismatches++;
        return hs_check(!emit_mismatch(emitter),
                        "an event that does not match its schema was written") &&
               false;
    case HS_LARGE:
        return emit_large(emitter, counter, random);
    case HS_CLOCK:
        return emit_clock(emitter, counter);
    case HS_FIXED:
    case HS_MIX:
        break;
    }
    return emit_fixed(emitter, counter, random);
}

bool hs_emit(struct hs_emitter *emitter, enum hs_shape shape)
{
    uint64_t counter = emitter->attempts;
    if (counter == emitter->capacity)
        return false;
    emitter->attempts = counter + 1;
    bool is_written = emit_shape(emitter, shape, counter, hs_random(emitter->index + 1, counter));
    if (is_written) {
        if (emitter->is_written)
            bit_set(emitter->is_written, counter);
        emitter->written++;
    }
    if ((counter & 1023) == 0)
        hs_progress();
    return is_written;
}

static __thread struct weir_guid activity_id;
static __thread struct weir_context activity = WEIR_CONTEXT_INIT;

void hs_activity_begin(void)
{
    activity_id.bytes[0] = 1;
    activity.activity_id = &activity_id;
    weir_context_push(&activity);
}

void hs_activity_end(void)
{
    weir_context_pop();
}

void hs_emitter_settle(struct hs_emitter *emitter, const struct hs_trace *trace)
{
    struct weir_counts counts = {0};
    emitter->capture = hs_trace_self(trace, &counts);
    if (!emitter->attempts ||
        !hs_check(emitter->capture != 0, "emitter %u has no thread statistics", emitter->index))
        return;
    uint64_t lost = emitter->attempts - emitter->written;
    hs_check(
        emitter->is_shared || (counts.attempted == emitter->attempts &&
                               counts.written == emitter->written && hs_lost(&counts) == lost),
        "emitter %u: %llu attempts, %llu written; thread statistics say %llu, %llu and %llu lost",
        emitter->index, (ull)emitter->attempts, (ull)emitter->written, (ull)counts.attempted,
        (ull)counts.written, (ull)hs_lost(&counts));
}

/* --- The stream against the notes. ----------------------------------------------------------- */

static uint64_t payload_sum(const struct hs_event *event, uint32_t length)
{
    const uint8_t *data = event->payload + HEAD_BYTES;
    uint32_t bytes = event->payload_bytes - HEAD_BYTES;
    uint16_t count = 0;
    if (event->id == 1)
        return bytes == 16 && length == 16 ? hs_checksum(HS_CHECKSUM_START, data, 16) : 0;
    if (event->id == 2)
        return bytes == 2 * (length + 1) && data[bytes - 2] == 0 && data[bytes - 1] == 0
                   ? hs_checksum(HS_CHECKSUM_START, data, 2 * (size_t)length)
                   : 0;
    if (bytes >= 2)
        memcpy(&count, data, 2);
    return bytes == 2 + length && count == length ? hs_checksum(HS_CHECKSUM_START, data + 2, length)
                                                  : 0;
}

static void note_seen(struct hs_emitter *emitter, const struct hs_event *event, uint64_t counter)
{
    uint64_t capture = event->capture->id;
    hs_check(bit(emitter->is_written, counter),
             "emitter %u: event %llu is in the stream, but emit returned false", emitter->index,
             (ull)counter);
    hs_check(!bit(emitter->is_seen, counter), "emitter %u: event %llu is in the stream twice",
             emitter->index, (ull)counter);
    hs_check(emitter->is_visiting || counter >= emitter->next_seen,
             "emitter %u: event %llu comes after %llu", emitter->index, (ull)counter,
             (ull)emitter->next_seen - 1);
    hs_check(emitter->is_visiting || emitter->capture == 0 || emitter->capture == capture,
             "emitter %u: event %llu is from thread %llu, not %llu", emitter->index, (ull)counter,
             (ull)capture, (ull)emitter->capture);
    hs_check(emitter->is_shared || event->number == counter + FIRST_NUMBER,
             "emitter %u: event %llu has number %llu: the gaps are not where the losses were",
             emitter->index, (ull)counter, (ull)event->number);
    emitter->capture = emitter->is_visiting ? 0 : capture;
    emitter->seen++;
    emitter->next_seen = counter + 1;
    bit_set(emitter->is_seen, counter);
}

bool hs_event_is_intact(const struct hs_event *event)
{
    uint32_t length;
    uint64_t sum;
    if (event->payload_bytes < HEAD_BYTES || event->id < 1 || event->id > 3)
        return false;
    memcpy(&length, event->payload + 12, 4);
    memcpy(&sum, event->payload + 16, 8);
    return payload_sum(event, length) == sum;
}

void hs_oracle_event(void *context, const struct hs_event *event)
{
    const struct hs_oracle *oracle = context;
    uint32_t index = hs_event_emitter(event);
    uint64_t counter = hs_event_counter(event);
    if (!hs_check(index < oracle->count && counter < oracle->emitters[index].attempts,
                  "a record of emitter %u, event %llu, which was never emitted", index,
                  (ull)counter))
        return;
    hs_check(hs_event_is_intact(event), "emitter %u: event %llu is not intact", index,
             (ull)counter);
    note_seen(&oracle->emitters[index], event, counter);
}

static void verify_thread(const struct hs_emitter *emitter, const struct hs_stream *stream)
{
    const struct hs_capture *capture = hs_stream_capture(stream, emitter->capture);
    if (emitter->capture == 0 ||
        !hs_check(capture != NULL, "emitter %u: its thread %llu is not in the stream",
                  emitter->index, (ull)emitter->capture))
        return;
    hs_check(capture->last_number == emitter->attempts + 1,
             "emitter %u: %llu attempts, but the last number is %llu", emitter->index,
             (ull)emitter->attempts, (ull)capture->last_number);
    hs_check(capture->lost == emitter->attempts - emitter->written,
             "emitter %u: %llu attempts, %llu written, but %llu lost", emitter->index,
             (ull)emitter->attempts, (ull)emitter->written, (ull)capture->lost);
    hs_check(capture->lost_by_cause[WEIR_LOSS_TOO_LARGE] == emitter->too_large &&
                 capture->lost_by_cause[WEIR_LOSS_MISMATCH] == emitter->mismatches,
             "emitter %u: %llu too large, %llu mismatched; the stream reports %llu and %llu",
             emitter->index, (ull)emitter->too_large, (ull)emitter->mismatches,
             (ull)capture->lost_by_cause[WEIR_LOSS_TOO_LARGE],
             (ull)capture->lost_by_cause[WEIR_LOSS_MISMATCH]);
}

/* Emitters that share a thread: their attempts add up to the thread's. */
static void verify_shared(const struct hs_oracle *oracle, uint32_t first,
                          const struct hs_stream *stream)
{
    const struct hs_capture *capture = hs_stream_capture(stream, oracle->emitters[first].capture);
    uint64_t attempts = 0, written = 0;
    for (uint32_t i = 0; i < oracle->count; i++) {
        if (oracle->emitters[i].capture != oracle->emitters[first].capture)
            continue;
        if (i < first)
            return; /* already verified */
        attempts += oracle->emitters[i].attempts;
        written += oracle->emitters[i].written;
    }
    if (capture)
        hs_check(capture->last_number <= attempts + 1 && capture->events == written,
                 "thread %llu: %llu attempts, %llu written; the stream has the last number %llu "
                 "and %llu events",
                 (ull)capture->id, (ull)attempts, (ull)written, (ull)capture->last_number,
                 (ull)capture->events);
}

void hs_oracle_verify(const struct hs_oracle *oracle, const struct hs_stream *stream,
                      const struct hs_trace *trace)
{
    const struct weir_counts *counts = &trace->stats.counts;
    uint64_t attempts = 0, written = 0, lost = 0;
    for (uint32_t i = 0; i < oracle->count; i++) {
        const struct hs_emitter *emitter = &oracle->emitters[i];
        attempts += emitter->attempts;
        written += emitter->written;
        hs_check(emitter->seen == emitter->written,
                 "emitter %u: %llu events written, %llu in the stream", i, (ull)emitter->written,
                 (ull)emitter->seen);
        if (!emitter->is_shared)
            verify_thread(emitter, stream);
        else if (emitter->capture)
            verify_shared(oracle, i, stream);
    }
    hs_check(counts->attempted == attempts && counts->written == written,
             "%llu attempts, %llu written; the session's statistics say %llu and %llu",
             (ull)attempts, (ull)written, (ull)counts->attempted, (ull)counts->written);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++) {
        lost += stream->lost_by_cause[cause];
        hs_check(counts->lost[cause] == stream->lost_by_cause[cause],
                 "lost by %s: %llu in the stream, %llu counted",
                 weir_loss_name((enum weir_loss)cause), (ull)stream->lost_by_cause[cause],
                 (ull)counts->lost[cause]);
    }
    hs_check(attempts == written + lost, "%llu attempts are not %llu written and %llu lost",
             (ull)attempts, (ull)written, (ull)lost);
}

void hs_oracle_run(struct hs_emitter *emitters, uint32_t count, const struct hs_trace *trace)
{
    struct hs_oracle oracle = {emitters, count};
    struct hs_stream stream;
    hs_stream_read(&stream, trace, hs_oracle_event, &oracle);
    hs_oracle_verify(&oracle, &stream, trace);
    hs_check(!emitters->is_stamping || stream.steps + stream.steps_of_threads == 0,
             "a stamp of the caller's was taken for a step of the clock");
    hs_figure_add("attempts", (double)trace->stats.counts.attempted);
    hs_figure_add("written", (double)trace->stats.counts.written);
    hs_figure_add("lost", (double)hs_lost(&trace->stats.counts));
    hs_figure_add("gaps", (double)stream.gaps.count);
    hs_figure_add("points", (double)stream.points);
    hs_figure_add("late_records", (double)trace->stats.late_records);
    hs_figure_add("threads", (double)trace->stats.threads_seen);
    hs_stream_free(&stream);
}
