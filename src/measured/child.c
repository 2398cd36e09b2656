#include "measured/child.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t child_start(void (*run)(void *argument), void *argument)
{
    pid_t parent = getpid();
    fflush(NULL); /* or the child could print it again */
    pid_t child = fork();
    if (child != 0)
        return child < 0 ? -errno : child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* it was gone before we asked */
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

bool child_folder_make(char folder[CHILD_FOLDER_SIZE])
{
    const char *base = getenv("TMPDIR");
    int size = snprintf(folder, CHILD_FOLDER_SIZE, "%s/weft-measured-XXXXXX",
                        base && *base ? base : "/tmp");
    if (size >= CHILD_FOLDER_SIZE) /* sockets lie in it, whose paths are short */
        strcpy(folder, "/tmp/weft-measured-XXXXXX");
    return mkdtemp(folder) != NULL;
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

void child_folder_remove(const char *folder)
{
    nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}
