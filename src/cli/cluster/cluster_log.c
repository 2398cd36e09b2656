#include "cli/cluster/cluster_log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"

#define LINES_MAX 10 /* further ones are counted */
#define LINE_SIZE 512

static int is_log(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t size = strlen(name);
    return (strncmp(name, "node-", 5) == 0 || strncmp(name, "serial-", 7) == 0) &&
           strcmp(name + size - 4, ".log") == 0;
}

static FILE *log_open(const struct cluster_logs *logs, int index)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", logs->folder, logs->entries[index]->d_name);
    return fopen(path, "re");
}

void cluster_logs_mark(struct cluster_logs *logs, const char *folder)
{
    *logs = (struct cluster_logs){.folder = folder};
    logs->count = scandir(folder, &logs->entries, is_log, versionsort);
    if (logs->count <= 0) {
        logs->count = 0;
        return;
    }
    logs->sizes = array_new((size_t)logs->count, sizeof *logs->sizes);
    for (int i = 0; logs->sizes && i < logs->count; i++) {
        FILE *file = log_open(logs, i);
        struct stat status;
        logs->sizes[i] = file && !fstat(fileno(file), &status) ? status.st_size : 0;
        if (file)
            fclose(file);
    }
}

/* A failed assertion of weft, or a line of os/crash.h. */
static bool tells_crash(const char *line)
{
    return strstr(line, " crashed (") || strstr(line, " called exit()") ||
           strstr(line, ": Assertion `");
}

/* A function that took long is no mistake, and a busy machine is enough for that. */
static bool tells_mistake(const char *line)
{
    return strstr(line, ": service ") && !strstr(line, "() ran for ");
}

/* Without the date, which is a moment ago, and printable. */
static void line_put(struct text *out, char *line)
{
    char *date_end = strstr(line, "Z ");
    if (line[0] >= '0' && line[0] <= '9' && date_end)
        line = date_end + 2;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    text_printf(out, "weft: %s\n", line);
}

uint32_t cluster_logs_tell(const struct cluster_logs *logs, struct text *out)
{
    uint32_t crashed = 0, lines = 0;
    char line[LINE_SIZE];
    for (int i = 0; logs->sizes && i < logs->count; i++) {
        FILE *file = log_open(logs, i);
        bool crash = false;
        if (file && fseeko(file, logs->sizes[i], SEEK_SET) == 0)
            while (fgets(line, sizeof line, file)) {
                bool tells = tells_crash(line);
                crash |= tells;
                if ((tells || tells_mistake(line)) && lines++ < LINES_MAX)
                    line_put(out, line);
            }
        if (file)
            fclose(file);
        crashed += crash;
    }
    if (lines > LINES_MAX)
        text_printf(out, "weft: and %u more lines about services\n", lines - LINES_MAX);
    return crashed;
}

void cluster_logs_fini(struct cluster_logs *logs)
{
    for (int i = 0; i < logs->count; i++)
        free(logs->entries[i]);
    free(logs->entries);
    free(logs->sizes);
}
