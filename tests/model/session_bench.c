#include "session_bench.h"

#include <string.h>
#include "buffers/block.h"

#define PAYLOAD_BYTES 120u
#define SEGMENT_BYTES (WR_SEGMENT_HEADER_BYTES + 8u + PAYLOAD_BYTES)

#define FLUSH_MS 100u

struct session_bench session_bench;

static _Alignas(64) unsigned char encode_buffer[WR_NETTRACE_BUFFER_BYTES];
static struct wr_event_definition definition = {.provider_name = "Model",
                                                .schema = {.name = "Event", .id = 1},
                                                .index = 1,
                                                .payload_bytes = PAYLOAD_BYTES,
                                                .is_fixed = true};

static void prepare_session(enum weir_wake wake, uint32_t grant)
{
    struct weir_session *session = session_bench.session = model_memory(sizeof *session);
    struct wr_buffers *buffers = &session->buffers;
    buffers->segment_bytes = SEGMENT_BYTES;
    buffers->segment_count = session_bench.segments;
    buffers->arena = model_memory(session_bench.segments * SEGMENT_BYTES);
    buffers->wake_at = 1;
    session->config.mode = WEIR_MODE_BLOCK;
    session->config.wake = wake;
    session->config.wake_flags = WEIR_WAKE_NO_SPIN;
    session->config.segment_bytes = SEGMENT_BYTES;
    session->config.grant_bytes = (uint64_t)grant * SEGMENT_BYTES;
    session->config.flush_ms = FLUSH_MS;
    wr_block_init(buffers, &session->config);
    wr_nettrace_init(&session->drain.nettrace, &session->stream, encode_buffer);
    wr_u32_store_relaxed(&session->state, WR_SESSION_STOPPING);
    wr_u32_store_relaxed(&session->drain_go, WR_DRAIN_RUN);
    product_bell(&buffers->bell);
    product_without_lock(&buffers->lock);
    model_name(&buffers->gate.lock, "gate.lock");
    model_name(&buffers->gate.parked, "parked");
    model_name(&buffers->gate.event, "event_set");
    model_name(&buffers->ready, "ready");
    model_name(&buffers->retired, "retired");
    model_name(&buffers->lock, "buffers.lock");
    model_name(&session->stop_requested, "stop_requested");
    model_name(&session->drain_is_gone, "drain_is_gone");
}

static void prepare_emitter(uint32_t index, bool fast)
{
    static const char *const pins[EMITTERS_MAX] = {"pin0", "pin1", "pin2"};
    static const char *const words[EMITTERS_MAX] = {"word0", "word1", "word2"};
    static const char *const currents[EMITTERS_MAX] = {"current0", "current1", "current2"};
    struct wr_thread *thread = session_bench.thread[index] = model_memory(sizeof *thread);
    if (index > 0)
        thread->next = session_bench.thread[index - 1];
    wr_u32_store_relaxed(&thread->lane_count, 1);
    struct wr_lane *lane = product_attach(&session_bench.session->buffers, thread);
    struct wr_place *place = session_bench.place[index] = wr_place_of(lane);
    product_self(index)->thread = thread;
    product_self(index)->ready = fast ? thread : NULL;
    model_name(&thread->pin, pins[index]);
    model_name(&place->waiter.word, words[index]);
    model_name(&lane->current, currents[index]);
    model_name(&lane->end, "end");
    model_name(&lane->opened, "opened");
    model_name(&lane->lost, "lost");
    model_name(&lane->queued, "queued");
    model_name(&lane->exited, "exited");
    model_name(&place->credit, "credit");
}

void session_prepare(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments,
                     uint32_t grant)
{
    memset(&session_bench, 0, sizeof session_bench);
    session_bench.emitters = emitters;
    session_bench.segments = segments;
    product_reset();
    session_bench.told = model_memory(sizeof *session_bench.told);
    model_name(session_bench.told, "told");
    session_bench.event = model_memory(sizeof *session_bench.event);
    session_bench.event->definition = &definition;
    product_event(session_bench.event);
    model_name(&session_bench.event->enabled, "mask");
    prepare_session(wake, grant);
    for (uint32_t i = 0; i < emitters; i++)
        prepare_emitter(i, fast);
    product_threads(session_bench.thread[emitters - 1], fast);
    product_begin(session_bench.session);
    wr_u64_store_relaxed(&wr_buffers_blocking_slots, 1);
    wr_registry_enable(0, NULL);
}

static const unsigned char payload[PAYLOAD_BYTES];

/* The event may be off: then nothing is counted. */
static void emit(uint32_t thread)
{
    wr_self.last_loss = WEIR_LOSS_COUNT;
    bool is_written = product_emit(session_bench.event, payload);
    session_bench.written[thread] += is_written;
    session_bench.lost[thread] += wr_self.last_loss != WEIR_LOSS_COUNT;
    model_check(!is_written || wr_self.last_loss == WEIR_LOSS_COUNT);
}

void session_emit(void)
{
    emit(model_self());
}

void session_emit_before(uint32_t thread)
{
    struct wr_self own = wr_self;
    struct wr_thread *record = session_bench.thread[thread];
    wr_self = (struct wr_self){.thread = record, .ready = wr_thread_fast ? record : NULL};
    emit(thread);
    wr_self = own;
}

void session_thread_exit(void)
{
    product_thread_exit(session_bench.thread[model_self()]);
}

void session_drain(void)
{
    product_drain(session_bench.session);
}

static void free_all(void)
{
    struct wr_buffers *buffers = &session_bench.session->buffers;
    for (uint32_t i = 0; i < session_bench.emitters; i++)
        model_free(session_bench.place[i], sizeof *session_bench.place[i]);
    model_free(buffers->arena, session_bench.segments * SEGMENT_BYTES);
    model_free(session_bench.session, sizeof *session_bench.session);
}

static bool is_one(uint64_t value, uint64_t argument)
{
    (void)argument;
    return value == 1;
}

void session_emit_and_tell(void)
{
    session_emit();
    wr_u32_store_relaxed(session_bench.told, 1); /* relaxed: the product orders what matters */
}

void session_emit_and_stop(void)
{
    session_emit();
    model_wait_until_u32(session_bench.told, is_one, 0);
    session_stop();
}

static void stop(bool alone)
{
    model_check(product_stop(session_bench.session, alone));
    session_bench.has_stopped = true;
    free_all();
}

void session_stop(void)
{
    stop(false);
}

void session_stop_alone(void)
{
    stop(true);
}

static void add_lane(struct weir_counts *sum, struct wr_lane *lane)
{
    struct weir_counts counts = {0};
    wr_lane_counts_locked(lane, &counts, UINT64_MAX);
    wr_counts_add(sum, &counts);
}

static void check_counts(const struct weir_counts *sum)
{
    uint64_t written = 0, lost = 0;
    for (uint32_t i = 0; i < session_bench.emitters; i++) {
        written += session_bench.written[i];
        lost += session_bench.lost[i];
    }
    model_check(sum->written + sum->lost[WEIR_LOSS_SINK_FAILED] == written);
    model_check(sum->attempted == written + lost);
}

void session_check(void)
{
    struct weir_session *session = session_bench.session;
    struct weir_counts sum = session->buffers.released;
    wr_buffers_welcome_locked(&session->buffers);
    for (struct wr_lane *lane = session->buffers.lanes; lane; lane = lane->next)
        add_lane(&sum, lane);
    check_counts(&sum);
    model_check(session_bench.has_stopped);
    model_check(!session->has_unwritten);
    model_check(wr_u32_load_relaxed(&session->buffers.gate.parked) == 0);
}

/* Before the timer of the flush, which would see to anything. */
void session_check_in_time(void)
{
    session_check();
    model_check(product_clock_ns(DRAIN_THREAD) < UINT64_C(1000000) * FLUSH_MS);
}

/* --- EARLY. ---------------------------------------------------------------------------------- */

void session_start_late(void)
{
    struct weir_session *session = session_bench.session;
    wr_registry_enable(0, NULL);
    /* edge EARLY.acquire */
    if (wr_u32_load_acquire(&session->has_ended_early))
        wr_registry_disable(0, UINT64_MAX);
}

void session_fail(void)
{
    session_bench.session->stream.has_failed = true;
    wr_drain_flush(session_bench.session);
}

void session_check_off(void)
{
    model_check(wr_mask_load_seq_cst(&session_bench.event->enabled) == 0);
}
