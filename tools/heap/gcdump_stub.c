#include "heap.h"
struct hp_graph *hp_gcdump_read(const uint8_t *bytes, size_t count, char error[200]);
struct hp_graph *hp_gcdump_read(const uint8_t *bytes, size_t count, char error[200])
{
    (void)bytes;
    (void)count;
    snprintf(error, 200, "not yet");
    return NULL;
}
bool hp_gcdump_write(const struct hp_graph *graph, FILE *file)
{
    (void)graph;
    (void)file;
    return false;
}
