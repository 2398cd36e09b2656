#include "cli/cluster/cluster_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cluster/cluster_disk.h"
#include "os/cluster/serial_file.h"
#include "process/program.h"

#define LOG_TAIL 4096

/* Finds `name` in PATH. Returns false if it is not there. */
static bool path_find(const char *name, char *path, size_t size)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        int wanted = snprintf(path, size, "%.*s/%s", (int)length, at, name);
        if (length && wanted > 0 && (size_t)wanted < size && access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

enum err cluster_weftd(char *path, size_t size, struct why *why)
{
    const char *chosen = getenv("WEFTD");
    if (chosen && *chosen) {
        snprintf(path, size, "%s", chosen);
        if (access(path, X_OK))
            return why_fail(why, ERR_USAGE, "WEFTD=%s: %s", path, strerror(errno));
        return OK;
    }
    ssize_t length = readlink("/proc/self/exe", path, size - sizeof "weftd");
    char *slash = NULL;
    if (length > 0) {
        path[length] = '\0';
        slash = strrchr(path, '/');
    }
    if (slash) {
        strcpy(slash + 1, "weftd");
        if (access(path, X_OK) == 0)
            return OK;
    }
    if (path_find("weftd", path, size))
        return OK;
    return why_fail(why, ERR_SYSTEM,
                    "weftd: not found beside weft or in PATH; install it, or set WEFTD");
}

/* Writes the servers of a process, "0,1,2", or its serial number if it is to be commissioned. */
static void servers_write(const struct cluster *cluster, uint32_t process, struct text *out)
{
    if (cluster->file.commissioned) {
        text_printf(out, "%u", cluster->serials[process]);
        return;
    }
    for (node_id v = 0; v < cluster->file.server_count; v++)
        if (cluster->file.process_of[v] == process)
            text_printf(out, "%s%u", out->size ? "," : "", v);
}

static node_id first_server(const struct cluster *cluster, uint32_t process)
{
    node_id first = 0;
    while (cluster->file.process_of[first] != process)
        first++;
    return first;
}

static void log_path(const struct cluster *cluster, uint32_t process, char path[CLUSTER_PATH_SIZE])
{
    if (cluster->file.commissioned)
        serial_path(path, cluster->folder, cluster->serials[process], "log");
    else
        cluster_path(path, cluster->folder, first_server(cluster, process), "log");
}

/* Returns the processor that a process is bound to; -1: any. Processes that host several servers
 * get a processor each if there are enough. Otherwise processes are bound only if the user asked
 * for it, in turn, so that neighbours in the plan mostly do not share a processor. */
static int processor_choose(const struct cluster *cluster, uint32_t process)
{
    const struct cluster_file *file = &cluster->file;
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable))
        return -1;
    uint32_t count = (uint32_t)CPU_COUNT(&usable);
    bool hosts_several = file->process_count < file->server_count;
    if (!file->pinned && (!hosts_several || file->process_count > count))
        return -1;
    process %= count;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && process-- == 0)
            return cpu;
    return -1;
}

/* Starts a process with input from /dev/null and output to the log. Returns 0 or a positive errno.
 */
static int spawn_detached(const char *const *words, const char *log, pid_t *pid)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = nothing < 0 ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int handles[3] = {nothing, out, out};
    int error = out < 0 ? errno : program_start(words, handles, true, pid);
    if (out >= 0)
        close(out);
    if (nothing >= 0)
        close(nothing);
    return error;
}

enum err cluster_spawn(const struct cluster *cluster, const char *weftd, uint32_t process,
                       pid_t *pid, struct why *why)
{
    char log[CLUSTER_PATH_SIZE];
    char processor[16];
    struct text servers = {0};
    if (cluster->file.commissioned && !cluster->serials[process])
        return why_fail(why, ERR_SYSTEM, "server %u: no machine is at that place", process);
    log_path(cluster, process, log);
    servers_write(cluster, process, &servers);
    if (!text_ok(&servers)) {
        text_fini(&servers);
        return why_memory(why);
    }
    int chosen = processor_choose(cluster, process);
    snprintf(processor, sizeof processor, "%d", chosen);
    const char *const words[] = {
        weftd,           "--dir",
        cluster->folder, cluster->file.commissioned ? "--serial" : "--node",
        servers.data,    chosen < 0 ? NULL : "--pin",
        processor,       NULL};
    int error = spawn_detached(words, log, pid);
    text_fini(&servers);
    if (error == EAGAIN || error == ENOMEM)
        return why_fail(why, ERR_SYSTEM,
                        "%s: %s at process %u of %u; use fewer servers, or --processes %d", weftd,
                        strerror(error), process + 1, cluster->file.process_count,
                        (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (cluster_disk_error(error)) /* there is no room for its log */
        return cluster_disk_fail(cluster->folder, why);
    if (error)
        return why_fail(why, ERR_SYSTEM, "%s: %s", weftd, strerror(error));
    return OK;
}

const char *cluster_ended(pid_t pid, char *text, size_t size)
{
    int status;
    if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid)
        return NULL;
    if (WIFSIGNALED(status))
        snprintf(text, size, "%s", strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "exit code %d", WEXITSTATUS(status));
    return text;
}

/* Makes the line printable. */
void cluster_log_line(const struct cluster *cluster, node_id server, char *line, size_t size)
{
    char path[CLUSTER_PATH_SIZE], tail[LOG_TAIL + 1];
    line[0] = '\0';
    log_path(cluster, cluster->file.process_of[server], path);
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return;
    off_t end = lseek(handle, 0, SEEK_END);
    ssize_t got = pread(handle, tail, LOG_TAIL, end > LOG_TAIL ? end - LOG_TAIL : 0);
    close(handle);
    while (got > 0 && (tail[got - 1] == '\n' || tail[got - 1] == ' '))
        got--;
    if (got <= 0)
        return;
    tail[got] = '\0';
    char *last = memrchr(tail, '\n', (size_t)got);
    snprintf(line, size, "%s", last ? last + 1 : tail);
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
}
