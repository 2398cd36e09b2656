#pragma once
/* descriptor: the descriptors of this process that belong to the library.
 *
 * A child of fork inherits all descriptors of its parent: locks of claims, lifelines, listening
 * sockets. While such a descriptor is open in a child, a dead parent looks alive to other
 * processes. Linux has no flag that closes a descriptor at a fork. So the library records its
 * descriptors here, and the child closes them (transport/fork/owner.h).
 *
 * Every descriptor that is still open when the opening call returns is opened between
 * descriptor_begin and descriptor_end, and is closed by descriptor_close. Other threads cannot fork
 * in between, so that a child never inherits a descriptor that is not recorded. These sections may
 * neither wait nor nest. */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/err.h"

/* Begins a section in which no thread of this process forks. */
void descriptor_begin(void);

/* Records a descriptor inside a section. A negative number is ignored. */
void descriptor_keep(int fd);

/* Records a descriptor, or ignores a negative number, and ends the section. Returns its argument
 * and leaves errno unchanged. */
int descriptor_end(int fd);

/* Calls a function that opens a descriptor in a section of its own, and returns its result. */
#define DESCRIPTOR_OPEN(call) (descriptor_begin(), descriptor_end(call))

/* Makes two connected Unix sockets, as socketpair does, and records both. */
MUST_CHECK int descriptor_pair(int type, int fds[2]);

/* Calls recvmsg without waiting and with these further flags, and records the descriptors in the
 * message. */
ssize_t descriptor_receive(int socket, struct msghdr *message, int flags);

/* Closes any descriptor, recorded or not. */
void descriptor_close(int fd);

/* Like opendir and closedir, and like fopen (for reading) and fclose; the descriptor is recorded as
 * long as it is open. Not for a file whose opening may wait. The close functions close any folder
 * or file, recorded or not. */
DIR *descriptor_folder(const char *path);
void descriptor_folder_close(DIR *folder);
FILE *descriptor_file(const char *path);
void descriptor_file_close(FILE *file);

/* Records an epoll descriptor of another library, which opens and closes descriptors by itself. A
 * child closes it, all descriptors in its set, and those in the sets within it. Forget it before
 * that library closes it. */
void descriptor_adopt(int epoll_fd);
void descriptor_forget(int epoll_fd);

/* The steps of a fork, for transport/fork/owner.c: hold before the fork, and afterwards resume in
 * each process. In the child, inherit comes first: with `drop` it closes everything recorded;
 * without, the child may use all of it. */
void descriptors_hold(void);
void descriptors_inherit(bool drop);
void descriptors_resume(void);
/* Takes the place of hold in a child that a bare clone system call made. */
void descriptors_hold_anew(void);
