#pragma once
/* file: an open file of a service, and the order of the operations on it: appends one batch after
 * the other, syncs after the writes that were called before. */

#include "base/env.h"
#include "base/list.h"
#include "os/data/disk_job.h"

struct file;

/* What a file needs from its server. */
struct file_events {
    void (*begin)(void *owner, struct disk_job *job);
    /* Not called after file_drop. */
    void (*finish)(void *owner, struct disk_operation *operation, int64_t result);
    struct list *touched; /* files in which writes, appends or syncs may begin */
    void *owner;
};

/* Takes the descriptor, which is not closed if there is no memory (NULL). May be called by any
 * thread. */
struct file *file_make(int fd, uint64_t size, const struct file_events *events);
int file_fd(const struct file *file);
void file_free(struct file *file); /* no job runs; does not close the descriptor */

/* The link by which the owner lists its files, and back. */
struct list *file_list(struct file *file);
struct file *file_of_list(struct list *list);

/* Begins DISK_READ, DISK_WRITE, DISK_APPEND or DISK_SYNC. False: the result is known at once. */
bool file_begin(struct file *file, struct disk_operation *operation);
void file_flush(struct list *touched); /* begins all that may begin */
uint64_t file_size(const struct file *file);
void file_truncated(struct file *file, uint64_t size);

/* Drops all operations: those whose jobs have not begun never begin. Jobs that run call back as
 * before, and their memory is in use until job_count is 0; finish() is not called any more. */
void file_drop(struct file *file);
uint32_t file_job_count(const struct file *file);
