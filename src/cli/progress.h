#pragma once
/* progress: a bar on the terminal for work that takes longer than a second.
 * Silent when standard error is not a terminal. */

#include <stdint.h>

/* From any thread. `done` of `total`; draws at most ten times a second, and
 * only once a second has passed since the first call for this title. */
void progress_show(const char *title, uint64_t done, uint64_t total);

/* Removes the bar; called before anything else is printed. */
void progress_clear(void);
