#pragma once
/* medium: where the files of a log are: on the server's disk (weft/disk.h), or in its memory. The
 * calls, their rules and their results are those of weft/disk.h.
 *
 * Files in memory live as long as the process. Each takes a slot of the same size, however short it
 * is; there are so many slots, and a file that is longer is refused with -ENOSPC. Nothing is set to
 * zero: what was never written is undefined. Calls on them are done at the next medium_run. */

#include <weft/disk.h>

#include "services/store/log/memory_files.h"

struct medium_file; /* an open file */

struct medium {
    struct weft_self *self;
    struct memory_files *memory; /* NULL: the disk */
};

int medium_open(struct medium *medium, struct weft_call *call, const char *name, enum weft_open how,
                struct medium_file **file);
int medium_close(struct medium *medium, struct medium_file *file, struct weft_call *call);
int medium_read(struct medium *medium, struct medium_file *file, struct weft_call *call,
                void *bytes, uint32_t size, uint64_t offset);
int medium_write(struct medium *medium, struct medium_file *file, struct weft_call *call,
                 const void *bytes, uint32_t size, uint64_t offset);
int medium_sync(struct medium *medium, struct medium_file *file, struct weft_call *call);
int medium_truncate(struct medium *medium, struct medium_file *file, struct weft_call *call,
                    uint64_t size);
int medium_rename(struct medium *medium, struct weft_call *call, const char *from, const char *to);
int medium_remove(struct medium *medium, struct weft_call *call, const char *name);
int medium_list(struct medium *medium, struct weft_call *call, const char *after,
                struct weft_file_entry *entries, uint32_t most);

/* Ends the calls on files in memory, also those that begin meanwhile. */
void medium_run(struct medium *medium);
