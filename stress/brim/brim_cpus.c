#include "brim_cpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"

#define DRAIN_NAME "weir-drain"

void brim_cpus_get(struct brim_cpus *cpus)
{
    memset(cpus, 0, sizeof *cpus);
    if (sched_getaffinity(0, sizeof cpus->all, &cpus->all) != 0)
        CPU_SET(0, &cpus->all);
    cpus->count = (unsigned)CPU_COUNT(&cpus->all);
    size_t first = 0;
    while (!CPU_ISSET(first, &cpus->all))
        first++;
    CPU_SET(first, &cpus->first);
    cpus->others = cpus->all;
    if (cpus->count > 1)
        CPU_CLR(first, &cpus->others);
}

void brim_cpus_bind_self(const cpu_set_t *set)
{
    /* If the system refuses, figures are noisier but not wrong. */
    (void)sched_setaffinity(0, sizeof *set, set);
}

static bool is_drain(const char *thread)
{
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return false; /* the thread has just ended */
    bool is_named = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    name[strcspn(name, "\n")] = 0;
    return is_named && strcmp(name, DRAIN_NAME) == 0;
}

bool brim_cpus_bind_drain(const cpu_set_t *set)
{
    bool any = false;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread > 0 && is_drain(entry->d_name))
            any |= sched_setaffinity(thread, sizeof *set, set) == 0;
    }
    if (folder)
        closedir(folder);
    return any;
}

void brim_cpus_name(char *text, size_t bytes)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(text, bytes, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        snprintf(text, bytes, "%s", colon + 2);
        text[strcspn(text, "\n")] = 0;
        break;
    }
    if (file)
        fclose(file);
}
