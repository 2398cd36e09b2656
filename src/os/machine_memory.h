#pragma once
/* machine_memory: how much memory the processes of this machine can ever use: that of the machine
 * with its swap, or less if a container or service manager (a control group) limits us. */

#include <stdint.h>

/* Returns bytes; 0: the system does not say. */
uint64_t machine_memory(void);

/* The same with other folders than /proc and /sys/fs/cgroup. */
uint64_t machine_memory_in(const char *proc, const char *groups);
