/* The modules that types of the heap belong to, which rundowns write. */
#ifndef WR_RUNTIME_MODULES_H
#define WR_RUNTIME_MODULES_H

#include <stdint.h>
#include <weir/trace.h>

/* Notes a module's path, in place of an earlier one. Beyond the bound it is forgotten. */
void wr_modules_note(uint64_t module, const char *path);
/* A source of rundown. */
void wr_modules_rundown(void *context, const struct weir_rundown *rundown);

#endif
