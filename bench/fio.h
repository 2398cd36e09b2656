#pragma once
/* fio: the rate at which the program fio writes files with a sync for each group of blocks. */

#include <stdint.h>

/* Writes blocks of `size` bytes, `group` for each fdatasync, by as many processes as `jobs`, each
 * to a file of `file` bytes, which then begins again. Returns blocks per second, and removes the
 * files. Ends the program if fio is missing. */
double fio_rate(const char *folder, uint32_t size, uint32_t group, unsigned jobs, uint32_t file,
                int seconds);
