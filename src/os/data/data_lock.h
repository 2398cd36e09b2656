#pragma once
/* data_lock: the lock of a data directory, for a command that starts the servers of a cluster.
 *
 * Servers make their folders when they start, all at the same time, and each looks only at its own.
 * So two clusters that start for the first time on one data directory could each get some of the
 * folders. The command holds this lock from before it looks whose the data is until all its servers
 * have their folders. A lock (flock) on the folder itself; it leaves no file. */

#include <stdbool.h>

#include "base/err.h"

struct data_lock {
    int folder; /* -1: not held */
    bool made;  /* the data directory was missing */
};

/* Makes the data directory if it is missing. ERR_SYSTEM: another process holds the lock, or the
 * folder cannot be used; the reason begins with its name. */
MUST_CHECK enum err data_lock_take(struct data_lock *lock, const char *data, struct why *why);
void data_lock_release(struct data_lock *lock);
