#pragma once
/* cluster_disk: is there room for a run directory? A server that finds none cannot even say so: its
 * log is on the same disk. So whoever starts servers looks before, and again when one has ended. */

#include "cli/cluster/cluster.h"

/* Before servers start; the folder exists. Refuses if they would need more than is left. */
MUST_CHECK enum err cluster_disk_check(const struct cluster *cluster, struct why *why);

/* Hardly anything fits there any more. */
bool cluster_disk_is_full(const char *folder);

/* Does the system refuse for want of room, or of quota? */
bool cluster_disk_error(int error);
bool cluster_disk_said(const char *line); /* the same of a line that ends with its words */

/* Says that it is full, and what to do. */
MUST_CHECK enum err cluster_disk_fail(const char *folder, struct why *why);
