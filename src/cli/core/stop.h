#pragma once
/* stop: Ctrl-C as a request to end.
 *
 * A command that has to clean up, or prints a summary at its end, catches SIGINT and SIGTERM. It
 * looks at stop_asked in its loops and ends by itself; main then makes 128 plus the number of the
 * signal the exit code, as a shell does for a command that the signal killed. */

#include <stdbool.h>

/* From here on the first SIGINT or SIGTERM asks the command to end; the second one kills it. */
void stop_catch(void);

bool stop_asked(void);

/* The signal that asked, or 0. */
int stop_signal(void);
