/* memfile: see the header. It relies on two facts. A seal is never removed, so one check of a
 * peer's file is enough. And only files of memfd_create can be sealed, so a sealed file on tmpfs
 * cannot run out of a quota or be truncated while we use it (one on hugetlbfs could fault, so it is
 * refused). */
#include "transport/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"

#define MEMFILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define HUGE_PAGE     (2u << 20)

/* Asks for huge pages, because some systems give them to shared memory only on request. */
static void memfile_advise(const struct memfile *file)
{
    if (file->size >= HUGE_PAGE)
        (void)madvise(file->base, file->size, MADV_HUGEPAGE);
}

static int memfile_map_pages(struct memfile *file)
{
    int rights = PROT_READ | (file->writable ? PROT_WRITE : 0);
    void *base = mmap(NULL, file->size, rights, MAP_SHARED, file->fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    file->base = base;
    memfile_advise(file);
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
    file->fd = DESCRIPTOR_OPEN(memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING));
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
    if (result == -EACCES || result == -EPERM) /* the peer gave us fewer rights than it claimed */
        result = -EPROTO;
    return result ? memfile_fail(file, result) : 0;
}

/* A read-only descriptor protects honest peers from their mistakes. It is no security boundary: a
 * process of the same user could reopen the file for writing, just as it could trace us. */
int memfile_share(const struct memfile *file, int writable)
{
    assert(file->fd >= 0);
    if (writable && !file->writable)
        return -EACCES;
    int fd;
    if (writable == file->writable) {
        fd = DESCRIPTOR_OPEN(fcntl(file->fd, F_DUPFD_CLOEXEC, 0));
    } else {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
        fd = DESCRIPTOR_OPEN(open(path, O_RDONLY | O_CLOEXEC));
    }
    return fd < 0 ? -errno : fd;
}

/* Reads a line of /proc/self/maps; false: it is not of a memory file with that path. */
static bool range_read(const char *line, const char *path, struct memfile_range *range)
{
    int at = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &range->begin, &range->end,
               &at) != 2 ||
        !at)
        return false;
    size_t size = strlen(path);
    return strncmp(line + at, path, size) == 0 && (line[at + (int)size] == ' ');
}

int memfiles_mapped(const char *label, struct memfile_range **ranges)
{
    char line[512], path[64];
    size_t count = 0, capacity = 0;
    *ranges = NULL;
    FILE *maps = descriptor_file("/proc/self/maps");
    if (!maps)
        return -errno;
    snprintf(path, sizeof path, "/memfd:%s", label);
    while (fgets(line, sizeof line, maps)) {
        struct memfile_range range;
        if (!range_read(line, path, &range))
            continue;
        if (!array_reserve(ranges, &capacity, count + 1, sizeof **ranges)) {
            free(*ranges);
            *ranges = NULL;
            descriptor_file_close(maps);
            return -ENOMEM;
        }
        (*ranges)[count++] = range;
    }
    descriptor_file_close(maps);
    return (int)count;
}

size_t memfile_available(void)
{
    size_t available = SIZE_MAX;
    char line[128];
    FILE *meminfo = descriptor_file("/proc/meminfo");
    if (!meminfo)
        return available;
    while (fgets(line, sizeof line, meminfo)) {
        unsigned long long kilobytes;
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1) {
            available = (size_t)kilobytes * 1024;
            break;
        }
    }
    descriptor_file_close(meminfo);
    return available;
}

int memfile_reserve(const struct memfile *file)
{
    assert(file->fd >= 0 && file->writable);
    if (file->size > memfile_available())
        return -ENOMEM;
    int result;
    do
        result = fallocate(file->fd, 0, 0, (off_t)file->size) ? -errno : 0;
    while (result == -EINTR);
    return result == -ENOSPC ? -ENOMEM : result;
}

/* The kernel copies from file to file. */
static int memfile_copy(int to, int from, size_t size)
{
    if (lseek(to, 0, SEEK_SET) < 0)
        return -errno;
    for (off_t done = 0; (size_t)done < size;) {
        ssize_t moved = sendfile(to, from, &done, size - (size_t)done);
        if (moved < 0 && errno != EINTR)
            return -errno;
        if (moved == 0)
            return -EIO;
    }
    return 0;
}

/* The kernel maps the new pages over the old ones in one step: a thread that touches them meanwhile
 * waits in its page fault. This uses the system call directly, because ThreadSanitizer takes the
 * mmap function for a write to all of the memory. */
static int memfile_map_over(const struct memfile *file, int fd)
{
    long base = syscall(SYS_mmap, file->base, file->size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED, fd, 0L);
    return base == -1 ? -errno : 0;
}

int memfile_replace(struct memfile *file, struct memfile *by, int keep)
{
    assert(file->base && file->writable && by->base && by->writable && file->size == by->size);
    int result = keep ? memfile_copy(by->fd, file->fd, file->size) : 0;
    if (result == 0)
        result = memfile_map_over(file, by->fd);
    if (result)
        return result;
    memfile_advise(file);
    int before = file->fd;
    file->fd = by->fd;
    by->fd = before;
    memfile_close(by);
    return 0;
}

void memfile_close(struct memfile *file)
{
    if (file->base)
        munmap(file->base, file->size);
    if (file->fd >= 0)
        descriptor_close(file->fd);
    *file = (struct memfile){.fd = -1};
}
