#include "heap.h"

#include <stdlib.h>
#include <string.h>

static struct {
    char title[16]; /* as messages name it */
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text, *help;
} parts[] = {
    {"heap collect", "collect", wt_heap_collect, "ask a process for a snapshot",
     wt_heap_collect_help},
    {"heap report", "report", wt_heap_report, "objects and bytes by type", wt_heap_report_help},
    {"heap roots", "roots", wt_heap_roots, "why objects of a type are kept: the way from a root",
     wt_heap_roots_help},
    {"heap diff", "diff", wt_heap_diff, "which types grow from one snapshot to the next",
     wt_heap_diff_help},
    {"heap export", "export", wt_heap_export, "the graph as JSON, CSV, DOT or .gcdump",
     wt_heap_export_help},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void print_help(FILE *file)
{
    fputs("usage: weir heap PART [OPTION]... FILE...\n"
          "\n"
          "Looks at snapshots of a heap, which FILE has as the events of .NET's heap dumps: a "
          "trace with\n"
          "keywords 0x1980001 of Microsoft-Windows-DotNETRuntime, of a host of Weir or of .NET; or "
          "as a\n"
          ".gcdump of dotnet-gcdump, PerfView or weir heap export; - for standard input.\n"
          "\n",
          file);
    for (size_t i = 0; i < PARTS; i++)
        fprintf(file, "  %-8s %s\n", parts[i].name, parts[i].text);
    fputs("\n"
          "A snapshot is complete if the numbers of its events follow one another, each node has "
          "its\n"
          "edges, and its collection has an end. If it is not, the exit code is 3, and all parts "
          "but\n"
          "report refuse it without --incomplete. A .gcdump is, unless weir heap export has marked "
          "it.\n"
          "\n"
          "Exit codes: 0 fine, 1 failed, 2 usage, 3 the snapshot is incomplete, 4 the file ends "
          "early.\n",
          file);
    for (size_t i = 0; i < PARTS; i++)
        fprintf(file, "\n%s", parts[i].help + strlen("usage: "));
}

int wt_heap_main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? WT_EXIT_USAGE : wt_finish_output(WT_EXIT_OK);
    }
    for (size_t i = 0; i < PARTS; i++) {
        if (strcmp(argv[1], parts[i].name) != 0)
            continue;
        argv[1] = parts[i].title;
        return parts[i].run(argc - 1, argv + 1);
    }
    wt_complain("heap has no part \"%s\"; try: weir heap --help", argv[1]);
    return WT_EXIT_USAGE;
}

/* GCStart numbers collections in 32 bits. */
static bool take_number(struct wt_heap_options *options, const char *text)
{
    if (!wt_parse_count("--number", text, &options->number))
        return false;
    if (options->number <= UINT32_MAX)
        return true;
    wt_complain("--number %s is above 4294967295, the highest number of a collection", text);
    return false;
}

bool wt_heap_take(struct wt_heap_options *options, int option, const char *text)
{
    switch (option) {
    case WT_HEAP_JSON:
        return options->as_json = true;
    case WT_HEAP_INCOMPLETE:
        return options->takes_incomplete = true;
    default:
        return take_number(options, text);
    }
}

void *wt_heap_need(void *memory)
{
    if (memory)
        return memory;
    wt_complain("out of memory");
    exit(WT_EXIT_FAILED);
}

void wt_heap_type_text(const char *name, const char *module, char *text, size_t capacity)
{
    const char *last = module ? strrchr(module, '/') : NULL,
               *other = module ? strrchr(module, '\\') : NULL;
    if (!module || !*module) {
        snprintf(text, capacity, "%s", name);
        return;
    }
    last = other > last ? other : last;
    snprintf(text, capacity, "%s  [%s]", name, last ? last + 1 : module);
}
