#include "session_bench.h"

#include <string.h>
#include "buffers/mode_drop.h"
#include "event/hooks.h"
#include "session/read.h"
#include "wait/ablation.h"

#define PAYLOAD_BYTES 120u
#define RECORD_BYTES  (WR_RECORD_HEADER_BYTES + PAYLOAD_BYTES)

#define FLUSH_MS      100u
#define DROP_SEGMENTS 64u

#define CLOCK_START 1000
#define CLOCK_STEP  500

struct session_bench session_bench;
static bool with_clock;

static _Alignas(64) unsigned char encode_buffer[WR_NETTRACE_BUFFER_BYTES];
static struct wr_payload_step whole[] = {{WR_STEP_WHOLE, 0, 0, 0}};
static struct wr_event_definition definition = {.provider_name = "Model",
                                                .schema = {.name = "Event", .event_id = 1},
                                                .index = 1,
                                                .payload_bytes = PAYLOAD_BYTES,
                                                .is_fixed = true};

static void prepare_block(struct wr_buffers *buffers, enum weir_wake wake, uint32_t grant)
{
    struct weir_session_config *config = &session_bench.session->config;
    buffers->segment_count = session_bench.segments;
    buffers->wake_at = 1;
    config->wake = wake;
    config->grant_bytes = (uint64_t)grant * session_bench.segment_bytes;
    buffers->mode = &wr_mode_block;
    buffers->mode->init(buffers, config);
    if (wake == WEIR_WAKE_RELAY)
        wr_gate_ablate(&buffers->gate, WR_WAKE_NO_SPIN);
    product_bell(&buffers->bell);
    product_without_lock(&buffers->lock);
}

/* A budget larger than the number of existing segments keeps the drain from acting on a
 * shortage. */
static void prepare_drop(struct wr_buffers *buffers, uint32_t budget_segments)
{
    struct wr_segment *segments[SEGMENTS_MAX];
    for (uint32_t i = 0; i < session_bench.segments; i++)
        segments[i] = (void *)(buffers->arena + (uint64_t)i * session_bench.segment_bytes);
    product_free_list(segments, session_bench.segments, session_bench.segment_bytes);
    buffers->mode = &wr_mode_drop;
    buffers->segment_count = budget_segments;
    buffers->yields = true;
    wr_u32_store_relaxed(&buffers->carved, budget_segments);
    model_name(&buffers->turns.enrolled, "enrolled");
    model_name(&buffers->turns.waiting, "waiting");
}

static void prepare_session(void)
{
    struct weir_session *session = session_bench.session = model_memory(sizeof *session);
    struct wr_buffers *buffers = &session->buffers;
    buffers->segment_bytes = session_bench.segment_bytes;
    buffers->arena = model_memory(session_bench.segments * session_bench.segment_bytes);
    session->config.segment_bytes = session_bench.segment_bytes;
    session->config.flush_ms = FLUSH_MS;
    wr_nettrace_init(&session->drain.nettrace, &session->stream, encode_buffer);
    wr_u32_store_relaxed(&session->state, WR_SESSION_STOPPING);
    wr_u32_store_relaxed(&session->drain_go, WR_DRAIN_RUN);
    model_name(&buffers->gate.lock, "gate.lock");
    model_name(&buffers->gate.parked, "parked");
    model_name(&buffers->gate.event, "event_set");
    model_name(&buffers->ready, "ready");
    model_name(&buffers->retired, "retired");
    model_name(&buffers->lock, "buffers.lock");
    model_name(&session->stop_requested, "stop_requested");
    model_name(&session->drain_is_gone, "drain_is_gone");
}

static void prepare_emitter(uint32_t index, bool fast, bool has_lane)
{
    static const char *const pins[EMITTERS_MAX] = {"pin0", "pin1", "pin2"};
    static const char *const words[EMITTERS_MAX] = {"word0", "word1", "word2"};
    static const char *const currents[EMITTERS_MAX] = {"current0", "current1", "current2"};
    struct wr_buffers *buffers = &session_bench.session->buffers;
    struct wr_thread *thread = session_bench.thread[index] = model_memory(sizeof *thread);
    if (index > 0)
        thread->next = session_bench.thread[index - 1];
    wr_thread_forget_lanes(thread);
    wr_u32_store_relaxed(&thread->lane_count, 1);
    struct wr_lane *lane = has_lane ? product_attach(buffers, thread) : product_spare_lane(buffers);
    struct wr_place *place = session_bench.place[index] = wr_place_of(lane);
    product_self(index)->thread = thread;
    product_self(index)->ready = fast ? thread : &wr_thread_none;
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

static void prepare(uint32_t emitters, uint32_t segments, uint32_t records)
{
    memset(&session_bench, 0, sizeof session_bench);
    session_bench.has_clock = with_clock;
    with_clock = false;
    session_bench.emitters = emitters;
    session_bench.segments = segments;
    session_bench.segment_bytes = WR_SEGMENT_HEADER_BYTES + records * RECORD_BYTES;
    product_reset();
    session_bench.told = model_memory(sizeof *session_bench.told);
    model_name(session_bench.told, "told");
    session_bench.event = model_memory(sizeof *session_bench.event);
    session_bench.event->header = wr_record_header(definition.index, 0);
    session_bench.event->record_bytes = RECORD_BYTES;
    definition.is_fixed = true;
    definition.steps = whole;
    product_event(session_bench.event, &definition);
    model_name(&session_bench.event->enabled, "mask");
    model_name(&session_bench.event->route, "route");
    prepare_session();
}

static void begin(bool fast, bool have_lanes)
{
    session_bench.session->buffers.has_plain_pins = fast;
    for (uint32_t i = 0; i < session_bench.emitters; i++)
        prepare_emitter(i, fast, have_lanes);
    product_threads(session_bench.thread[session_bench.emitters - 1], fast);
    wr_ptr_store_relaxed(&wr_buffers_by_slot[0], &session_bench.session->buffers);
    if (session_bench.has_clock)
        product_clock(CLOCK_START);
    product_begin(session_bench.session);
    wr_registry_enable(0, NULL);
}

void session_prepare(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments,
                     uint32_t grant)
{
    prepare(emitters, segments, 1);
    prepare_block(&session_bench.session->buffers, wake, grant);
    wr_u64_store_relaxed(&wr_buffers_blocking_slots, 1);
    begin(fast, true);
}

void session_prepare_drop(bool fast, uint32_t emitters, uint32_t segments, bool have_lanes)
{
    prepare(emitters, segments, 3);
    prepare_drop(&session_bench.session->buffers, DROP_SEGMENTS);
    session_bench.session->buffers.wake_at = UINT32_MAX;
    begin(fast, have_lanes);
}

void session_prepare_brim(bool fast, uint32_t emitters, uint32_t segments)
{
    prepare(emitters, segments, 1);
    struct wr_buffers *buffers = &session_bench.session->buffers;
    prepare_drop(buffers, segments);
    buffers->wake_at = 1;
    product_bell(&buffers->bell);
    product_without_lock(&buffers->lock);
    begin(fast, true);
}

void session_prepare_late(uint32_t segments, bool have_lanes)
{
    session_prepare_drop(true, 1, segments, have_lanes);
    session_bench.session->buffers.has_plain_pins = false;
    product_marker(2);
    wr_registry_enable(0, NULL);
}

void session_lingers(void)
{
    session_bench.session->config.stop_serves_waiting = true;
}

static void before(void *context)
{
    uint32_t self = model_self();
    model_check(session_bench.hooked[self] % 2 == 0);
    session_bench.hooked[self]++;
    session_bench.hooked_by[self] = context;
}

static void after(void *context)
{
    uint32_t self = model_self();
    model_check(session_bench.hooked[self] % 2 == 1);
    session_bench.hooked[self]++;
    model_check(session_bench.hooked_by[self] == context);
}

static const struct weir_park_hooks hooks = {sizeof hooks, before, after, NULL};

void session_hooks(void)
{
    product_hooks(&hooks);
}

static const unsigned char payload[PAYLOAD_BYTES];

/* With an array, in a record of the same size. */
#define ELEMENTS (PAYLOAD_BYTES - WR_RECORD_EXTENSION_BYTES - sizeof(uint16_t))
static const struct {
    const unsigned char *elements;
    uint32_t count;
} array_payload = {payload, ELEMENTS};
static struct wr_payload_step array_steps[] = {{WR_STEP_ARRAY, 1, 1, 0}, {WR_STEP_END, 0, 0, 0}};

void session_variable(void)
{
    definition.is_fixed = false;
    definition.steps = array_steps;
    session_bench.event->record_bytes = WR_RECORD_BYTES_VARIABLE;
}

/* If the event is off, nothing is counted. */
static void emit(uint32_t thread)
{
    *wr_self_last_loss() = WEIR_LOSS_COUNT;
    const void *bytes = definition.is_fixed ? (const void *)payload : &array_payload;
    bool is_written = weir_emit(session_bench.event, bytes);
    session_bench.written[thread] += is_written;
    session_bench.lost[thread] += *wr_self_last_loss() != WEIR_LOSS_COUNT;
    model_check(!is_written || *wr_self_last_loss() == WEIR_LOSS_COUNT);
}

void session_emit(void)
{
    emit(model_self());
}

void session_emit_nested(void)
{
    uint32_t self = model_self(), last_loss = *wr_self_last_loss();
    bool is_nested = wr_self_is_inside();
    emit(self);
    if (is_nested) {
        session_bench.lost[self]--;
        session_bench.nested[self]++;
    }
    *wr_self_last_loss() = last_loss;
}

void session_prepare_clock(enum weir_wake wake, bool fast, uint32_t emitters, uint32_t segments)
{
    with_clock = true;
    session_prepare(wake, fast, emitters, segments, 1);
}

void session_step_back(void)
{
    product_clock_step(-CLOCK_STEP);
}

void session_leap(void)
{
    product_clock_step(CLOCK_STEP);
}

/* The last events need the drain, so it has read what the thread waited for before the stop. */
void session_emit_all_and_stop(void)
{
    for (int i = 0; i < 3; i++)
        session_emit();
    session_stop();
}

void session_emit_before(uint32_t thread)
{
    struct wr_self own = wr_self;
    struct wr_thread *record = session_bench.thread[thread];
    wr_self =
        (struct wr_self){.thread = record, .ready = wr_thread_fast ? record : &wr_thread_none};
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
    model_free(buffers->arena, session_bench.segments * session_bench.segment_bytes);
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

/* The word of a lane's turn: not WAITING, with or without ASKED. */
static bool is_served(uint64_t word, uint64_t waiting)
{
    return (word & waiting) == 0;
}

static void emit_in_turn(void)
{
    uint32_t self = model_self();
    session_emit();
    if (session_bench.lost[self]) {
        model_wait_until_ptr(&session_bench.place[self]->credit, is_served,
                             (uint64_t)(uintptr_t)WR_TURN_WAITING);
        session_emit();
        model_check(session_bench.written[self] == 1);
    }
}

void session_emit_in_turn_and_tell(void)
{
    emit_in_turn();
    wr_u32_store_relaxed(session_bench.told, 1); /* relaxed: the product orders what matters */
}

void session_emit_in_turn_and_stop(void)
{
    emit_in_turn();
    model_wait_until_u32(session_bench.told, is_one, 0);
    session_stop();
}

void session_emit_and_stop_lost(void)
{
    session_emit();
    model_wait_until_u32(session_bench.told, is_one, 0);
    model_check(!product_stop(session_bench.session, false, UINT64_MAX));
    session_bench.has_stopped = true;
    model_check(wr_ptr_load_relaxed(&wr_buffers_by_slot[0]) != NULL);
}

static void stop(bool alone)
{
    model_check(product_stop(session_bench.session, alone, UINT64_MAX));
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

void session_stop_late(void)
{
    if (product_stop(session_bench.session, true, 0)) {
        session_bench.has_stopped = true;
        free_all();
    } else {
        stop(true);
    }
}

void session_stop_in_tries(void)
{
    if (product_stop_try(session_bench.session) || product_stop_try(session_bench.session)) {
        session_bench.has_stopped = true;
        free_all();
    } else {
        stop(true);
    }
}

static void read_once(void)
{
    struct weir_session *session = session_bench.session;
    uint64_t attached;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        wr_read_lane(session, lane, UINT64_MAX);
    session->buffers.mode->before_sink(&session->buffers);
    session->buffers.mode->after_sink(&session->buffers);
}

void session_drain_and_stop_alone(void)
{
    read_once();
    stop(true);
}

void session_stop_serving(void)
{
    while (!product_stop_try(session_bench.session)) {
        model_wait_lazily_u32(session_bench.told, is_one, 0); /* nobody tells */
        read_once();
        wr_drain_sweep(session_bench.session, true);
    }
    session_bench.has_stopped = true;
    free_all();
}

void session_drain_and_stop_serving(void)
{
    read_once();
    session_stop_serving();
}

void session_set_hooks(void)
{
    static int context;
    struct weir_park_hooks others = hooks;
    others.context = &context;
    model_check(weir_park_hooks_set(&others) == WEIR_OK);
}

void session_wait_and_set_hooks(void)
{
    const struct weir_park_hooks *taken = wr_hooks_before();
    wr_hooks_after(taken);
    session_set_hooks();
}

static void add_lane(struct weir_counts *sum, struct wr_lane *lane)
{
    struct weir_counts counts = {0};
    wr_lane_counts_locked(lane, &counts, UINT64_MAX);
    wr_counts_add(sum, &counts);
}

static void check_counts(const struct weir_counts *sum)
{
    uint64_t written = 0, lost = 0, nested = 0;
    for (uint32_t i = 0; i < session_bench.emitters; i++) {
        written += session_bench.written[i];
        lost += session_bench.lost[i];
        nested += session_bench.nested[i];
    }
    model_check(sum->written + sum->lost[WEIR_LOSS_SINK_FAILED] == written);
    model_check(sum->attempted >= written + lost);
    model_check(sum->attempted <= written + lost + nested);
}

static struct weir_counts counts_of_all(void)
{
    struct weir_session *session = session_bench.session;
    struct weir_counts sum = session->buffers.released, own = {0};
    wr_buffers_welcome_locked(&session->buffers);
    for (struct wr_lane *lane = session->buffers.lanes; lane; lane = lane->next)
        add_lane(&sum, lane);
    /* Losses that no lane can count and that no point has reported. */
    own.lost[WEIR_LOSS_NESTED] = wr_unattributed[0].nested.cell;
    wr_counts_add(&sum, &own);
    return sum;
}

void session_check_counts(void)
{
    struct weir_counts sum = counts_of_all();
    check_counts(&sum);
}

void session_check_read(void)
{
    uint64_t read = 0;
    for (struct wr_lane *lane = session_bench.session->buffers.lanes; lane; lane = lane->next)
        read += lane->records_read;
    struct weir_counts sum = counts_of_all();
    check_counts(&sum);
    model_check(sum.written == read);
}

void session_check(void)
{
    const struct weir_session *session = session_bench.session;
    session_check_counts();
    model_check(session_bench.has_stopped);
    model_check(!session->has_unwritten);
    model_check(wr_u32_load_relaxed(&session->buffers.gate.parked) == 0);
    for (uint32_t i = 0; i < EMITTERS_MAX; i++)
        model_check(session_bench.hooked[i] % 2 == 0);
}

void session_check_served(void)
{
    session_check();
    struct weir_counts sum = counts_of_all();
    model_check(sum.lost[WEIR_LOSS_ABORTED] == 0);
}

void session_check_lost(void)
{
    session_check_counts();
    model_check(session_bench.has_stopped);
    model_check(session_bench.session->drain.membarrier_error_is_told);
    model_check(wr_u32_load_relaxed(&session_bench.session->buffers.gate.parked) == 0);
}

/* The run ended before the flush timer, which would have repaired any missed wake. */
void session_check_in_time(void)
{
    session_check();
    model_check(product_clock_ns(DRAIN_THREAD) < UINT64_C(1000000) * FLUSH_MS);
}

/* --- Another session in the slot. ------------------------------------------------------------ */

static struct wr_buffers *next_buffers;

void session_prepare_next(void)
{
    const struct wr_buffers *buffers = &session_bench.session->buffers;
    next_buffers = model_memory(sizeof *next_buffers);
    next_buffers->mode = &wr_mode_drop;
    next_buffers->segment_bytes = buffers->segment_bytes;
    next_buffers->segment_count = buffers->segment_count;
    next_buffers->wake_at = UINT32_MAX;
    wr_u32_store_relaxed(&next_buffers->carved, DROP_SEGMENTS);
    wr_u32_store_relaxed(&next_buffers->free_list.count, DROP_SEGMENTS);
    product_spare_lane(next_buffers);
}

void session_change(void)
{
    model_check(product_stop(session_bench.session, true, UINT64_MAX));
    for (uint32_t i = 0; i < session_bench.emitters; i++)
        model_free(session_bench.place[i], sizeof *session_bench.place[i]);
    wr_ptr_store_release(&wr_buffers_by_slot[0], next_buffers); /* edge ENABLE */
    wr_registry_enable(0, NULL);
}

/* --- OFFER, TAKEN. --------------------------------------------------------------------------- */

#define STATES      3u
#define STATE_WORDS (PAYLOAD_BYTES / 8)
#define STATE_MARK  UINT64_C(0x6574617473206e61)

static void emit_states(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    if (rundown->moment != WEIR_RUNDOWN_START)
        return;
    for (uint32_t i = 0; i < STATES; i++) {
        const uint64_t state[STATE_WORDS] = {STATE_MARK, session_bench.states++};
        *wr_self_last_loss() = WEIR_LOSS_COUNT;
        bool is_collected = weir_emit(session_bench.event, state);
        model_check(is_collected == (*wr_self_last_loss() != WEIR_LOSS_ABORTED));
    }
}

static void read_states(const void *bytes, uint64_t count)
{
    const unsigned char *at = bytes;
    for (uint64_t i = 0; i + PAYLOAD_BYTES <= count; i++) {
        uint64_t state[2];
        memcpy(state, at + i, sizeof state);
        if (state[0] == STATE_MARK)
            model_check(state[1] == session_bench.states_read++);
    }
}

void session_prepare_rundown(bool has_drain)
{
    if (has_drain)
        session_prepare_brim(true, 1, 1);
    else
        session_prepare_drop(true, 1, 1, true);
    struct weir_session *session = session_bench.session;
    session->config.rundown_at_start = true;
    session->config.rundown_keywords = 1;
    session->box.bytes = model_memory(WR_BOX_BYTES);
    model_name(&session->box.state, "box");
    product_source(emit_states);
    product_sink_shows(read_states);
    product_timed(0, 1);
}

void session_prepare_rundown_stuck(void)
{
    session_prepare_rundown(false);
    wr_u32_store_release(&session_bench.session->stop_requested, 1);
    product_timed(0, 0);
}

void session_rundown(void)
{
    wr_rundown_at_start(session_bench.session);
    wr_u32_store_release(session_bench.told, 1);
}

void session_rundown_and_stop(void)
{
    wr_rundown_at_start(session_bench.session);
    session_stop();
}

void session_take_and_end(void)
{
    struct weir_session *session = session_bench.session;
    wr_rundown_take(session, session->drain.horizon);
    wr_u32_store_relaxed(&session->stop_requested, 1); /* relaxed: ends a wait, and that is all */
    wr_rundown_at_stop(session);
    wr_drain_flush(session);
}

void session_end_late(void)
{
    model_wait_until_u32(session_bench.told, is_one, 0);
    wr_rundown_at_stop(session_bench.session);
    wr_drain_flush(session_bench.session);
}

void session_stop_and_wait(void)
{
    model_check(product_stop(session_bench.session, false, UINT64_MAX));
    session_bench.has_stopped = true;
    model_wait_until_u32(session_bench.told, is_one, 0);
    free_all();
}

void session_check_rundown(void)
{
    const struct weir_session *session = session_bench.session;
    const struct weir_counts *own = &session->drain.own;
    model_check(session_bench.states == STATES);
    model_check(own->written == session_bench.states_read);
    model_check(own->written + own->lost[WEIR_LOSS_ABORTED] == STATES);
    model_outcome(session_bench.states_read);
}

void session_check_rundown_in_time(void)
{
    session_check_rundown();
    model_check(product_clock_ns(1) < UINT64_C(1000000) * FLUSH_MS);
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
