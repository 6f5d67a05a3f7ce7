#include "report.h"

#include <stdlib.h>
#include <string.h>

bool report_provider_find(const struct report *report, const char *name, uint32_t *provider)
{
    for (size_t i = 0; i < report->provider_count; i++) {
        if (strcmp(report->providers[i].name, name) == 0) {
            *provider = (uint32_t)i;
            return true;
        }
    }
    return false;
}

bool report_provider_add(struct report *report, const char *name, uint32_t *provider)
{
    if (report_provider_find(report, name, provider))
        return true;
    if (report->provider_count == REPORT_PROVIDERS_MAX) {
        report->too_many = true;
        return false;
    }
    report->providers = wt_grow(report->providers, &report->provider_capacity,
                                report->provider_count + 1, sizeof(*report->providers));
    report->providers[report->provider_count].name = name;
    *provider = (uint32_t)report->provider_count++;
    return true;
}

/* --- Steps. ---------------------------------------------------------------------------------- */

static void count_call(struct report_provider *provider, uint32_t thread)
{
    provider->thread_calls = wt_grow(provider->thread_calls, &provider->thread_capacity,
                                     (size_t)thread + 1, sizeof(*provider->thread_calls));
    provider->thread_calls[thread]++;
}

static void switch_task(struct call_tree *tree, const struct report_step *step)
{
    if (step->kind == REPORT_RESUME) {
        if (step->has_other)
            call_tree_resume(tree, step->thread, step->other, step->time);
        call_tree_resume(tree, step->thread, step->coroutine, step->time);
        return;
    }
    if (step->kind == REPORT_CREATE || step->is_finished)
        call_tree_end_task(tree, step->thread, step->coroutine, step->time);
    else
        call_tree_yield(tree, step->thread, step->coroutine, step->time);
    if (step->kind == REPORT_YIELD && step->has_other)
        call_tree_resume(tree, step->thread, step->other, step->time);
}

static void apply_gap(struct report *report, uint32_t thread, int64_t time)
{
    for (size_t i = 0; i < report->provider_count; i++)
        call_tree_gap(&report->providers[i].tree, thread, time);
}

static void apply(struct report *report, const struct report_step *step)
{
    if (step->follows_gap)
        apply_gap(report, step->thread, step->gap_time);
    if (step->kind == REPORT_OTHER || step->kind == REPORT_FUNCTION)
        return;
    struct report_provider *provider = &report->providers[step->provider];
    struct call_tree *tree = &provider->tree;
    if (step->kind == REPORT_CALL || step->kind == REPORT_TAIL_CALL)
        count_call(provider, step->thread);
    if (step->kind >= REPORT_CREATE)
        switch_task(tree, step);
    else if (step->kind == REPORT_CALL)
        call_tree_call(tree, step->thread, step->coroutine, step->function, step->time);
    else if (step->kind == REPORT_TAIL_CALL)
        call_tree_tail_call(tree, step->thread, step->coroutine, step->function, step->time);
    else if (step->kind == REPORT_RETURN)
        call_tree_return(tree, step->thread, step->coroutine, step->function, step->time);
    else
        call_tree_frame(tree, step->thread, step->coroutine, step->function, step->time);
}

static void keep(struct report *report, const struct report_step *step)
{
    size_t at = (size_t)((report->filter.passed - 1) % report->last);
    report->ring = wt_grow(report->ring, &report->ring_capacity, at + 1, sizeof(*report->ring));
    report->ring[at] = *step;
}

void report_take(struct report *report, const struct report_binding *binding,
                 const struct wt_event *event)
{
    struct report_thread *thread = &report->threads[event->thread->index];
    struct report_step step = report_step_of(binding, event);
    step.follows_gap = thread->has_gap;
    step.gap_time = thread->gap_time;
    thread->has_gap = false;
    if (!report->last_set)
        apply(report, &step);
    else if (report->last > 0)
        keep(report, &step);
}

void report_gap(struct report_thread *thread)
{
    if (!thread->has_gap)
        thread->gap_time = thread->last_time;
    thread->has_gap = true;
}

static void apply_kept(struct report *report)
{
    uint64_t passed = report->filter.passed;
    uint64_t count = passed < report->last ? passed : report->last;
    for (uint64_t i = 0; i < count; i++)
        apply(report, &report->ring[(passed - count + i) % report->last]);
}

void report_finish(struct report *report)
{
    apply_kept(report);
    for (uint32_t i = 0; i < report->thread_capacity; i++)
        if (report->threads[i].has_gap)
            apply_gap(report, i, report->threads[i].gap_time);
    for (size_t i = 0; i < report->provider_count; i++)
        call_tree_finish(&report->providers[i].tree, report->last_time);
}

void report_fini(struct report *report)
{
    for (size_t i = 0; i < report->provider_count; i++) {
        struct report_provider *provider = &report->providers[i];
        for (size_t f = 0; f < provider->function_capacity; f++)
            report_function_fini(&provider->functions[f]);
        free(provider->functions);
        free(provider->thread_calls);
        call_tree_fini(&provider->tree);
    }
    free(report->providers);
    wt_tally_fini(&report->tally);
    free(report->bindings.rows);
    free(report->threads);
    free(report->ring);
}
