#pragma once
/* mapping: zeroed memory straight from the system, which occupies nothing until it is touched.
 *
 * A mapping takes address space at once and memory page by page, when each page is first written.
 * The system checks a request when it is made: it refuses more than the limits of the process allow
 * (ulimit -v), and more than the whole memory of the machine, unless the machine is set to promise
 * any amount (vm.overcommit_memory = 1). */

#include <stddef.h>

/* Returns memory that begins at a page; NULL: the system refuses. */
void *mapping_take(size_t size);
/* With the same size as when it was taken. */
void mapping_give(void *memory, size_t size);
