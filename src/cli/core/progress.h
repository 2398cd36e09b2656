#pragma once
/* progress: a line on the terminal while a command works longer than a second.
 *
 * A thread of its own draws it, so that a command that reads, builds or writes
 * something large without counting its steps is not silent either: then the
 * line says how long it has been working; where steps are counted it is a bar
 * with the time left. Nothing is drawn when standard error is not a terminal. */

#include <stdint.h>

#include "base/observer.h"

/* A command begins; its name stands before the time while nothing is counted. */
void progress_start(const char *name);

/* From any thread: `done` of `total` steps of what `title` says. A total of 0
 * is work whose steps nobody counts. The title is borrowed until the next
 * call, and told from others by its address. */
void progress_show(const char *title, uint64_t done, uint64_t total);

/* The line shows what a piece of work tells; its stages are the titles. */
extern const struct observer progress_observer;

/* While somebody types on the terminal, the line must not write over it. */
void progress_pause(void);
void progress_resume(void);

/* The command has ended: removes the line, before anything else is printed. */
void progress_stop(void);
