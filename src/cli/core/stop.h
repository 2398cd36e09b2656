#pragma once
/* stop: Ctrl-C as a request to end.
 *
 * A command that has to clean up, or that prints a summary at its end, catches SIGINT and SIGTERM.
 * It checks stop_asked in its loops and ends by itself; the exit code is then 128 plus the number
 * of the signal, as for a command that the signal killed. */

#include <stdbool.h>

/* After this call the first SIGINT or SIGTERM asks the command to end; the second one kills it. */
void stop_catch(void);

bool stop_asked(void);

/* Returns the signal that asked the command to end, or 0. */
int stop_signal(void);
