/* domain: files that exist as long as their process.
 *
 * The owner holds a write lock on a file's first byte. A process that removes a dead file holds two
 * locks: a read lock on the first byte, which shows that there is no owner and keeps a new owner
 * from locking the file, and a write lock on the second byte, which keeps other removers out. So a
 * new owner whose lock is refused can tell a remover (retry, removal takes microseconds) from an
 * owner (busy).
 *
 * A lock is on the file, not on its name. Therefore a process that has locked a file then checks
 * that the name still refers to the file that it locked. */
#include "transport/domain.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "transport/fork/descriptor.h"

enum {
    YIELDS_MAX = 20,     /* tries after a yield, while a remover holds the lock; then ... */
    TRIES_MAX = 1000,    /* ... tries after a nap: the remover may not be running */
    ENTRIES_MAX = 65536, /* examined by one call of domain_clean */
    BYTE_LIFE = 0,
    BYTE_REMOVAL = 1,
};

#define TRY_NAP_NSEC 200000

static struct flock lock_make(int type, int byte)
{
    return (struct flock){.l_type = (short)type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
}

static bool name_is_plain(const char *name, size_t most)
{
    size_t size = strlen(name);
    if (size == 0 || size > most || name[0] == '.')
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    }
    return true;
}

/* Opens a folder that must be accessible to this user only; makes it if needed. */
static int folder_open(int above, const char *path, const char *shown, struct why *why)
{
    struct stat found;
    if (mkdirat(above, path, 0700) && errno != EEXIST) {
        int error = errno;
        return why_fail(why, -error, "cannot make the folder %s: %s", shown, strerror(error));
    }
    int fd = DESCRIPTOR_OPEN(openat(above, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return why_fail(why, -EPERM, "%s is not a folder (a link is not followed)", shown);
    if (fd < 0 || fstat(fd, &found)) {
        int error = errno;
        if (fd >= 0)
            descriptor_close(fd);
        return why_fail(why, -error, "cannot open the folder %s: %s", shown, strerror(error));
    }
    if (found.st_uid != geteuid() || (found.st_mode & 077)) {
        descriptor_close(fd);
        return why_fail(why, -EPERM, "the folder %s %s", shown,
                        found.st_uid != geteuid()
                            ? "belongs to another user; set WEFT_FOLDER to another folder"
                            : "is accessible to other users; run chmod 700 on it");
    }
    return fd;
}

int domain_open(char folder[DOMAIN_PATH_MAX], const char *domain, struct why *why)
{
    char above[DOMAIN_PATH_MAX];
    const char *wanted = getenv("WEFT_FOLDER");
    if (!domain || !name_is_plain(domain, DOMAIN_NAME_MAX))
        return why_fail(
            why, -EINVAL,
            "invalid domain '%.40s': use at most %d letters, digits and . _ -, no leading dot",
            domain ? domain : "", DOMAIN_NAME_MAX);
    int size = wanted && *wanted
                   ? snprintf(above, sizeof above, "%s", wanted)
                   : snprintf(above, sizeof above, "/dev/shm/weft-%u", (unsigned)geteuid());
    if (size >= DOMAIN_PATH_MAX ||
        snprintf(folder, DOMAIN_PATH_MAX, "%s/%s", above, domain) >= DOMAIN_PATH_MAX)
        return why_fail(why, -ENAMETOOLONG,
                        "the path of domain %s's folder is over %d bytes, too long for a socket",
                        domain, DOMAIN_PATH_MAX - 1);
    int above_fd = folder_open(AT_FDCWD, above, above, why);
    if (above_fd < 0)
        return above_fd;
    int fd = folder_open(above_fd, domain, folder, why);
    descriptor_close(above_fd);
    if (fd < 0)
        return fd;
    descriptor_close(fd);
    return 0;
}

void domain_leave(const char *folder)
{
    char above[DOMAIN_PATH_MAX];
    const char *wanted = getenv("WEFT_FOLDER");
    const char *slash = strrchr(folder, '/');
    if (rmdir(folder) < 0 || (wanted && *wanted) || !slash)
        return; /* another process uses it; or the user made the parent folder */
    snprintf(above, sizeof above, "%.*s", (int)(slash - folder), folder);
    (void)!rmdir(above);
}

/* Opens a regular file of this user. Non-blocking, so that a FIFO does not block us. */
static int file_open(int folder_fd, const char *name, int flags)
{
    struct stat found;
    int fd =
        DESCRIPTOR_OPEN(openat(folder_fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (fd < 0)
        return -errno;
    if (fstat(fd, &found) || !S_ISREG(found.st_mode) || found.st_uid != geteuid()) {
        descriptor_close(fd);
        return -EPERM;
    }
    return fd;
}

/* Does the name still refer to the open file? */
static bool file_is_named(int folder_fd, const char *name, int fd)
{
    struct stat open_one, named;
    return !fstat(fd, &open_one) && !fstatat(folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* Returns 1 if an owner holds the lock, 0 if no process or only a remover does. */
static int file_owner(int fd)
{
    struct flock lock = lock_make(F_WRLCK, BYTE_LIFE);
    if (fcntl(fd, F_OFD_GETLK, &lock))
        return -errno;
    return lock.l_type == F_WRLCK;
}

/* Tries once. Returns the locked descriptor, -EBUSY, or -EAGAIN to try again. */
static int file_try_lock(int folder_fd, const char *name)
{
    int fd = file_open(folder_fd, name, O_RDWR | O_CREAT);
    if (fd < 0)
        return fd;
    struct flock lock = lock_make(F_WRLCK, BYTE_LIFE);
    int result = fcntl(fd, F_OFD_SETLK, &lock) ? -errno : 0;
    if (!result) /* else -EAGAIN if the file is locked, by its owner or by a remover */
        result = file_is_named(folder_fd, name, fd) ? fd : -EAGAIN;
    else if (file_owner(fd) == 1)
        result = -EBUSY;
    if (result < 0)
        descriptor_close(fd);
    return result;
}

static int folder_reopen(const char *folder)
{
    int fd = DESCRIPTOR_OPEN(open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return -errno;
    return fd;
}

int domain_file_lock(const char *folder, const char *name)
{
    if (!name_is_plain(name, DOMAIN_FILE_MAX - 1))
        return -EINVAL;
    int folder_fd = folder_reopen(folder);
    if (folder_fd < 0)
        return folder_fd;
    int result = -EAGAIN;
    for (int i = 0; i < TRIES_MAX && result == -EAGAIN; i++) {
        if (i > YIELDS_MAX)
            nanosleep(&(struct timespec){.tv_nsec = TRY_NAP_NSEC}, NULL);
        else if (i)
            sched_yield();
        result = file_try_lock(folder_fd, name);
    }
    descriptor_close(folder_fd);
    return result == -EAGAIN ? -EBUSY : result;
}

bool domain_file_named(const char *folder, const char *name, int fd)
{
    int folder_fd = folder_reopen(folder);
    bool named = folder_fd >= 0 && file_is_named(folder_fd, name, fd);
    if (folder_fd >= 0)
        descriptor_close(folder_fd);
    return named;
}

int domain_file_read(const char *folder, const char *name, void *out, size_t size, size_t *got)
{
    *got = 0;
    if (!name_is_plain(name, DOMAIN_FILE_MAX - 1))
        return -EINVAL;
    int folder_fd = folder_reopen(folder);
    if (folder_fd < 0)
        return folder_fd == -ENOENT ? 0 : folder_fd;
    int fd = file_open(folder_fd, name, O_RDONLY);
    descriptor_close(folder_fd);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int result = file_owner(fd);
    ssize_t count = pread(fd, out, size, 0);
    if (count > 0)
        *got = (size_t)count;
    descriptor_close(fd);
    return result;
}

int domain_file_alive(const char *folder, const char *name)
{
    size_t none;
    return domain_file_read(folder, name, NULL, 0, &none);
}

/* The name of the socket that belongs to a context's file, or the reverse. */
static void name_exchange(char out[DOMAIN_FILE_MAX], const char *name, const char *prefix)
{
    snprintf(out, DOMAIN_FILE_MAX, "%s%s", prefix, strchr(name, '.'));
}

static int file_remove(int folder_fd, const char *name)
{
    return unlinkat(folder_fd, name, 0) ? 0 : 1;
}

/* Removes the file, and a context's socket, if no process owns it. Returns how many files it
 * removed. */
static int file_clean(int folder_fd, const char *name)
{
    int count = 0;
    int fd = file_open(folder_fd, name, O_RDWR);
    if (fd < 0)
        return 0;
    struct flock removal = lock_make(F_WRLCK, BYTE_REMOVAL);
    struct flock life = lock_make(F_RDLCK, BYTE_LIFE);
    if (!fcntl(fd, F_OFD_SETLK, &removal) && !fcntl(fd, F_OFD_SETLK, &life) &&
        file_is_named(folder_fd, name, fd)) {
        if (!strncmp(name, "context.", 8)) {
            char socket[DOMAIN_FILE_MAX];
            name_exchange(socket, name, "socket");
            count += file_remove(folder_fd, socket);
        }
        count += file_remove(folder_fd, name);
    }
    descriptor_close(fd); /* releases both locks */
    return count;
}

/* Removes a socket whose context's file does not exist. No running context has such a socket,
 * because the context's file is made first. */
static int socket_clean(int folder_fd, const char *name)
{
    char context[DOMAIN_FILE_MAX];
    struct stat found;
    name_exchange(context, name, "context");
    if (!fstatat(folder_fd, context, &found, AT_SYMLINK_NOFOLLOW) || errno != ENOENT)
        return 0;
    return file_remove(folder_fd, name);
}

int domain_clean(const char *folder)
{
    int folder_fd = folder_reopen(folder);
    if (folder_fd < 0)
        return folder_fd;
    int list_fd = DESCRIPTOR_OPEN(fcntl(folder_fd, F_DUPFD_CLOEXEC, 0)); /* part of `entries` */
    DIR *entries = list_fd >= 0 ? fdopendir(list_fd) : NULL;
    if (!entries) {
        int error = errno;
        if (list_fd >= 0)
            descriptor_close(list_fd);
        descriptor_close(folder_fd);
        return -error;
    }
    int count = 0;
    for (int i = 0; i < ENTRIES_MAX; i++) {
        const struct dirent *entry = readdir(entries);
        if (!entry)
            break;
        const char *name = entry->d_name;
        if (!name_is_plain(name, DOMAIN_FILE_MAX - 1))
            continue;
        if (!strncmp(name, "context.", 8) || !strncmp(name, "claim.", 6) ||
            !strncmp(name, "trace.", 6))
            count += file_clean(folder_fd, name);
        else if (!strncmp(name, "socket.", 7))
            count += socket_clean(folder_fd, name);
    }
    descriptor_folder_close(entries);
    descriptor_close(folder_fd);
    return count;
}
