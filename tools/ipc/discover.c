#include "discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1u << 20) /* of a file in /proc: environments and command lines */

/* What its status file says of a process. */
struct status {
    pid_t inner;    /* its pid in its own namespace */
    bool is_apart;  /* in another namespace than this process */
    uid_t user;     /* effective */
    bool has_ended; /* and its parent has not noticed */
};

/* A file of /proc/PID, whole and ended by a zero; NULL if it cannot be read. */
static char *read_file(pid_t pid, const char *name, size_t *size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd >= 0 ? malloc(FILE_BYTES_MAX + 1) : NULL;
    ssize_t got = 0;
    *size = 0;
    while (text && *size < FILE_BYTES_MAX &&
           (got = read(fd, text + *size, FILE_BYTES_MAX - *size)) > 0)
        *size += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (!text || got < 0 || *size == 0) {
        free(text);
        return NULL;
    }
    text[*size] = '\0';
    char *exact = realloc(text, *size + 1);
    return exact ? exact : text;
}

static bool read_status(pid_t pid, struct status *status)
{
    size_t size;
    char *text = read_file(pid, "status", &size);
    if (!text)
        return false;
    unsigned user = UINT_MAX;
    const char *line = strstr(text, "\nUid:");
    if (line)
        sscanf(line + 5, "%*u %u", &user);
    status->user = user;
    status->has_ended = strstr(text, "\nState:\tZ") != NULL;
    status->inner = pid;
    status->is_apart = false;
    line = strstr(text, "\nNSpid:");
    for (char *at = line ? strchr(line, ':') + 1 : NULL; at;) {
        char *end;
        long inner = strtol(at, &end, 10); /* steps over tabs, and would over the line's end */
        if (end == at || memchr(at, '\n', (size_t)(end - at)))
            break;
        status->is_apart |= inner != (long)pid;
        status->inner = (pid_t)inner;
        at = end;
    }
    free(text);
    return true;
}

/* --- Sockets. ------------------------------------------------------------------------------- */

/* The pid in dotnet-diagnostic-PID-KEY-socket; 0 if the name is another. */
static pid_t pid_of_name(const char *name)
{
    static const char prefix[] = "dotnet-diagnostic-";
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return 0;
    const char *pid = name + sizeof(prefix) - 1;
    size_t pid_digits = strspn(pid, "0123456789");
    const char *key = pid + pid_digits + 1;
    if (pid_digits == 0 || pid_digits > 9 || pid[pid_digits] != '-')
        return 0;
    size_t key_digits = strspn(key, "0123456789");
    if (key_digits == 0 || strcmp(key + key_digits, "-socket") != 0)
        return 0;
    return (pid_t)atol(pid);
}

struct search {
    char *path; /* of the newest so far */
    struct timespec changed;
};

static bool is_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static void consider(struct search *search, const char *folder, const char *name, uid_t user)
{
    struct stat status;
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return;
    snprintf(path, size, "%s/%s", folder, name);
    bool is_own = lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
                  (status.st_uid == user || status.st_uid == 0);
    if (!is_own || (search->path && !is_newer(status.st_mtim, search->changed))) {
        free(path);
        return;
    }
    free(search->path);
    search->path = path;
    search->changed = status.st_mtim;
}

/* Looks in one folder for the sockets of one process. */
static void search_folder(struct search *search, const char *folder, pid_t inner, uid_t user)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries));)
        if (pid_of_name(entry->d_name) == inner)
            consider(search, folder, entry->d_name, user);
    closedir(entries);
}

static const char *own_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* An absolute path that can be shown. */
static bool is_plain(const char *path)
{
    const char *at = path;
    while ((unsigned char)*at >= ' ' && *at != 0x7f)
        at++;
    return *path == '/' && !*at;
}

/* The process's own temporary directory, as this process sees it; NULL: no memory. */
static char *folder_of(pid_t pid, const struct status *status)
{
    static const char variable[] = "TMPDIR=";
    size_t size, skip = sizeof(variable) - 1;
    char *environment = read_file(pid, "environ", &size);
    const char *folder = "/tmp";
    for (char *at = environment; at && at < environment + size; at += strlen(at) + 1)
        if (strncmp(at, variable, skip) == 0 && is_plain(at + skip))
            folder = at + skip;
    size_t whole = strlen(folder) + 32;
    char *path = malloc(whole);
    if (path && status->is_apart)
        snprintf(path, whole, "/proc/%ld/root%s", (long)pid, folder);
    else if (path)
        snprintf(path, whole, "%s", folder);
    free(environment);
    return path;
}

/* `seen_here`: this process's temporary directory has sockets with the process's pid. */
static char *socket_of(pid_t pid, bool seen_here)
{
    struct search search = {NULL, {0, 0}};
    struct status status;
    if (!read_status(pid, &status) || status.has_ended)
        return NULL;
    char *folder = folder_of(pid, &status);
    if (!status.is_apart && seen_here)
        search_folder(&search, own_folder(), pid, status.user);
    if (folder && (status.is_apart || strcmp(folder, own_folder()) != 0))
        search_folder(&search, folder, status.inner, status.user);
    free(folder);
    return search.path;
}

/* --- The list. ------------------------------------------------------------------------------ */

static char *command_line_of(pid_t pid)
{
    size_t size;
    char *text = read_file(pid, "cmdline", &size);
    while (text && size > 0 && text[size - 1] == '\0')
        size--;
    for (size_t i = 0; text && i < size; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

static char *name_of(pid_t pid)
{
    size_t size;
    char *name = read_file(pid, "comm", &size);
    if (name)
        name[strcspn(name, "\n")] = '\0';
    return name ? name : strdup("?"); /* it has just ended */
}

static char *executable_of(pid_t pid)
{
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
    ssize_t size = readlink(path, target, sizeof(target));
    return size > 0 ? strndup(target, (size_t)size) : NULL;
}

static bool add(struct wt_ipc_processes *list, pid_t pid, char *socket)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        void *larger = realloc(list->items, capacity * sizeof(*list->items));
        if (!larger) {
            free(socket);
            return false;
        }
        list->items = larger;
        list->capacity = capacity;
    }
    struct wt_ipc_process *process = &list->items[list->count++];
    process->pid = pid;
    process->name = name_of(pid);
    process->executable = executable_of(pid);
    process->command_line = command_line_of(pid);
    process->socket = socket;
    return process->name != NULL;
}

static int by_pid(const void *a, const void *b)
{
    const struct wt_ipc_process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static int by_number(const void *a, const void *b)
{
    const pid_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

struct pids {
    pid_t *items;
    size_t count, capacity;
};

static bool pids_add(struct pids *pids, pid_t pid)
{
    if (pids->count == pids->capacity) {
        size_t capacity = pids->capacity ? 2 * pids->capacity : 64;
        void *larger = realloc(pids->items, capacity * sizeof(*pids->items));
        if (!larger)
            return false;
        pids->items = larger;
        pids->capacity = capacity;
    }
    pids->items[pids->count++] = pid;
    return true;
}

/* The pids in the names of this process's temporary directory, sorted; false: no memory. */
static bool pids_here(struct pids *pids)
{
    DIR *entries = opendir(own_folder());
    bool has_memory = true;
    for (const struct dirent *entry; entries && has_memory && (entry = readdir(entries));) {
        pid_t pid = pid_of_name(entry->d_name);
        has_memory = pid == 0 || pids_add(pids, pid);
    }
    if (entries)
        closedir(entries);
    if (pids->count)
        qsort(pids->items, pids->count, sizeof(*pids->items), by_number);
    return has_memory;
}

static bool find_one(struct wt_ipc_processes *list, const struct pids *here, pid_t pid)
{
    bool seen_here =
        here->count && bsearch(&pid, here->items, here->count, sizeof(pid), by_number) != NULL;
    char *socket = socket_of(pid, seen_here);
    return !socket || add(list, pid, socket);
}

static bool find_all(struct wt_ipc_processes *list, const struct pids *here,
                     struct wt_ipc_error *error)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return wt_ipc_fail(error, WT_IPC_SYSTEM, "cannot read /proc: %s", strerror(errno));
    bool has_memory = true;
    for (const struct dirent *entry; has_memory && (entry = readdir(processes));) {
        size_t digits = strspn(entry->d_name, "0123456789");
        if (digits > 0 && digits < 10 && !entry->d_name[digits])
            has_memory = find_one(list, here, (pid_t)atol(entry->d_name));
    }
    closedir(processes);
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_pid);
    return has_memory || wt_ipc_fail(error, WT_IPC_SYSTEM, "out of memory");
}

bool wt_ipc_processes_find(struct wt_ipc_processes *list, pid_t pid, struct wt_ipc_error *error)
{
    struct pids here = {NULL, 0, 0};
    memset(list, 0, sizeof(*list));
    bool is_done = pids_here(&here) || wt_ipc_fail(error, WT_IPC_SYSTEM, "out of memory");
    if (is_done && pid == 0)
        is_done = find_all(list, &here, error);
    else if (is_done)
        is_done = find_one(list, &here, pid) || wt_ipc_fail(error, WT_IPC_SYSTEM, "out of memory");
    free(here.items);
    if (!is_done)
        wt_ipc_processes_fini(list);
    return is_done;
}

/* --- By name. ------------------------------------------------------------------------------- */

/* Whether the last part of a path is `name`; the path ends at `size`. */
static bool is_base(const char *path, size_t size, const char *name)
{
    size_t length = strlen(name);
    return size >= length && memcmp(path + size - length, name, length) == 0 &&
           (size == length || path[size - length - 1] == '/');
}

static bool is_named(const struct wt_ipc_process *process, const char *name)
{
    const char *line = process->command_line, *file = process->executable;
    return strcmp(process->name, name) == 0 || (file && is_base(file, strlen(file), name)) ||
           (line && is_base(line, strcspn(line, " "), name));
}

const struct wt_ipc_process *wt_ipc_process_named(const struct wt_ipc_processes *list,
                                                  const char *name, struct wt_ipc_error *error)
{
    const struct wt_ipc_process *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct wt_ipc_process *process = &list->items[i];
        if (!is_named(process, name))
            continue;
        if (found) {
            wt_ipc_fail(error, WT_IPC_NOT_FOUND,
                        "several processes are named \"%.100s\", among them %ld and %ld; choose "
                        "one by its id",
                        name, (long)found->pid, (long)process->pid);
            return NULL;
        }
        found = process;
    }
    if (!found)
        wt_ipc_fail(error, WT_IPC_NOT_FOUND,
                    "no process with a diagnostics socket is named \"%.100s\"", name);
    return found;
}

void wt_ipc_processes_fini(struct wt_ipc_processes *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].executable);
        free(list->items[i].command_line);
        free(list->items[i].socket);
    }
    free(list->items);
    memset(list, 0, sizeof(*list));
}
