#pragma once
/* progress: a line on the terminal while a command works longer than a moment.
 *
 * A thread of its own draws it, so that a command that reads, builds or writes something large
 * without counting its steps is not silent either: after a second the line says how long the
 * command has been working. If steps are counted, the line is a bar with the time left, and appears
 * after half a second; estimate.h says why that time never grows. Nothing is drawn when standard
 * error is not a terminal, or when the command runs in the background there. */

#include <stdint.h>

#include "base/observer.h"

/* Starts the line for a command; its name is shown while no steps are counted. */
void progress_start(const char *name);

/* Reports `done` of `total` steps; may be called from any thread. A total of 0
 * means that the steps are not counted. The title is borrowed until the next call,
 * and is compared with others by its address. */
void progress_show(const char *title, uint64_t done, uint64_t total);

/* An observer that shows its stages as titles of the line. */
extern const struct observer progress_observer;

/* Hides the line while the user types on the terminal, and shows it again. */
void progress_pause(void);
void progress_resume(void);

/* Removes the line at the end of the command, before anything else is printed. */
void progress_stop(void);
