/* core/event/hooks.c for the explorer. */
#include "product.h"

#include <stddef.h>

static void *copy_allocate(size_t bytes);

#define calloc(count, bytes) copy_allocate(bytes)
#include "event/hooks.c" /* NOLINT: with its static variables */
#undef calloc

/* One copy per thread that sets hooks, and one for setup(). */
static struct copy spare[MODEL_THREADS_MAX + 1];
static bool is_setup;

static void *copy_allocate(size_t bytes)
{
    model_check(bytes == sizeof spare[0]);
    return &spare[is_setup ? MODEL_THREADS_MAX : model_self()];
}

void product_hooks_reset(void)
{
    model_lend(&park, sizeof park);
    model_name(&park.copies, "copies");
    model_name(&park.current, "hooks");
}

void product_hooks(const struct weir_park_hooks *hooks)
{
    model_lend(spare, sizeof spare);
    is_setup = true;
    model_check(weir_park_hooks_set(hooks) == WEIR_OK);
    is_setup = false;
}
