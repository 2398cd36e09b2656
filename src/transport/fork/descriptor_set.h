#pragma once
/* descriptor_set: the descriptors in an epoll set, as /proc/self/fdinfo lists them, for sets whose
 * owner is another library. All functions may be called in the child of a fork: they allocate
 * nothing and take no lock. */

/* Calls back for every descriptor of the set, and of sets within it, that is open in this process
 * and still is the one that was added; last for the set itself. Without /proc only for the set
 * itself. */
void descriptor_set_walk(int epoll_fd, void (*act)(int fd));

void descriptor_set_seal(int fd);  /* sets close-on-exec */
void descriptor_set_close(int fd); /* closes the descriptor here; the set stays as it is */
