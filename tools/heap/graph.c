#include "fields.h"
#include "heap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hp_graph_free(struct hp_graph *graph)
{
    if (!graph)
        return;
    for (uint32_t i = 0; i < graph->type_count; i++) {
        free(graph->types[i].name);
    }
    for (uint32_t i = 0; i < graph->module_count; i++)
        free(graph->modules[i]);
    free(graph->modules);
    for (uint32_t i = graph->root_count; i-- > 0;)
        if (i == 0 || graph->roots[i].name != graph->roots[i - 1].name)
            free(graph->roots[i].name);
    for (uint32_t i = 0; i < graph->text_payload_count; i++)
        free(graph->text_payloads[i]);
    free(graph->text_payloads);
    free(graph->texts);
    free(graph->addresses);
    free(graph->sizes);
    free(graph->node_types);
    free(graph->first_edges);
    free(graph->edges);
    free(graph->types);
    free(graph->roots);
    free(graph->weaks);
    free(graph);
}

/* Reasons are printed, and a file may have any text as its reason. */
static void replace_controls(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < 0x20 || *at == 0x7F)
            *at = '?';
        else if (*at == 0xC2 && at[1] < 0xA0)
            at[0] = at[1] = '?';
}

void hp_graph_fail(struct hp_graph *graph, const char *format, ...)
{
    char text[2 * sizeof(graph->reason)];
    va_list arguments;
    graph->is_complete = false;
    if (graph->reason[0])
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    wt_utf8_clean((const uint8_t *)text, strlen(text), graph->reason, sizeof(graph->reason));
    replace_controls(graph->reason);
}

const char *hp_root_kind_name(const struct hp_root *root)
{
    static const char *const names[] = {"stack", "finalizer", "handle", "older",
                                        "sized", "other",     "static"};
    return root->kind <= HP_ROOT_STATIC ? names[root->kind] : "other";
}
