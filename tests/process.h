#pragma once
/* process: what tests of several processes ask of each of them. */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
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

/* Waits for its end; says how it ended if that was not by itself and with 0. */
static inline bool process_ended_well(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    printf("# process %d ended with status 0x%x\n", (int)pid, (unsigned)status);
    return false;
}
