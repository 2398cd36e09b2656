#include "cli/core/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/core/stop.h"

/* The terminal, opened once more for the lock: a lock belongs to an open file, and all commands
 * that the shell starts share the open file of their inherited handles. The lock ends with the
 * process. */
static int own = -1;

static int own_open(int handle)
{
    char name[PATH_MAX] = "";
    if (own < 0 && ttyname_r(handle, name, sizeof name) == 0)
        own = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return own;
}

bool terminal_is_ours(int handle)
{
    pid_t front = tcgetpgrp(handle); /* fails if there is no job control */
    return front < 0 || front == getpgrp();
}

void terminal_hold(int handle)
{
    if (own < 0 && isatty(handle) && own_open(handle) >= 0)
        (void)flock(own, LOCK_SH | LOCK_NB);
}

void terminal_await(int handle)
{
    if (!isatty(handle) || terminal_is_ours(handle) || own_open(handle) < 0)
        return;
    while (!stop_asked() && flock(own, LOCK_EX) && errno == EINTR)
        ;
}
