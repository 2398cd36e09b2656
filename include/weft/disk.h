#pragma once
/* disk: named files of a service, in the data directory of its server.
 *
 * A service that uses the disk declares that in its struct weft_service: `files` is the number of
 * files that it may have open at once. Each service has a folder of its own on each server:
 *
 *     DATA/server-N/SERVICE/NAME
 *
 * DATA is the data directory of the cluster (`weft up --data DIR`). It is not the run directory:
 * `weft down` keeps it, and a server that starts again finds its files. In the simulator the same
 * calls reach a simulated disk, which may be slow, full, lose or tear unsynced writes at a crash,
 * and fail.
 *
 * All calls are asynchronous (weft/call.h). None of them waits for the disk: a disk that hangs
 * delays done(), and nothing else. At most WEFT_DISK_CALLS calls of a service are under way; more
 * are refused with -EAGAIN.
 *
 * NAMES. A name has 1 to 64 bytes: letters, digits, '-', '_' and '.', and does not begin with a
 * dot. Any other name, such as "../x", is refused with -EINVAL. weft copies the name.
 *
 * ORDER. Calls that concern names (open, close, truncate, rename, remove, list) of one service run
 * one after the other, in the order in which they were called. Reads, writes, appends and syncs of
 * one file run at the same time, except:
 * - Appends to a file are made in the order in which they were called, each where the one before
 *   ended. Those that wait for an earlier one are made together, so many small appends are cheap.
 * - A sync begins after the writes and appends of this file that were called before it have ended.
 *   Syncs that wait for an earlier one are made together. So a service may call append, append,
 *   sync at once, and needs to look at the three results only when the last arrives.
 * - A read returns the bytes of each write and append whose done() was called before the read.
 * Two writes to the same bytes, and a write beyond the end beside an append, must not be under way
 * together; their order is not defined.
 *
 * WHAT SURVIVES. When the process ends in whatever way, the kernel keeps all that was done. When
 * the machine fails:
 * - Creation, truncation, renaming and removal of a file survive once their call is done.
 * - Data survives once a sync is done that was called after the write or append. Of later data all,
 *   nothing or any part may survive, in whole sectors, and a file may be longer than its last sync.
 * - A rename makes only the new name durable, not the data: sync the file before.
 * After a sync has failed, the unsynced data of that file is undefined, whatever a read returns: it
 * may be lost. A second sync would succeed without it, so it fails as well, until the file is
 * closed and opened again. Do not retry: write the data again, to another file, or stop.
 *
 * ERRORS, in addition to those of each call: -ENOSPC (no space left; also a quota), -EROFS,
 * -EACCES, -EIO, or another errno of the operating system. Refused at once: -EAGAIN (see above),
 * -EINVAL (a mistake of the service, which is counted, and of which the first is in the log),
 * -ENODEV (this server has no disk, or the service declares no files), -ESHUTDOWN (the server
 * stops).
 *
 * docs/guide/disk.md explains examples/journal.c, a service that keeps records. */

#include <weft/call.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_DISK_CALLS     256       /* under way for one service on one server */
#define WEFT_DISK_NAME_MAX  64        /* bytes of a name */
#define WEFT_DISK_SIZE_MAX  (1 << 30) /* bytes of one read, write or append */
#define WEFT_DISK_FILES_MAX 1024      /* largest `files` of a service */

struct weft_file; /* an open file; the node owns its memory */

enum weft_open {
    WEFT_OPEN_EXISTING, /* -ENOENT: no such file */
    WEFT_OPEN_CREATE,   /* makes an empty file if there is none */
};

struct weft_file_entry {
    uint64_t size; /* bytes */
    char name[WEFT_DISK_NAME_MAX + 1];
};

/* Opens a file for reading and writing. Sets *file at once; the file may be used when done() has a
 * result of at least 0, which is the size of the file. -EBUSY: the service has that file open.
 * -ENFILE: the service has `files` files open. */
WEFT_API int weft_disk_open(struct weft_self *self, struct weft_call *call, const char *name,
                            enum weft_open how, struct weft_file **file);
/* From now on *file must not be used. -EBUSY: calls on this file are under way. */
WEFT_API int weft_disk_close(struct weft_self *self, struct weft_file *file,
                             struct weft_call *call);

/* The result is the number of bytes read; fewer than `size` only at the end of the file. */
WEFT_API int weft_disk_read(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                            void *bytes, uint32_t size, uint64_t offset);
/* The result is `size`, or an error: then some of the bytes may have been written. Writing beyond
 * the end makes the file longer; bytes between are zero. */
WEFT_API int weft_disk_write(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                             const void *bytes, uint32_t size, uint64_t offset);
/* Writes at the end of the file. The result is the offset at which the bytes were written, or an
 * error: then the file ends where it ended before, but after a restart a part of the bytes may be
 * found there. */
WEFT_API int weft_disk_append(struct weft_self *self, struct weft_file *file,
                              struct weft_call *call, const void *bytes, uint32_t size);
/* Makes all data durable that was written or appended before this call. */
WEFT_API int weft_disk_sync(struct weft_self *self, struct weft_file *file, struct weft_call *call);
/* The result is the number of bytes in the file, with the writes and appends that are done. */
WEFT_API int weft_disk_size(struct weft_self *self, struct weft_file *file, struct weft_call *call);
/* Shortens the file, or lengthens it with zeros, and syncs it. Where the file system can, the space
 * of a longer file is reserved at once, so that later writes into it do not fail for lack of space;
 * if there is not enough, the file stays as it was (-ENOSPC). -EBUSY: calls on this file are under
 * way. No other call on it is accepted before this one is done. */
WEFT_API int weft_disk_truncate(struct weft_self *self, struct weft_file *file,
                                struct weft_call *call, uint64_t size);

/* Gives a file another name; a file that has that name already is replaced, in one step even if the
 * machine fails. -EBUSY: one of the two is open. */
WEFT_API int weft_disk_rename(struct weft_self *self, struct weft_call *call, const char *from,
                              const char *to);
/* -EBUSY: the file is open. */
WEFT_API int weft_disk_remove(struct weft_self *self, struct weft_call *call, const char *name);
/* Lists the files of the service whose names come after `after` in byte order, at most `most`; NULL
 * begins with the first. The result is how many entries were filled. */
WEFT_API int weft_disk_list(struct weft_self *self, struct weft_call *call, const char *after,
                            struct weft_file_entry *entries, uint32_t most);

#ifdef __cplusplus
}
#endif
