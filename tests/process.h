#pragma once
/* process: helpers for tests with several processes. */

#include <dirent.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* Returns how many descriptors this process has open, plus a constant for the folder that is read;
 * 0 if they cannot be counted. */
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

/* Returns how many files of libfabric's shm provider a process has or has left behind. They are
 * outside our folder. */
static inline unsigned process_fabric_files(pid_t pid)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "/dev/shm/weft-fabric.%d.*", (int)pid);
    unsigned count = glob(pattern, 0, NULL, &found) == 0 ? (unsigned)found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* Waits for the process to end. If it did not exit with 0, prints how it ended. */
static inline bool process_ended_well(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    printf("# process %d ended with status 0x%x\n", (int)pid, (unsigned)status);
    return false;
}

/* Lets a traced process run through `count` stops, then kills it. Returns the status with which it
 * ended, or -1. */
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
