#include "cli/cluster/cluster_end.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cluster/serial_file.h"
#include "transport/clock.h"

#define POLL_NSEC   10000000LL
#define FORCE_NSEC  (10 * NSEC_PER_SEC) /* timeout for the end of a killed process */
#define LEAVERS_MAX 512

/* ---- ending ---- */

/* Signals the process that holds the lock. Returns its pid, and a handle that always refers to this
 * process. */
static int holder_signal(const char *folder, node_id server, int signal, int *handle)
{
    pid_t pid = cluster_lock_holder(folder, server);
    if (pid <= 0)
        return pid < 0 ? pid : -ESRCH;
    *handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (*handle < 0)
        return -errno;
    /* The process may have ended, and its pid may belong to another one, before the handle was
     * opened. So the lock is checked again. */
    int result = pid;
    if (cluster_lock_holder(folder, server) != pid)
        result = -ESRCH;
    else if (syscall(SYS_pidfd_send_signal, *handle, signal, NULL, 0))
        result = -errno;
    if (result < 0)
        close(*handle);
    return result;
}

/* Waits for the end of a process; the kernel releases its locks a moment before that. */
static bool process_await(int handle, int64_t deadline)
{
    struct pollfd end = {.fd = handle, .events = POLLIN};
    for (;;) {
        int64_t left = deadline - clock_now();
        int ready = poll(&end, 1, left > 0 ? (int)(left / 1000000 + 1) : 0);
        if (ready > 0 || (ready == 0 && left <= 0) || (ready < 0 && errno != EINTR))
            return ready > 0;
    }
}

int cluster_kill(const char *folder, node_id server)
{
    int handle;
    int pid = holder_signal(folder, server, SIGKILL, &handle);
    if (pid < 0)
        return pid;
    bool ended = process_await(handle, clock_after(FORCE_NSEC));
    close(handle);
    return ended ? pid : -ETIMEDOUT;
}

/* Finds the server that a file belongs to: node-ID.ANYTHING. */
static bool file_server(const char *name, node_id *server)
{
    char *end;
    if (strncmp(name, "node-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return false;
    unsigned long id = strtoul(name + 5, &end, 10);
    *server = (node_id)id;
    return *end == '.' && end[1] && id < CLUSTER_SERVERS_MAX;
}

/* Processes that were asked to end. For processes beyond LEAVERS_MAX there is no handle: only their
 * locks are checked. */
struct leavers {
    pid_t pids[LEAVERS_MAX];
    int handles[LEAVERS_MAX];
    size_t count;
};

static void leavers_add(struct leavers *leavers, pid_t pid, int handle)
{
    size_t i = 0;
    while (i < leavers->count && leavers->pids[i] != pid)
        i++;
    if (i < leavers->count || i == LEAVERS_MAX) {
        close(handle);
        return;
    }
    leavers->pids[i] = pid;
    leavers->handles[i] = handle;
    leavers->count++;
}

/* Waits until the processes have ended, and closes their handles. */
static bool leavers_await(struct leavers *leavers, int64_t patience)
{
    int64_t deadline = clock_after(patience);
    bool gone = true;
    for (size_t i = 0; i < leavers->count; i++) {
        gone = gone && process_await(leavers->handles[i], deadline);
        close(leavers->handles[i]);
    }
    leavers->count = 0;
    return gone;
}

/* Sends the signal to all processes that run, unless it is 0. Returns how many servers run. */
static int living_signal(const char *folder, int signal, struct leavers *leavers)
{
    int living = 0;
    DIR *entries = opendir(folder);
    if (!entries)
        return errno == ENOENT ? 0 : -errno;
    for (struct dirent *entry; (entry = readdir(entries));) {
        node_id server;
        int handle;
        size_t size = strlen(entry->d_name);
        if (!file_server(entry->d_name, &server) || size < 5 ||
            strcmp(entry->d_name + size - 5, ".lock") != 0)
            continue;
        pid_t holder = cluster_lock_holder(folder, server);
        if (holder <= 0)
            continue;
        living++;
        if (!signal)
            continue;
        int result = holder_signal(folder, server, signal, &handle);
        if (result > 0) {
            leavers_add(leavers, result, handle);
        } else if (result != -ESRCH) { /* -ESRCH: the process has ended meanwhile */
            living = result;
            break;
        }
    }
    closedir(entries);
    return living;
}

/* Waits until no server runs. Returns how many run at the end. */
static int living_wait(const char *folder, int64_t patience, struct leavers *leavers)
{
    int64_t deadline = clock_after(patience);
    for (;;) {
        int living = living_signal(folder, 0, leavers);
        while (waitpid(-1, NULL, WNOHANG) > 0) /* reap our own children */
            continue;
        if (living <= 0 || clock_now() >= deadline)
            return living;
        clock_nap(POLL_NSEC);
    }
}

static int living_end(const char *folder, int64_t grace, struct leavers *leavers)
{
    int living = living_signal(folder, SIGTERM, leavers);
    if (living <= 0)
        return living;
    living_signal(folder, SIGCONT, leavers); /* a stopped process cannot end by itself */
    int forced = living_wait(folder, grace, leavers);
    if (forced <= 0)
        return forced;
    living = living_signal(folder, SIGKILL, leavers);
    if (living > 0)
        living = living_wait(folder, FORCE_NSEC, leavers);
    return living > 0 ? -EBUSY : living < 0 ? living : forced;
}

int cluster_end(const char *folder, int64_t grace)
{
    struct leavers leavers = {0};
    int forced = living_end(folder, grace, &leavers);
    bool gone = leavers_await(&leavers, forced < 0 ? 0 : FORCE_NSEC);
    return forced < 0 || gone ? forced : -EBUSY;
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

/* Removes the entries of a folder that `pick` selects. Returns the first error. */
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

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

/* Removes the folders of child processes of services: their supervisors do that, too, but may have
 * been killed. */
static void children_remove(const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[CLUSTER_PATH_SIZE + sizeof entry->d_name];
        node_id server;
        if (!file_server(entry->d_name, &server) || !strstr(entry->d_name, ".child-"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        nftw(path, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
    if (entries)
        closedir(entries);
}

enum err cluster_remove(const char *folder, bool made_folder, uint32_t *others, struct why *why)
{
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *others = 0;
    if (handle < 0)
        return errno == ENOENT ? OK : why_fail(why, ERR_SYSTEM, "%s: %s", folder, strerror(errno));
    children_remove(folder);
    int error = links_remove(handle);
    int second = entries_remove(handle, is_ours, others);
    close(handle);
    error = error ? error : second;
    if (!error && made_folder && !*others && rmdir(folder))
        error = errno;
    if (error)
        return why_fail(why, ERR_SYSTEM, "%s: cannot remove the files of the cluster: %s", folder,
                        strerror(error));
    return OK;
}
