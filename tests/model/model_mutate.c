/*
 * The mutation sweep: weakens each memory order of the product's code in turn, and removes each
 * membarrier. A model must then find a violation, or the weakening must stand below with the reason
 * why the order is not needed (or not needed for what is modelled).
 *
 * With -v all mutants are listed, else those that nothing kills.
 */
#include "lane_models.h"

#include <stdio.h>
#include <string.h>

/* A weakening that changes nothing, and why. */
struct redundant {
    const char *file;
    const char *function;
    enum model_kind kind;
    const char *weakened; /* as weakening_text() says, "*" for all; "u32" or "ptr" before it where
                             the function has one of each */
    const char *reason;
};

#define HINT      "a hint for waking the drain: nothing is read on its account"
#define BY_MASK   "the mask, stored and loaded after it with release and acquire, publishes it"
#define BY_LOCK   "written and read under the threads lock"
#define BY_PIN    "the even pin, loaded before with acquire, has shown all that the writer did"
#define NO_RETURN "what the drain did before is nothing that the writer reads"

static const struct redundant redundant[] = {
    {"buffers.c", "wr_buffers_lane", MODEL_LOAD, "acquire to relaxed", BY_MASK},
    {"buffers.c", "wr_buffers_lane", MODEL_STORE, "release to relaxed",
     "read by the thread itself, and by a stopper after QUIESCE"},
    {"buffers.c", "wr_buffers_lane", MODEL_ADD, "*",
     "the thread holds a count already; only the way down has to be ordered"},
    {"buffers.c", "wr_buffers_take_ready", MODEL_EXCHANGE, "u32 *", HINT},
    {"buffers.c", "wr_buffers_take_ready", MODEL_EXCHANGE, "ptr acq_rel to acquire",
     "announcing threads only link the head, they do not follow it"},
    {"buffers.c", "tell_retired", MODEL_ADD, "*", HINT},
    {"when_full.c", "starve", MODEL_EXCHANGE, "*", HINT},
    {"overwrite.c", "starve", MODEL_EXCHANGE, "*", HINT},
    {"overwrite.c", "wr_overwrite_attempts", MODEL_LOAD, "acquire to relaxed",
     "of the losses modelled, each comes after its thread has been inside the lock"},
    {"buffers.c", "on_thread_exit", MODEL_STORE, "release to relaxed",
     "a stopper that reads the word has waited for the pin"},
    {"lane_read.h", "wr_lane_take_opened", MODEL_EXCHANGE, "acq_rel to acquire", NO_RETURN},
    {"lane_write.h", "wr_lane_retire", MODEL_EXCHANGE, "acq_rel to release", NO_RETURN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_LOAD, "acquire to relaxed", BY_PIN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "acq_rel to acquire", NO_RETURN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "acq_rel to release", BY_PIN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "acq_rel to relaxed", BY_PIN},
    {"lane_read.h", "wr_lane_revoke_finish", MODEL_CAS, "failure relaxed", "the value is not used"},
    {"threads.c", "record_take", MODEL_STORE, "release to relaxed", BY_LOCK},
    /* Stand-ins for the free list and the registry. */
    {"product_system.c", "wr_free_list_take", MODEL_EXCHANGE, "acq_rel to acquire",
     "who takes a segment has nothing to tell who gives it"},
    {"lane_bench.c", "bench_next_session", MODEL_STORE, "seq_cst to release",
     "only clearing the mask has to precede the loads of the pins"},
    {"lane_bench.c", "bench_next_session", MODEL_STORE, "release to relaxed", BY_MASK},
    {"lane_models.c", "change_session", MODEL_STORE, "release to relaxed", BY_MASK},
};

struct weakening {
    enum model_order order;
    enum model_order failure;
    bool removed;
};

static uint32_t weakenings_of(const struct model_site *site, struct weakening *out)
{
    enum model_order order = site->order, failure = site->failure;
    uint32_t count = 0;
    if (site->kind == MODEL_MEMBARRIER) {
        out[count++] = (struct weakening){order, failure, true};
        return count;
    }
    if (order == MODEL_SEQ_CST)
        out[count++] = (struct weakening){site->kind == MODEL_LOAD ? MODEL_ACQUIRE : MODEL_RELEASE,
                                          failure, false};
    if (order == MODEL_ACQ_REL) {
        out[count++] = (struct weakening){MODEL_ACQUIRE, failure, false};
        out[count++] = (struct weakening){MODEL_RELEASE, failure, false};
    }
    if (order != MODEL_RELAXED)
        out[count++] = (struct weakening){MODEL_RELAXED, failure, false};
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

/* Not of the product: the models' locks, waits and bell, and the canary. */
static bool is_scaffold(const struct model_site *site)
{
    const char *file = base_name(site->file);
    return begins(file, "canary") || begins(file, "gate_models") || begins(site->function, "wr_bell") ||
           begins(site->function, "product_ring") || begins(site->function, "model_mutex") ||
           (site->kind >= MODEL_LOCK && site->kind != MODEL_MEMBARRIER);
}

/* Is the row meant? Of two operations of a kind in one function, the smaller word is the u32. */
static bool covers(const struct redundant *row, const struct model_site *site, const char *weakened)
{
    const char *pattern = row->weakened;
    if (strncmp(pattern, "u32 ", 4) == 0 || strncmp(pattern, "ptr ", 4) == 0) {
        if ((site->size == 4) != (pattern[0] == 'u'))
            return false;
        pattern += 4;
    }
    return strcmp(row->file, base_name(site->file)) == 0 &&
           strcmp(row->function, site->function) == 0 && row->kind == site->kind &&
           (strcmp(pattern, "*") == 0 || strcmp(pattern, weakened) == 0);
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

/* The model that fails, of those in `among`; NULL if none does. */
static const struct lane_model *killer(const uint64_t *among, struct model_result *result)
{
    struct model_options options = {.quiet = true};
    for (size_t i = 0; model_at(i); i++) {
        if (model_at(i)->must_fail || model_at(i)->is_deep || !is_in(among, i))
            continue;
        *result = model_explore(&model_at(i)->model, &options);
        if (!result->complete)
            return model_at(i);
    }
    return NULL;
}

/* All models pass unchanged? Notes which sites each of them meets: the others cannot be affected.
 */
static bool survey(void)
{
    struct model_result result;
    for (size_t i = 0; model_at(i); i++) {
        uint64_t only[2] = {0};
        only[i / 64] = 1ull << i % 64;
        for (struct model_site *site = model_sites(); site != NULL; site = site->next)
            site->met = false;
        if (killer(only, &result) != NULL) {
            printf("%s fails unchanged: %s\n", model_at(i)->model.name, result.failure);
            return false;
        }
        for (struct model_site *site = model_sites(); site != NULL; site = site->next)
            site->met_by[i / 64] |= (uint64_t)site->met << i % 64;
    }
    return true;
}

enum fate { KILLED, ARGUED, SURVIVED, FATES };

static enum fate try_mutant(struct model_site *site, const struct weakening *weakening,
                            bool verbose)
{
    struct model_result result;
    site->order_now = weakening->order;
    site->failure_now = weakening->failure;
    site->removed = weakening->removed;
    const struct lane_model *by = killer(site->met_by, &result);
    model_sites_restore();
    const char *text = weakening_text(site, weakening);
    const char *reason = argued(site, text);
    enum fate fate = by != NULL ? KILLED : reason != NULL ? ARGUED : SURVIVED;
    if (verbose || fate == SURVIVED || (fate == KILLED && reason != NULL))
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

int main(int count, char **arguments)
{
    bool verbose = count > 1 && strcmp(arguments[1], "-v") == 0;
    if (!survey())
        return 1;
    unsigned fates[FATES] = {0};
    for (struct model_site *site = model_sites(); site != NULL; site = site->next) {
        struct weakening weakenings[4];
        uint32_t ways = is_scaffold(site) ? 0 : weakenings_of(site, weakenings);
        for (uint32_t i = 0; i < ways; i++)
            fates[try_mutant(site, &weakenings[i], verbose)]++;
    }
    printf("%u killed, %u argued redundant, %u wrong\n", fates[KILLED], fates[ARGUED],
           fates[SURVIVED]);
    return fates[SURVIVED] != 0;
}
