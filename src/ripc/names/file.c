/* file: names that the operator wrote into a file. Every question checks whether the file has
 * changed and reads it again if so. A file that has become unreadable or invalid changes nothing:
 * its previous content remains valid, and the error is counted. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "ripc/names/names_file.h"
#include "ripc/names/names_impl.h"
#include "transport/fork/descriptor.h"

struct file {
    struct name_service service;
    struct names *names;
    char *path;
    struct names_file table;
    struct stat seen; /* of the file from which the table was read */
    bool settled;     /* the file was then old enough that every later change has another time
                       * stamp */
};

/* Time stamps of files have a resolution of a few milliseconds: two changes may have the same
 * one. */
#define SETTLED_NSEC NSEC_PER_SEC

static struct file *file_of(struct name_service *service)
{
    return container_of(service, struct file, service);
}

static bool stamp_equal(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

static bool file_has_changed(const struct file *file)
{
    struct stat now;
    if (stat(file->path, &now))
        return false;
    return !file->settled || now.st_ino != file->seen.st_ino || now.st_dev != file->seen.st_dev ||
           now.st_size != file->seen.st_size || !stamp_equal(&now.st_mtim, &file->seen.st_mtim) ||
           !stamp_equal(&now.st_ctim, &file->seen.st_ctim);
}

static int text_load(int fd, char **text, size_t *size)
{
    size_t capacity = 0;
    *text = NULL;
    *size = 0;
    for (;;) {
        if (*size > NAMES_FILE_SIZE_MAX)
            return -EFBIG;
        if (!array_reserve(text, &capacity, *size + 4096, 1))
            return -ENOMEM;
        ssize_t got = read(fd, *text + *size, capacity - *size);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -errno;
        *size += got > 0 ? (size_t)got : 0;
    }
}

/* Reads the file into a new table. */
static int file_load(struct file *file, struct names_file *table, struct why *why)
{
    char *text = NULL;
    size_t size = 0;
    int result = 0;
    /* Read-only and non-blocking, because the path may be a pipe. */
    int fd = DESCRIPTOR_OPEN(open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0 || fstat(fd, &file->seen))
        result = -errno;
    else if (!S_ISREG(file->seen.st_mode))
        result = -EINVAL;
    nsec changed = file->seen.st_mtim.tv_sec * NSEC_PER_SEC + file->seen.st_mtim.tv_nsec;
    file->settled = result == 0 && clock_wall() - changed > SETTLED_NSEC;
    if (result == 0)
        result = text_load(fd, &text, &size);
    if (fd >= 0)
        descriptor_close(fd);
    if (result < 0)
        result = why_fail(why, result, "cannot read %s: %s", file->path,
                          result == -EINVAL ? "not a plain file" : strerror(-result));
    else
        result = names_file_read(table, text, size, file->path, why);
    free(text);
    return result;
}

static bool table_has(const struct names_file *table, const struct claim *claim)
{
    for (size_t i = names_file_find(table, claim->id);
         i < table->count && table->claims[i].id == claim->id; i++)
        if (table->claims[i].member == claim->member)
            return true;
    return false;
}

/* Reports the lines of one id. The program may ask for more ids meanwhile, which may read the file
 * again: so each line is looked up anew. */
static void file_tell(struct file *file, uint64_t id)
{
    uint64_t member = 0;
    for (;;) {
        size_t i = names_file_find(&file->table, id);
        while (i < file->table.count && file->table.claims[i].id == id &&
               file->table.claims[i].member <= member)
            i++;
        if (i == file->table.count || file->table.claims[i].id != id)
            return;
        struct claim claim = file->table.claims[i];
        member = claim.member;
        /* A failure means that memory is short; the next question repeats this. */
        (void)names_learn(file->names, &file->service, &claim, NSEC_NEVER, false);
    }
}

static void file_tell_wanted(void *owner, uint64_t id)
{
    file_tell(owner, id);
}

/* Replaces the table, and reports claims that disappeared or moved. */
static void file_refresh(struct file *file)
{
    struct names_file old = file->table, new;
    if (!file_has_changed(file))
        return;
    if (file_load(file, &new, NULL) < 0) {
        names_counts(file->names)->garbage++;
        return;
    }
    file->table = new;
    for (size_t i = 0; i < old.count; i++)
        if (!table_has(&file->table, &old.claims[i]))
            names_lost(file->names, &file->service, old.claims[i].id, old.claims[i].member, 0);
    names_file_fini(&old);
    names_each_wanted(file->names, file_tell_wanted, file);
}

static void file_close(struct name_service *service)
{
    struct file *file = file_of(service);
    names_file_fini(&file->table);
    free(file->path);
    free(file);
}

static int file_open(struct name_service **service, struct names *names, const char *argument,
                     const struct names_config *config, struct why *why)
{
    if (!argument || !*argument)
        return why_fail(why, -EINVAL, "name service file needs a path: file:PATH");
    struct file *file = array_new(1, sizeof *file);
    if (!file)
        return why_fail(why, -ENOMEM, "not enough memory");
    file->service.ops = &name_service_file;
    file->names = names;
    file->path = strdup(argument);
    int result = file->path ? file_load(file, &file->table, why)
                            : why_fail(why, -ENOMEM, "not enough memory");
    if (result < 0) {
        file_close(&file->service);
        return result;
    }
    *service = &file->service;
    return 0;
}

/* The file belongs to the operator: it tells where ids are, not which process may claim them. */
static int file_announce(struct name_service *service, const struct claim *claim)
{
    return 0;
}

static void file_withdraw(struct name_service *service, const struct claim *claim)
{
}

static void file_ask(struct name_service *service, uint64_t id)
{
    struct file *file = file_of(service);
    file_refresh(file);
    file_tell(file, id);
}

static void file_list(struct name_service *service)
{
    struct file *file = file_of(service);
    file_refresh(file);
    uint64_t id = 0;
    for (size_t i; (i = names_file_find(&file->table, id + 1)) < file->table.count;) {
        id = file->table.claims[i].id;
        file_tell(file, id);
        if (id == UINT64_MAX)
            return;
    }
}

static int file_alive(struct name_service *service, const struct claim *claim)
{
    return 0;
}

const struct name_service_ops name_service_file = {
    .word = "file",
    .open = file_open,
    .close = file_close,
    .announce = file_announce,
    .withdraw = file_withdraw,
    .ask = file_ask,
    .list = file_list,
    .alive = file_alive,
};
