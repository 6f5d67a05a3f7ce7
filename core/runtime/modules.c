#include "runtime/modules.h"

#include <string.h>
#include "base/utf8.h"
#include "event/event.h"
#include "os/os.h"
#include "runtime/dotnet.h"

#define MODULES_MAX 4096u
#define PATH_BYTES  240u

struct module {
    uint64_t id;
    char path[PATH_BYTES];
};

static struct module *modules; /* LOCK(registry), as the count; mapped once */
static uint32_t module_count;

/* The part that tools show is at the end. */
static void path_copy(char *to, const char *path)
{
    size_t bytes = path ? strlen(path) : 0;
    const char *from = bytes < PATH_BYTES ? path : path + bytes - (PATH_BYTES - 1);
    while (from && wr_utf8_continues((unsigned char)*from)) /* not in the middle of a character */
        from++;
    memcpy(to, from ? from : "", from ? strlen(from) + 1 : 1);
}

static struct module *place_locked(uint64_t id)
{
    if (!modules)
        modules = wr_os_pages_map(MODULES_MAX * sizeof *modules);
    for (uint32_t i = 0; modules && i < module_count; i++)
        if (modules[i].id == id)
            return &modules[i];
    return modules && module_count < MODULES_MAX ? &modules[module_count++] : NULL;
}

void wr_modules_note(uint64_t module, const char *path)
{
    wr_registry_lock();
    struct module *place = place_locked(module);
    if (place) {
        place->id = module;
        path_copy(place->path, path);
    }
    wr_registry_unlock();
}

static bool module_get(uint32_t index, struct module *module)
{
    wr_registry_lock();
    bool is_there = index < module_count;
    if (is_there)
        *module = modules[index];
    wr_registry_unlock();
    return is_there;
}

void wr_modules_rundown(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    struct module module;
    if ((rundown->keywords & WR_DOTNET_LOADER) == 0 || rundown->moment == WEIR_RUNDOWN_START)
        return;
    for (uint32_t i = 0; module_get(i, &module); i++)
        DotNetRundown_ModuleDCEnd(module.id, module.id, 0, 0, module.path, "", WR_DOTNET_CLR);
}
