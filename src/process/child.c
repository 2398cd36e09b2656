#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

pid_t child_start(void (*run)(void *argument), void *argument)
{
    pid_t parent = getpid();
    fflush(NULL); /* or the child could print it again */
    pid_t child = fork();
    if (child != 0)
        return child < 0 ? -errno : child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* the parent died before prctl took effect */
    signal(SIGPIPE, SIG_IGN);
    run(argument);
    _exit(0);
}

void child_kill(pid_t child)
{
    if (child <= 0)
        return;
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

bool children_add(struct children *children, void (*run)(void *argument), void *argument)
{
    uint32_t index = children->count++;
    assert(index < CHILDREN_MAX);
    children->ends[index] = (struct pollfd){-1, POLLIN, 0};
    children->ids[index] = child_start(run, argument);
    if (children->ids[index] > 0)
        children->ends[index].fd = (int)syscall(SYS_pidfd_open, children->ids[index], 0);
    return children->ends[index].fd >= 0;
}

/* Reaps a child that has ended; true if it succeeded. */
static bool children_take(struct children *children, uint32_t index)
{
    int status;
    waitpid(children->ids[index], &status, 0);
    children->ids[index] = 0;
    close(children->ends[index].fd);
    children->ends[index].fd = -1; /* poll skips it */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool children_wait(struct children *children, nsec until)
{
    for (uint32_t left = children->count; left > 0;) {
        nsec rest = until - clock_now();
        int ready = rest > 0 ? poll(children->ends, children->count, (int)(rest / 1000000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        for (uint32_t i = 0; i < children->count; i++) {
            if (children->ids[i] <= 0 || !children->ends[i].revents)
                continue;
            left--;
            if (!children_take(children, i))
                return false;
        }
    }
    return true;
}

void children_end(struct children *children)
{
    for (uint32_t i = 0; i < children->count; i++) {
        child_kill(children->ids[i]);
        if (children->ends[i].fd >= 0)
            close(children->ends[i].fd);
    }
    children->count = 0;
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

/* The keeper, not we, makes the folder, so there is no moment at which we could die and leave it
 * behind. It waits until no process has our end of the `life` socket open any more; besides us,
 * only children that we forked have it open, and they do not outlive us. */
static _Noreturn void folder_keep(char *path, int life)
{
    char nothing;
    setsid(); /* Ctrl-C must not reach the keeper */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    int error = mkdtemp(path) ? 0 : errno;
    const struct iovec word[2] = {{&error, sizeof error}, {path, CHILD_FOLDER_SIZE}};
    (void)!writev(life, word, 2);
    while (!error && read(life, &nothing, 1) < 0 && errno == EINTR)
        ;
    if (!error)
        nftw(path, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

/* Receives the keeper's report: the path of the folder, or a negative errno. */
static int folder_hear(struct child_folder *folder)
{
    int error;
    const struct iovec word[2] = {{&error, sizeof error}, {folder->path, CHILD_FOLDER_SIZE}};
    ssize_t size;
    while ((size = readv(folder->life, word, 2)) < 0 && errno == EINTR)
        ;
    return size == sizeof error + CHILD_FOLDER_SIZE ? -error : -ECHILD;
}

int child_folder_make(struct child_folder *folder)
{
    const char *base = getenv("TMPDIR");
    int life[2], size = snprintf(folder->path, sizeof folder->path, "%s/weft-measured-XXXXXX",
                                 base && *base ? base : "/tmp");
    if (size >= CHILD_FOLDER_SIZE) /* short, because sockets will be in it */
        strcpy(folder->path, "/tmp/weft-measured-XXXXXX");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, life) < 0)
        return -errno;
    fflush(NULL);
    folder->keeper = fork();
    int result = folder->keeper < 0 ? -errno : 0;
    if (folder->keeper == 0) {
        close(life[1]);
        folder_keep(folder->path, life[0]);
    }
    close(life[0]);
    folder->life = life[1];
    if (!result)
        result = folder_hear(folder);
    if (result)
        child_folder_remove(folder);
    return result;
}

void child_folder_remove(struct child_folder *folder)
{
    close(folder->life);
    while (folder->keeper > 0 && waitpid(folder->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}
