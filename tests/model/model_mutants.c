/*
 * Each wrong variant in mutants.py must be found by the model that it names. That model must pass
 * without the variant; a deep model is not run again for that.
 */
#include "lane_models.h"
#include "mutants.h"

#include <stdio.h>
#include <string.h>

enum model_mutant model_mutant;

static const struct mutant {
    enum model_mutant number;
    const char *name;
    const char *about;
    const char *model;
    bool is_there;
} mutants[] = {
#define MUTANT(name, about, model, is_there) {MUTANT_##name, #name, about, model, is_there},
#include "mutants.inc"
#undef MUTANT
};

static const struct lane_model *model_named(const char *name)
{
    for (size_t i = 0; model_at(i); i++)
        if (strcmp(model_at(i)->model.name, name) == 0)
            return model_at(i);
    return NULL;
}

static bool fails(const struct lane_model *entry, enum model_mutant mutant, bool quiet,
                  struct model_result *result)
{
    struct model_options options = {
        .quiet = quiet, .bounded = entry->preemptions > 0, .preemptions = entry->preemptions};
    model_mutant = mutant;
    *result = model_explore(&entry->model, &options);
    model_mutant = MUTANT_none;
    return result->failed;
}

static bool is_found(const struct mutant *mutant, bool verbose)
{
    struct model_result result = {0};
    const struct lane_model *entry = model_named(mutant->model);
    const char *fate = "found";
    if (!mutant->is_there)
        fate = "GONE: mutants.py names a statement that is not in the source";
    else if (entry == NULL)
        fate = "NO SUCH MODEL";
    else if (!entry->is_deep && fails(entry, MUTANT_none, true, &result))
        fate = "FAILS WITHOUT IT";
    else if (!fails(entry, mutant->number, !verbose, &result))
        fate = "NOT FOUND";
    printf("%-26s %-18s %s: %s%s\n", mutant->name, mutant->model, fate, mutant->about,
           verbose ? result.failure : "");
    fflush(stdout);
    return strcmp(fate, "found") == 0;
}

/* Arguments: names of mutants, or of the models that find them; none: all. A single mutant is run
 * with its trace. */
int main(int count, char **wanted)
{
    unsigned wrong = 0, ran = 0;
    for (size_t i = 0; i < sizeof mutants / sizeof mutants[0]; i++) {
        bool is_wanted = count < 2 || !mutants[i].is_there; /* so that a short run tells, too */
        for (int j = 1; j < count; j++)
            is_wanted |=
                strcmp(wanted[j], mutants[i].name) == 0 || strcmp(wanted[j], mutants[i].model) == 0;
        ran += is_wanted;
        wrong += is_wanted && !is_found(&mutants[i], count == 2);
    }
    printf("%u of %u wrong\n", wrong, ran);
    return wrong != 0 || ran == 0;
}
