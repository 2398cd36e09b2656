#pragma once
/* child: a process of our own that runs one function, and the folder such
 * processes meet in. Whatever happens to us, no child outlives us. */

#include <stdbool.h>
#include <sys/types.h>

#define CHILD_FOLDER_SIZE 64

/* Returns its id, or a negative errno. The child ends when `run` returns. */
pid_t child_start(void (*run)(void *argument), void *argument);

/* kill -9, and waits until it is gone. Nothing for an id <= 0. */
void child_kill(pid_t child);

/* A new empty folder in TMPDIR or /tmp; false if there cannot be one. */
bool child_folder_make(char folder[CHILD_FOLDER_SIZE]);
void child_folder_remove(const char *folder);
