/*
 * The models of the registry: what providers' watchers are called for while threads start, update
 * and stop sessions, and what an emitter finds in a slot whose bit is in a mask. The registry's lock
 * orders everything but the latter, so the steps are few, and all interleavings of two threads are
 * explored; of three, those with three preemptions.
 *
 * A watcher writes to its context without a lock, and reads the arguments that it is given: calls of
 * one provider that overlap race, and so does a call after its context or its arguments are freed.
 */
#include "lane_models.h"
#include "product_callbacks.h"

#include <string.h>
#include "buffers/buffers.h"
#include "buffers/modes.h"

#define SESSIONS 2

/* What a watcher has been called for. */
struct watcher {
    struct {
        bool is_on;
        uint64_t keywords;
    } session[SESSIONS + 1]; /* by id, from 1 */
    uint64_t union_keywords;
    bool is_enabled;
    bool is_over; /* no call may follow */
};

struct session {
    struct wr_buffers *buffers;
    struct wr_interest *interest;
    uint64_t id;
    uint32_t slot;
};

static struct callback_bench {
    struct weir_provider *provider[2];
    struct watcher *watcher[2];
    struct session *session; /* SESSIONS of them; the words are the product's and the model's */
    struct wr_interest *interests[8];
    struct wr_interest *next; /* of an update */
    struct weir_event *event;
    struct wr_thread *thread;
    uint32_t interest_count;
    void (*act)(void); /* once, in a call for the first session */
} bench;

/* --- A watcher. ------------------------------------------------------------------------------ */

static void check_order(struct watcher *watcher, const struct weir_provider_change *change)
{
    model_check(change->session_id >= 1 && change->session_id <= SESSIONS);
    bool *is_on = &watcher->session[change->session_id].is_on;
    uint64_t *keywords = &watcher->session[change->session_id].keywords;
    model_check(*is_on == (change->what != WEIR_CHANGE_ENABLED));
    model_check(change->what != WEIR_CHANGE_UPDATED || change->keywords > *keywords);
    *is_on = change->what != WEIR_CHANGE_DISABLED;
    *keywords = change->keywords;
    watcher->is_enabled = change->is_enabled;
    watcher->union_keywords = change->union_keywords;
}

static void on_change(void *context, const struct weir_provider_change *change)
{
    struct watcher *watcher = context;
    void (*act)(void) = change->session_id == 1 ? bench.act : NULL;
    wr_data_written(watcher, sizeof *watcher);
    model_check(!watcher->is_over);
    check_order(watcher, change);
    if (act) {
        bench.act = NULL;
        act();
    }
    if (change->arguments)
        wr_data_read(change->arguments, 1);
    wr_data_written(watcher, sizeof *watcher);
}

/* --- What threads do. ------------------------------------------------------------------------ */

static void start(uint32_t index)
{
    struct session *session = &bench.session[index];
    session->buffers->mode = &wr_mode_drop;
    wr_data_written(session->buffers, sizeof *session->buffers);
    model_check(wr_registry_take_slot(session->buffers, session->id, &session->slot, NULL) ==
                WEIR_OK);
    wr_registry_enable(session->slot, session->interest);
    wr_registry_run_callbacks(UINT64_MAX);
}

static void stop(uint32_t index)
{
    struct session *session = &bench.session[index];
    struct wr_quiesce quiesce = {0};
    wr_registry_disable(session->slot, UINT64_MAX);
    if (bench.thread)
        wr_threads_quiesce(&quiesce, false, UINT64_MAX);
    model_free(session->buffers, sizeof *session->buffers);
    wr_registry_give_slot(session->slot, UINT64_MAX);
    wr_registry_run_callbacks(UINT64_MAX);
    wr_interest_release(session->interest);
}

static void update_first(void)
{
    struct session *session = &bench.session[0];
    if (wr_registry_update(session->slot, &session->interest, bench.next))
        wr_registry_run_callbacks(UINT64_MAX);
    else
        wr_interest_release(bench.next);
}

static void start_first(void)
{
    start(0);
}

static void start_second(void)
{
    start(1);
}

static void stop_first(void)
{
    stop(0);
}

static void stop_second(void)
{
    stop(1);
}

static void start_and_stop_second(void)
{
    start(1);
    stop(1);
}

static void start_and_update_first(void)
{
    start(0);
    update_first();
}

static void stop_first_and_start_second(void)
{
    stop(0);
    start(1);
}

static void destroy_provider(void)
{
    weir_provider_destroy(bench.provider[0]);
    bench.watcher[0]->is_over = true;
    model_free(bench.watcher[0], sizeof *bench.watcher[0]);
}

/* Inside its own callback, which goes on. */
static void destroy_own(void)
{
    weir_provider_destroy(bench.provider[0]);
    bench.watcher[0]->is_over = true;
}

static void watch(void)
{
    model_check(weir_provider_watch(bench.provider[0], on_change, bench.watcher[0], NULL) ==
                WEIR_OK);
}

/* --- An emitter, which uses the slots that a mask names. ------------------------------------- */

static void use_slot(uint32_t slot)
{
    /* edge ENABLE.acquire */
    struct wr_buffers *buffers = wr_ptr_load_acquire(&wr_buffers_by_slot[slot]);
    model_check(buffers != NULL);
    wr_data_read(buffers, sizeof *buffers);
    uint64_t id = wr_u64_load_relaxed(&wr_slot_ids[slot]); /* relaxed: edge ENABLE */
    model_check(buffers == bench.session[id - 1].buffers);
}

static void emit(void)
{
    uint64_t pin = wr_pin_enter_seq_cst(bench.thread);
    uint64_t mask = wr_mask_load_seq_cst(&bench.event->enabled); /* edges ENABLE, QUIESCE */
    for (; mask; mask &= mask - 1)
        use_slot((uint32_t)__builtin_ctzll(mask));
    wr_pin_leave(bench.thread, pin);
}

static void emit_twice(void)
{
    emit();
    emit();
}

/* --- Before the threads run. ----------------------------------------------------------------- */

static struct wr_interest *interest_add(const char *provider, uint64_t keywords)
{
    return bench.interests[bench.interest_count++] = product_interest(provider, keywords);
}

static void session_add(uint32_t index, const char *provider)
{
    struct session *session = &bench.session[index];
    session->buffers = model_memory(sizeof *session->buffers);
    session->interest = interest_add(provider, UINT64_C(1) << index);
    session->id = index + 1;
}

static void provider_add(uint32_t index, const char *name)
{
    bench.watcher[index] = model_memory(sizeof *bench.watcher[index]);
    model_check(weir_provider_create(name, NULL, NULL, &bench.provider[index], NULL) == WEIR_OK);
}

static void provider_watch(uint32_t index)
{
    model_check(weir_provider_watch(bench.provider[index], on_change, bench.watcher[index], NULL) ==
                WEIR_OK);
}

/* A provider without a watcher, two sessions that are not started, and an update of the first. */
static void prepare(void)
{
    memset(&bench, 0, sizeof bench);
    product_registry_reset();
    bench.session = model_memory(SESSIONS * (uint32_t)sizeof *bench.session);
    provider_add(0, "P");
    session_add(0, "P");
    session_add(1, "*");
    bench.next = interest_add("P", 4);
}

static void inert_setup(void)
{
    prepare();
    provider_watch(0);
}

static void running_setup(void)
{
    inert_setup();
    start(0);
}

static void both_running_setup(void)
{
    running_setup();
    start(1);
}

static void second_running_setup(void)
{
    inert_setup();
    start(1);
}

static void acting_setup(void (*act)(void))
{
    second_running_setup();
    bench.act = act;
}

static void updating_setup(void)
{
    acting_setup(update_first);
}

static void stopping_setup(void)
{
    acting_setup(stop_first);
}

static void destroying_setup(void)
{
    acting_setup(destroy_own);
}

static void watching_setup(void)
{
    prepare();
    product_registry_spare(WR_SESSIONS_MAX * sizeof(struct wr_told));
}

/* Both want both. */
static void two_providers_setup(void)
{
    inert_setup();
    provider_add(1, "Q");
    provider_watch(1);
    bench.session[0].interest->filters[0].is_for_all = true;
    start(1);
}

static void emitting_setup(void)
{
    prepare();
    bench.thread = model_memory(sizeof *bench.thread);
    wr_thread_forget_lanes(bench.thread);
    bench.event = model_memory(sizeof *bench.event);
    product_threads(bench.thread, false);
    product_provider_event(bench.provider[0], bench.event);
    model_name(&bench.thread->pin, "pin");
    model_name(&bench.event->enabled, "mask");
    model_name(&bench.event->route, "route");
}

static void again_setup(void)
{
    emitting_setup();
    start(0);
}

/* --- When they are done. --------------------------------------------------------------------- */

static bool is_wanted(const struct wr_interest *interest)
{
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (wr_slots[slot].interest == interest)
            return true;
    return false;
}

static void check_interests(void)
{
    bool is_given = bench.next == bench.session[0].interest;
    for (uint32_t i = 0; i < bench.interest_count; i++) {
        struct wr_interest *interest = bench.interests[i];
        bool is_unused = interest->references == 1 && !is_wanted(interest) &&
                         (interest != bench.next || !is_given);
        model_check(product_is_freed(interest) != (is_wanted(interest) || is_unused));
    }
}

/* The watcher has learned of each session what is now in its slot, and of both together. */
static void check_watcher(const struct watcher *watcher)
{
    uint64_t keywords = 0;
    for (uint64_t id = 1; id <= SESSIONS; id++) {
        const struct wr_interest *interest = NULL;
        for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
            if (wr_slots[slot].session_id == id)
                interest = wr_slots[slot].interest;
        model_check(watcher->session[id].is_on == (interest != NULL));
        uint64_t wanted = interest ? interest->filters[0].keywords : 0;
        model_check(watcher->session[id].keywords == wanted);
        keywords |= wanted;
    }
    model_check(watcher->union_keywords == keywords);
    model_check(watcher->is_enabled == (keywords != 0));
}

static void check(void)
{
    model_check(!product_has_pending());
    for (uint32_t i = 0; i < 2; i++)
        if (bench.watcher[i])
            check_watcher(bench.watcher[i]);
    check_interests();
}

static void check_destroyed(void)
{
    model_check(!product_has_pending());
    model_check(product_is_freed(bench.provider[0]));
    check_interests();
}

static void check_slots(void)
{
    model_check(bench.session[0].slot != bench.session[1].slot);
}

/* --- The models. ----------------------------------------------------------------------------- */

#define TWO(name_, about_, setup_, first, second, finish_) \
    .model = {.name = name_,                               \
              .about = about_,                             \
              .threads = 2,                                \
              .setup = setup_,                             \
              .run = {first, second},                      \
              .finish = finish_}

const struct lane_model callback_models[] = {
    {TWO("watch_start", "two sessions start", inert_setup, start_first, start_second, check)},
    {TWO("watch_both", "one session starts and is updated, another starts and stops", inert_setup,
         start_and_update_first, start_and_stop_second, check),
     .is_deep = true},
    {TWO("watch_update", "a session is updated and stopped", both_running_setup, update_first,
         stop_first, check)},
    {TWO("watch_stop", "two sessions stop", both_running_setup, stop_first, stop_second, check)},
    {TWO("watch_slot", "a session stops, and the next one may have its slot", running_setup,
         stop_first, start_second, check)},
    {TWO("watch_gone", "a session stops, another one starts and stops", running_setup, stop_first,
         start_and_stop_second, check)},
    {TWO("watch_again", "a session stops while it is updated, and another one gets its slot",
         running_setup, stop_first_and_start_second, update_first, check)},
    {TWO("watch_act_update", "a watcher updates the session that it is called for", updating_setup,
         start_first, stop_second, check)},
    {TWO("watch_act_stop", "a watcher stops the session that it is called for", stopping_setup,
         start_first, stop_second, check)},
    {TWO("watch_two", "two watchers, a session starts and another stops", two_providers_setup,
         start_first, stop_second, check)},
    {TWO("watch_late", "a provider gets its watcher while a session starts", watching_setup, watch,
         start_first, check)},
    {TWO("watch_destroy", "a provider is destroyed while a session starts", inert_setup,
         start_first, destroy_provider, check_destroyed)},
    {TWO("watch_destroy_own", "a watcher destroys its provider", destroying_setup, start_first,
         stop_second, check_destroyed)},
    {.model = {.name = "watch_three",
               .about = "two sessions start, one stops, and the provider is destroyed",
               .threads = 3,
               .setup = inert_setup,
               .run = {start_first, start_and_stop_second, destroy_provider},
               .finish = check_destroyed},
     .is_deep = true,
     .preemptions = 3},
    {TWO("enable", "a session starts, a thread emits", emitting_setup, start_first, emit_twice,
         NULL)},
    {TWO("enable_two", "two sessions start", emitting_setup, start_first, start_second,
         check_slots)},
    {TWO("enable_again", "a session stops, another one gets its slot, a thread emits", again_setup,
         stop_first_and_start_second, emit_twice, NULL)},
};
const size_t callback_model_count = sizeof callback_models / sizeof callback_models[0];
