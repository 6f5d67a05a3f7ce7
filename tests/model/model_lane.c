/*
 * Runs all lane models, or the named ones. A canary passes if a violation is found.
 */
#include "lane_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -n: names only. -e COUNT: of each model so many executions at most; it passes if none fails. */
static bool is_list;
static uint64_t executions_max;

static bool run(const struct lane_model *entry)
{
    struct model_options options = {.quiet = entry->must_fail,
                                    .bounded = entry->preemptions > 0,
                                    .preemptions = entry->preemptions,
                                    .executions_max = executions_max};
    struct model_result result = model_explore(&entry->model, &options);
    model_print_result(&entry->model, &result);
    fflush(stdout);
    bool is_cut = executions_max > 0 && result.executions + result.redundant >= executions_max;
    return entry->must_fail ? result.failed : result.complete || (is_cut && !result.failed);
}

/* -p: protocols; -d: the larger of them; -l: the largest; -c: canaries; otherwise model names. No
 * argument: all. */
static const char *group_of(const struct lane_model *entry)
{
    return entry->must_fail ? "-c" : entry->is_long ? "-l" : entry->is_deep ? "-d" : "-p";
}

static bool is_wanted(const struct lane_model *entry, int count, char **wanted)
{
    for (int i = 0; i < count; i++)
        if (strcmp(wanted[i], entry->model.name) == 0 || strcmp(wanted[i], group_of(entry)) == 0)
            return true;
    return count == 0;
}

static int wanted_parse(int count, char **words)
{
    int wanted = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "-n") == 0)
            is_list = true;
        else if (strcmp(words[i], "-e") == 0 && i + 1 < count)
            executions_max = strtoull(words[++i], NULL, 10);
        else
            words[wanted++] = words[i];
    }
    return wanted;
}

int main(int count, char **words)
{
    unsigned wrong = 0, ran = 0;
    int wanted = wanted_parse(count, words);
    for (size_t i = 0; model_at(i); i++) {
        if (!is_wanted(model_at(i), wanted, words))
            continue;
        ran++;
        if (is_list)
            puts(model_at(i)->model.name);
        else
            wrong += !run(model_at(i));
    }
    if (!is_list)
        printf("%u of %u wrong\n", wrong, ran);
    return wrong != 0 || ran == 0;
}
