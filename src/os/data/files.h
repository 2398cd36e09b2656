#pragma once
/* files: the disk of the servers of one process, in the real world. It carries out the operations
 * of base/env.h on the files of data directories, with the order that weft/disk.h promises, and
 * never in the host's thread: reads, writes and syncs by io_uring, or by threads where the kernel
 * does not permit io_uring; all other calls by one thread.
 *
 * All functions are called by the host's thread. Operations that are begun in a pass of the host
 * are submitted together, by files_flush. */

#include "base/env.h"
#include "os/data/data_folder.h"

struct files;
struct files_server;

enum files_way { FILES_ANY, FILES_THREADS }; /* FILES_ANY: io_uring if it is permitted */

MUST_CHECK enum err files_open(struct files **files, enum files_way way, struct why *why);
/* All servers have been closed. NULL is allowed. */
void files_close(struct files *files);

/* "io_uring", or "threads" and the reason. */
const char *files_how(const struct files *files);

/* Opens the folder of a server (data_folder_open). `ready` is called before done() of an operation
 * is called. */
MUST_CHECK enum err files_server_open(struct files_server **server, struct files *files,
                                      const char *data, const struct data_owner *owner,
                                      const char *const *services, void (*ready)(void *owner),
                                      void *ready_owner, struct why *why);
/* Ends all operations: those that have begun are waited for, the others are dropped. After that no
 * operation is accepted, and none uses the caller's memory. */
void files_server_end(struct files_server *server);
void files_server_close(struct files_server *server); /* after files_server_end; NULL is allowed */
/* The same after a start that failed (data_folder_withdraw). */
void files_server_withdraw(struct files_server *server);

void files_begin(struct files_server *server, struct disk_operation *operation);
void files_flush(struct files *files);

/* Calls done() of the operations that have ended. True: there were some. */
bool files_reap(struct files *files);
bool files_waiting(const struct files *files); /* is there something to reap? */

/* Two descriptors that are readable when there may be something to reap; the second is -1 if one is
 * enough. After the first was found readable, call files_clear. */
void files_descriptors(const struct files *files, int fds[2]);
void files_clear(struct files *files);
