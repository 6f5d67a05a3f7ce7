/*
 * Output for people: sites with their orders, and the steps of a failing execution.
 */
#include "engine.h"

#include <stdio.h>
#include <string.h>

static struct model_site *sites;
static const char *name_of_unit[ARENA_UNITS];

const char *model_order_text(enum model_order order)
{
    static const char *const texts[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
    return texts[order];
}

static const char *kind_text(enum model_kind kind)
{
    static const char *const texts[] = {"load",       "store",      "exchange",    "add",
                                        "cas",        "lock",       "wait",        "membarrier",
                                        "pause",      "futex wait", "futex sleep", "futex wake",
                                        "data write", "data read"};
    return texts[kind];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Are both at the same place of the same header, whatever path each source found it by? */
static bool is_same(const struct model_site *a, const struct model_site *b)
{
    return a->line == b->line && a->kind == b->kind && a->order == b->order &&
           strcmp(base_name(a->file), base_name(b->file)) == 0;
}

static void site_add(struct model_site *site)
{
    struct model_site **end = &sites;
    while (*end != NULL && !is_same(*end, site))
        end = &(*end)->next;
    if (*end == NULL)
        *end = site;
    site->first = *end;
}

void report_register(struct model_site *site)
{
    if (site->first == NULL)
        site_add(site);
}

struct model_site *model_sites(void)
{
    return sites;
}

void model_sites_restore(void)
{
    for (struct model_site *site = sites; site != NULL; site = site->next) {
        site->order_now = site->order;
        site->failure_now = site->failure;
        site->removed = false;
    }
}

const char *model_site_text(const struct model_site *site)
{
    static char texts[4][160];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    if (site->kind >= MODEL_MEMBARRIER)
        snprintf(text, sizeof texts[0], "%s:%d %s", base_name(site->file), site->line,
                 kind_text(site->kind));
    else
        snprintf(text, sizeof texts[0], "%s:%d %s %s", base_name(site->file), site->line,
                 kind_text(site->kind), model_order_text(site->order));
    return text;
}

void model_name(const void *word, const char *name)
{
    if (model_owns(word))
        name_of_unit[memory_unit(word)] = name;
}

const char *report_name(uint32_t unit)
{
    static char texts[2][48];
    static unsigned turn;
    for (uint32_t back = 0; back <= unit && back < 64; back++) {
        const char *name = name_of_unit[unit - back];
        if (name == NULL)
            continue;
        if (back == 0)
            return name;
        char *text = texts[turn++ % 2];
        snprintf(text, sizeof texts[0], "%s+%u", name, back * ARENA_UNIT);
        return text;
    }
    return "shared memory";
}

void report_event(const struct operation *operation, uint64_t read, uint64_t written, bool wrote,
                  bool stale)
{
    if (engine.events == EVENTS_MAX) {
        model_fail("runaway execution");
        return;
    }
    engine.event[engine.events++] = (struct event){.site = operation->request.site,
                                                   .thread = engine.self,
                                                   .unit = operation->unit,
                                                   .read = read,
                                                   .written = written,
                                                   .wrote = wrote,
                                                   .stale = stale,
                                                   .is_private = operation->is_private};
}

static void print_value(uint64_t value)
{
    const char *name = NULL;
    if (model_owns((const void *)(uintptr_t)value))
        name = report_name(memory_unit((const void *)(uintptr_t)value));
    if (name != NULL)
        fprintf(stderr, "&%s", name);
    else
        fprintf(stderr, value > 0xffffffff ? "0x%llx" : "%llu", (unsigned long long)value);
}

static void print_event(const struct event *event)
{
    const struct model_site *site = event->site;
    fprintf(stderr, "  thread %u  %-18s %-44s", event->thread, site->function ? site->function : "",
            model_site_text(site));
    if (site->kind == MODEL_MEMBARRIER) {
        fprintf(stderr, " in thread %llu\n", (unsigned long long)event->written);
        return;
    }
    fprintf(stderr, " %s", report_name(event->unit));
    if (site->kind != MODEL_STORE) {
        fprintf(stderr, " read ");
        print_value(event->read);
    }
    if (event->wrote) {
        fprintf(stderr, " wrote ");
        print_value(event->written);
    }
    const char *note = !event->stale               ? ""
                       : site->kind == MODEL_STORE ? "  (behind newer)"
                                                   : "  (stale)";
    fprintf(stderr, "%s\n", note);
}

void report_trace(void)
{
    fprintf(stderr, "failed: %s\n", engine.result.failure);
    for (uint32_t i = 0; i < engine.events; i++)
        if (engine.event[i].wrote || !engine.event[i].is_private)
            print_event(&engine.event[i]);
}

void model_print_result(const struct model *model, const struct model_result *result)
{
    double rate = result->seconds > 0
                      ? (double)(result->executions + result->redundant) / result->seconds
                      : 0;
    printf("%-22s %s %9llu executions, %9llu cut, %10llu steps, %7.3f s (%.0f/s)%s%s\n",
           model->name,
           result->failed     ? "FAILED  "
           : result->complete ? "complete"
                              : "partial ",
           (unsigned long long)result->executions, (unsigned long long)result->redundant,
           (unsigned long long)result->steps, result->seconds, rate, result->failed ? ": " : "",
           result->failed ? result->failure : "");
}
