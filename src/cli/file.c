#include "cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define FILE_SIZE_MAX ((size_t)4 << 30) /* a larger one is no topology */

static enum err refused(const char *path, struct why *why)
{
    return why_fail(why, ERR_SYSTEM, "%s: %s", path, strerror(errno));
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
        if (got == 0)
            break;
    }
    (*data)[*size] = '\0';
    return ferror(file) ? refused(path, why) : OK;
}

enum err file_read(const char *path, char **data, size_t *size, struct why *why)
{
    if (strcmp(path, "-") == 0) {
        enum err err = file_slurp(stdin, "standard input", data, size, why);
        if (err)
            free(*data);
        return err;
    }
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file)
        return refused(path, why);
    enum err err;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        err = why_fail(why, ERR_SYSTEM, "%s: is a directory, not a file", path);
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

/* A device or a pipe (/dev/stdout, /dev/full) cannot be replaced by a rename. */
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

/* mkstemp makes the file private; a result should be as readable as any other
 * file this user makes. */
static void mode_usual(int handle)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(handle, 0666 & ~mask);
}

enum err file_write(const char *path, const struct text *text, struct why *why)
{
    struct stat info;
    if (!text_ok(text))
        return why_memory(why);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return why_fail(why, ERR_SYSTEM, "%s: is a directory, not a file", path);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return file_write_through(path, text, why);

    char *draft;
    if (asprintf(&draft, "%s.XXXXXX", path) < 0)
        return why_memory(why);
    enum err err = OK;
    int handle = mkstemp(draft);
    if (handle < 0) {
        err = refused(path, why);
        goto free_draft;
    }
    mode_usual(handle);
    if (bytes_write(handle, text) || fsync(handle))
        err = refused(path, why);
    if (close(handle) && !err)
        err = refused(path, why);
    if (!err && rename(draft, path))
        err = refused(path, why);
    if (err)
        unlink(draft);
free_draft:
    free(draft);
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
