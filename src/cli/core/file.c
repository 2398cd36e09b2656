#include "cli/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/core/progress.h"

#define FILE_SIZE_MAX     ((size_t)4 << 30) /* no topology is larger */
#define LINK_MAX_FOLLOWED 40                /* the limit of Linux */

static enum err refused(const char *path, struct why *why)
{
    return why_fail(why, ERR_SYSTEM, "%s: %s", *path ? path : "''", strerror(errno));
}

/* A file that cannot be read is invalid input, for any reason. */
static enum err unreadable(const char *path, struct why *why)
{
    (void)refused(path, why);
    return ERR_INPUT;
}

static enum err file_slurp(FILE *file, const char *path, char **data, size_t *size, struct why *why)
{
    size_t capacity = 0;
    *data = NULL;
    *size = 0;
    for (;;) {
        if (*size > FILE_SIZE_MAX)
            return why_fail(why, ERR_INPUT, "%s: larger than 4 GiB", path);
        if (!array_reserve(data, &capacity, *size + 65536, 1))
            return why_memory(why);
        size_t got = fread(*data + *size, 1, capacity - *size - 1, file);
        *size += got;
        if (got == 0 || feof(file)) /* reading a terminal again would ask for more input */
            break;
    }
    (*data)[*size] = '\0';
    return ferror(file) ? unreadable(path, why) : OK;
}

enum err file_read(const char *path, char **data, size_t *size, struct why *why)
{
    if (strcmp(path, "-") == 0) {
        if (feof(stdin))
            return why_fail(why, ERR_USAGE,
                            "-: standard input can be read only once; name a file for the other");
        bool typed = isatty(STDIN_FILENO);
        if (typed)
            progress_pause();
        enum err err = file_slurp(stdin, "standard input", data, size, why);
        if (typed)
            progress_resume();
        if (err)
            free(*data);
        return err;
    }
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file)
        return unreadable(path, why);
    enum err err;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        err = why_fail(why, ERR_INPUT, "%s: is a directory, not a file", path);
    } else {
        err = file_slurp(file, path, data, size, why);
        if (err)
            free(*data);
    }
    fclose(file);
    return err;
}

static enum err bytes_write(int handle, const struct text *text)
{
    for (size_t done = 0; done < text->size;) {
        ssize_t step = write(handle, text->data + done, text->size - done);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return ERR_SYSTEM;
        done += (size_t)step;
    }
    return OK;
}

/* Writes to a device or a pipe (/dev/stdout, /dev/full), which a rename cannot replace. */
static enum err file_write_through(const char *path, const struct text *text, struct why *why)
{
    int handle = open(path, O_WRONLY | O_CLOEXEC);
    if (handle < 0)
        return refused(path, why);
    enum err err = bytes_write(handle, text);
    if (err)
        err = refused(path, why);
    if (close(handle) && !err)
        err = refused(path, why);
    return err;
}

/* mkstemp makes the file private. This gives it the mode of the file that it
 * replaces, or the usual mode of new files. */
static void mode_usual(int handle, const struct stat *replaced)
{
    mode_t mask = umask(0);
    umask(mask);
    if (replaced)
        (void)!fchown(handle, replaced->st_uid, replaced->st_gid);
    (void)!fchmod(handle, replaced ? replaced->st_mode & 07777 : 0666 & ~mask);
}

/* Returns the file that a path leads to, because a rename over a symbolic link
 * would replace the link and not the file. The file need not exist. Returns NULL
 * if memory runs out. An endless chain of links is not followed to its end; the
 * system refuses it later. */
static char *link_follow(const char *path)
{
    char target[PATH_MAX];
    char *file = strdup(path);
    for (int links = 0; file && links < LINK_MAX_FOLLOWED; links++) {
        ssize_t size = readlink(file, target, sizeof target);
        if (size < 0 || size == sizeof target)
            break;
        const char *slash = strrchr(file, '/');
        int folder = slash && target[0] != '/' ? (int)(slash + 1 - file) : 0;
        char *next;
        if (asprintf(&next, "%.*s%.*s", folder, file, (int)size, target) < 0)
            next = NULL;
        free(file);
        file = next;
    }
    return file;
}

/* Writes a new file beside the old one and renames it, so that no reader sees a partial file. */
static enum err file_replace(const char *file, const struct stat *replaced, const struct text *text)
{
    char *draft;
    if (asprintf(&draft, "%s.XXXXXX", file) < 0) {
        errno = ENOMEM;
        return ERR_SYSTEM;
    }
    enum err err = OK;
    int error, handle = mkstemp(draft);
    if (handle < 0) {
        error = errno;
        free(draft);
        errno = error;
        return ERR_SYSTEM;
    }
    mode_usual(handle, replaced);
    if (bytes_write(handle, text) || fsync(handle))
        err = ERR_SYSTEM;
    error = errno;
    if (close(handle) && !err) {
        err = ERR_SYSTEM;
        error = errno;
    }
    if (!err && rename(draft, file)) {
        err = ERR_SYSTEM;
        error = errno;
    }
    if (err)
        unlink(draft);
    free(draft);
    errno = error;
    return err;
}

enum err file_write(const char *path, const struct text *text, struct why *why)
{
    struct stat info;
    if (!text_ok(text))
        return why_memory(why);
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return why_fail(why, ERR_SYSTEM, "%s: is a directory, not a file", path);
    if (exists && (!S_ISREG(info.st_mode) || strncmp(path, "/dev/", 5) == 0))
        return file_write_through(path, text, why);
    /* A rename needs only permission for the folder; respect the protection of the file as well. */
    if (!*path || (exists && access(path, W_OK))) {
        errno = *path ? errno : ENOENT;
        return refused(path, why);
    }
    char *file = link_follow(path);
    if (!file)
        return why_memory(why);
    enum err err = file_replace(file, exists ? &info : NULL, text);
    if (err)
        err = refused(path, why);
    free(file);
    return err;
}

enum err file_make_folder(const char *path, struct why *why)
{
    char *copy = strdup(path);
    if (!copy)
        return why_memory(why);
    enum err err = OK;
    for (char *at = copy + 1; !err; at++) {
        char end = *at;
        if (end != '/' && end != '\0')
            continue;
        *at = '\0';
        if (mkdir(copy, 0777) && errno != EEXIST)
            err = refused(copy, why);
        *at = end;
        if (!end)
            break;
    }
    struct stat info;
    if (!err && (stat(path, &info) || !S_ISDIR(info.st_mode)))
        err = why_fail(why, ERR_SYSTEM, "%s: is not a folder", path);
    free(copy);
    return err;
}
