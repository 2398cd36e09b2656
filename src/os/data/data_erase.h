#pragma once
/* data_erase: removes the data of a cluster from a data directory. */

#include <stdint.h>

#include "base/err.h"

/* Removes the folders of the servers of that cluster, and the data directory itself if nothing else
 * is in it. A folder on which a server runs is refused, before anything is removed. Folders of
 * other clusters stay. */
MUST_CHECK enum err data_erase(const char *data, uint64_t cluster, uint32_t *erased,
                               struct why *why);
/* Removes the folders of that cluster in which no service has written a byte, for a first start
 * that failed; those on which a server runs stay. */
void data_withdraw(const char *data, uint64_t cluster);
/* How many folders of servers of that cluster there are. */
uint32_t data_count(const char *data, uint64_t cluster);
