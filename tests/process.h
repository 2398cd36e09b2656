#pragma once
/* process: what tests of several processes ask of each of them. */

#include <dirent.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* How many descriptors this process has open, give or take the one that looks;
 * 0 if it cannot be told. */
static inline unsigned process_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* How many files a process has, or left, of libfabric's shm provider: they lie away from our
 * folder. */
static inline unsigned process_fabric_files(pid_t pid)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "/dev/shm/weft-fabric.%d.*", (int)pid);
    unsigned count = glob(pattern, 0, NULL, &found) == 0 ? (unsigned)found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* Waits for its end; says how it ended if that was not by itself and with 0. */
static inline bool process_ended_well(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    printf("# process %d ended with status 0x%x\n", (int)pid, (unsigned)status);
    return false;
}

/* Lets a process that wants to be traced go from stop to stop, `count` of them, and kills
 * it there. Returns the status with which it ended, or -1. */
static inline int process_kill_after_stops(pid_t pid, int request, unsigned count)
{
    int status, sent = 0;
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (unsigned stops = 0; stops < count;) {
        if (ptrace(request, pid, NULL, (void *)(intptr_t)sent) < 0)
            break;
        if (waitpid(pid, &status, 0) != pid)
            return -1;
        if (!WIFSTOPPED(status))
            return status;
        bool ours = (WSTOPSIG(status) & ~0x80) == SIGTRAP;
        sent = ours ? 0 : WSTOPSIG(status);
        stops += ours;
    }
    kill(pid, SIGKILL);
    return waitpid(pid, &status, 0) == pid ? status : -1;
}
