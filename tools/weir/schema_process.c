/* The session of weir schema in a process. */
#include "schema.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DURATION_MS 1000

/* A new, empty file; NULL after a message. The caller frees its name. */
static char *make_file(void)
{
    static const char name[] = "/weir-schema-XXXXXX";
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    size_t size = strlen(folder) + sizeof(name);
    char *path = malloc(size);
    if (!path) {
        wt_complain("out of memory");
        return NULL;
    }
    snprintf(path, size, "%s%s", folder, name);
    int fd = mkstemp(path);
    if (fd >= 0) {
        close(fd);
        return path;
    }
    wt_complain("schema: cannot make a file in %s: %s", folder, strerror(errno));
    free(path);
    return NULL;
}

bool wt_schema_collect(struct wt_collect_options *options, struct wt_run *run,
                       const struct wt_handlers *handlers, void *context, char name[64])
{
    struct wt_collect_trace trace;
    char *path = make_file();
    if (!path)
        return false;
    options->output = path;
    if (options->duration_ms == 0)
        options->duration_ms = DURATION_MS;
    wt_collect_run(options, &trace);
    bool is_open = !trace.has_failed && wt_run_open(run, path, NULL, handlers, context);
    unlink(path);
    memcpy(name, trace.name, sizeof(trace.name));
    if (is_open)
        run->path = name;
    free(trace.file);
    free(path);
    return is_open;
}
