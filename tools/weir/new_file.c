#include "new_file.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void complain(const struct wt_new_file *file)
{
    wt_complain("cannot write %s: %s", file->name, strerror(errno));
}

static bool create(struct wt_new_file *file)
{
    struct stat status;
    if (stat(file->name, &status) == 0 && !S_ISREG(status.st_mode)) {
        wt_complain("%s is not a regular file", file->name);
        return false;
    }
    file->fd = mkstemp(file->temporary);
    if (file->fd < 0) {
        complain(file);
        return false;
    }
    fcntl(file->fd, F_SETFD, FD_CLOEXEC); /* cannot fail with a descriptor that is open */
    return true;
}

bool wt_new_file_open(struct wt_new_file *file, const char *name)
{
    size_t size = strlen(name) + sizeof(".XXXXXX");
    *file = (struct wt_new_file){.name = name, .temporary = malloc(size), .fd = -1};
    if (!file->temporary) {
        wt_complain("out of memory");
        return false;
    }
    snprintf(file->temporary, size, "%s.XXXXXX", name);
    if (create(file))
        return true;
    free(file->temporary);
    file->temporary = NULL;
    return false;
}

FILE *wt_new_file_stream(const struct wt_new_file *file)
{
    FILE *stream = fdopen(file->fd, "wb");
    if (!stream) {
        complain(file);
        close(file->fd);
    }
    return stream;
}

bool wt_new_file_publish(struct wt_new_file *file)
{
    if (rename(file->temporary, file->name) != 0) {
        complain(file);
        return false;
    }
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

void wt_new_file_drop(struct wt_new_file *file)
{
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
}
