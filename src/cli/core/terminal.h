#pragma once
/* terminal: which of several commands on one terminal draws there.
 *
 * A command in the background (weft bench &) draws nothing over what the command in the foreground
 * (weft top) draws, and prints its result when that one has ended. */

#include <stdbool.h>

/* False if the handle is a terminal on which this process runs in the background. */
bool terminal_is_ours(int handle);

/* From now until it ends this process draws on that terminal again and again. */
void terminal_hold(int handle);

/* Waits until no other command draws on the terminal, or until Ctrl-C; in the foreground it returns
 * at once. Only commands that have nothing else to do may wait here. */
void terminal_await(int handle);
