/* memfile: see the header. Two facts it leans on: a seal is never taken off
 * again, so one look at a peer's file is enough; and only files of memfd_create
 * on tmpfs can be sealed, so a sealed one cannot run out of a quota or be
 * truncated under our feet (huge pages of hugetlbfs could fault: refused). */
#include "transport/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/check.h"

#define MEMFILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define HUGE_PAGE     (2u << 20)

static int memfile_map_pages(struct memfile *file)
{
    int rights = PROT_READ | (file->writable ? PROT_WRITE : 0);
    void *base = mmap(NULL, file->size, rights, MAP_SHARED, file->fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    /* Where the system lets shared memory have huge pages only if asked. */
    if (file->size >= HUGE_PAGE)
        (void)madvise(base, file->size, MADV_HUGEPAGE);
    file->base = base;
    return 0;
}

static int memfile_fail(struct memfile *file, int error)
{
    memfile_close(file);
    return error;
}

int memfile_open(struct memfile *file, const char *label, size_t size)
{
    *file = (struct memfile){.fd = -1, .size = size, .writable = 1};
    if (!size || size > (size_t)INT64_MAX)
        return -EINVAL;
    file->fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file->fd < 0)
        return -errno;
    if (ftruncate(file->fd, (off_t)size) || fcntl(file->fd, F_ADD_SEALS, MEMFILE_SEALS))
        return memfile_fail(file, -errno);
    int result = memfile_map_pages(file);
    return result ? memfile_fail(file, result) : 0;
}

static int memfile_check(int fd, size_t size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return -EPROTO;
    struct statfs system;
    struct stat status;
    if (fstatfs(fd, &system) || fstat(fd, &status))
        return -EPROTO;
    if (system.f_type != TMPFS_MAGIC || status.st_size < 0 || (size_t)status.st_size != size)
        return -EPROTO;
    return 0;
}

int memfile_map(struct memfile *file, int fd, size_t size, int writable)
{
    *file = (struct memfile){.fd = fd, .size = size, .writable = writable};
    if (fd < 0)
        return -EPROTO;
    int result = size ? memfile_check(fd, size) : -EPROTO;
    if (!result)
        result = memfile_map_pages(file);
    if (result == -EACCES || result == -EPERM) /* it gave us less than it said */
        result = -EPROTO;
    return result ? memfile_fail(file, result) : 0;
}

/* A read-only descriptor keeps honest peers from mistakes. It is no wall: a
 * process of the same user could open the file anew, as it could trace us. */
int memfile_share(const struct memfile *file, int writable)
{
    assert(file->fd >= 0);
    if (writable && !file->writable)
        return -EACCES;
    int fd;
    if (writable == file->writable) {
        fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    } else {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    return fd < 0 ? -errno : fd;
}

void memfile_close(struct memfile *file)
{
    if (file->base)
        munmap(file->base, file->size);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct memfile){.fd = -1};
}
