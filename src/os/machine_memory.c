#include "os/machine_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_SIZE 512

static FILE *file_open(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    return size > 0 && (size_t)size < sizeof path ? fopen(path, "re") : NULL;
}

/* Adds memory and swap. */
static uint64_t total_read(const char *proc)
{
    char line[LINE_MAX_SIZE];
    uint64_t sum = 0, kilobytes;
    FILE *file = file_open(proc, "meminfo");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemTotal: %" SCNu64 " kB", &kilobytes) == 1 ||
            sscanf(line, "SwapTotal: %" SCNu64 " kB", &kilobytes) == 1)
            sum += kilobytes * 1024;
    if (file)
        fclose(file);
    return sum;
}

/* Finds our control group, as "/user.slice/shell"; false: there is none that we know how to read.
 */
static bool group_find(const char *proc, char group[LINE_MAX_SIZE])
{
    char line[LINE_MAX_SIZE];
    bool found = false;
    FILE *file = file_open(proc, "self/cgroup");
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::/", 4) == 0; /* version 2: one tree for all resources */
    }
    if (file)
        fclose(file);
    if (found)
        snprintf(group, LINE_MAX_SIZE, "%s", line + 3);
    return found;
}

/* The limit of one group; UINT64_MAX: none. */
static uint64_t group_limit(const char *groups, const char *group)
{
    char name[LINE_MAX_SIZE + 16];
    uint64_t limit = UINT64_MAX;
    snprintf(name, sizeof name, "%s/memory.max", group);
    FILE *file = file_open(groups, name);
    if (file && fscanf(file, "%" SCNu64, &limit) != 1)
        limit = UINT64_MAX; /* "max" */
    if (file)
        fclose(file);
    return limit;
}

uint64_t machine_memory_in(const char *proc, const char *groups)
{
    uint64_t least = total_read(proc);
    char group[LINE_MAX_SIZE];
    if (!least)
        least = UINT64_MAX;
    /* The limits of all groups above ours apply, too. */
    for (bool more = group_find(proc, group); more;) {
        uint64_t limit = group_limit(groups, group);
        least = limit < least ? limit : least;
        char *slash = strrchr(group, '/');
        more = slash != NULL;
        if (slash)
            *slash = '\0';
    }
    return least == UINT64_MAX ? 0 : least;
}

uint64_t machine_memory(void)
{
    return machine_memory_in("/proc", "/sys/fs/cgroup");
}
