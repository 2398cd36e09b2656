#pragma once
/* cluster_disk: checks that the disk has room for a run directory. A server cannot report a full
 * disk, because its log is on the same disk. So commands that start servers check before, and again
 * when a server has ended. */

#include "cli/cluster/cluster.h"

/* Call it before servers start, when the folder exists. Refuses if they need more space than there
 * is. */
MUST_CHECK enum err cluster_disk_check(const struct cluster *cluster, struct why *why);

/* Tells whether the disk of the folder is full. */
bool cluster_disk_is_full(const char *folder);

/* Tells whether an errno means that the disk or the quota is full. */
bool cluster_disk_error(int error);
bool cluster_disk_said(const char *line); /* the same for a line that ends with such an error */

/* Fails with a text that says that the disk is full, and what to do. */
MUST_CHECK enum err cluster_disk_fail(const char *folder, struct why *why);
