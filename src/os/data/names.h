#pragma once
/* names: the operations of a disk that concern names: open, close, truncate, rename, remove, list.
 * They run in a thread (workers.h), because the kernel has no other way that never waits. All of
 * them are durable when they return. */

#include "os/data/file.h"

/* Runs the operation in the calling thread and returns its result. `folder` is the descriptor of
 * the service's folder. DISK_OPEN stores the new file in operation->file->world. */
int64_t names_run(struct disk_operation *operation, int folder, const struct file_events *events);
