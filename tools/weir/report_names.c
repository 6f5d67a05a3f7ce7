/* Names of functions. A host gives a function its name once, mostly before the part of the trace
 * that a report is about, so the part may lack it. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

static struct report_function *info_of(struct report_provider *provider, size_t index)
{
    provider->functions = wt_grow(provider->functions, &provider->function_capacity, index + 1,
                                  sizeof(*provider->functions));
    return &provider->functions[index];
}

void report_name(struct report *report, const struct report_binding *binding,
                 const struct wt_event *event)
{
    struct report_provider *provider = &report->providers[binding->provider];
    uint64_t id;
    if (!report_function_id(binding, event, &id))
        return;
    size_t index = (size_t)(call_tree_function(&provider->tree, id) - provider->tree.functions);
    report_function_read(info_of(provider, index), binding, event);
}

/* --- Another reading. ------------------------------------------------------------------------ */

struct search {
    struct report *report;
    struct wt_run run;
    struct report_bindings bindings;
    uint64_t missing;
};

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct search *search = context;
    struct report_binding *binding = report_bindings_add(&search->bindings, metadata);
    if (binding->kind == REPORT_FUNCTION &&
        report_provider_find(search->report, metadata->provider_name, &binding->provider))
        return;
    binding->kind = REPORT_OTHER;
}

static void on_event(void *context, const struct wt_event *event)
{
    struct search *search = context;
    uint64_t id;
    if (event->metadata->undefined)
        return;
    const struct report_binding *binding = &search->bindings.rows[event->metadata->index];
    if (binding->kind != REPORT_FUNCTION || !report_function_id(binding, event, &id))
        return;
    struct report_provider *provider = &search->report->providers[binding->provider];
    const uint32_t *index = wt_map_find(&provider->tree.function_map, id);
    if (!index || info_of(provider, *index)->name)
        return;
    report_function_read(&provider->functions[*index], binding, event);
    search->missing -= provider->functions[*index].name != NULL;
    if (search->missing == 0)
        wt_reader_stop(search->run.reader);
}

static uint64_t count_missing(const struct report *report)
{
    uint64_t count = 0;
    for (size_t i = 0; i < report->provider_count; i++) {
        const struct report_provider *provider = &report->providers[i];
        for (size_t f = 0; f < provider->tree.function_count; f++)
            count += f >= provider->function_capacity || !provider->functions[f].name;
    }
    return count;
}

void report_find_names(struct report *report)
{
    static const struct wt_handlers handlers = {.metadata = on_metadata, .event = on_event};
    struct search search = {.report = report, .missing = count_missing(report)};
    if (!wt_span_is_set(&report->span) || !report->run.is_file || search.missing == 0)
        return;
    /* What is wrong with the trace was said after the first reading. */
    if (wt_run_open(&search.run, report->run.path, NULL, &handlers, &search))
        wt_reader_run(search.run.reader);
    wt_run_close(&search.run);
    free(search.bindings.rows);
}
