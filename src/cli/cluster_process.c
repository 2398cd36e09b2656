#include "cli/cluster_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/cluster_disk.h"
#include "os/serial_file.h"
#include "transport/clock.h"

#define LOG_TAIL   4096
#define POLL_NSEC  10000000LL
#define FORCE_NSEC (10 * NSEC_PER_SEC) /* in which the system ends what was killed */

extern char **environ;

/* ---- starting ---- */

/* The path of `name` in PATH; false: nowhere. */
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
            return why_fail(why, ERR_SYSTEM, "WEFTD=%s: %s", path, strerror(errno));
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
                    "weftd: neither beside weft nor in PATH; install it, or name it in WEFTD");
}

/* "0,1,2": the servers of a process; or the serial number of one that does not know. */
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

/* The processor that a process is bound to; -1: any. Processes that host several servers each get
 * one of their own, if there are enough; others only if the user asked for it, and then in turn:
 * who stands side by side in the plan mostly does not share one. */
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

static int spawn_detached(const char *weftd, char *const *words, const char *log, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error =
            posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (!error)
        error = posix_spawn(pid, weftd, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

enum err cluster_spawn(const struct cluster *cluster, const char *weftd, uint32_t process,
                       pid_t *pid, struct why *why)
{
    char log[CLUSTER_PATH_SIZE];
    char processor[16];
    struct text servers = {0};
    if (cluster->file.commissioned && !cluster->serials[process])
        return why_fail(why, ERR_SYSTEM, "server %u: no machine has that place", process);
    log_path(cluster, process, log);
    servers_write(cluster, process, &servers);
    if (!text_ok(&servers)) {
        text_fini(&servers);
        return why_memory(why);
    }
    int chosen = processor_choose(cluster, process);
    snprintf(processor, sizeof processor, "%d", chosen);
    char *const words[] = {(char *)weftd,
                           "--dir",
                           (char *)cluster->folder,
                           cluster->file.commissioned ? "--serial" : "--node",
                           servers.data,
                           chosen < 0 ? NULL : "--pin",
                           processor,
                           NULL};
    int error = spawn_detached(weftd, words, log, pid);
    text_fini(&servers);
    if (error == EAGAIN || error == ENOMEM)
        return why_fail(why, ERR_SYSTEM,
                        "%s: %s for process %u of %u; fewer servers, or --processes %d, need less",
                        weftd, strerror(error), process + 1, cluster->file.process_count,
                        (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (cluster_disk_error(error)) /* for its log */
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

void cluster_child_end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Printable. */
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

/* ---- ending ---- */

int cluster_signal(const char *folder, node_id server, int signal)
{
    pid_t pid = cluster_lock_holder(folder, server);
    if (pid <= 0)
        return pid < 0 ? pid : -ESRCH;
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0)
        return -errno;
    /* Between the two looks the number may have become another process'; the handle did not. */
    int result = pid;
    if (cluster_lock_holder(folder, server) != pid)
        result = -ESRCH;
    else if (syscall(SYS_pidfd_send_signal, handle, signal, NULL, 0))
        result = -errno;
    close(handle);
    return result;
}

/* The server that a file of a cluster's process belongs to: node-ID.ANYTHING. */
static bool file_server(const char *name, node_id *server)
{
    char *end;
    if (strncmp(name, "node-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return false;
    unsigned long id = strtoul(name + 5, &end, 10);
    *server = (node_id)id;
    return *end == '.' && end[1] && id < CLUSTER_SERVERS_MAX;
}

/* Signals whoever lives; returns how many do. */
static int living_signal(const char *folder, int signal)
{
    int living = 0;
    DIR *entries = opendir(folder);
    if (!entries)
        return errno == ENOENT ? 0 : -errno;
    for (struct dirent *entry; (entry = readdir(entries));) {
        node_id server;
        size_t size = strlen(entry->d_name);
        if (!file_server(entry->d_name, &server) || size < 5 ||
            strcmp(entry->d_name + size - 5, ".lock") != 0)
            continue;
        pid_t holder = cluster_lock_holder(folder, server);
        if (holder <= 0)
            continue;
        living++;
        /* One that is gone by now is counted once more and no longer found. */
        int result = signal ? cluster_signal(folder, server, signal) : 0;
        if (result < 0 && result != -ESRCH) {
            living = result;
            break;
        }
    }
    closedir(entries);
    return living;
}

/* Until nobody lives; how many do at the end. */
static int living_wait(const char *folder, int64_t patience)
{
    int64_t deadline = clock_after(patience);
    for (;;) {
        int living = living_signal(folder, 0);
        while (waitpid(-1, NULL, WNOHANG) > 0) /* those that are our own children */
            continue;
        if (living <= 0 || clock_now() >= deadline)
            return living;
        clock_nap(POLL_NSEC);
    }
}

int cluster_end(const char *folder, int64_t grace)
{
    int living = living_signal(folder, SIGTERM);
    if (living <= 0)
        return living;
    living_signal(folder, SIGCONT); /* a stopped one cannot obey */
    int forced = living_wait(folder, grace);
    if (forced <= 0)
        return forced;
    living = living_signal(folder, SIGKILL);
    if (living > 0)
        living = living_wait(folder, FORCE_NSEC);
    return living > 0 ? -EBUSY : living < 0 ? living : forced;
}

/* ---- removing ---- */

static bool is_ours(const char *name)
{
    node_id server;
    return file_server(name, &server) || serial_of_name(name, NULL) ||
           strcmp(name, CLUSTER_WIRING_NAME) == 0 || strcmp(name, CLUSTER_FILE_NAME) == 0 ||
           strcmp(name, CLUSTER_TOPOLOGY_NAME) == 0 || strcmp(name, CLUSTER_LINKS_FOLDER) == 0;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool cluster_remains(const char *folder)
{
    bool found = false;
    DIR *entries = opendir(folder);
    if (!entries)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(entries));)
        found = is_ours(entry->d_name);
    closedir(entries);
    return found;
}

/* Everything of a folder that `pick` wants; the first error. */
static int entries_remove(int folder, bool (*pick)(const char *name), uint32_t *others)
{
    int error = 0, copy = dup(folder);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries) {
        error = errno;
        if (copy >= 0)
            close(copy);
        return error;
    }
    rewinddir(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (is_dots(entry->d_name))
            continue;
        if (pick && !pick(entry->d_name))
            ++*others;
        else if (unlinkat(folder, entry->d_name, 0) && errno != ENOENT && errno != EISDIR &&
                 errno != EPERM)
            error = error ? error : errno;
    }
    closedir(entries);
    return error;
}

static int links_remove(int folder)
{
    uint32_t others = 0;
    int links =
        openat(folder, CLUSTER_LINKS_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (links < 0)
        return errno == ENOENT ? 0 : errno;
    int error = entries_remove(links, NULL, &others);
    close(links);
    if (!error && unlinkat(folder, CLUSTER_LINKS_FOLDER, AT_REMOVEDIR))
        error = errno;
    return error;
}

enum err cluster_remove(const char *folder, bool made_folder, uint32_t *others, struct why *why)
{
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *others = 0;
    if (handle < 0)
        return errno == ENOENT ? OK : why_fail(why, ERR_SYSTEM, "%s: %s", folder, strerror(errno));
    int error = links_remove(handle);
    int second = entries_remove(handle, is_ours, others);
    close(handle);
    error = error ? error : second;
    if (!error && made_folder && !*others && rmdir(folder))
        error = errno;
    if (error)
        return why_fail(why, ERR_SYSTEM, "%s: cannot be cleared: %s", folder, strerror(error));
    return OK;
}
