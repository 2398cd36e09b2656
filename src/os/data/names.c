#include "os/data/names.h"

#include <weft/disk.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

#define FILE_FLAGS (O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) /* never waits for a FIFO */

static int64_t failure(void)
{
    return errno ? -errno : -EIO;
}

/* A file that was created is durable when it and its folder are. */
static int descriptor_open(const struct disk_operation *operation, int folder)
{
    int fd = openat(folder, operation->name, FILE_FLAGS);
    if (fd >= 0 || errno != ENOENT || !operation->create)
        return fd;
    fd = openat(folder, operation->name, FILE_FLAGS | O_CREAT, 0600);
    if (fd < 0 || (!fsync(fd) && !fsync(folder)))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int64_t open_run(struct disk_operation *operation, int folder,
                        const struct file_events *events)
{
    struct stat info;
    int fd = descriptor_open(operation, folder);
    if (fd < 0)
        return failure();
    int64_t result = fstat(fd, &info) ? failure() : !S_ISREG(info.st_mode) ? -EISDIR : info.st_size;
    if (result >= 0) {
        operation->file->world = file_make(fd, (uint64_t)info.st_size, events);
        if (!operation->file->world)
            result = -ENOMEM;
    }
    if (result < 0)
        close(fd);
    return result;
}

/* A file that becomes longer gets its space now, so that a write into it does not find a full disk.
 * False: the errno says why, and the file is as long as before. */
static bool lengthen(int fd, off_t before, off_t size)
{
    if (!fallocate(fd, 0, before, size - before))
        return true;
    int error = errno;
    if (error == EOPNOTSUPP || error == ENOSYS)
        return !ftruncate(fd, size); /* this file system cannot reserve space */
    (void)!ftruncate(fd, before);
    errno = error;
    return false;
}

static int64_t truncate_run(const struct disk_operation *operation)
{
    int fd = file_fd(operation->file->world);
    off_t size = (off_t)operation->offset;
    struct stat info;
    if (fstat(fd, &info))
        return failure();
    bool done = size > info.st_size ? lengthen(fd, info.st_size, size) : !ftruncate(fd, size);
    return !done || fsync(fd) ? failure() : 0;
}

static int64_t rename_run(const struct disk_operation *operation, int folder)
{
    return renameat(folder, operation->name, folder, operation->to) || fsync(folder) ? failure()
                                                                                     : 0;
}

static int64_t remove_run(const struct disk_operation *operation, int folder)
{
    return unlinkat(folder, operation->name, 0) || fsync(folder) ? failure() : 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Collects the names after operation->name. Returns how many, or a negative errno. */
static int64_t names_collect(const struct disk_operation *operation, DIR *entries,
                             char (**out)[DISK_NAME_MAX + 1])
{
    size_t count = 0, room = 0;
    struct dirent *entry;
    errno = 0;
    while ((entry = readdir(entries))) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > DISK_NAME_MAX ||
            strcmp(entry->d_name, operation->name) <= 0)
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            void *more = reallocarray(*out, room, sizeof **out);
            if (!more)
                return -ENOMEM;
            *out = more;
        }
        memcpy((*out)[count++], entry->d_name, strlen(entry->d_name) + 1);
    }
    if (errno)
        return failure();
    if (count)
        qsort(*out, count, sizeof **out, compare);
    return (int64_t)count;
}

static int64_t list_run(const struct disk_operation *operation, int folder)
{
    struct weft_file_entry *out = operation->bytes;
    char(*names)[DISK_NAME_MAX + 1] = NULL;
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries) {
        int64_t result = failure();
        if (copy >= 0)
            close(copy);
        return result;
    }
    int64_t count = names_collect(operation, entries, &names), filled = 0;
    for (int64_t i = 0; names && i < count && filled < operation->size; i++) {
        struct stat info;
        if (fstatat(folder, names[i], &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
            continue;
        out[filled].size = (uint64_t)info.st_size;
        memcpy(out[filled++].name, names[i], sizeof names[i]);
    }
    free(names);
    closedir(entries);
    return count < 0 ? count : filled;
}

int64_t names_run(struct disk_operation *operation, int folder, const struct file_events *events)
{
    switch (operation->kind) {
    case DISK_OPEN:
        return open_run(operation, folder, events);
    case DISK_CLOSE: /* the descriptor is gone, whatever the result is */
        return close(file_fd(operation->file->world)) ? failure() : 0;
    case DISK_TRUNCATE:
        return truncate_run(operation);
    case DISK_RENAME:
        return rename_run(operation, folder);
    case DISK_REMOVE:
        return remove_run(operation, folder);
    case DISK_LIST:
        return list_run(operation, folder);
    default:
        assert_unreachable();
    }
}
