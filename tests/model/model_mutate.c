/*
 * The mutation sweep: weakens each memory order in the product's code in turn, and removes each
 * membarrier. Either a model finds a violation, or a row below states why the order is not needed,
 * or not needed for what is modelled.
 *
 * First, all models except the deep ones run unchanged; they must pass.
 *
 * With -v, lists all mutants; otherwise, only those that survive.
 */
#include "lane_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRIEFLY 1000 /* executions */

/* A weakening that changes nothing, and why. */
struct redundant {
    const char *file;
    const char *function; /* "name#2": the second operation of that kind in the function */
    enum model_kind kind;
    const char *weakened; /* as in weakening_text(); "*": all; preceded by "u32", "u64" or "ptr" if
                           * the function has words of both sizes */
    const char *reason;
};

#define HINT    "a hint for waking the drain: no read depends on it"
#define BY_MASK "the mask, stored and loaded after it with release and acquire, publishes it"
#define BY_LOCK "written and read under the threads lock"
#define BY_REGISTRY \
    "stored before, and loaded after, a change of the masks under the registry's lock"
#define DONE \
    "raised and loaded under the registry's lock; a destroy sleeps on it without, and looks again"
#define BY_CLOSED  "a starter that finds CLOSED does not touch the box again"
#define BY_PIN     "the even pin, loaded before with acquire, has shown all that the writer did"
#define NO_RETURN  "the writer reads nothing that the drain did before"
#define BY_GATE    "the links are written, and followed for a take-back, under the gate's lock"
#define TRY        "it only says that a try is worthwhile; the try is made under the gate's lock"
#define LEFT       "the emitters have left, and the stopper has waited for their pins"
#define ONE_WORD   "a count: only the order of changes to this one word matters"
#define LOADED     "the value that it takes was loaded with acquire before"
#define HINT_CROWD "the number of lanes, a hint whether threads are a crowd"
#define WORD_ONLY \
    "the rest of the waiter is accessed under the gate's lock, or after an abort's word"
#define SAME_LOAD "the same load as in wr_lane_lost(), which the model \"lost\" checks"

static const struct redundant redundant[] = {
    {"buffers.c", "lane_attach", MODEL_LOAD, "acquire to relaxed", BY_MASK},
    {"buffers.c", "lane_attach", MODEL_STORE, "release to relaxed",
     "read by the thread itself, and by a stopper after QUIESCE"},
    {"buffers.c", "lane_attach", MODEL_ADD, "*",
     "the thread holds a count already; only decrements must be ordered"},
    {"buffers.c", "wr_buffers_take_ready", MODEL_EXCHANGE, "u32 *", HINT},
    {"buffers.c", "wr_buffers_take_ready", MODEL_EXCHANGE, "ptr acq_rel to acquire",
     "announcing threads link the head but do not follow it"},
    {"chain.c", "tell_retired", MODEL_ADD, "*", HINT},
    {"event.h", "wr_definition_here", MODEL_LOAD, "acquire to relaxed",
     "the route, loaded before with acquire, publishes it: an event is defined before it is "
     "enabled"},
    {"buffers.c", "wr_buffers_starve", MODEL_EXCHANGE, "*", HINT},
    {"mode_overwrite.c", "attempts", MODEL_LOAD, "acquire to relaxed",
     "in the models, each loss comes after its thread has held the lock"},
    {"buffers.c", "on_thread_exit", MODEL_STORE, "release to relaxed",
     "a stopper that reads the word has waited for the pin"},
    {"lane_read.h", "wr_lane_take_opened", MODEL_EXCHANGE, "acq_rel to acquire", NO_RETURN},
    {"lane_change.h", "wr_lane_retire", MODEL_EXCHANGE, "acq_rel to release", NO_RETURN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_LOAD, "acquire to relaxed", BY_PIN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "acq_rel to acquire", NO_RETURN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "acq_rel to release", BY_PIN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "acq_rel to relaxed", BY_PIN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "failure relaxed", "the value is not used"},
    {"threads.c", "record_pop_locked", MODEL_CAS, "acq_rel to relaxed", LOADED},
    {"threads.c", "record_pop_locked", MODEL_CAS, "acq_rel to acquire", LOADED},
    {"threads.c", "record_pop_locked", MODEL_CAS, "acq_rel to release", LOADED},
    {"buffers.c", "free_lane_pop_locked", MODEL_CAS, "acq_rel to relaxed", LOADED},
    {"buffers.c", "free_lane_pop_locked", MODEL_CAS, "acq_rel to acquire", LOADED},
    {"buffers.c", "free_lane_pop_locked", MODEL_CAS, "acq_rel to release", LOADED},
    {"threads.c", "record_take", MODEL_STORE, "release to relaxed", BY_LOCK},
    {"threads.c", "membarrier_fail", MODEL_CAS, "*",
     "decides which thread fails first; that thread then acts under the registry's lock"},
    {"gate.c", "park", MODEL_ADD, "*",
     "happens in a pin that the stopper waits for before it looks"},
    {"gate.c", "wr_waiter_set", MODEL_EXCHANGE, "acq_rel to release",
     "what the waiter did before it queued was ordered by the gate's lock"},
    {"gate.c", "wr_waiter_sleep", MODEL_CAS, "*", "the word is loaded again, with acquire"},
    {"gate.c", "event_set", MODEL_CAS, "*", TRY},
    {"gate.c", "wr_gate_abort", MODEL_EXCHANGE, "*",
     "it only says that the gate is closed; the waiter's own word says the rest"},
    {"gate.c", "wr_gate_unpark", MODEL_ADD, "acq_rel to release",
     "the stopper has done nothing that the thread reads"},
    {"gate.c", "wr_gate_wait_unparked", MODEL_ADD, "*",
     "the load acquires; any one of the three is enough"},
    {"gate.c", "wr_gate_wait_unparked", MODEL_LOAD, "acquire to relaxed",
     "the addition that clears the bit acquires as well"},
    {"wait_auto_reset.c", "sleep_on_event", MODEL_CAS, "*", TRY},
    {"wait_fifo.c", "serve", MODEL_EXCHANGE, "*", TRY},
    {"wait_fifo.c", "take", MODEL_CAS, "*", TRY},
    {"wait_relay.c", "rouse", MODEL_CAS, "*", "AWAKE publishes nothing"},
    {"buffers.c", "lane_take", MODEL_ADD, "*", HINT_CROWD},
    {"buffers.c", "release_lane_locked", MODEL_ADD, "*", HINT_CROWD},
    {"buffers.c", "wr_buffers_welcome_locked", MODEL_EXCHANGE, "acq_rel to acquire",
     "arriving threads link the head but do not follow it"},
    {"gate.c", "wr_waiter_leave", MODEL_CAS, "acq_rel to relaxed", WORD_ONLY},
    {"gate.c", "wr_waiter_leave", MODEL_CAS, "acq_rel to acquire", WORD_ONLY},
    {"gate.c", "wr_waiter_leave", MODEL_CAS, "acq_rel to release", WORD_ONLY},
    {"gate.c", "wr_waiter_leave", MODEL_ADD, "acq_rel to release",
     "a thread that clears them publishes nothing to those that leave"},
    {"gate.c", "clear_left", MODEL_EXCHANGE, "acq_rel to acquire",
     "a thread that clears them publishes nothing to those that leave"},
    {"gate.c", "wr_waiter_release", MODEL_STORE, "release to relaxed", WORD_ONLY},
    {"gate.c", "wr_waiter_stay", MODEL_LOAD, "acquire to relaxed", WORD_ONLY},
    {"gate.c", "wr_waiter_stay", MODEL_CAS, "*", WORD_ONLY},
    {"outside.c", "leave_outside", MODEL_LOAD, "acquire to relaxed", WORD_ONLY},
    {"mode_block.c", "give", MODEL_STORE, "release to relaxed", BY_GATE},
    {"mode_block.c", "use", MODEL_STORE, "release to relaxed", BY_GATE},
    {"mode_block.c", "credit_take", MODEL_EXCHANGE, "*", BY_GATE},
    {"mode_drop.c", "enrol", MODEL_ADD, "*", ONE_WORD},
    {"mode_drop.c", "grant", MODEL_ADD, "*", ONE_WORD},
    {"mode_drop.c", "exit_lane", MODEL_ADD, "*", ONE_WORD},
    {"mode_drop.c", "queue_extend", MODEL_EXCHANGE, "acq_rel to acquire",
     "enrolling threads link the head but do not follow it"},
    {"mode_drop.c", "word_take", MODEL_EXCHANGE, "acq_rel to acquire",
     "the drain reads nothing that the thread did before"},
    {"mode_drop.c", "sweep", MODEL_CAS, "release to relaxed",
     "it continues the release sequence of the grant, after which the drain touches no link"},
    {"turn_bench.c", "turn_release", MODEL_LOAD, "acquire to relaxed", BY_PIN},

    /* Only models of a whole session reach these. */
    {"emit.c", "emit", MODEL_LOAD, "*",
     "plain pins: the membarriers of the other side order this load and that of the lane"},
    {"event.h", "wr_event_enable", MODEL_STORE, "release to relaxed",
     "a stopper issues a membarrier after it has cleared the pointers to its lanes"},
    {"free_list.c", "product_fifo_give", MODEL_ADD, "*", "a hint"},
    {"free_list.c", "product_fifo_take", MODEL_ADD, "*", "a hint"},
    {"drain.c", "is_revocable", MODEL_LOAD, "acquire to relaxed",
     "the sweep only asks whether it has changed since the last one"},
    {"mode_block.c", "is_short", MODEL_EXCHANGE, "*", HINT},
    {"rundown.c", "box_close", MODEL_CAS, "failure relaxed",
     "wr_rundown_take() loads it again, with acquire"},
    {"rundown.c", "box_close", MODEL_CAS, "*", BY_CLOSED},
    {"rundown.c", "hand_over", MODEL_CAS, "acq_rel to release", LOADED},
    {"rundown.c", "hand_over", MODEL_CAS, "failure relaxed", BY_CLOSED},
    {"rundown.c", "wait_taken", MODEL_LOAD, "acquire to relaxed",
     "it only ends a wait; the box's own word, loaded again, says whose the box is"},
    {"drain_thread.c", "timer_next", MODEL_LOAD, "acquire to relaxed", HINT},
    {"drain_thread.c", "loop#2", MODEL_LOAD, "acquire to relaxed",
     "a sleep follows, from which the bell wakes it"},
    {"chain.c", "wr_chain_attempts", MODEL_LOAD, "acquire to relaxed", SAME_LOAD},
    {"point.c", "lane_tell_all", MODEL_LOAD, "u64 acquire to relaxed",
     "a separate count, which orders nothing"},
    {"drain.c", "lanes_release", MODEL_LOAD, "acquire to relaxed", BY_PIN},
    {"report.c", "wr_report_unattributed", MODEL_LOAD, "acquire to relaxed",
     "a count that belongs to no lane"},
    {"point.c", "wr_point_has_losses", MODEL_LOAD, "acquire to relaxed",
     "decides whether to write a point, whose contents are loaded again"},
    {"buffers.c", "wr_lane_counts_locked", MODEL_LOAD, "acquire to relaxed", LEFT},
    {"chain.c", "wr_chain_counts", MODEL_LOAD, "acquire to relaxed", LEFT},

    /* Mostly stand-ins for the free list and the registry. */
    {"drain.c", "end_early", MODEL_STORE, "release to relaxed", BY_REGISTRY},
    {"session_bench.c", "session_start_late", MODEL_LOAD, "acquire to relaxed", BY_REGISTRY},
    {"product_registry.c", "wr_registry_enable", MODEL_STORE, "*",
     "only clearing the mask must precede the loads of the pins"},
    {"product_registry.c", "wr_registry_give_slot", MODEL_STORE, "release to relaxed", BY_MASK},
    {"product_system.c", "wr_free_list_take", MODEL_EXCHANGE, "acq_rel to acquire",
     "a thread that takes a segment publishes nothing to the one that gives it"},
    {"slots.c", "slot_take_locked", MODEL_STORE, "release to relaxed", BY_MASK},
    {"slots.c", "blocking_set_locked", MODEL_STORE, "release to relaxed", BY_MASK},
    {"slots.c", "product_give_slot", MODEL_STORE, "release to relaxed", BY_MASK},
    {"callbacks.c", "callback_end", MODEL_ADD, "*", DONE},
    {"callbacks.c", "wr_callbacks_end_locked", MODEL_LOAD, "acquire to relaxed", DONE},
    {"sources.c", "source_leave", MODEL_ADD, "*", DONE},
    {"callback_models.c", "use_slot", MODEL_LOAD, "acquire to relaxed", BY_MASK},
    {"lane_bench.c", "bench_next_session", MODEL_STORE, "seq_cst to release",
     "only clearing the mask must precede the loads of the pins"},
    {"lane_bench.c", "bench_next_session", MODEL_STORE, "release to relaxed", BY_MASK},
    {"lane_models.c", "change_session", MODEL_STORE, "release to relaxed", BY_MASK},
    {"session_bench.c", "session_change", MODEL_STORE, "release to relaxed", BY_MASK},
};

struct weakening {
    enum model_order order;
    enum model_order failure;
    bool removed;
};

/* Functions whose operations replace each other above: they must not all be weakened at once. */
static const char *const together[][2] = {{"gate.c", "wr_gate_wait_unparked"}};

/* The weakest order comes first: if nothing kills it, nothing kills the stronger ones. */
static uint32_t weakenings_of(const struct model_site *site, struct weakening *out)
{
    enum model_order order = site->order, failure = site->failure;
    uint32_t count = 0;
    if (site->kind == MODEL_MEMBARRIER) {
        out[count++] = (struct weakening){order, failure, true};
        return count;
    }
    if (order != MODEL_RELAXED)
        out[count++] = (struct weakening){MODEL_RELAXED, failure, false};
    if (order == MODEL_SEQ_CST)
        out[count++] = (struct weakening){site->kind == MODEL_LOAD ? MODEL_ACQUIRE : MODEL_RELEASE,
                                          failure, false};
    if (order == MODEL_ACQ_REL) {
        out[count++] = (struct weakening){MODEL_ACQUIRE, failure, false};
        out[count++] = (struct weakening){MODEL_RELEASE, failure, false};
    }
    if (site->kind == MODEL_CAS && failure == MODEL_ACQUIRE)
        out[count++] = (struct weakening){order, MODEL_RELAXED, false};
    return count;
}

static const char *weakening_text(const struct model_site *site, const struct weakening *weakening)
{
    static char text[64];
    if (weakening->removed)
        return "removed";
    if (weakening->order == site->order)
        snprintf(text, sizeof text, "failure %s", model_order_text(weakening->failure));
    else
        snprintf(text, sizeof text, "%s to %s", model_order_text(site->order),
                 model_order_text(weakening->order));
    return text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Not the product: the models' locks, waits and bell, and the canary. */
static bool is_scaffold(const struct model_site *site)
{
    const char *file = base_name(site->file);
    return begins(file, "canary") || begins(file, "gate_models") ||
           begins(file, "product_free_list") || begins(site->function, "wr_bell") ||
           begins(site->function, "product_ring") || begins(site->function, "model_mutex") ||
           begins(site->function, "product_clock") || begins(site->function, "wr_os_clock_ns") ||
           (site->kind >= MODEL_LOCK && site->kind != MODEL_MEMBARRIER);
}

/* The site's number, from 1, among the operations of its kind in its function. */
static uint32_t place_of(const struct model_site *site)
{
    uint32_t place = 1;
    for (const struct model_site *other = model_sites(); other != NULL; other = other->next)
        place += strcmp(other->file, site->file) == 0 &&
                 strcmp(other->function, site->function) == 0 && other->kind == site->kind &&
                 other->line < site->line;
    return place;
}

static bool is_of(const struct redundant *row, const struct model_site *site)
{
    size_t length = strcspn(row->function, "#");
    const char *place = row->function + length;
    return row->kind == site->kind && strcmp(row->file, base_name(site->file)) == 0 &&
           strlen(site->function) == length &&
           strncmp(row->function, site->function, length) == 0 &&
           (*place == 0 || strtoul(place + 1, NULL, 10) == place_of(site));
}

/* Does the row apply to this weakening? */
static bool covers(const struct redundant *row, const struct model_site *site, const char *weakened)
{
    const char *pattern = row->weakened;
    if (begins(pattern, "u32 ") || begins(pattern, "u64 ") || begins(pattern, "ptr ")) {
        if ((site->size == 4) != begins(pattern, "u32"))
            return false;
        pattern += 4;
    }
    return is_of(row, site) && (strcmp(pattern, "*") == 0 || strcmp(pattern, weakened) == 0);
}

static const char *argued(const struct model_site *site, const char *weakened)
{
    for (size_t i = 0; i < sizeof redundant / sizeof redundant[0]; i++)
        if (covers(&redundant[i], site, weakened))
            return redundant[i].reason;
    return NULL;
}

static bool is_in(const uint64_t *set, size_t model)
{
    return (set[model / 64] >> model % 64 & 1) != 0;
}

static bool is_met(const struct model_site *site)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < MODEL_SET_WORDS; i++)
        any |= site->met_by[i];
    return any != 0;
}

/* Among its first executions, if `executions_max` is not 0. */
static bool fails(const struct lane_model *entry, uint64_t executions_max,
                  struct model_result *result)
{
    struct model_options options = {.quiet = true,
                                    .bounded = entry->preemptions > 0,
                                    .preemptions = entry->preemptions,
                                    .executions_max = executions_max};
    *result = model_explore(&entry->model, &options);
    return executions_max > 0 ? result->failed : !result->complete;
}

static bool is_small(const struct lane_model *entry)
{
    return !entry->must_fail && !entry->is_deep && !entry->is_large;
}

/* Large models are run only for sites that no small one reaches. */
static bool is_asked(const struct lane_model *entry, bool small)
{
    return small ? is_small(entry) : entry->is_large && !entry->is_deep;
}

static const struct lane_model *killer_within(const uint64_t *among, uint64_t executions_max)
{
    struct model_result result;
    bool small = false;
    for (size_t i = 0; model_at(i); i++)
        small |= is_in(among, i) && is_small(model_at(i));
    for (size_t i = 0; model_at(i); i++)
        if (is_in(among, i) && is_asked(model_at(i), small) &&
            fails(model_at(i), executions_max, &result))
            return model_at(i);
    return NULL;
}

/* The first model in `among` that fails; NULL if none does. A model that fails mostly does so soon,
 * and one that passes takes its whole time: so all of them run briefly first. */
static const struct lane_model *killer(const uint64_t *among)
{
    const struct lane_model *by = killer_within(among, BRIEFLY);
    return by != NULL ? by : killer_within(among, 0);
}

/* All models pass unchanged? Notes which sites each of them meets: the others cannot be affected.
 */
static bool survey(void)
{
    struct model_result result;
    for (size_t i = 0; model_at(i); i++) {
        if (i / 64 == MODEL_SET_WORDS) {
            printf("more models than a set can hold\n");
            return false;
        }
        if (!is_small(model_at(i)) && !is_asked(model_at(i), false))
            continue;
        for (struct model_site *site = model_sites(); site != NULL; site = site->next)
            site->met = false;
        bool is_wrong = fails(model_at(i), 0, &result);
        model_print_result(&model_at(i)->model, &result);
        fflush(stdout);
        if (is_wrong)
            return false;
        for (struct model_site *site = model_sites(); site != NULL; site = site->next)
            site->met_by[i / 64] |= (uint64_t)site->met << i % 64;
    }
    return true;
}

/* Most of the time goes to mutants that no model kills. Only `-a` checks that the argued ones are
 * among them. */
static bool asks_argued, is_verbose;

enum fate { KILLED, ARGUED, SURVIVED, FATES };

static const struct lane_model *killer_of(struct model_site *site,
                                          const struct weakening *weakening)
{
    site->order_now = weakening->order;
    site->failure_now = weakening->failure;
    site->removed = weakening->removed;
    const struct lane_model *by = killer(site->met_by);
    model_sites_restore();
    return by;
}

static enum fate fate_of(const struct model_site *site, const struct weakening *weakening,
                         const struct lane_model *by)
{
    const char *text = weakening_text(site, weakening);
    const char *reason = argued(site, text);
    enum fate fate = by != NULL ? KILLED : reason != NULL ? ARGUED : SURVIVED;
    if (is_verbose || fate == SURVIVED || (fate == KILLED && reason != NULL))
        printf("%-24s %-40s  %-20s %s%s%s\n", site->function, model_site_text(site), text,
               fate == KILLED   ? "killed by "
               : fate == ARGUED ? "argued: "
                                : "SURVIVED",
               by != NULL       ? by->model.name
               : reason != NULL ? reason
                                : "",
               fate == KILLED && reason != NULL ? " although argued redundant" : "");
    fflush(stdout);
    return fate == KILLED && reason != NULL ? SURVIVED : fate;
}

static void try_site(struct model_site *site, unsigned *fates)
{
    struct weakening weakenings[4];
    uint32_t ways = weakenings_of(site, weakenings);
    bool is_free = false; /* any order will do */
    for (uint32_t i = 0; i < ways; i++) {
        bool is_order = weakenings[i].order != site->order;
        bool is_asked_for = asks_argued || !argued(site, weakening_text(site, &weakenings[i]));
        const struct lane_model *by =
            (is_order && is_free) || !is_asked_for ? NULL : killer_of(site, &weakenings[i]);
        is_free |= weakenings[i].order == MODEL_RELAXED && is_order && by == NULL;
        fates[fate_of(site, &weakenings[i], by)]++;
    }
}

static void try_together(const char *const *function, unsigned *fates)
{
    uint64_t met_by[MODEL_SET_WORDS] = {0};
    for (struct model_site *site = model_sites(); site != NULL; site = site->next) {
        if (strcmp(site->function, function[1]) != 0 ||
            strcmp(base_name(site->file), function[0]) != 0)
            continue;
        site->order_now = MODEL_RELAXED;
        for (uint32_t i = 0; i < MODEL_SET_WORDS; i++)
            met_by[i] |= site->met_by[i];
    }
    const struct lane_model *by = killer(met_by);
    model_sites_restore();
    fates[by != NULL ? KILLED : SURVIVED]++;
    if (is_verbose || by == NULL)
        printf("%-24s %-40s  %-20s %s%s\n", function[1], function[0], "all relaxed",
               by != NULL ? "killed by " : "SURVIVED", by != NULL ? by->model.name : "");
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        is_verbose |= strcmp(arguments[i], "-v") == 0;
        asks_argued |= strcmp(arguments[i], "-a") == 0;
    }
    if (!survey())
        return 1;
    unsigned fates[FATES] = {0};
    for (struct model_site *site = model_sites(); site != NULL; site = site->next)
        if (!is_scaffold(site) && is_met(site))
            try_site(site, fates);
    for (size_t i = 0; i < sizeof together / sizeof together[0]; i++)
        try_together(together[i], fates);
    printf("%u killed, %u argued redundant, %u wrong\n", fates[KILLED], fates[ARGUED],
           fates[SURVIVED]);
    return fates[SURVIVED] != 0;
}
