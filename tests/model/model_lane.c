/*
 * Runs all lane models, or the named ones. A canary passes if a violation is found.
 */
#include "lane_models.h"

#include <stdio.h>
#include <string.h>

static bool run(const struct lane_model *entry)
{
    struct model_options options = {.quiet = entry->must_fail,
                                    .bounded = entry->preemptions > 0,
                                    .preemptions = entry->preemptions};
    struct model_result result = model_explore(&entry->model, &options);
    model_print_result(&entry->model, &result);
    fflush(stdout);
    return entry->must_fail ? result.failed : result.complete;
}

/* -p: protocols; -d: the larger of them; -l: the largest; -c: canaries; otherwise model names. No
 * argument: all. */
static const char *group_of(const struct lane_model *entry)
{
    return entry->must_fail ? "-c" : entry->is_long ? "-l" : entry->is_deep ? "-d" : "-p";
}

static bool is_wanted(const struct lane_model *entry, int count, char **wanted)
{
    for (int i = 1; i < count; i++)
        if (strcmp(wanted[i], entry->model.name) == 0 || strcmp(wanted[i], group_of(entry)) == 0)
            return true;
    return count < 2;
}

int main(int count, char **wanted)
{
    unsigned wrong = 0, ran = 0;
    for (size_t i = 0; model_at(i); i++) {
        if (!is_wanted(model_at(i), count, wanted))
            continue;
        wrong += !run(model_at(i));
        ran++;
    }
    printf("%u of %u wrong\n", wrong, ran);
    return wrong != 0 || ran == 0;
}
