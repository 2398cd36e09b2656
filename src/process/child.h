#pragma once
/* child: a child process that runs one function, and a folder that such processes share. Whatever
 * happens to us, no child outlives us, and the folder is removed, too: users often press Ctrl-C in
 * the middle of a figure. */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "transport/clock.h"

#define CHILD_FOLDER_SIZE 64
#define CHILDREN_MAX      64

/* Returns the child's process id, or a negative errno. The child ends when `run` returns. */
pid_t child_start(void (*run)(void *argument), void *argument);

/* Sends SIGKILL and waits until the process is gone. Does nothing for an id <= 0. */
void child_kill(pid_t child);

/* Several children that do one thing together: if one fails, all are ended. They are watched
 * through process descriptors, so that the parent need not poll while time is measured. Zero it
 * first. */
struct children {
    uint32_t count;
    pid_t ids[CHILDREN_MAX];          /* 0: the child has ended */
    struct pollfd ends[CHILDREN_MAX]; /* becomes readable when the child ends */
};

/* Starts one more child; false on failure. */
bool children_add(struct children *children, void (*run)(void *argument), void *argument);

/* Waits for all children; false as soon as one has failed or at `until`. */
bool children_wait(struct children *children, nsec until);

/* Kills the children that are left. */
void children_end(struct children *children);

/* A folder and the process that removes it when we are done or dead. */
struct child_folder {
    char path[CHILD_FOLDER_SIZE];
    pid_t keeper;
    int life; /* the keeper notices when this socket closes */
};

/* Makes a new empty folder in TMPDIR or /tmp. Returns 0 or a negative errno. */
int child_folder_make(struct child_folder *folder);
void child_folder_remove(struct child_folder *folder);
