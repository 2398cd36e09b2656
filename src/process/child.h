#pragma once
/* child: a process of our own that runs one function, and the folder such
 * processes meet in. Whatever happens to us, no child outlives us,
 * and the folder goes, too: Ctrl-C in the middle of a figure is nothing unusual. */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "transport/clock.h"

#define CHILD_FOLDER_SIZE 64
#define CHILDREN_MAX      64

/* Returns its id, or a negative errno. The child ends when `run` returns. */
pid_t child_start(void (*run)(void *argument), void *argument);

/* kill -9, and waits until it is gone. Nothing for an id <= 0. */
void child_kill(pid_t child);

/* Several that do one thing together: if one fails, all are ended. They are watched
 * through process descriptors, so that nobody has to poll while time is counted.
 * Begins zeroed. */
struct children {
    uint32_t count;
    pid_t ids[CHILDREN_MAX];          /* 0: it has ended */
    struct pollfd ends[CHILDREN_MAX]; /* readable once it has */
};

/* One more; false if there cannot be one. */
bool children_add(struct children *children, void (*run)(void *argument), void *argument);

/* Waits for all; false as soon as one has failed or the moment has come. */
bool children_wait(struct children *children, nsec until);

/* Ends those that are left. */
void children_end(struct children *children);

/* A folder and the process that removes it when we are done or dead. */
struct child_folder {
    char path[CHILD_FOLDER_SIZE];
    pid_t keeper;
    int life; /* the keeper sees its end */
};

/* A new empty one in TMPDIR or /tmp; a negative errno if there cannot be one. */
int child_folder_make(struct child_folder *folder);
void child_folder_remove(struct child_folder *folder);
